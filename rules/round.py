"""What every settlement checks before it pays: amounts, places at the table, and that the cards come from one deck."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from rules.cards import Cards
from rules.errors import CardError, RoundError


class Outcome(StrEnum):
    """What becomes of a wager."""

    WIN = "win"
    LOSE = "lose"
    PUSH = "push"


def require_cents(what: str, value: object) -> int:
    """An amount of money: a whole number of cents, not negative."""
    if type(value) is not int or value < 0:
        raise RoundError(f"{what} is a whole number of cents, 0 or more, and not {str(value)[:40]!r}")
    return value


def require_boxes(boxes: Iterable[object]) -> None:
    """Boxes are numbered from 1, one player to each (NI2016-268 r 4.4, Gazette S89 of 1997 r 6.8, NI2025-411 r 4.5)."""
    seen: set[int] = set()
    for box in boxes:
        if type(box) is not int or box < 1:
            raise RoundError(f"a box is numbered from 1, and {str(box)[:40]!r} is not such a number")
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
