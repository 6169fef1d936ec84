"""What every settlement checks before it pays: amounts, places at the table, and that the cards come from one deck."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from rules.cards import Cards
from rules.errors import CardError, RoundError, shown

MAX_CENTS: Final = 10**15
MAX_COUNT: Final = 10**6


class Outcome(StrEnum):
    """What becomes of a wager."""

    WIN = "win"
    LOSE = "lose"
    PUSH = "push"


def require_cents(what: str, value: object) -> int:
    """An amount of money: a whole number of cents, not negative, within what a casino can hold."""
    if type(value) is not int or not 0 <= value <= MAX_CENTS:
        raise RoundError(f"{what} is a whole number of cents from 0 to {MAX_CENTS:,} and not {shown(value)}")
    return value


def require_count(what: str, value: object) -> int:
    """A number of things: whole, not negative."""
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise RoundError(f"{what} is a whole number from 0 to {MAX_COUNT:,} and not {shown(value)}")
    return value


def require_box(value: object) -> int:
    """A box of a table: numbered from 1."""
    if type(value) is not int or not 1 <= value <= MAX_COUNT:
        raise RoundError(f"a box is numbered from 1, and {shown(value)} is not such a number")
    return value


def require_boxes(boxes: Iterable[object]) -> None:
    """One player to each box (NI2016-268 r 4.4, Gazette S89 of 1997 r 6.8, NI2025-411 r 4.5)."""
    seen: set[int] = set()
    for value in boxes:
        box = require_box(value)
        if box in seen:
            raise RoundError(f"box {box} is there twice: one player to a box")
        seen.add(box)


def require_one_deck(hands: Iterable[tuple[str, Cards | None]]) -> None:
    """All cards of a round come from one deck: none may be in two places."""
    holder: dict[int, str] = {}
    for who, cards in hands:
        for card in cards or ():
            if card in holder:
                raise CardError(f"{card} is held by {holder[card]} and by {who}: a deck holds each card once")
            holder[card] = who
