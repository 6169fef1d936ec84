"""Amounts and shares as people write them into a form, as whole cents and basis points; never a float."""

from __future__ import annotations

import re
from typing import Final

_WRITTEN: Final = re.compile(r"\$?\s*(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d{1,2}))?\s*%?")


class NotUnderstood(ValueError):  # noqa: N818 - an answer, not an error of the program
    """What was written is no amount, or one that cannot be."""


def hundredths(text: str, least: int, most: int, unit: str) -> int | None:
    """Cents of dollars, or basis points of per cent, within bounds; None where nothing is written."""
    if not text.strip():
        return None
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise NotUnderstood(f"Write {unit} like 1234.56.")
    value = int(written[1].replace(",", "")) * 100 + int((written[2] or "").ljust(2, "0"))
    if not least <= value <= most:
        raise NotUnderstood(f"Between {plain(least)} and {plain(most)} {unit}.")
    return value


def plain(value: int) -> str:
    """Hundredths as a form shows them: "1234.56", and "70" where nothing stands behind the point."""
    whole, rest = divmod(value, 100)
    return f"{whole}.{rest:02d}" if rest else str(whole)
