"""A slow and simple evaluator, written from readings 21-26 alone; it shares no code with the rules it checks.

A card is a (rank, suit) pair, the ace 14, the Joker (0, ""). A value is a tuple: greater is better, equal is a tie.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, combinations_with_replacement, pairwise
from random import Random

ACE = 14
JOKER = (0, "")
RANK_NAMES = {"T": 10, "J": 11, "Q": 12, "K": 13, "A": ACE}
SUITS = "cdhs"
LOWEST = {52: 2, 48: 3, 44: 4, 40: 5, 36: 6, 32: 7}

FULL_ORDER = (
    "five_odd_cards",
    "one_pair",
    "two_pairs",
    "three_of_a_kind",
    "straight",
    "flush",
    "full_house",
    "four_of_a_kind",
    "straight_flush",
    "five_of_a_kind",
    "royal_flush",
)
REDUCED_ORDER = (
    "five_odd_cards",
    "one_pair",
    "two_pairs",
    "three_of_a_kind",
    "straight",
    "full_house",
    "flush",
    "four_of_a_kind",
    "straight_flush",
    "five_of_a_kind",
    "royal_flush",
)
BY_SHAPE = {
    (1, 1, 1, 1, 1): "five_odd_cards",
    (2, 1, 1, 1): "one_pair",
    (2, 2, 1): "two_pairs",
    (3, 1, 1): "three_of_a_kind",
    (3, 2): "full_house",
    (4, 1): "four_of_a_kind",
    (5,): "five_of_a_kind",
}
LOW_ORDER = tuple(BY_SHAPE.values())


@dataclass(frozen=True)
class Deck:
    """The deck in play; `ace_low` allows a low ace in straights."""

    size: int = 52
    joker: bool = False
    ace_low: bool = False

    @property
    def lowest(self):
        return LOWEST[self.size]

    @property
    def order(self):
        """Reading 22: a deck is full from 52 cards, the Joker counted."""
        return FULL_ORDER if self.size + int(self.joker) >= 52 else REDUCED_ORDER

    @cached_property
    def ranks(self):
        return range(self.lowest, ACE + 1)

    @cached_property
    def natural(self):
        return [(rank, suit) for rank in self.ranks for suit in SUITS]

    @cached_property
    def cards(self):
        return [*self.natural, JOKER] if self.joker else self.natural

    @cached_property
    def names(self):
        return [name(card) for card in self.cards]


def name(card):
    rank, suit = card
    return "Jk" if card == JOKER else {10: "T", 11: "J", 12: "Q", 13: "K", ACE: "A"}.get(rank, str(rank)) + suit


def card(text):
    """Return the card of this name; KeyError or ValueError if there is none."""
    if text == "Jk":
        return JOKER
    rank, suit = text[:-1], text[-1:]
    found = {**RANK_NAMES, **{str(number): number for number in range(2, 11)}}[rank]
    return found, SUITS[SUITS.index(suit)]


def cards(text):
    return [card(word) for word in text.split()]


def high(five, deck):
    """Return the value of five cards (readings 21-24)."""
    if JOKER not in five:
        return _natural(_ranks(five), _one_suit(five), deck)
    four = [held for held in five if held != JOKER]
    return _with_joker(_ranks(four), _one_suit(four), deck)


def high_by_every_card(four, deck):
    """Return the value of four cards and the Joker by trying every card, also those already held (reading 23)."""
    return max(high([*four, other], deck) for other in deck.natural)


def category(value, deck):
    return deck.order[value[0]]


def counted_ranks(five, deck):
    """Return the ranks that the five cards count as, highest first; a low ace comes last as 1."""
    if JOKER in five:
        four = [held for held in five if held != JOKER]
        five = max(([*four, other] for other in deck.natural), key=lambda tried: high(tried, deck))
    ranks = _ranks(five)
    return [*ranks[1:], 1] if deck.ace_low and ranks == _low_straight(deck) else list(ranks)


def low(five, deck, *, ace_is_low):
    """Return the value of a low hand (reading 25): the reverse of a high hand without straights and flushes."""
    if JOKER in five:
        four = [held for held in five if held != JOKER]
        return max(low([*four, other], deck, ace_is_low=ace_is_low) for other in deck.natural)
    place, ranks = _low_natural(_ranks(five), ace_is_low)
    return -place, tuple(-rank for rank in ranks)


def low_category(value):
    return LOW_ORDER[-value[0]]


def low_counted_ranks(value):
    """Return the ranks that a low hand's five cards count as, highest first; a low ace is 1."""
    shape = next(shape for shape, category in BY_SHAPE.items() if category == low_category(value))
    ranks = [-rank for rank in value[1]]
    return sorted((rank for rank, times in zip(ranks, shape, strict=True) for _ in range(times)), reverse=True)


def is_eight_or_better(value):
    """Return True for five different ranks, none above eight."""
    return low_category(value) == "five_odd_cards" and all(-rank <= 8 for rank in value[1])


def any_five(held):
    return [list(five) for five in combinations(held, 5)]


def two_and_three(hole, board):
    """Both hole cards and exactly three communal cards (reading 26)."""
    return [[*hole, *three] for three in combinations(board, 3)]


def one_of_each_class(deck):
    """Yield a hand of each class of natural hands: each choice of ranks, in mixed suits and if possible in one."""
    for ranks in combinations_with_replacement(deck.ranks, 5):
        if len(set(ranks)) == 1:
            continue
        yield [(rank, SUITS[place % 4]) for place, rank in enumerate(ranks)]
        if len(set(ranks)) == 5:
            yield [(rank, "h") for rank in ranks]


def one_of_each_joker_class(deck):
    """Yield a hand of each class of hands with the Joker."""
    for ranks in combinations_with_replacement(deck.ranks, 4):
        yield [*((rank, SUITS[place]) for place, rank in enumerate(ranks)), JOKER]
        if len(set(ranks)) == 4:
            yield [*((rank, "d") for rank in ranks), JOKER]


def assert_same_order(pairs):
    """Require that strengths and reference values, given in pairs, order all hands the same, ties included."""
    for (strength, value), (greater_strength, greater_value) in pairwise(sorted(set(pairs))):
        assert strength < greater_strength
        assert value < greater_value


def deals(deck, count, seed):
    """Yield seven cards each: random ones, many of one suit, few ranks, or both; the Joker in two of three."""
    random = Random(seed)
    for number in range(count):
        suit, start = random.choice(SUITS), random.randrange(len(deck.ranks))
        near = [deck.ranks[(start + step) % len(deck.ranks)] for step in range(5)]
        favoured = [
            [],
            [card for card in deck.natural if card[1] == suit],
            [card for card in deck.natural if card[0] in near],
            [card for card in deck.natural if card[0] in near[:3]],
            [card for card in deck.natural if card[1] == suit and card[0] in near],
            [card for card in deck.natural if card[0] == near[0]],
        ][number % 6]
        seven = random.sample(favoured, min(len(favoured), random.randint(3, 7)))
        seven += random.sample([card for card in deck.natural if card not in seven], 7 - len(seven))
        if deck.joker and random.randrange(3):
            seven[random.randrange(7)] = JOKER
        yield random.sample(seven, 7)


def _ranks(held):
    return tuple(sorted((rank for rank, _ in held), reverse=True))


def _one_suit(held):
    return len({suit for _, suit in held}) == 1


def _low_straight(deck):
    """Reading 24: the ace plays directly below the lowest rank of the deck."""
    return (ACE, *(deck.lowest + step for step in (3, 2, 1, 0)))


def _straight_top(ranks, deck):
    if all(ranks[0] - rank == place for place, rank in enumerate(ranks)):
        return ranks[0]
    return ranks[1] if deck.ace_low and ranks == _low_straight(deck) else None


def _categories_of(ranks, one_suit, deck):
    """Yield each category that five cards fit, with its deciding ranks, most important first."""
    counts = Counter(ranks)
    groups = tuple(sorted(counts, key=lambda rank: (counts[rank], rank), reverse=True))
    yield BY_SHAPE[tuple(counts[rank] for rank in groups)], groups
    top = _straight_top(ranks, deck)
    if top:
        yield "straight", (top,)
    if one_suit:
        yield "flush", ranks
    if top and one_suit:
        yield "straight_flush", (top,)
    if top == ACE and one_suit:
        yield "royal_flush", ()


@cache
def _natural(ranks, one_suit, deck):
    return max((deck.order.index(category), deciding) for category, deciding in _categories_of(ranks, one_suit, deck))


@cache
def _with_joker(ranks, one_suit, deck):
    """All suits rank equally (r 3.1), so it is enough to try these ranks in one suit and in mixed suits."""
    suits = "ssss" if one_suit else _suits_of_unlike_cards(ranks)
    return high_by_every_card(list(zip(ranks, suits, strict=True)), deck)


def _suits_of_unlike_cards(ranks):
    return "cdhs"[: len(ranks)]


@cache
def _low_natural(ranks, ace_is_low):
    counts = Counter(1 if rank == ACE and ace_is_low else rank for rank in ranks)
    groups = tuple(sorted(counts, key=lambda rank: (counts[rank], rank), reverse=True))
    return LOW_ORDER.index(BY_SHAPE[tuple(counts[rank] for rank in groups)]), groups
