"""Cards, and decks of them.

A card is an integer, built so that the sum of a hand's cards holds all that ranking needs:

    bits  0-31    5 ** rank index       how many of each rank (the Joker has a digit of its own)
    bits 32-47    one nibble a suit     how many of each suit (the Joker counts for every suit)
    bits 48-206   three bits a card     which cards, and how often

The *key* of a hand is what remains of that sum under `KEY_MASK`: the rank digits, a mark for a suit that has five cards
or more, and a mark for a card held twice. In base five no two hands of any size have the same rank digits, because no
natural rank comes more than four times. So one look-up in a table of keys ranks a hand and also refuses the wrong
number of cards, cards the deck does not have, and cards held twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, Self, cast, overload

from rules.errors import CardError, OptionError, shown

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"
ACE: Final = 14
JOKER_INDEX: Final = 13
DECK_SIZES: Final = (52, 48, 44, 40, 36, 32)
MAX_RANKED: Final = 7

RANK_MASK: Final = (1 << 32) - 1
SUIT_SHIFT: Final = 32
IDENTITY_SHIFT: Final = 48
SUM_MASK: Final = (1 << IDENTITY_SHIFT) - 1
FLUSH_BIAS: Final = 0x3333 << SUIT_SHIFT
"""Added to a sum, it sets the highest bit in the nibble of a suit with five cards or more."""
MARKED_TWICE: Final = 1 << IDENTITY_SHIFT
"""Keys from here up hold some card twice."""
_FLUSH_MARKS: Final = 0x8888 << SUIT_SHIFT
_HELD_TWICE: Final = sum(0b110 << (IDENTITY_SHIFT + 3 * index) for index in range(53))
KEY_MASK: Final = RANK_MASK | _FLUSH_MARKS | _HELD_TWICE
JOKER_KEY: Final = 5**JOKER_INDEX


class Card(int):
    """One card; its integer value is its part of the sum that ranks a hand. There is one object for each card."""

    __slots__ = ()

    def __new__(cls, code: int) -> Self:
        """Return the card of this value; CardError for any other integer."""
        for known in _EVERY:
            if known == code:
                return cast("Self", known)
        raise CardError(f"{shown(code)} is not the value of a card")

    @property
    def is_joker(self) -> bool:
        """True for the Joker."""
        return self is JOKER

    @property
    def rank(self) -> int:
        """2 to 14 (ace); 0 for the Joker."""
        return 0 if self is JOKER else _index(self) % 13 + 2

    @property
    def suit(self) -> str:
        """One of c, d, h, s; empty for the Joker."""
        return "" if self is JOKER else SUITS[_index(self) // 13]

    def __str__(self) -> str:
        return "Jk" if self is JOKER else RANKS[self.rank - 2] + self.suit

    def __repr__(self) -> str:
        return f"Card({str(self)!r})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (card, (str(self),))


def _index(code: int) -> int:
    return ((code >> IDENTITY_SHIFT).bit_length() - 1) // 3


def _natural(rank_index: int, suit_index: int) -> Card:
    identity = 1 << (IDENTITY_SHIFT + 3 * (13 * suit_index + rank_index))
    return int.__new__(Card, 5**rank_index | 1 << (SUIT_SHIFT + 4 * suit_index) | identity)


JOKER: Final = int.__new__(Card, JOKER_KEY | 0x1111 << SUIT_SHIFT | 1 << (IDENTITY_SHIFT + 3 * 52))
_NATURAL: Final = tuple(_natural(r, s) for s in range(4) for r in range(13))
_BY_NAME: Final[dict[str, Card]] = {str(c): c for c in (*_NATURAL, JOKER)}
_CODES: Final = [(name, int(value)) for name, value in _BY_NAME.items()]
_BY_NAME.update({f"10{suit}": _BY_NAME[f"T{suit}"] for suit in SUITS})
_EVERY: Final = frozenset(_BY_NAME.values())
descending_rank: Final = {card: -card.rank for card in _EVERY}.__getitem__
"""Key that sorts cards by rank, highest first and the Joker last."""

PAIR: Final = {f"{a} {b}": x + y for a, x in _CODES for b, y in _CODES if a != b}
PAIR_AND_SPACE: Final = {f"{name} ": code for name, code in PAIR.items()}
LAST_BIASED: Final = {name: code + FLUSH_BIAS for name, code in _CODES}
"""Plain text is ranked two cards at a time: "As Kd " "Qc Js " "Th"."""
PAIR_OF_CARDS: Final = {name: (code, _BY_NAME[name[:2]], _BY_NAME[name[3:5]]) for name, code in PAIR_AND_SPACE.items()}
LAST_CARD: Final = {name: (code, _BY_NAME[name]) for name, code in LAST_BIASED.items()}
"""The same sums, together with their cards."""


class Cards(Sequence[Card]):
    """Cards parsed once: each a real card, none twice, with their sum ready for ranking."""

    __slots__ = ("_cards", "_triples", "biased", "key", "size", "total")

    def __init__(self, cards: Iterable[Card]) -> None:
        self._cards = tuple(cards)
        for given in self._cards:
            if type(given) is not Card:
                raise CardError(f"{shown(given)} is not a card: read text with parse")
        self._triples: tuple[int, ...] | None = None
        self.size = len(self._cards)
        if len(set(self._cards)) != self.size:
            raise CardError(f"{_first_repeated(self._cards)} appears twice: a deck holds each card once")
        self._add_up()

    def _add_up(self) -> None:
        self.total: int = sum(self._cards)
        self.biased = self.total + FLUSH_BIAS
        self.key = self.biased & KEY_MASK if self.size <= MAX_RANKED else -1

    @property
    def triples(self) -> tuple[int, ...]:
        """The biased sum of every three of these cards, kept because a board is ranked with each player's cards."""
        if self._triples is None:
            sums = [card & SUM_MASK for card in self._cards]
            self._triples = tuple(a + b + c + FLUSH_BIAS for a, b, c in combinations(sums, 3))
        return self._triples

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Card]:
        return iter(self._cards)

    @overload
    def __getitem__(self, index: int) -> Card: ...
    @overload
    def __getitem__(self, index: slice) -> Cards: ...
    def __getitem__(self, index: int | slice) -> Card | Cards:
        return Cards(self._cards[index]) if isinstance(index, slice) else self._cards[index]

    def __add__(self, other: CardsLike) -> Cards:
        return Cards((*self._cards, *parse(other)))

    def __eq__(self, other: object) -> bool:
        return self._cards == other._cards if isinstance(other, Cards) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._cards)

    def __str__(self) -> str:
        return " ".join(map(str, self._cards))

    def __repr__(self) -> str:
        return f"Cards({str(self)!r})"


class ChosenCards(Cards):
    """Cards chosen from others: not checked again, and their sums are added up when first read.

    `Game.best` takes 1.5 µs with these and 2.2 µs with `Cards`; eval7 takes 1.9 µs (bench/evaluator.py).
    """

    __slots__ = ()

    def __init__(self, cards: tuple[Card, ...]) -> None:
        self._cards = cards
        self._triples = None
        self.size = len(cards)

    if not TYPE_CHECKING:  # else every name would pass as an attribute

        def __getattr__(self, name: str) -> int:
            """Fill the slots of the sums; Python calls this only while they are empty."""
            if name not in ("biased", "key", "total"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self._add_up()
            return getattr(self, name)


CardsLike = str | Card | Cards | Sequence[str | Card]


def card(name: str) -> Card:
    """Return the card of this name: rank A K Q J T (or 10) 9-2 and suit s h d c, or Jk."""
    try:
        return _BY_NAME[name]
    except (KeyError, TypeError):
        raise CardError(
            f"{shown(name)} is not a card: write a rank (A K Q J T or 10, 9 to 2) and a suit (s h d c), or Jk"
        ) from None


def parse(cards: CardsLike) -> Cards:
    """Return the cards in a string ("As 10d Jk"), one card, or a list of either."""
    if isinstance(cards, Cards):
        return cards
    if isinstance(cards, Card):
        return Cards((cards,))
    if isinstance(cards, str):
        return Cards(map(card, cards.split()))
    if isinstance(cards, (list, tuple)):
        return Cards(c if type(c) is Card else card(c) for c in cards)
    raise CardError(f"cards come as a string or a list of cards, not as {type(cards).__name__}")


def key_of(cards: CardsLike) -> int:
    """Return the key of cards in any form; five cards in a list are added up without making a `Cards`."""
    if (type(cards) is list or type(cards) is tuple) and len(cards) == 5:
        a, b, c, d, e = cards
        if type(a) is Card and type(b) is Card and type(c) is Card and type(d) is Card and type(e) is Card:
            return a + b + c + d + e + FLUSH_BIAS & KEY_MASK
    return parse(cards).key


def lowest_rank(size: int) -> int:
    """Return the lowest rank of a deck of this many natural cards (52 starts at 2, 32 at 7)."""
    if type(size) is not int or size not in DECK_SIZES:
        raise OptionError(f"a deck has {', '.join(map(str, DECK_SIZES))} cards and not {shown(size)}")
    return 2 + (52 - size) // 4


def deck(size: int = 52, *, joker: bool = False) -> Cards:
    """Return every card of a deck, lowest rank first, the Joker last."""
    lowest = lowest_rank(size)
    if type(joker) is not bool:
        raise OptionError(f"the Joker is in the deck or not: joker is true or false, not {shown(joker)}")
    natural = sorted((c for c in _NATURAL if c.rank >= lowest), key=lambda c: (c.rank, c.suit))
    return Cards((*natural, JOKER) if joker else natural)


def _first_repeated(cards: Sequence[Card]) -> Card:
    return next(c for i, c in enumerate(cards) if c in cards[:i])
