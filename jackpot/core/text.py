"""Text that every database can store: no NUL, no unpaired surrogate."""

from __future__ import annotations


def is_storable(text: str) -> bool:
    """Return True if every database can store this text."""
    return "\0" not in text and (text.isascii() or _is_encodable(text))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
