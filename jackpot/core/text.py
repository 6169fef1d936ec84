"""Which texts can be kept: no database keeps a NUL, nor half of a surrogate pair."""

from __future__ import annotations


def is_storable(text: str) -> bool:
    """Whether every database can keep this text."""
    return "\0" not in text and (text.isascii() or _can_be_written(text))


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
