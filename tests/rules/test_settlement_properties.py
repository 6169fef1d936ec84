"""Settlements of random rounds against an oracle written from the readings alone, and their invariants.

The oracle below shares no code with `rules`: it has its own cards, its own ranking of hands (readings 21-26), and its
own settlement of each game (readings 4-9, 12, 16-20, 27-30). Rounds are dealt from a real shuffled deck; prize hands
and tied hands, which chance deals too rarely, are picked from the deck on purpose.
"""

from collections import Counter
from itertools import combinations
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rules
from rules import RulesError, parse
from rules.canberra_common import Box
from rules.instruments import canberra_poker_1997 as law_1997
from rules.instruments import canberra_poker_2016 as law_2016
from rules.instruments import ultimate_texas_holdem_2025 as law_2025
from rules.jackpot_prizes import ApprovedFunding, Claim, FixedFrom, PoolAmounts, Settlement, split
from rules.pots import Commission, Player, Showdown, Terms, divide, settle_pots
from rules.round_checks import Outcome
from rules.tournament import rank_eliminated, share_prizes

RF, SF, FOUR, FULL, FLUSH = "royal_flush", "straight_flush", "four_of_a_kind", "full_house", "flush"
STRAIGHT, THREE, TWO, PAIR, ODD = "straight", "three_of_a_kind", "two_pairs", "one_pair", "five_odd_cards"
FIVE, DEAD_MAN = "five_of_a_kind", "dead_mans_hand"
FULL_DECK_ORDER = (ODD, PAIR, TWO, THREE, STRAIGHT, FLUSH, FULL, FOUR, SF, FIVE, RF)
REDUCED_DECK_ORDER = (ODD, PAIR, TWO, THREE, STRAIGHT, FULL, FLUSH, FOUR, SF, FIVE, RF)
BET_ODDS = {ODD: 1, PAIR: 1, TWO: 2, THREE: 3, STRAIGHT: 4, FLUSH: 5, FULL: 7, FOUR: 20, SF: 50, RF: 250}

random_rounds = settings(max_examples=250, deadline=None, database=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
pool_cents = st.one_of(
    st.integers(0, 60_000_00),
    st.integers(0, 10**14),
    st.sampled_from([0, 1, 999_99, 9_999_99, 10_000_00, 10_500_00, 15_000_01, 50_000_01, 48_765_43]),
)
payers = st.sampled_from(FixedFrom)


# --- the oracle's cards: (rank, suit), the ace 14, the Joker (0, "") ---

Card = tuple[int, str]
JOKER: Card = (0, "")


class Deck(NamedTuple):
    """The deck in play and the options of its ace."""

    size: int = 52
    joker: bool = False
    ace_low: bool = True
    low_ace: str = "high"

    @property
    def lowest(self) -> int:
        return 15 - self.size // 4

    @property
    def naturals(self) -> list[Card]:
        return [(rank, suit) for rank in range(self.lowest, 15) for suit in "cdhs"]

    @property
    def cards(self) -> list[Card]:
        return self.naturals + [JOKER] * self.joker


FIFTY_TWO = Deck()


def text(cards: list[Card]) -> str:
    return " ".join("Jk" if card == JOKER else "23456789TJQKA"[card[0] - 2] + card[1] for card in cards)


def category_and_ranks(five: list[Card], deck: Deck) -> tuple[str, list[int]]:
    counts = Counter(rank for rank, _ in five)
    ranks = sorted(counts, key=lambda rank: (-counts[rank], -rank))
    shape = sorted(counts.values(), reverse=True)
    top = 0
    if len(ranks) == 5:
        low_straight = {14, *range(deck.lowest, deck.lowest + 4)}
        top = ranks[0] if ranks[0] - ranks[4] == 4 else 0
        if deck.ace_low and set(ranks) == low_straight:
            top = deck.lowest + 3
    suited = len({suit for _, suit in five}) == 1
    if suited and top:
        return (RF, []) if top == 14 else (SF, [top])
    if shape == [5]:
        return FIVE, ranks
    if shape == [4, 1]:
        return FOUR, ranks
    if shape == [3, 2]:
        return FULL, ranks
    if suited:
        return FLUSH, sorted((rank for rank, _ in five), reverse=True)
    if top:
        return STRAIGHT, [top]
    return {3: THREE, 2: TWO if shape == [2, 2, 1] else PAIR, 1: ODD}[shape[0]], ranks


def high_value(five: list[Card], deck: Deck = FIFTY_TWO) -> tuple[int, list[int]]:
    """Return a value: greater is better, equal is a tie; the Joker counts as any card of the deck (reading 23)."""
    order = FULL_DECK_ORDER if len(deck.cards) >= 52 else REDUCED_DECK_ORDER
    if JOKER in five:
        others = [card for card in five if card != JOKER]
        return max(high_value([*others, stands_for], deck) for stands_for in deck.naturals)
    category, ranks = category_and_ranks(five, deck)
    return order.index(category), ranks


def category(five: list[Card]) -> str:
    return category_and_ranks(five, FIFTY_TWO)[0]


def low_value(five: list[Card], deck: Deck) -> tuple[list[int], list[int]]:
    """The smaller is the better low hand: the fewer pairs, then the lower cards from the highest down (reading 25)."""
    if JOKER in five:
        others = [card for card in five if card != JOKER]
        return min(low_value([*others, stands_for], deck) for stands_for in deck.naturals)
    ace = 1 if deck.low_ace == "low" else 14
    counts = Counter(ace if rank == 14 else rank for rank, _ in five)
    ranks = sorted(counts, key=lambda rank: (-counts[rank], -rank))
    shapes = [[1, 1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], [3, 2], [4, 1], [5]]
    return [shapes.index([counts[rank] for rank in ranks])], ranks


def take(rng: Random, deck: list[Card], kind: str) -> list[Card]:
    """Draw five cards of this kind from the deck, or any five if it has none left."""
    suits, ranks = rng.sample("cdhs", 4), rng.sample(range(2, 15), 13)
    wanted: list[list[Card]] = []
    match kind:
        case "royal":
            wanted = [[(rank, suit) for rank in range(10, 15)] for suit in suits]
        case "straight_flush":
            runs = [range(top - 4, top + 1) for top in ranks if 6 <= top <= 13]
            wanted = [[(rank, suit) for rank in run] for run in runs for suit in suits]
        case "four":
            wanted = [[(rank, suit) for suit in "cdhs"] for rank in ranks]
        case "full":
            wanted = [
                [(three, s) for s in suits[:3]] + [(two, s) for s in suits[1:3]]
                for three, two in combinations(ranks, 2)
            ]
        case "flush":
            wanted = [[(rank, suit) for rank in sorted(ranks[:5])] for suit in suits]
        case "dead":
            wanted = [
                [(14, a), (14, b), (8, c), (8, d)] for a, b in combinations(suits, 2) for c, d in combinations(suits, 2)
            ]
    hand = next((cards for cards in wanted if set(cards) <= set(deck)), [])
    hand += rng.sample([card for card in deck if card not in hand], 5 - len(hand))
    for card in hand:
        deck.remove(card)
    rng.shuffle(hand)
    return hand


KINDS = st.lists(
    st.sampled_from(["any", "royal", "straight_flush", "four", "full", "flush", "dead"]), min_size=1, max_size=7
)


def deal(seed: int, kinds: list[str]) -> tuple[dict[int, list[Card]], list[Card]]:
    """Return the hands of boxes in a shuffled order of numbers, and the remaining cards."""
    rng = Random(seed)
    deck = FIFTY_TWO.cards
    rng.shuffle(deck)
    numbers = rng.sample(range(1, 10), len(kinds))
    return {number: take(rng, deck, kind) for number, kind in zip(numbers, kinds, strict=True)}, deck


# --- both jackpots ---


class Row(NamedTuple):
    """One prize by the oracle: box, hand, amount and sources."""

    box: int
    hand: str
    amount: int
    jackpot: int
    reserve: int
    house: int
    advance: int


class Books:
    """The oracle's two pools."""

    def __init__(self, jackpot: int, reserve: int) -> None:
        self.jackpot, self.reserve = jackpot, reserve

    def from_jackpot(self, cents: int) -> int:
        given = min(cents, self.jackpot)
        self.jackpot -= given
        return given

    def from_reserve(self, cents: int) -> int:
        given = min(cents, self.reserve)
        self.reserve -= given
        return given

    def row(self, box: int, hand: str, amount: int, jackpot: int) -> Row:
        """Pay a prize after the jackpot's part: the rest comes from the reserve, then from the operator."""
        reserve = self.from_reserve(amount - jackpot)
        return Row(box, hand, amount, jackpot, reserve, 0, amount - jackpot - reserve)

    def fixed(self, box: int, hand: str, payer: FixedFrom) -> Row:
        amount = {FOUR: 500_00, FULL: 150_00, FLUSH: 100_00, DEAD_MAN: 50_00}[hand]
        if payer == "house":
            return Row(box, hand, amount, 0, 0, amount, 0)
        return self.row(box, hand, amount, self.from_jackpot(amount) if payer == "jackpot" else 0)

    def reset(self, prizes: dict[int, str], target: int) -> tuple[int, int]:
        """Return (from the reserve, as an advance) for raising a jackpot that paid a royal to the reset amount."""
        missing = max(target - self.jackpot, 0) if RF in prizes.values() else 0
        given = self.from_reserve(missing)
        self.jackpot += missing
        return given, missing - given


def rows(settlement: Settlement) -> list[Row]:
    assert [payout.order for payout in settlement.payouts] == list(range(1, len(settlement.payouts) + 1))
    return [
        Row(
            payout.box,
            payout.hand,
            payout.amount_cents,
            payout.sources.jackpot_cents,
            payout.sources.reserve_cents,
            payout.sources.house_cents,
            payout.sources.advance_cents,
        )
        for payout in settlement.payouts
    ]


def assert_books_balance(settlement: Settlement, before: PoolAmounts, pooled: int = 0) -> None:
    """No cent is lost or created, no pool or source is negative, and every prize is the sum of its sources."""
    prizes = sum(payout.amount_cents for payout in settlement.payouts)
    held_before = before.jackpot_cents + before.reserve_cents + settlement.house_cents + pooled
    assert held_before == settlement.after.jackpot_cents + settlement.after.reserve_cents + prizes
    assert settlement.after.jackpot_cents >= 0
    assert settlement.after.reserve_cents >= 0
    for row in rows(settlement):
        assert row.amount == row.jackpot + row.reserve + row.house + row.advance
        assert min(row[2:]) >= 0
    floors = {RF: 10_000_00, SF: 1_000_00}
    assert all(payout.amount_cents >= floors.get(payout.hand, 0) for payout in settlement.payouts)


class Seat(NamedTuple):
    """A box of the oracle."""

    hand: list[Card]
    folded: bool
    wager: bool
    declared: bool
    misdealt: bool = False
    ante: int = 10_00
    displayed: int | None = None

    def box(self, number: int) -> Box:
        return Box(
            number,
            parse(text(self.hand)) if self.declared else None,
            folded=self.folded,
            jackpot_wager=self.wager,
            ante_cents=self.ante,
            bet_cents=0 if self.folded else 2 * self.ante,
            misdealt=self.misdealt,
            displayed_cents=self.displayed,
        )

    @property
    def can_win(self) -> bool:
        return self.wager and self.declared and not self.folded


def seated(seed: int, kinds: list[str]) -> dict[int, Seat]:
    rng = Random(seed)
    hands, _ = deal(seed, kinds)
    return {
        number: Seat(hand, folded=rng.random() < 0.1, wager=rng.random() < 0.9, declared=rng.random() < 0.9)
        for number, hand in hands.items()
    }


# --- Canberra Poker 2016 ---


def expected_order(prizes: dict[int, str]) -> list[int]:
    """From the highest box down; a royal that would come before the last straight flush waits for it (reading 8)."""
    order = sorted(prizes, reverse=True)
    while True:
        early = [
            i
            for i, box in enumerate(order)
            if prizes[box] == RF and any(prizes[later] == SF for later in order[i + 1 :])
        ]
        if not early:
            return order
        last_straight_flush = max(i for i, box in enumerate(order) if prizes[box] == SF)
        waiting = [order[i] for i in early]
        head = [box for box in order[: last_straight_flush + 1] if box not in waiting]
        order = head + waiting + order[last_straight_flush + 1 :]


def expected_2016(
    prizes: dict[int, str], before: PoolAmounts, payer: FixedFrom, target: int
) -> tuple[list[Row], tuple[int, int], PoolAmounts]:
    books = Books(before.jackpot_cents, before.reserve_cents)
    count = Counter(prizes.values())
    share: dict[str, int] = {}
    result = []
    for box in expected_order(prizes):
        hand = prizes[box]
        if hand not in (RF, SF):
            result.append(books.fixed(box, hand, payer))
            continue
        if hand not in share:
            left, tenths = books.jackpot, []
            for _ in range(count[SF] if hand == SF else 0):
                tenths.append(left // 10)
                left -= tenths[-1]
            share[hand] = (sum(tenths) if hand == SF else left) // count[hand]
            books.jackpot -= share[hand] * count[hand]
        floor = 1_000_00 if hand == SF else 10_000_00
        result.append(books.row(box, hand, max(floor, share[hand]), share[hand]))
    reset = books.reset(prizes, target)
    return result, reset, PoolAmounts(books.jackpot, books.reserve)


@given(seed=seeds, kinds=KINDS, jackpot=pool_cents, reserve=pool_cents, payer=payers, target=pool_cents)
@random_rounds
def test_a_random_round_of_2016_is_settled_as_the_readings_say(*, seed, kinds, jackpot, reserve, payer, target):
    seats = seated(seed, kinds)
    before = PoolAmounts(jackpot, reserve)
    claims = law_2016.claims([seat.box(number) for number, seat in seats.items()])
    settlement = law_2016.settle_jackpot(claims, before, ApprovedFunding(payer, target))
    prizes = {
        number: category(seat.hand)
        for number, seat in seats.items()
        if seat.can_win and category(seat.hand) in (RF, SF, FOUR, FULL, FLUSH)
    }
    expected, reset, after = expected_2016(prizes, before, payer, target)
    assert rows(settlement) == expected
    assert (settlement.reset.reserve_cents, settlement.reset.advance_cents) == reset
    assert settlement.after == after
    assert_books_balance(settlement, before)


@given(
    hands=st.dictionaries(st.integers(1, 12), st.sampled_from([RF, SF, FOUR, FULL, FLUSH]), max_size=8),
    jackpot=pool_cents,
    reserve=pool_cents,
    payer=payers,
    target=pool_cents,
)
@example({7: RF, 6: SF, 4: FLUSH, 3: RF, 1: SF}, 48_765_43, 10_000_00, FixedFrom.RESERVE, 0)
@example({7: RF, 6: SF, 4: FLUSH, 3: RF, 1: SF}, 48_765_43, 0, FixedFrom.JACKPOT, 10_000_00)
@random_rounds
def test_any_mixture_of_prizes_of_2016_is_settled_as_the_readings_say(hands, jackpot, reserve, payer, target):
    before = PoolAmounts(jackpot, reserve)
    claims = [Claim(box, hand) for box, hand in hands.items()]
    settlement = law_2016.settle_jackpot(claims, before, ApprovedFunding(payer, target))
    expected, reset, after = expected_2016(hands, before, payer, target)
    assert rows(settlement) == expected
    assert (settlement.reset.reserve_cents, settlement.reset.advance_cents) == reset
    assert settlement.after == after
    assert_books_balance(settlement, before)
    assert settlement == law_2016.settle_jackpot(claims[::-1], before, ApprovedFunding(payer, target))
    if RF in hands.values():
        assert settlement.after.jackpot_cents >= target
    else:
        assert settlement.after.jackpot_cents <= jackpot


# --- Canberra Poker 1997 ---


def expected_1997(
    prizes: dict[int, tuple[str, int]], before: PoolAmounts, payer: FixedFrom, target: int, pooled: tuple[int, int]
) -> tuple[list[Row], tuple[int, int], PoolAmounts]:
    books = Books(before.jackpot_cents, before.reserve_cents)
    result = []
    for box in sorted(prizes, reverse=True):
        hand, displayed = prizes[box]
        if hand in (RF, SF):
            share, floor = (displayed, 10_000_00) if hand == RF else (displayed // 10, 1_000_00)
            result.append(books.row(box, hand, max(share, floor), books.from_jackpot(share)))
        else:
            result.append(books.fixed(box, hand, payer))
    books.jackpot += pooled[0]
    books.reserve += pooled[1]
    reset = books.reset({box: hand for box, (hand, _) in prizes.items()}, target)
    return result, reset, PoolAmounts(books.jackpot, books.reserve)


def prize_1997(hand: list[Card]) -> str | None:
    ranks = Counter(rank for rank, _ in hand)
    if category(hand) in (RF, SF, FOUR, FULL, FLUSH):
        return category(hand)
    return DEAD_MAN if ranks[14] == ranks[8] == 2 else None


@given(
    seed=seeds,
    kinds=KINDS,
    jackpot=pool_cents,
    reserve=pool_cents,
    payer=payers,
    target=pool_cents,
    wager=st.integers(0, 10_00),
    bps=st.integers(0, 10_000),
    split_before=st.integers(0, 10**9),
)
@random_rounds
def test_a_random_round_of_1997_is_settled_as_the_readings_say(
    *, seed, kinds, jackpot, reserve, payer, target, wager, bps, split_before
):
    rng = Random(seed + 1)
    seats = {
        number: seat._replace(
            misdealt=rng.random() < 0.1,
            ante=rng.choice([10_00] * 9 + [0]),
            hand=seat.hand[: rng.choice([5] * 9 + [4])],
            displayed=rng.choice([None, jackpot, jackpot // 2, rng.randrange(2 * jackpot + 1)]),
        )
        for number, seat in seated(seed, kinds).items()
    }
    boxes = [seat.box(number) for number, seat in seats.items()]
    before = PoolAmounts(jackpot, reserve)
    claims = law_1997.claims(boxes, jackpot)
    wagers = law_1997.wagers_of(boxes, claims, wager_cents=wager, jackpot_bps=bps, split_before_cents=split_before)
    settlement, pooled = law_1997.settle_jackpot(claims, before, ApprovedFunding(payer, target), wagers)

    void = {n for n, s in seats.items() if s.misdealt or s.ante == 0 or (s.declared and len(s.hand) != 5)}
    prizes = {
        number: (prize, jackpot if seat.displayed is None else seat.displayed)
        for number, seat in seats.items()
        if seat.can_win and number not in void and (prize := prize_1997(seat.hand))
    }
    placed = {number for number, seat in seats.items() if seat.wager}
    lost = len(placed - void - set(prizes)) * wager
    to_jackpot = (split_before + lost) * bps // 10_000 - split_before * bps // 10_000
    expected, reset, after = expected_1997(prizes, before, payer, target, (to_jackpot, lost - to_jackpot))
    assert rows(settlement) == expected
    assert (settlement.reset.reserve_cents, settlement.reset.advance_cents) == reset
    assert settlement.after == after
    assert (pooled.jackpot_cents, pooled.reserve_cents) == (to_jackpot, lost - to_jackpot)
    assert (pooled.house_cents, pooled.returned_cents) == (len(prizes) * wager, len(placed & void) * wager)
    assert_books_balance(settlement, before, pooled.jackpot_cents + pooled.reserve_cents)
    assert sum((pooled.jackpot_cents, pooled.reserve_cents, pooled.house_cents, pooled.returned_cents)) == wager * len(
        placed
    )
    again = law_1997.settle_jackpot(
        law_1997.claims(boxes[::-1], jackpot), before, ApprovedFunding(payer, target), wagers
    )
    assert again == (settlement, pooled)


@given(amounts=st.lists(st.integers(0, 10**6), max_size=30), bps=st.integers(0, 10_000), before=st.integers(0, 10**12))
@random_rounds
def test_a_cumulative_split_never_drifts_by_a_cent(amounts, bps, before):
    total, to_jackpot = before, 0
    for amount in amounts:
        jackpot, reserve = split(total, amount, bps)
        assert jackpot + reserve == amount
        assert 0 <= jackpot <= amount
        total, to_jackpot = total + amount, to_jackpot + jackpot
    assert to_jackpot == total * bps // 10_000 - before * bps // 10_000


# --- antes and bets of Canberra Poker ---


def expected_box(hand: list[Card], dealer: list[Card], ante: int, cap: int | None, *, folded: bool) -> tuple:
    if folded:
        return Outcome.LOSE, 0, Outcome.LOSE, 0
    dealer_kind, dealer_ranks = category_and_ranks(dealer, FIFTY_TWO)
    if dealer_kind == ODD and dealer_ranks[:2] != [14, 13]:
        return Outcome.WIN, ante, Outcome.PUSH, 0
    mine, theirs = high_value(hand), high_value(dealer)
    if mine == theirs:
        return Outcome.PUSH, 0, Outcome.PUSH, 0
    if mine < theirs:
        return Outcome.LOSE, 0, Outcome.LOSE, 0
    pays = 2 * ante * BET_ODDS[category(hand)]
    return Outcome.WIN, ante, Outcome.WIN, pays if cap is None else min(pays, cap)


def dealers_hand(rng: Random, left: list[Card], kind: str, like: list[Card]) -> list[Card]:
    """Draw five remaining cards: with an ace and a king, or with the ranks of another hand, if possible."""
    ranks = {"ace_king": [14, 13], "same_ranks": [rank for rank, _ in like]}.get(kind, [])
    hand: list[Card] = []
    for wanted in ranks:
        hand += [card for card in left if card[0] == wanted and card not in hand][:1]
    return (hand + take(rng, [card for card in left if card not in hand], kind))[:5]


@given(
    seed=seeds,
    kinds=KINDS,
    dealer_kind=st.sampled_from(["any", "ace_king", "dead", "flush", "same_ranks"]),
    ante=st.integers(1, 100_00),
    cap=st.none() | st.integers(0, 100_000_00),
)
@random_rounds
def test_random_antes_and_bets_are_settled_as_the_readings_say(seed, kinds, dealer_kind, ante, cap):
    rng = Random(seed + 1)
    hands, left = deal(seed, kinds)
    dealer = dealers_hand(rng, left, dealer_kind, next(iter(hands.values())))
    folded = {number: rng.random() < 0.1 for number in hands}
    boxes = [
        Box(number, parse(text(hand)), folded=folded[number], ante_cents=ante, bet_cents=2 * ante)
        for number, hand in hands.items()
    ]
    expected = {number: expected_box(hand, dealer, ante, cap, folded=folded[number]) for number, hand in hands.items()}
    for law in (law_2016, law_1997):
        for order in (boxes, boxes[::-1]):
            results = law.settle_table(parse(text(dealer)), order, cap)
            got = {r.box: (r.ante, r.ante_paid_cents, r.bet, r.bet_paid_cents) for r in results}
            assert got == expected


# --- Ultimate Texas Hold-em ---


def expected_wagers(hole: list[Card], dealer: list[Card], board: list[Card], stakes: tuple, cap: int | None) -> tuple:
    """Return (outcome, paid) of ante, blind, play and trips, from rr 9.5-9.8 and the tables of r 10.1."""
    ante, play, trips = stakes
    mine = max(high_value(list(five)) for five in combinations(hole + board, 5))
    theirs = max(high_value(list(five)) for five in combinations(dealer + board, 5))
    kind = FULL_DECK_ORDER[mine[0]]
    odds = {RF: 500, SF: 50, FOUR: 10, FULL: 3, FLUSH: 1.5, STRAIGHT: 1}
    trips_odds = {RF: 50, SF: 40, FOUR: 30, FULL: 8, FLUSH: 7, STRAIGHT: 4, THREE: 3}
    versus = Outcome.WIN if mine > theirs else Outcome.PUSH if mine == theirs else Outcome.LOSE
    ante_outcome = Outcome.PUSH if FULL_DECK_ORDER[theirs[0]] == ODD else versus
    blind_outcome = Outcome.PUSH if versus is Outcome.WIN and kind not in odds else versus
    blind_paid = int(2 * odds.get(kind, 0)) * ante // 2 if blind_outcome is Outcome.WIN else 0
    return (
        (ante_outcome, ante if ante_outcome is Outcome.WIN else 0),
        (blind_outcome, blind_paid if cap is None else min(cap, blind_paid)),
        (versus, play if versus is Outcome.WIN else 0),
        (Outcome.WIN, trips * trips_odds[kind]) if kind in trips_odds else (Outcome.LOSE, 0),
    )


@given(
    seed=seeds,
    board_kind=st.sampled_from(["any", "any", "any", "royal", "straight_flush", "four", "full", "flush", "dead"]),
    boxes=st.integers(1, 7),
    ante=st.integers(1, 100_00),
    cap=st.none() | st.integers(0, 10_000_00),
)
@random_rounds
def test_a_random_round_of_ultimate_texas_holdem_is_settled_as_the_readings_say(seed, board_kind, boxes, ante, cap):
    rng = Random(seed)
    deck = FIFTY_TWO.cards
    rng.shuffle(deck)
    strong = take(rng, deck, board_kind)
    swapped = rng.randrange(3)
    board, spare = strong[swapped:] + deck[:swapped], strong[:swapped]
    deck = spare + deck[swapped:]
    holes = [deck[2 * i : 2 * i + 2] for i in range(boxes + 1)]
    dealer, players, expected = holes.pop(rng.randrange(boxes + 1)), [], {}
    for number, hole in enumerate(holes, start=1):
        play, trips, folded = ante * rng.randint(1, 4), rng.randint(1, 50_00), rng.random() < 0.1
        players.append(law_2025.HoldemPlayer(number, parse(text(hole)), ante, ante, play, trips, folded))
        lost = ((Outcome.LOSE, 0),) * 4
        expected[number] = lost if folded else expected_wagers(hole, dealer, board, (ante, play, trips), cap)
    for order in (players, players[::-1]):
        results = law_2025.settle_table(parse(text(board)), parse(text(dealer)), order, cap)
        got = {
            result.box: tuple(
                (wager.outcome, wager.paid_cents) for wager in (result.ante, result.blind, result.play, result.trips)
            )
            for result in results
        }
        assert got == expected


# --- Manila and Stud ---


class Round(NamedTuple):
    """A random round of Manila or Stud for the oracle."""

    instrument: str
    deck: Deck
    win: str
    eight_or_better: bool
    board: list[Card]
    holes: dict[int, list[Card]]
    put_in: dict[int, int]
    forced: dict[int, int]
    folded: set[int]

    @property
    def manila(self) -> bool:
        return self.instrument == "canberra-manila-2005"

    def fives(self, seat: int) -> list[list[Card]]:
        hole = self.holes[seat]
        if self.manila:
            return [hole + list(three) for three in combinations(self.board, 3)]
        return [list(five) for five in combinations(hole + self.board, 5)]

    def settle(self, terms: Terms, *, reverse: bool = False) -> Showdown:
        options = {"deck": self.deck.size, "joker": self.deck.joker, "ace_low": self.deck.ace_low}
        options |= {"low_ace": self.deck.low_ace, "win": self.win, "eight_or_better": self.eight_or_better}
        players = [
            Player(seat, parse(text(hole)), self.put_in[seat], self.forced[seat], seat in self.folded)
            for seat, hole in self.holes.items()
        ]
        board = parse(text(self.board)) if self.board else None
        return settle_pots(rules.load(self.instrument, **options), players[:: -1 if reverse else 1], terms, board)


def mirrored_holes(rng: Random, deck: Deck, size: int) -> list[list[Card]]:
    """Four hands of the same ranks in other suits, which tie unless a suit or the board decides."""
    ranks = rng.sample(range(deck.lowest, 15), size)
    return [[(rank, "cdhs"[(i + turn) % 4]) for i, rank in enumerate(ranks)] for turn in range(4)]


def random_round(seed: int, instrument: str, *, mirrored: bool, win: str) -> Round:
    rng = Random(seed)
    deck = Deck(
        size=rng.choice([52, 52, 48, 44, 40, 36, 32]),
        joker=rng.random() < 0.3,
        ace_low=rng.random() < 0.5,
        low_ace=rng.choice(["high", "low"]),
    )
    manila = instrument == "canberra-manila-2005"
    hole_size = 2 if manila else 7
    most = min(10, (len(deck.cards) - 5) // hole_size)
    count = rng.randint(2, min(4, most) if mirrored else most)
    cards = deck.cards
    rng.shuffle(cards)
    dealt = [cards[hole_size * i : hole_size * (i + 1)] for i in range(count)]
    if mirrored:
        dealt = mirrored_holes(rng, deck, hole_size)[:count]
    left = [card for card in cards if not any(card in hole for hole in dealt)]
    seats = rng.sample(range(1, 11), count)
    unit = rng.choice([1, 50, 1_00, 5_00])
    highest = rng.choice([1, 2, 5, 30, 300])
    level = unit * rng.randint(0, highest)
    equal = rng.random() < 0.3
    put_in = {seat: level if equal else unit * rng.randint(0, highest) for seat in seats}
    only_forced = rng.random() < 0.15
    return Round(
        instrument=instrument,
        deck=deck,
        win=win,
        eight_or_better=win == "high_low" and rng.random() < 0.5,
        board=left[:5] if manila else [],
        holes=dict(zip(seats, dealt, strict=True)),
        put_in=put_in,
        forced={seat: cents if only_forced else rng.choice([0, cents // 2]) for seat, cents in put_in.items()},
        folded=set(rng.sample(seats, rng.randrange(count) if rng.random() < 0.5 else 0)),
    )


def winners(play: Round, eligible: list[int]) -> tuple[list[int], list[int]]:
    """Return the winners of the high half and of the low half of a pot."""
    live = [seat for seat in play.holes if seat not in play.folded]
    if len(live) == 1:
        return ([], live) if play.win == "low" else (live, [])
    high, low = [], []
    if play.win != "low":
        best = {seat: max(high_value(five, play.deck) for five in play.fives(seat)) for seat in eligible}
        high = [seat for seat in eligible if best[seat] == max(best.values())]
    if play.win != "high":
        lowest = {seat: min(low_value(five, play.deck) for five in play.fives(seat)) for seat in eligible}
        if play.eight_or_better:
            lowest = {seat: low for seat, low in lowest.items() if low[0] == [0] and low[1][0] <= 8}
        low = [seat for seat in eligible if seat in lowest and lowest[seat] == min(lowest.values())]
    return high, low


def expected_pots(stakes: dict[int, int], folded: set[int]) -> list[tuple[int, list[int]]]:
    """Take the smallest stake still in from every player's money, until no player still in has any."""
    left, pots = dict(stakes), []
    contenders = sorted(seat for seat in stakes if seat not in folded)
    everyone = contenders
    while contenders:
        layer = min(left[seat] for seat in contenders)
        amount = 0
        for seat, cents in left.items():
            amount += min(cents, layer)
            left[seat] = cents - min(cents, layer)
        if amount:
            pots.append((amount, contenders))
        contenders = [seat for seat in contenders if left[seat]]
    beyond = sum(left.values())
    if not pots:
        return [(beyond, everyone)]
    return [*pots[:-1], (pots[-1][0] + beyond, pots[-1][1])]


def shares(cents: int, won_by: list[int], terms: Terms) -> Counter:
    chips = cents // terms.smallest_chip_cents
    each = chips // len(won_by) * terms.smallest_chip_cents
    clockwise = [(terms.button + step - 1) % 10 + 1 for step in range(1, 11)]
    nearest = next(seat for seat in clockwise if seat in won_by)
    return Counter(dict.fromkeys(won_by, each)) + Counter({nearest: cents - each * len(won_by)})


def expected_showdown(play: Round, terms: Terms) -> dict[str, object]:
    stakes = dict(play.put_in)
    second, first = sorted(stakes.values())[-2:]
    returned_to = next((seat for seat, cents in stakes.items() if cents == first > second), None)
    if returned_to is not None:
        stakes[returned_to] = second
    pots = [(amount, eligible, *winners(play, eligible)) for amount, eligible in expected_pots(stakes, play.folded)]

    money_in = sorted(seat for seat, cents in play.put_in.items() if cents)
    won = [half for half in pots[0][2:] if half]
    all_tied = len(money_in) > 1 and all(half == money_in for half in won)
    only_forced = all(stakes[seat] <= play.forced[seat] for seat in stakes)
    due, threshold = 0, 0
    if terms.commission and not all_tied and not only_forced:
        threshold = 19_00 if terms.commission.percent == 5 else 9_00
        if any(amount > threshold for amount, *_ in pots):
            dollars = sum(amount for amount, *_ in pots) * terms.commission.percent // 100 // 100
            due = min(dollars * 100, terms.commission.cap_cents)
    commission = due
    paid: Counter = Counter()
    for amount, _, high, low in pots:
        fee = min(due, amount) if amount > threshold else 0
        due -= fee
        rest = amount - fee
        chip = terms.smallest_chip_cents
        low_half = rest if not high else rest // 2 // chip * chip if low else 0
        paid += shares(low_half, low, terms) if low else Counter()
        paid += shares(rest - low_half, high, terms) if high else Counter()
    return {
        "pots": [(amount, tuple(eligible), tuple(high), tuple(low)) for amount, eligible, high, low in pots],
        "commission": commission,
        "returned": (returned_to, first - second),
        "paid": {seat: cents for seat, cents in paid.items() if cents},
    }


terms_of_a_table = st.builds(
    Terms,
    st.integers(1, 10),
    st.sampled_from([1, 5, 50, 1_00, 5_00]),
    st.none() | st.builds(Commission, st.sampled_from([5, 10]), st.sampled_from([0, 3_00, 5_50, 10_00, 10**9])),
)


@pytest.mark.parametrize("win", ["high", "low", "high_low"])
@pytest.mark.parametrize("instrument", ["canberra-manila-2005", "seven-card-stud-2005"])
@given(seed=seeds, mirrored=st.booleans(), terms=terms_of_a_table)
@settings(random_rounds, max_examples=150)
def test_a_random_showdown_is_settled_as_the_readings_say(instrument, win, seed, mirrored, terms):
    play = random_round(seed, instrument, mirrored=mirrored, win=win)
    showdown = play.settle(terms)
    got = {
        "pots": [(pot.amount_cents, pot.eligible, pot.high_winners, pot.low_winners) for pot in showdown.pots],
        "commission": showdown.commission_cents,
        "returned": (showdown.returned_to, showdown.returned_cents),
        "paid": dict(showdown.paid),
    }
    assert got == expected_showdown(play, terms)

    assert (
        sum(play.put_in.values()) == sum(showdown.paid.values()) + showdown.commission_cents + showdown.returned_cents
    )
    assert not set(showdown.paid) & play.folded
    assert list(showdown.paid) == sorted(showdown.paid)
    for pot in showdown.pots:
        assert set(pot.high_winners + pot.low_winners) <= set(pot.eligible)
    assert min(showdown.paid.values(), default=1) > 0
    again = play.settle(terms, reverse=True)
    assert (again.pots, again.paid, again.commission_cents, again.returned_cents, again.returned_to) == (
        showdown.pots,
        showdown.paid,
        showdown.commission_cents,
        showdown.returned_cents,
        showdown.returned_to,
    )


@given(
    cents=st.integers(0, 10**9),
    won_by=st.lists(st.integers(1, 10), min_size=1, max_size=10, unique=True),
    button=st.integers(1, 10),
    chip=st.sampled_from([1, 5, 50, 1_00, 5_00]),
)
@random_rounds
def test_any_pot_is_divided_whole_and_all_but_one_winner_get_the_same_in_chips(cents, won_by, button, chip):
    terms = Terms(button, chip)
    divided = divide(cents, won_by, terms)
    assert sum(divided.values()) == cents
    assert {seat: share for seat, share in divided.items() if share} == dict(shares(cents, won_by, terms))
    least = min(divided.values())
    assert least % chip == 0 or len(won_by) == 1
    assert sum(share != least for share in divided.values()) <= 1


# --- tournaments ---


@given(
    prizes=st.lists(st.integers(0, 10**7), max_size=8),
    sizes=st.lists(st.integers(1, 4), min_size=8, max_size=10),
    data=st.data(),
)
@random_rounds
def test_tied_players_share_the_prizes_they_cover_to_the_cent(prizes, sizes, data):
    names = iter(data.draw(st.permutations([f"player {n}" for n in range(sum(sizes))])))
    finish = [[next(names) for _ in range(size)] for size in sizes]
    paid = share_prizes(prizes, finish)
    padded = prizes + [0] * sum(sizes)
    place = 0
    for tied in finish:
        got = [paid[name] for name in tied]
        assert sum(got) == sum(padded[place : place + len(tied)])
        assert max(got) - min(got) <= 1
        assert got == sorted(got, reverse=True)
        place += len(tied)
    assert sum(paid.values()) == sum(prizes)


@given(chips=st.dictionaries(st.text(max_size=3), st.integers(0, 5)))
@random_rounds
def test_every_eliminated_player_is_ranked_once_and_more_chips_rank_higher(chips):
    ranked = rank_eliminated(chips)
    assert sorted(name for tied in ranked for name in tied) == sorted(chips)
    levels = [{chips[name] for name in tied} for tied in ranked]
    assert all(len(level) == 1 for level in levels)
    assert levels == sorted(levels, key=max, reverse=True)


# --- values that are no amounts, boxes, seats or rates ---

HUGE = 10**5_000
"""Too long for Python to print in an error message."""
NO_NUMBERS = [-1, True, 1.5, 1.0, float("nan"), float("inf"), "7", "", b"7"]

FIVE_CARDS, DEALER = parse("9s 8s 7s 6s 5s"), parse("Ac Kd 4c 3d 2h")
BOARD_2025, DEALER_2025, HOLE = parse("Ts Js Qs 2c 3d"), parse("2h 3h"), parse("As Ks")
BOARD_MANILA, HOLES = parse("2c 5d 7h 9s Jc"), (parse("Ac Ad"), parse("Kc Kd"))


def table_of(law, **changes):
    fields = {"box": 1, "ante_cents": 10_00, "bet_cents": 20_00} | changes
    cap = fields.pop("max_payout_cents", None)
    return law.settle_table(DEALER, [Box(cards=FIVE_CARDS, **fields)], cap)


def jackpot_1997(**changes):
    wagers = {"wager_cents": 1_00, "jackpot_bps": 7_000, "losing": 1, "winning": 1, "returned": 1} | changes
    claim = Claim(1, SF, 50_000_00)
    return law_1997.settle_jackpot([claim], PoolAmounts(0, 0), ApprovedFunding(), law_1997.Wagers(**wagers))


def holdem_of(**changes):
    fields = {"box": 1, "ante_cents": 10_00, "blind_cents": 10_00, "play_cents": 10_00, "trips_cents": 5_00} | changes
    cap = fields.pop("max_payout_cents", None)
    return law_2025.settle_table(BOARD_2025, DEALER_2025, [law_2025.HoldemPlayer(hole=HOLE, **fields)], cap)


def manila_of(terms=None, **changes):
    fields = {"seat": 1, "put_in_cents": 50_00} | changes
    players = [Player(hole=HOLES[0], **fields), Player(2, HOLES[1], 50_00)]
    return settle_pots(rules.load("canberra-manila-2005"), players, terms or Terms(10), BOARD_MANILA)


def claim_of(law, **changes):
    claim = Claim(**({"box": 1, "hand": SF, "displayed_cents": 50_000_00} | changes))
    return law.settle_jackpot([claim, Claim(2, FLUSH)], PoolAmounts(50_000_00, 0), ApprovedFunding())


CHECKED_VALUES = {
    "the jackpot pool": lambda bad: PoolAmounts(bad, 0),
    "the reserve pool": lambda bad: PoolAmounts(0, bad),
    "the reset": lambda bad: ApprovedFunding(reset_cents=bad),
    "who pays fixed prizes": lambda bad: ApprovedFunding(fixed_prizes_from=bad),
    "the total split": lambda bad: split(bad, 1_00, 7_000),
    "the wager split": lambda bad: split(0, bad, 7_000),
    "the basis points": lambda bad: split(0, 1_00, bad),
    "2016 box": lambda bad: law_2016.claims([Box(bad, FIVE_CARDS, jackpot_wager=True)]),
    "2016 ante with a jackpot wager": lambda bad: law_2016.claims(
        [Box(1, FIVE_CARDS, jackpot_wager=True, ante_cents=bad)]
    ),
    "2016 claim's box": lambda bad: claim_of(law_2016, box=bad),
    "2016 claim's hand": lambda bad: claim_of(law_2016, hand=bad),
    "2016 table box": lambda bad: table_of(law_2016, box=bad),
    "2016 ante": lambda bad: table_of(law_2016, ante_cents=bad),
    "2016 bet": lambda bad: table_of(law_2016, bet_cents=bad),
    "2016 bet of a fold": lambda bad: table_of(law_2016, bet_cents=bad, folded=True),
    "2016 maximum payout": lambda bad: table_of(law_2016, max_payout_cents=bad),
    "1997 box": lambda bad: law_1997.claims([Box(bad, FIVE_CARDS, jackpot_wager=True)], 50_000_00),
    "1997 ante with a jackpot wager": lambda bad: law_1997.claims(
        [Box(1, FIVE_CARDS, jackpot_wager=True, ante_cents=bad)], 50_000_00
    ),
    "1997 displayed amount": lambda bad: law_1997.claims([Box(1, FIVE_CARDS, jackpot_wager=True)], bad),
    "1997 declared amount": lambda bad: law_1997.claims(
        [Box(1, FIVE_CARDS, jackpot_wager=True, displayed_cents=bad)], 50_000_00
    ),
    "1997 claim's box": lambda bad: claim_of(law_1997, box=bad),
    "1997 claim's hand": lambda bad: claim_of(law_1997, hand=bad),
    "1997 claim's displayed amount": lambda bad: claim_of(law_1997, displayed_cents=bad),
    "1997 wager": lambda bad: jackpot_1997(wager_cents=bad),
    "1997 basis points": lambda bad: jackpot_1997(jackpot_bps=bad),
    "1997 losing wagers": lambda bad: jackpot_1997(losing=bad),
    "1997 winning wagers": lambda bad: jackpot_1997(winning=bad),
    "1997 returned wagers": lambda bad: jackpot_1997(returned=bad),
    "1997 total split before": lambda bad: jackpot_1997(split_before_cents=bad),
    "1997 ante": lambda bad: table_of(law_1997, ante_cents=bad),
    "1997 bet": lambda bad: table_of(law_1997, bet_cents=bad),
    "1997 maximum payout": lambda bad: table_of(law_1997, max_payout_cents=bad),
    "2025 box": lambda bad: holdem_of(box=bad),
    "2025 ante": lambda bad: holdem_of(ante_cents=bad),
    "2025 blind": lambda bad: holdem_of(blind_cents=bad),
    "2025 play": lambda bad: holdem_of(play_cents=bad),
    "2025 trips": lambda bad: holdem_of(trips_cents=bad),
    "2025 maximum payout": lambda bad: holdem_of(max_payout_cents=bad),
    "seat": lambda bad: manila_of(seat=bad),
    "put in": lambda bad: manila_of(put_in_cents=bad),
    "ante or blind": lambda bad: manila_of(blind_or_ante_cents=bad),
    "button": lambda bad: manila_of(Terms(bad)),
    "smallest chip": lambda bad: manila_of(Terms(10, bad)),
    "commission percent": lambda bad: manila_of(Terms(10, 1, Commission(bad, 10_00))),
    "commission cap": lambda bad: manila_of(Terms(10, 1, Commission(5, bad))),
    "tournament prize": lambda bad: share_prizes([bad], [["ann"]]),
    "tournament chips": lambda bad: rank_eliminated({"ann": bad}),
}


@pytest.mark.parametrize("bad", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("what", CHECKED_VALUES)
def test_a_value_that_is_no_such_number_is_refused_with_a_sentence(what, bad):
    with pytest.raises(RulesError, match=r"\w+ \w+"):
        CHECKED_VALUES[what](bad)


@pytest.mark.parametrize("what", CHECKED_VALUES)
def test_a_negative_number_too_long_to_be_written_out_is_refused_with_a_sentence(what):
    with pytest.raises(RulesError, match=r"\w+ \w+"):
        CHECKED_VALUES[what](-HUGE)


@pytest.mark.parametrize(
    "what",
    [
        "the basis points",
        "2016 ante",
        "2016 bet",
        "1997 ante",
        "1997 bet",
        "2025 ante",
        "2025 blind",
        "2025 play",
        "seat",
        "ante or blind",
        "button",
        "commission percent",
    ],
)
def test_a_number_out_of_range_and_too_long_to_be_written_out_is_refused_with_a_sentence(what):
    with pytest.raises(RulesError, match=r"\w+ \w+"):
        CHECKED_VALUES[what](HUGE)


def test_ten_trillion_dollars_are_settled_to_the_cent_and_a_cent_more_is_refused():
    settlement = law_2016.settle_jackpot(
        [Claim(box, RF) for box in (7, 4, 1)], PoolAmounts(10**15, 0), ApprovedFunding()
    )
    assert [payout.amount_cents for payout in settlement.payouts] == [333_333_333_333_333] * 3
    assert settlement.after == PoolAmounts(1, 0)
    with pytest.raises(RulesError, match="the jackpot pool"):
        PoolAmounts(10**15 + 1, 0)
