"""The ranking of hands under one set of options: tables from a hand's key to its strength.

A strength is one integer: the category's place in the order, then up to five ranks, four bits each, in the order in
which they decide. Strengths can be compared, and read back (`ranks_of`). Tables are made when first needed and shared
by all games with the same options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import combinations, combinations_with_replacement
from operator import eq
from typing import Final, NamedTuple

from rules.cards import ACE, IDENTITY_SHIFT, JOKER_KEY, MARKED_TWICE, RANK_MASK, SUIT_SHIFT, lowest_rank
from rules.categories import FULL_ORDER, REDUCED_ORDER, Category

CATEGORY_SHIFT: Final = 20
_SUIT_MARKS: Final = tuple(8 << (SUIT_SHIFT + 4 * suit) for suit in range(4))
_SUIT_OF_MARK: Final = {8 << 4 * suit: 39 * suit for suit in range(4)}
_ONE_SUIT: Final = (1 << 39) - 1
_LOW_CEILING: Final = 1 << 24
_LOW_CATEGORY: Final = {
    (1, 1, 1, 1, 1): Category.FIVE_ODD_CARDS,
    (2, 1, 1, 1): Category.ONE_PAIR,
    (2, 2, 1): Category.TWO_PAIRS,
    (3, 1, 1): Category.THREE_OF_A_KIND,
    (3, 2): Category.FULL_HOUSE,
    (4, 1): Category.FOUR_OF_A_KIND,
    (5,): Category.FIVE_OF_A_KIND,
}
CARDS_OF_EACH_RANK: Final = {
    **{category: counts for counts, category in _LOW_CATEGORY.items()},
    Category.FLUSH: (1, 1, 1, 1, 1),
}
"""The number of cards of each deciding rank, except in straights."""
LOW_ORDER: Final = tuple(_LOW_CATEGORY.values())
"""The categories of a low hand, the best first."""


class DeckOptions(NamedTuple):
    """The options that decide the order of hands: size of the deck, Joker or not, ace low in straights or not."""

    size: int = 52
    joker: bool = False
    ace_low: bool = True

    @property
    def lowest(self) -> int:
        """The lowest rank in the deck."""
        return lowest_rank(self.size)

    @property
    def ranks(self) -> range:
        """Every rank in the deck, highest first."""
        return range(ACE, self.lowest - 1, -1)

    @property
    def is_full(self) -> bool:
        """True for 52 cards or more, the Joker counted."""
        return self.size + self.joker >= 52

    @property
    def order(self) -> tuple[Category, ...]:
        """The categories, lowest first."""
        return FULL_ORDER if self.is_full else REDUCED_ORDER


def pack(place: int, ranks: Iterable[int]) -> int:
    """Return the strength with this place of the category and these deciding ranks, most important first."""
    value, shift = place << CATEGORY_SHIFT, 16
    for rank in ranks:
        value |= rank << shift
        shift -= 4
    return value


def ranks_of(strength: int) -> tuple[int, ...]:
    """Return the deciding ranks of a strength, most important first."""
    return tuple(rank for shift in (16, 12, 8, 4, 0) if (rank := strength >> shift & 15))


def repeat_ranks(deciding: Sequence[int], category: Category) -> list[int]:
    """Return the ranks of all five cards, highest first, from the deciding ranks of a category."""
    groups = zip(deciding, CARDS_OF_EACH_RANK[category], strict=True)
    return sorted((rank for rank, times in groups for _ in range(times)), reverse=True)


def places_of(counted: Iterable[int], held: Sequence[int]) -> list[int]:
    """Return the place of the card for each rank among the ranks held; the Joker, held as 0, is the missing rank."""
    free, places = list(held), []
    for rank in counted:
        natural = ACE if rank == 1 else rank
        place = free.index(natural if natural in free else 0)
        free[place] = -1
        places.append(place)
    return places


def rank_key(ranks: Iterable[int]) -> int:
    """Return the key of natural cards of these ranks that make no flush."""
    return sum(5 ** (rank - 2) for rank in ranks)


class Ranking:
    """The strength of every hand under one set of deck options."""

    def __init__(self, options: DeckOptions) -> None:
        self.options = options
        self.place = {category: place for place, category in enumerate(options.order)}

    def category_of(self, strength: int) -> Category:
        """Return the category of a strength."""
        return self.options.order[strength >> CATEGORY_SHIFT]

    def counted_ranks(self, strength: int) -> list[int]:
        """Return the rank that each of the five cards counts as, highest first; a low ace is 1."""
        category, deciding = self.category_of(strength), ranks_of(strength)
        if category is Category.ROYAL_FLUSH:
            deciding = (ACE,)
        if category in (Category.STRAIGHT, Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH):
            top = deciding[0]
            bottom = top - 4 if top - 4 >= self.options.lowest else 1
            return [*range(top, top - 4, -1), bottom]
        return repeat_ranks(deciding, category)

    @cached_property
    def five(self) -> dict[int, int]:
        """Key of five cards → strength, the Joker's hands and the flushes of each suit included."""
        table = {rank_key(ranks): self._by_ranks(ranks) for ranks in self._multisets(5)}
        table |= self._marked_flushes(5, 0, self.flush_by_ranks)
        if self.options.joker:
            natural = table.copy()
            for ranks in self._multisets(4):
                key = rank_key(ranks)
                table[key + JOKER_KEY] = self._best_substitute(key, ranks, natural)
            table |= self._marked_flushes(4, JOKER_KEY, self._flush_with_joker)
        return table

    @cached_property
    def seven(self) -> dict[int, int]:
        """Rank key of seven cards → strength of the best five, flushes aside."""
        return self._with_one_more(7, self._with_one_more(6, self.five))

    @cached_property
    def flush(self) -> list[int]:
        """Ranks held in one suit (bit 0 = two) → strength of the best flush among them, 0 if there is none."""
        return [self._suited(mask, joker=False) for mask in range(1 << 13)]

    @cached_property
    def flush_with_joker(self) -> list[int]:
        """The same with the Joker in hand."""
        return [self._suited(mask, joker=True) for mask in range(1 << 13)]

    @cached_property
    def _flush_by_identity(self) -> tuple[dict[int, int], dict[int, int]]:
        """The tables `flush` and `flush_with_joker`, by the identity bits of one suit's cards."""
        spread = [sum((mask >> i & 1) << 3 * i for i in range(13)) for mask in range(1 << 13)]
        return dict(zip(spread, self.flush, strict=True)), dict(zip(spread, self.flush_with_joker, strict=True))

    def best_of_seven(self, key: int, total: int) -> int:
        """Return the strength of the best five of seven cards; KeyError for any other cards."""
        if key <= RANK_MASK or key >= MARKED_TWICE:
            return self.seven[key]
        identity = total >> IDENTITY_SHIFT
        suited = self._flush_by_identity[identity >> 3 * 52][identity >> _SUIT_OF_MARK[key >> SUIT_SHIFT] & _ONE_SUIT]
        return max(suited, self.seven[key & RANK_MASK])

    def flush_by_ranks(self, ranks: Sequence[int]) -> int:
        """Return the strength of five suited cards of these ranks, highest first."""
        top = self._straight_top(ranks)
        if top == ACE:
            return pack(self.place[Category.ROYAL_FLUSH], ())
        if top:
            return pack(self.place[Category.STRAIGHT_FLUSH], (top,))
        return pack(self.place[Category.FLUSH], ranks)

    def _flush_with_joker(self, ranks: Sequence[int]) -> int:
        """The Joker counts as any rank of the suit, also one already held (reading 23)."""
        return max(self.flush_by_ranks(sorted((*ranks, rank), reverse=True)) for rank in self.options.ranks)

    def _suited(self, mask: int, *, joker: bool) -> int:
        """The best flush among the ranks of this mask; the Joker fills a gap, or is one more ace (reading 23)."""
        if mask.bit_count() + joker < 5:
            return 0
        top = next((top for top, straight in self._straights if (mask & straight).bit_count() + joker >= 5), 0)
        if top == ACE:
            return pack(self.place[Category.ROYAL_FLUSH], ())
        if top:
            return pack(self.place[Category.STRAIGHT_FLUSH], (top,))
        held = [rank for rank in self.options.ranks if mask >> (rank - 2) & 1]
        return pack(self.place[Category.FLUSH], ([ACE] * joker + held)[:5])

    def _by_ranks(self, ranks: Sequence[int]) -> int:
        """Return the strength of the best five of these cards without a flush; ranks highest first."""
        counts = Counter(ranks)
        first, *others = sorted(counts, key=lambda rank: (counts[rank], rank), reverse=True)
        place = self.place
        match [counts[first], counts[others[0]]]:
            case [4, _]:
                return pack(place[Category.FOUR_OF_A_KIND], (first, max(others)))
            case [3, 2 | 3]:
                return pack(place[Category.FULL_HOUSE], (first, others[0]))
        if len(counts) >= 5 and (top := self._straight_top(counts)):
            return pack(place[Category.STRAIGHT], (top,))
        match [counts[first], counts[others[0]]]:
            case [3, _]:
                return pack(place[Category.THREE_OF_A_KIND], (first, *others[:2]))
            case [2, 2]:
                return pack(place[Category.TWO_PAIRS], (first, others[0], max(others[1:])))
            case [2, _]:
                return pack(place[Category.ONE_PAIR], (first, *others[:3]))
        return pack(place[Category.FIVE_ODD_CARDS], ranks[:5])

    def _best_substitute(self, key: int, ranks: Sequence[int], natural: dict[int, int]) -> int:
        """The Joker counts as the best rank, also as a fifth card of one held four times (reading 23)."""
        fifth = ranks[0] if ranks[0] == ranks[3] else None
        best = max(natural[key + 5 ** (rank - 2)] for rank in self.options.ranks if rank != fifth)
        return max(best, pack(self.place[Category.FIVE_OF_A_KIND], (fifth,))) if fifth else best

    def _multisets(self, size: int) -> Iterator[tuple[int, ...]]:
        """Yield every choice of ranks of four or five natural cards, highest first, at most four of a rank."""
        return (
            held for held in combinations_with_replacement(self.options.ranks, size) if size < 5 or held[0] != held[-1]
        )

    def _with_one_more(self, size: int, smaller: dict[int, int]) -> dict[int, int]:
        """Return the table of `size` cards: their best five are the best five after leaving one of them out."""
        digits = [5 ** (rank - 2) for rank in self.options.ranks] + [JOKER_KEY] * self.options.joker
        table = {}
        for held in combinations_with_replacement(digits, size):
            if held[-2] != JOKER_KEY and not any(map(eq, held, held[4:])):
                key = sum(held)
                table[key] = max([smaller[key - digit] for digit in held])
        return table

    def _marked_flushes(self, size: int, extra: int, value: Callable[[Sequence[int]], int]) -> dict[int, int]:
        """Return the keys of these ranks in one suit, one for each suit's mark, with their strengths."""
        return {
            rank_key(ranks) + extra | mark: strength
            for ranks in combinations(self.options.ranks, size)
            for strength in (value(ranks),)
            for mark in _SUIT_MARKS
        }

    @cached_property
    def _straights(self) -> list[tuple[int, int]]:
        """(top rank, mask of ranks) of each straight, highest first; the ace low last (reading 24)."""
        lowest = self.options.lowest
        straights = [(top, 0b11111 << (top - 6)) for top in range(ACE, lowest + 3, -1)]
        if self.options.ace_low:
            straights.append((lowest + 3, 0b1111 << (lowest - 2) | 1 << (ACE - 2)))
        return straights

    def _straight_top(self, ranks: Iterable[int]) -> int:
        """Return the top rank of the best straight among these ranks, 0 if there is none."""
        mask = 0
        for rank in ranks:
            mask |= 1 << (rank - 2)
        return next((top for top, straight in self._straights if mask & straight == straight), 0)


class LowRanking:
    """The strength of every low hand: straights and flushes do not count (r 3.6), the lowest ranking is greatest."""

    def __init__(self, options: DeckOptions, *, ace_is_low: bool) -> None:
        self.options = options
        self.ace_is_low = ace_is_low

    @cached_property
    def five(self) -> dict[int, int]:
        """Rank key of five cards → strength."""
        ranks_of_deck = self.options.ranks
        table = {}
        for ranks in combinations_with_replacement(ranks_of_deck, 5):
            if ranks[0] != ranks[4]:
                table[rank_key(ranks)] = self._value(ranks)
        if self.options.joker:
            for held in combinations_with_replacement(ranks_of_deck, 4):
                table[rank_key(held) + JOKER_KEY] = max(self._value((*held, rank)) for rank in ranks_of_deck)
        return table

    def _value(self, ranks: Sequence[int]) -> int:
        """Fewer pairs first, then the ranks as they decide in a high hand, the lower the better (reading 25)."""
        counts = Counter(1 if rank == ACE and self.ace_is_low else rank for rank in ranks)
        deciding = sorted(counts, key=lambda rank: (counts[rank], rank), reverse=True)
        place = LOW_ORDER.index(_LOW_CATEGORY[tuple(counts[rank] for rank in deciding)])
        return _LOW_CEILING - pack(place, deciding)

    @staticmethod
    def category_of(strength: int) -> Category:
        """Return the category of a low strength."""
        return LOW_ORDER[(_LOW_CEILING - strength) >> CATEGORY_SHIFT]

    @staticmethod
    def ranks_of(strength: int) -> tuple[int, ...]:
        """Return the deciding ranks, most important first; a low ace is 1."""
        return ranks_of(_LOW_CEILING - strength)

    @classmethod
    def is_eight_or_better(cls, strength: int) -> bool:
        """Return True for five different ranks, none above eight (r 3.5(d))."""
        return cls.category_of(strength) is Category.FIVE_ODD_CARDS and cls.ranks_of(strength)[0] <= 8


@cache
def ranking(options: DeckOptions) -> Ranking:
    """Return the ranking for these options; there is one object for each."""
    return Ranking(options)


@cache
def low_ranking(options: DeckOptions, *, ace_is_low: bool) -> LowRanking:
    """Return the low ranking for these options; there is one object for each."""
    return LowRanking(options, ace_is_low=ace_is_low)
