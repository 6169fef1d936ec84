"""The categories of hands, and their two orders."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Category(StrEnum):
    """The categories of five-card hands, lowest first (full deck)."""

    FIVE_ODD_CARDS = "five_odd_cards"
    ONE_PAIR = "one_pair"
    TWO_PAIRS = "two_pairs"
    THREE_OF_A_KIND = "three_of_a_kind"
    STRAIGHT = "straight"
    FLUSH = "flush"
    FULL_HOUSE = "full_house"
    FOUR_OF_A_KIND = "four_of_a_kind"
    STRAIGHT_FLUSH = "straight_flush"
    FIVE_OF_A_KIND = "five_of_a_kind"
    ROYAL_FLUSH = "royal_flush"

    @property
    def title(self) -> str:  # type: ignore[override]
        """The name as people read it: "Four of a kind"."""
        return self.value.replace("_", " ").capitalize()


FULL_ORDER: Final = tuple(Category)
"""52 cards or more: NI2005-64 and NI2005-74 r 3.3; the other three instruments have no five of a kind."""

REDUCED_ORDER: Final = (
    *FULL_ORDER[:5],
    Category.FULL_HOUSE,
    Category.FLUSH,
    *FULL_ORDER[7:],
)
"""Fewer than 52 cards: a flush beats a full house (NI2005-64 and NI2005-74 r 3.4)."""
