"""Settles a round that is given as a document, under any instrument, touching nothing.

`documents` says what a round may look like, `answers` settles it and writes the answer down.
"""

from jackpot.calculator.answers import settle
from jackpot.calculator.documents import DocumentError, read

__all__ = ["DocumentError", "read", "settle"]
