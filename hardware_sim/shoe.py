"""The shoe: a deck of 52 cards for every round, shuffled by a seed, and rigged on request."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import rules
from rules import Category

MAX_BOXES: Final = 9
"""One deck gives five cards to nine boxes and the dealer."""
ATTEMPTS: Final = 500
INSTRUMENT: Final = "canberra-poker-2016"

Hand = tuple[str, ...]
_RANKS: Final = "23456789TJQKA"
_SUITS: Final = "cdhs"
_DECK: Final = tuple(str(card) for card in rules.deck())
_STRAIGHTS: Final = tuple("A23456789TJQKA"[low : low + 5] for low in range(10))
_RIG: Final = re.compile(r"([A-Za-z0-9_.-]{1,64}):([1-9][0-9]?):([a-z_]+)@([1-9][0-9]{0,8})")


class RigError(ValueError):
    """Invalid rig, or one that no deck can give."""


class Rig(NamedTuple):
    """A hand that the shoe must give: at this table, in the n-th deal (from 1), to this box."""

    table: str
    box: int
    hand: str
    deal: int

    @classmethod
    def parse(cls, text: str) -> Rig:
        """Read a rig such as `t1:3:royal_flush@7`: table t1, box 3, a royal flush in the seventh deal."""
        found = _RIG.fullmatch(text)
        if found is None:
            raise RigError(f"the rig {text!r} is not valid: write table:box:hand@deal, like t1:3:royal_flush@7")
        table, box, hand, deal = found.groups()
        return cls(table, int(box), category_of(hand).value, int(deal))


class Deal(NamedTuple):
    """The cards of one round: five for each box, five for the dealer."""

    boxes: Mapping[int, Hand]
    dealer: Hand


class Shoe:
    """Deals cards; they depend only on the seed, the table and the number of the deal."""

    def __init__(self, seed: int = 0, rigs: Iterable[Rig] = ()) -> None:
        self._seed = seed
        self._game = rules.load(INSTRUMENT)
        self._rigs: dict[tuple[str, int], dict[int, Category]] = {}
        for rig in rigs:
            if not 1 <= rig.box <= MAX_BOXES:
                raise RigError(f"box {rig.box} gets no cards: one deck serves boxes 1 to {MAX_BOXES}")
            self._rigs.setdefault((rig.table, rig.deal), {})[rig.box] = category_of(rig.hand)
        for table, deal in self._rigs:
            self.deal(table, deal, MAX_BOXES)

    def is_rigged(self, table: str, deal: int, box: int) -> bool:
        """Return True if this box's hand is rigged."""
        return box in self._rigs.get((table, deal), {})

    def hand(self, cards: Hand) -> Category:
        """Return the category of five cards."""
        return self._game.hand(" ".join(cards)).category

    def deal(self, table: str, deal: int, boxes: int, held: Mapping[int, Hand] | None = None) -> Deal:
        """Return the n-th deal of a table to boxes 1 to `boxes`; hands already on the table (`held`) are kept."""
        if boxes > MAX_BOXES:
            raise RigError(f"one deck serves at most {MAX_BOXES} boxes, not {boxes}")
        shuffled = random.Random(f"{self._seed}/{table}/{deal}")  # noqa: S311 - repeatable cards, not a secret
        given = held or self._rigged_hands(self._rigs.get((table, deal), {}), shuffled)
        gone = {card for hand in given.values() for card in hand}
        left = [card for card in _DECK if card not in gone]
        shuffled.shuffle(left)
        return Deal({box: given.get(box) or _draw(left) for box in range(1, boxes + 1)}, _draw(left))

    def _rigged_hands(self, wanted: Mapping[int, Category], shuffled: random.Random) -> dict[int, Hand]:
        """Return the rigged hands, all from one deck; the rarest are built first."""
        rarest_first = sorted(wanted.items(), key=lambda rig: (-list(Category).index(rig[1]), rig[0]))
        for _ in range(ATTEMPTS if wanted else 1):
            left, found = set(_DECK), dict[int, Hand]()
            for box, category in rarest_first:
                hand = self._build_hand(category, left, shuffled)
                if hand is None:
                    break
                found[box] = hand
                left -= set(hand)
            else:
                return found
        raise RigError(f"no deck gives {', '.join(sorted(wanted.values()))} all at once")

    def _build_hand(self, category: Category, left: set[str], shuffled: random.Random) -> Hand | None:
        builder = _BUILDERS.get(category, _any_five)
        for _ in range(ATTEMPTS):
            hand = builder(sorted(left), shuffled)
            if hand is None:
                return None
            if left.issuperset(hand) and self.hand(hand) is category:
                return tuple(shuffled.sample(hand, 5))
        return None


def category_of(name: str) -> Category:
    """Return the category of this name, if a single deck without a Joker can give it."""
    try:
        category = Category(name)
    except ValueError:
        category = Category.FIVE_OF_A_KIND
    if category is Category.FIVE_OF_A_KIND:
        known = ", ".join(c.value for c in Category if c is not Category.FIVE_OF_A_KIND)
        raise RigError(f"{name!r} is not a hand that one deck gives: use one of {known}")
    return category


HandBuilder = Callable[[list[str], random.Random], Hand | None]


def _draw(left: list[str]) -> Hand:
    """Remove and return the first five cards."""
    hand = tuple(left[:5])
    del left[:5]
    return hand


def _royal(left: list[str], shuffled: random.Random) -> Hand | None:
    whole = [suit for suit in _SUITS if {f"{rank}{suit}" for rank in "TJQKA"} <= set(left)]
    return tuple(f"{rank}{suit}" for suit in [shuffled.choice(whole)] for rank in "AKQJT") if whole else None


def _straight_flush(left: list[str], shuffled: random.Random) -> Hand | None:
    cards = set(left)
    hands = [tuple(f"{rank}{suit}" for rank in ranks) for ranks in _STRAIGHTS[:-1] for suit in _SUITS]
    whole = [hand for hand in hands if cards.issuperset(hand)]
    return shuffled.choice(whole) if whole else None


def _straight(_left: list[str], shuffled: random.Random) -> Hand:
    return tuple(rank + shuffled.choice(_SUITS) for rank in shuffled.choice(_STRAIGHTS))


def _flush(left: list[str], shuffled: random.Random) -> Hand | None:
    suits = [[card for card in left if card[1] == suit] for suit in _SUITS]
    enough = [cards for cards in suits if len(cards) >= 5]
    return tuple(shuffled.sample(shuffled.choice(enough), 5)) if enough else None


def _of_ranks(*counts: int) -> HandBuilder:
    """Return a builder of hands with so many cards of one rank, then of another, then any cards."""

    def build(left: list[str], shuffled: random.Random) -> Hand | None:
        hand: list[str] = []
        for count in counts:
            ranks = [[card for card in left if card[0] == rank and card not in hand] for rank in _RANKS]
            enough = [cards for cards in ranks if len(cards) >= count]
            if not enough:
                return None
            hand += shuffled.sample(shuffled.choice(enough), count)
        others = [card for card in left if card not in hand]
        return (*hand, *shuffled.sample(others, 5 - len(hand))) if len(others) >= 5 - len(hand) else None

    return build


def _any_five(left: list[str], shuffled: random.Random) -> Hand | None:
    return tuple(shuffled.sample(left, 5)) if len(left) >= 5 else None


_BUILDERS: Final[Mapping[Category, HandBuilder]] = {
    Category.ROYAL_FLUSH: _royal,
    Category.STRAIGHT_FLUSH: _straight_flush,
    Category.FOUR_OF_A_KIND: _of_ranks(4),
    Category.FULL_HOUSE: _of_ranks(3, 2),
    Category.FLUSH: _flush,
    Category.STRAIGHT: _straight,
    Category.THREE_OF_A_KIND: _of_ranks(3),
    Category.TWO_PAIRS: _of_ranks(2, 2),
    Category.ONE_PAIR: _of_ranks(2),
}
