"""Checks before every settlement: amounts, box numbers, and that all cards come from one deck."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from rules.cards import Cards
from rules.errors import CardError, RoundError, shown

MAX_CENTS: Final = 10**15
MAX_COUNT: Final = 10**6


class Outcome(StrEnum):
    """The outcome of a wager."""

    WIN = "win"
    LOSE = "lose"
    PUSH = "push"


def require_cents(what: str, value: object) -> int:
    """Require an amount of money: a whole number of cents, not negative, at most MAX_CENTS."""
    if type(value) is not int or not 0 <= value <= MAX_CENTS:
        raise RoundError(f"{what} is a whole number of cents from 0 to {MAX_CENTS:,} and not {shown(value)}")
    return value


def require_count(what: str, value: object) -> int:
    """Require a count: whole, not negative, at most MAX_COUNT."""
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise RoundError(f"{what} is a whole number from 0 to {MAX_COUNT:,} and not {shown(value)}")
    return value


def require_box(value: object) -> int:
    """Require the number of a box, from 1."""
    if type(value) is not int or not 1 <= value <= MAX_COUNT:
        raise RoundError(f"a box is numbered from 1, and {shown(value)} is not such a number")
    return value


def require_boxes(boxes: Iterable[object]) -> None:
    """Require one player to a box (NI2016-268 r 4.4, Gazette S89 of 1997 r 6.8, NI2025-411 r 4.5)."""
    seen: set[int] = set()
    for value in boxes:
        box = require_box(value)
        if box in seen:
            raise RoundError(f"box {box} is listed twice: one player to a box")
        seen.add(box)


def require_one_deck(hands: Iterable[tuple[str, Cards | None]]) -> None:
    """Require that no card of a round is in two hands."""
    holder: dict[int, str] = {}
    for name, cards in hands:
        for card in cards or ():
            if card in holder:
                raise CardError(f"{card} is held by {holder[card]} and by {name}: a deck holds each card once")
            holder[card] = name
