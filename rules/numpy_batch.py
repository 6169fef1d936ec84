"""Strengths of many five-card hands at once, with NumPy (the extra `fast`).

A hand is five places in the game's deck (`cards_of`). Each rank has a small number, chosen so that hands of different
ranks have different sums; one look-up for each hand gives its strength, and the few flushes are corrected after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rules.cards import JOKER, JOKER_KEY, SUITS, Cards, deck
from rules.errors import CardError, HandError
from rules.game import Game
from rules.ranking import DeckOptions, rank_key, ranking

_SMALL: Final = (0, 1, 5, 22, 94, 312, 992, 2422, 5624, 12522, 19998, 43258, 79415)
_JOKER_SMALL: Final = 4 * _SMALL[12] + _SMALL[11] + 1

Ints = NDArray[np.int32]


def cards_of(game: Game) -> Cards:
    """Return the deck whose places number the cards of a batch."""
    return deck(game.deck.size, joker=game.deck.joker)


def strengths(game: Game, hands: ArrayLike) -> Ints:
    """Return the strength of each row of five places in the deck, equal to `Game.strength`."""
    tables = _tables(game.deck)
    rows = np.asarray(hands)
    if rows.ndim != 2 or rows.shape[1] != 5 or not np.issubdtype(rows.dtype, np.integer):
        raise HandError(f"a batch is rows of five whole numbers, not an array of {rows.dtype} with shape {rows.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= len(tables.small)):
        raise CardError(f"a card is a place from 0 to {len(tables.small) - 1} in the game's deck")
    identity = np.bitwise_or.reduce(tables.bit[rows], axis=1)
    if np.any(np.bitwise_count(identity) != 5):
        row = int(np.argmax(np.bitwise_count(identity) != 5))
        raise CardError(f"row {row} holds a card twice: a deck holds each card once")
    found: Ints = tables.plain[tables.small[rows].sum(axis=1)]
    for suit_bits in tables.suit_bits:
        one_suit = np.flatnonzero((identity & ~suit_bits) == 0)
        found[one_suit] = tables.suited(rows[one_suit])
    return found


def all_strengths(game: Game) -> Ints:
    """Return the strength of every five-card hand, in the order of `itertools.combinations(cards_of(game), 5)`."""
    tables = _tables(game.deck)
    small, size = tables.small, len(tables.small)
    threes = _sums_of_three(small)
    after = [comb(size, 3) - comb(size - first, 3) for first in range(size + 1)]
    found = np.empty(comb(size, 5), dtype=np.int32)
    place = 0
    for first in range(size):
        for second in range(first + 1, size - 3):
            sums = threes[after[second + 1] :] + (small[first] + small[second])
            np.take(tables.plain, sums, out=found[place : place + sums.size], mode="clip")
            place += sums.size
    places, strengths_there = tables.every_flush
    found[places] = strengths_there
    return found


def _sums_of_three(small: Ints) -> Ints:
    size = len(small)
    pairs = [small[second + 1 :] + small[second] for second in range(size)]
    after_pair = [np.concatenate(pairs[first + 1 :] or [small[:0]]) + small[first] for first in range(size)]
    return np.concatenate(after_pair)


class _Tables:
    """The look-up tables of one deck."""

    def __init__(self, options: DeckOptions) -> None:
        self.order = ranking(options)
        cards = deck(options.size, joker=options.joker)
        natural = [card for card in cards if card is not JOKER]
        self.small = np.array([_small(card.rank) for card in cards], dtype=np.int32)
        self.bit = np.array([1 << place for place in range(len(cards))], dtype=np.int64)
        self.rank_bit = np.array([1 << (card.rank - 2) if card.rank else 0 for card in cards], dtype=np.int64)
        self.plain = self._by_sum(options)
        self._flush = np.array([self.order.flush, self.order.flush_with_joker], dtype=np.int32)
        suit_places = [[place for place, card in enumerate(natural) if card.suit == suit] for suit in SUITS]
        self.suit_bits = [sum(1 << place for place in places) | 1 << len(natural) for places in suit_places]
        self.every_flush = self._every_flush(suit_places, len(cards), joker=options.joker)

    def suited(self, rows: NDArray[np.integer]) -> Ints:
        """Return the strengths of hands all of one suit; the Joker has no rank bit."""
        ranks = self.rank_bit[rows]
        with_joker: NDArray[np.intp] = (ranks == 0).any(axis=1).astype(np.intp)
        found: Ints = self._flush[with_joker, np.bitwise_or.reduce(ranks, axis=1)]
        return found

    def _by_sum(self, options: DeckOptions) -> Ints:
        plain = np.zeros(_JOKER_SMALL * (2 if options.joker else 1), dtype=np.int32)
        for ranks in combinations_with_replacement(options.ranks, 5):
            if ranks[0] != ranks[4]:
                plain[sum(map(_small, ranks))] = self.order.five[rank_key(ranks)]
        if options.joker:
            for four in combinations_with_replacement(options.ranks, 4):
                plain[sum(map(_small, four)) + _JOKER_SMALL] = self.order.five[rank_key(four) + JOKER_KEY]
        return plain

    def _every_flush(
        self, suit_places: Sequence[Sequence[int]], size: int, *, joker: bool
    ) -> tuple[NDArray[np.int64], Ints]:
        """Return the places of all flushes in the order of all hands, and their strengths."""
        hands: list[tuple[int, ...]] = [five for places in suit_places for five in combinations(places, 5)]
        if joker:
            hands += [(*four, size - 1) for places in suit_places for four in combinations(places, 4)]
        rows = np.array(hands)
        left_after = np.array([[comb(size - 1 - c, 5 - i) for c in range(size)] for i in range(5)])
        places = comb(size, 5) - 1 - sum(left_after[i][rows[:, i]] for i in range(5))
        return places, self.suited(rows)


def _small(rank: int) -> int:
    return _SMALL[rank - 2] if rank else _JOKER_SMALL


@cache
def _tables(options: DeckOptions) -> _Tables:
    return _Tables(options)
