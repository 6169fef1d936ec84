"""Hands: five cards with a category, a comparison and a sentence."""

from __future__ import annotations

from functools import total_ordering
from typing import Final

from rules.cards import ACE, Card, Cards, parse
from rules.categories import Category
from rules.ranking import LowRanking, Ranking, ranks_of

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
_GROUPS: Final = {
    Category.FIVE_OF_A_KIND: (5,),
    Category.FOUR_OF_A_KIND: (4, 1),
    Category.FULL_HOUSE: (3, 2),
    Category.THREE_OF_A_KIND: (3, 1, 1),
    Category.TWO_PAIRS: (2, 2, 1),
    Category.ONE_PAIR: (2, 1, 1, 1),
    Category.FLUSH: (1, 1, 1, 1, 1),
    Category.FIVE_ODD_CARDS: (1, 1, 1, 1, 1),
}


def _one(rank: int) -> str:
    return _NAMES[rank][0]


def _many(rank: int) -> str:
    return _NAMES[rank][1]


@total_ordering
class _Compared:
    """Five cards that compare with others of the same ranking; equal is a tie, whatever the suits."""

    __slots__ = ("_given", "strength")

    def __init__(self, cards: Cards | str, strength: int) -> None:
        self._given: Final = cards
        self.strength: Final = strength

    @property
    def given(self) -> Cards:
        """The five cards as they were given; text that could be ranked is parsed only when somebody looks."""
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


def _laid_out(given: Cards, ranks: list[int]) -> Cards:
    """The given cards in the order of these ranks; the Joker lies where no natural card does."""
    left = list(given)
    laid: list[Card] = []
    for rank in ranks:
        natural = next((c for c in left if c.rank == (ACE if rank == 1 else rank)), None)
        chosen = natural if natural is not None else next(c for c in left if c.is_joker)
        left.remove(chosen)
        laid.append(chosen)
    return Cards(laid)


class Hand(_Compared):
    """A high hand: the greater wins."""

    __slots__ = ("_ranking",)

    def __init__(self, cards: Cards | str, strength: int, ranking: Ranking) -> None:
        super().__init__(cards, strength)
        self._ranking: Final = ranking

    def _scale(self) -> object:
        return self._ranking.options.is_full, "high"

    @property
    def category(self) -> Category:
        """What the hand is."""
        return self._ranking.category_of(self.strength)

    @property
    def cards(self) -> Cards:
        """The five cards that count, highest first; a low ace and the Joker lie where they count."""
        return _laid_out(self.given, self._ranks())

    def _ranks(self) -> list[int]:
        """The rank each of the five cards counts as, highest first; an ace that is low says 1."""
        category, deciding = self.category, ranks_of(self.strength)
        if category is Category.ROYAL_FLUSH:
            deciding = (ACE,)
        if category in (Category.STRAIGHT, Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH):
            top = deciding[0]
            bottom = top - 4 if top - 4 >= self._ranking.options.lowest else 1
            return [*range(top, top - 4, -1), bottom]
        groups = zip(deciding, _GROUPS[category], strict=True)
        return sorted((rank for rank, times in groups for _ in range(times)), reverse=True)

    def describe(self) -> str:
        """A sentence for a person: "Full house, kings over jacks"."""
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

    def __init__(self, cards: Cards | str, strength: int, ranking: LowRanking) -> None:
        super().__init__(cards, strength)
        self._ranking: Final = ranking

    def _scale(self) -> object:
        return self._ranking.ace_is_low, "low"

    @property
    def category(self) -> Category:
        """What the hand is, straights and flushes aside."""
        return self._ranking.category_of(self.strength)

    @property
    def is_eight_or_better(self) -> bool:
        """Five different ranks, none above eight."""
        return self._ranking.is_eight_or_better(self.strength)

    @property
    def cards(self) -> Cards:
        """The five cards that count, highest first."""
        return _laid_out(self.given, self._ranks())

    def _ranks(self) -> list[int]:
        groups = zip(self._ranking.ranks_of(self.strength), _GROUPS[self.category], strict=True)
        return sorted((rank for rank, times in groups for _ in range(times)), reverse=True)

    def describe(self) -> str:
        """A sentence for a person: "Low, eight six four three two"."""
        if self.category is Category.FIVE_ODD_CARDS:
            return f"Low, {' '.join(map(_one, self._ranks()))}"
        return f"Low with {self.category.title.lower()}, {' '.join(map(_one, self._ranks()))}"

    def __repr__(self) -> str:
        return f"<LowHand {self}: {self.describe()}>"
