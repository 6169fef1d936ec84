"""Hands: five cards with a category, a comparison and a description."""

from __future__ import annotations

from functools import total_ordering
from typing import Final

from rules.cards import Cards, CardsLike, parse
from rules.categories import Category
from rules.ranking import LowRanking, Ranking, places_of, ranks_of, repeat_ranks

_NAMES: Final = {
    1: ("ace", "aces"),
    2: ("two", "twos"),
    3: ("three", "threes"),
    4: ("four", "fours"),
    5: ("five", "fives"),
    6: ("six", "sixes"),
    7: ("seven", "sevens"),
    8: ("eight", "eights"),
    9: ("nine", "nines"),
    10: ("ten", "tens"),
    11: ("jack", "jacks"),
    12: ("queen", "queens"),
    13: ("king", "kings"),
    14: ("ace", "aces"),
}


def _one(rank: int) -> str:
    return _NAMES[rank][0]


def _many(rank: int) -> str:
    return _NAMES[rank][1]


@total_ordering
class _Compared:
    """Five cards that compare with others of the same ranking; equal is a tie: suits do not count."""

    __slots__ = ("_given", "strength")

    _given: CardsLike
    strength: int

    @property
    def given(self) -> Cards:
        """The five cards in the order given; text is parsed here, not when it is ranked."""
        return parse(self._given)

    def _scale(self) -> object:
        raise NotImplementedError  # pragma: no cover - each kind of hand has its own

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Compared) or self._scale() != other._scale():
            return NotImplemented
        return self.strength == other.strength

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, _Compared) or self._scale() != other._scale():
            return NotImplemented
        return self.strength < other.strength

    def __hash__(self) -> int:
        return hash(self.strength)

    def __str__(self) -> str:
        return str(self.given)


def _laid_out(given: Cards, counted: list[int]) -> Cards:
    """Return the given cards in the order of the ranks they count as."""
    return Cards(given[place] for place in places_of(counted, [card.rank for card in given]))


class Hand(_Compared):
    """A high hand: the greater wins."""

    __slots__ = ("_laid", "_ranking")

    def __init__(self, cards: CardsLike, strength: int, ranking: Ranking, laid: Cards | None = None) -> None:
        """`laid` is the five cards that count, highest first, if more than five are given."""
        self._given = cards
        self.strength = strength
        self._ranking: Final = ranking
        self._laid: Final = laid

    @property
    def given(self) -> Cards:
        """The five cards that count, in the order given."""
        given, laid = super().given, self._laid
        return given if laid is None else Cards(card for card in given if card in laid)

    def _scale(self) -> object:
        return self._ranking.options.is_full, "high"

    @property
    def category(self) -> Category:
        """The hand's category."""
        return self._ranking.category_of(self.strength)

    @property
    def cards(self) -> Cards:
        """The five cards that count, highest first, a low ace and the Joker at the rank they count as."""
        if self._laid is not None:
            return self._laid
        return _laid_out(self.given, self._ranking.counted_ranks(self.strength))

    def describe(self) -> str:
        """Describe the hand for people: "Full house, kings over jacks"."""
        category, ranks = self.category, ranks_of(self.strength)
        match category:
            case Category.ROYAL_FLUSH:
                return category.title
            case Category.FULL_HOUSE:
                return f"{category.title}, {_many(ranks[0])} over {_many(ranks[1])}"
            case Category.TWO_PAIRS:
                return f"{category.title}, {_many(ranks[0])} and {_many(ranks[1])}"
            case Category.FIVE_OF_A_KIND | Category.FOUR_OF_A_KIND | Category.THREE_OF_A_KIND | Category.ONE_PAIR:
                return f"{category.title}, {_many(ranks[0])}"
            case _:
                return f"{category.title}, {_one(ranks[0])} high"

    def __repr__(self) -> str:
        return f"<Hand {self}: {self.describe()}>"


class LowHand(_Compared):
    """A low hand: straights and flushes do not count, and the greater is the lower."""

    __slots__ = ("_ranking",)

    def __init__(self, cards: Cards, strength: int, ranking: LowRanking) -> None:
        self._given = cards
        self.strength = strength
        self._ranking: Final = ranking

    def _scale(self) -> object:
        return self._ranking.ace_is_low, "low"

    @property
    def category(self) -> Category:
        """The hand's category; straights and flushes do not count."""
        return self._ranking.category_of(self.strength)

    @property
    def is_eight_or_better(self) -> bool:
        """True for five different ranks, none above eight."""
        return self._ranking.is_eight_or_better(self.strength)

    @property
    def cards(self) -> Cards:
        """The five cards that count, highest first."""
        return _laid_out(self.given, self._ranks())

    def _ranks(self) -> list[int]:
        return repeat_ranks(self._ranking.ranks_of(self.strength), self.category)

    def describe(self) -> str:
        """Describe the hand for people: "Low, eight six four three two"."""
        if self.category is Category.FIVE_ODD_CARDS:
            return f"Low, {' '.join(map(_one, self._ranks()))}"
        return f"Low with {self.category.title.lower()}, {' '.join(map(_one, self._ranks()))}"

    def __repr__(self) -> str:
        return f"<LowHand {self}: {self.describe()}>"
