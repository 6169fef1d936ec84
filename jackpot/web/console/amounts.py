"""Parse and format amounts and shares in forms, as whole cents and basis points; never a float."""

from __future__ import annotations

import re
from typing import Final

_AMOUNT: Final = re.compile(r"\$?\s*(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d{1,2}))?\s*%?")


class AmountError(ValueError):
    """The text is not an amount, or is out of range."""


def parse_hundredths(text: str, lowest: int, highest: int, unit: str) -> int | None:
    """Return dollars as cents, or per cent as basis points; None if the text is empty."""
    if not text.strip():
        return None
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise AmountError(f"Write {unit} like 1234.56.")
    value = int(match[1].replace(",", "")) * 100 + int((match[2] or "").ljust(2, "0"))
    if not lowest <= value <= highest:
        raise AmountError(f"Enter {format_hundredths(lowest)} to {format_hundredths(highest)} {unit}.")
    return value


def format_hundredths(value: int) -> str:
    """Format hundredths for a form field: "1234.56", or "70" without decimals."""
    integer, decimals = divmod(value, 100)
    return f"{integer}.{decimals:02d}" if decimals else str(integer)
