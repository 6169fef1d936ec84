"""Number of deals of five or seven cards for each strength, counted by multisets of ranks instead of deal by deal.

A deal is either *plain* (no suit has enough cards for a flush) or *suited*. Plain deals are counted for one multiset of
ranks at a time: the ways to give suits to it, less those that make a flush. Suited deals are counted by the ranks in
the flush's suit and the ranks of the other cards. No deal has enough cards of two suits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb, prod

from rules.cards import JOKER_KEY
from rules.categories import Category
from rules.errors import OptionError, shown
from rules.ranking import DeckOptions, Ranking, rank_key, ranking


def total_hands(deck: DeckOptions, cards: int = 5) -> int:
    """Return the number of deals of this many cards."""
    return comb(deck.size + deck.joker, cards)


def category_counts(deck: DeckOptions, cards: int = 5) -> dict[Category, int]:
    """Count deals by the category of their best five, highest first."""
    order = ranking(deck)
    counts: Counter[Category] = Counter()
    for strength, deals in strength_counts(deck, cards).items():
        counts[order.category_of(strength)] += deals
    return {category: counts[category] for category in reversed(deck.order) if counts[category]}


@cache
def strength_counts(deck: DeckOptions, cards: int = 5) -> Counter[int]:
    """Count deals by the strength of their best five."""
    if cards not in (5, 7):
        raise OptionError(f"hands are counted for 5 or 7 cards, not {shown(cards)}")
    counts: Counter[int] = Counter()
    for with_joker in (False, True)[: 1 + deck.joker]:
        for strength, deals in (*_plain(deck, cards, with_joker), *_suited(deck, cards, with_joker)):
            counts[strength] += deals
    return counts


def _plain(deck: DeckOptions, cards: int, with_joker: bool) -> Iterator[tuple[int, int]]:
    natural, enough = cards - with_joker, 5 - with_joker
    table, joker = _by_ranks(ranking(deck), cards), JOKER_KEY * with_joker
    for ranks in combinations_with_replacement(deck.ranks, natural):
        held = Counter(ranks)
        if max(held.values()) <= 4:
            yield table[rank_key(ranks) + joker], _ways_without_flush(tuple(sorted(held.values())), enough)


def _suited(deck: DeckOptions, cards: int, with_joker: bool) -> Iterator[tuple[int, int]]:
    natural, enough = cards - with_joker, 5 - with_joker
    order, joker = ranking(deck), JOKER_KEY * with_joker
    table, flush = _by_ranks(order, cards), order.flush_with_joker if with_joker else order.flush
    for size in range(enough, natural + 1):
        beside = [
            (rank_key(others) + joker, 4 * prod(comb(3, times) for times in Counter(others).values()))
            for others in combinations_with_replacement(deck.ranks, natural - size)
        ]
        for ranks in combinations(deck.ranks, size):
            key = rank_key(ranks)
            suited = flush[sum(1 << (rank - 2) for rank in ranks)]
            for others, ways in beside:
                yield max(suited, table.get(key + others, 0)), ways


def _by_ranks(order: Ranking, cards: int) -> dict[int, int]:
    return order.five if cards == 5 else order.seven


@cache
def _ways_without_flush(multiplicities: tuple[int, ...], enough: int) -> int:
    """Count the ways to give suits to ranks held this many times each, no suit `enough` times."""
    in_one_suit = [1]  # in_one_suit[n]: ways that put exactly n cards in one given suit
    for times in multiplicities:
        without, within = comb(3, times), comb(3, times - 1)
        shifted = [0, *in_one_suit]
        in_one_suit = [without * a + within * b for a, b in zip([*in_one_suit, 0], shifted, strict=True)]
    return prod(comb(4, times) for times in multiplicities) - 4 * sum(in_one_suit[enough:])
