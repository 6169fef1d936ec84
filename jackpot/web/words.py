"""How hands and amounts are told to people on pages."""

from __future__ import annotations

from typing import Final

from jackpot.wire.views import money

_SPECIAL: Final = {"dead_mans_hand": "Dead man’s hand"}

__all__ = ["hand_name", "money", "share"]


def hand_name(hand: str) -> str:
    """A prize hand as people say it: "Royal flush"."""
    return _SPECIAL.get(hand) or hand.replace("_", " ").capitalize()


def share(bps: int) -> str:
    """A share in basis points as people read it: "70%", "66.67%"."""
    whole, rest = divmod(bps, 100)
    decimals = f".{rest:02d}".rstrip("0") if rest else ""
    return f"{whole}{decimals}%"
