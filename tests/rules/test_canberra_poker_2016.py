"""NI2016-268 rr 7-11: the jackpot of Canberra Poker, and its antes and bets, to the cent.

Amounts are in cents, written so that the dollars can be read: 50_000_01 is $50,000.01.
"""

from itertools import permutations

import pytest

from rules import CardError, Category, HandError, OptionError, RoundError, RulesError, parse
from rules.canberra_common import Box
from rules.instruments import canberra_poker_2016 as law
from rules.jackpot_prizes import ApprovedFunding, Claim, FixedFrom, PoolAmounts, Settlement, Sources, split
from rules.round_checks import Outcome

RF, SF, FOUR, FULL, FLUSH = "royal_flush", "straight_flush", "four_of_a_kind", "full_house", "flush"
PLENTY = 1_000_000_00

ROYAL_CLUBS, ROYAL_DIAMONDS = "Ac Kc Qc Jc Tc", "Ad Kd Qd Jd Td"
STRAIGHT_FLUSH_SPADES, STRAIGHT_FLUSH_HEARTS = "9s 8s 7s 6s 5s", "9h 8h 7h 6h 5h"
FLUSH_SPADES = "As Ks Js 4s 2s"
FOURS, SIXES_FULL = "4c 4d 4h 4s 2c", "6c 6d 6h 2h 2d"

ANTE, BET = 10_00, 20_00


def settle(
    hands: dict[int, str],
    jackpot: int,
    reserve: int = PLENTY,
    fixed_from: FixedFrom = FixedFrom.RESERVE,
    reset: int = 0,
) -> Settlement:
    claims = [Claim(box, hand) for box, hand in hands.items()]
    return law.settle_jackpot(claims, PoolAmounts(jackpot, reserve), ApprovedFunding(fixed_from, reset))


def amounts(settlement: Settlement) -> dict[int, int]:
    return {payout.box: payout.amount_cents for payout in settlement.payouts}


def sources(settlement: Settlement) -> dict[int, Sources]:
    return {payout.box: payout.sources for payout in settlement.payouts}


def wagered(box: int, cards: str | None, **more: object) -> Box:
    fields = {"jackpot_wager": True, "ante_cents": ANTE, "bet_cents": BET} | more
    return Box(box, None if cards is None else parse(cards), **fields)


# --- 10.6: every wager goes into the two pools (reading 1) ---


@pytest.mark.parametrize("bps", [0, 1, 3_333, 5_000, 6_667, 7_000, 9_999, 10_000])
@pytest.mark.parametrize("amount", [1, 99, 100, 200, 501])
def test_every_wager_goes_whole_into_the_two_pools_and_no_cent_is_lost_or_made(bps, amount):
    before, to_jackpot, to_reserve = 0, 0, 0
    for _ in range(100):
        jackpot, reserve = split(before, amount, bps)
        assert jackpot + reserve == amount
        assert jackpot >= 0
        assert reserve >= 0
        before, to_jackpot, to_reserve = before + amount, to_jackpot + jackpot, to_reserve + reserve
    assert to_jackpot == 100 * amount * bps // 10_000
    assert to_jackpot + to_reserve == 100 * amount


def test_at_6667_basis_points_dollar_wagers_give_the_jackpot_66_67_67_66_cents():
    shares = [split(before, 1_00, 6_667) for before in range(0, 4_00, 1_00)]
    assert shares == [(66, 34), (67, 33), (67, 33), (66, 34)]


def test_five_dollar_wagers_at_70_30_raise_a_jackpot_of_50000_to_50003_50():
    jackpot = 50_000_00 + sum(split(before, 1_00, 7_000)[0] for before in range(0, 5_00, 1_00))
    assert jackpot == 50_003_50


@pytest.mark.parametrize("bps", [-1, 10_001, True, 7_000.0, "7000", None])
def test_a_split_that_is_no_share_of_the_whole_is_refused(bps):
    with pytest.raises(RoundError, match="basis points"):
        split(0, 1_00, bps)


@pytest.mark.parametrize(("before", "amount"), [(-1, 1_00), (0, -1_00), (True, 1_00), (0, 1.0), ("0", 1_00), (0, None)])
def test_a_wager_that_is_no_amount_of_money_is_not_split(before, amount):
    with pytest.raises(RoundError, match="whole number of cents"):
        split(before, amount, 7_000)


# --- 10.1, 7.3, 10.4, 10.5, 10.7: who can win (reading 3) ---


@pytest.mark.parametrize(
    ("cards", "prize"),
    [
        (ROYAL_CLUBS, RF),
        (STRAIGHT_FLUSH_SPADES, SF),
        ("5s 4s 3s 2s As", SF),
        (FOURS, FOUR),
        (SIXES_FULL, FULL),
        (FLUSH_SPADES, FLUSH),
    ],
)
def test_a_royal_flush_straight_flush_four_of_a_kind_full_house_or_flush_qualifies(cards, prize):
    assert law.claims([wagered(4, cards)]) == [Claim(4, prize)]


@pytest.mark.parametrize(
    "cards",
    ["Ac Kd Qh Js Tc", "5c 4d 3h 2s Ac", "Qc Qd Qh 8s 5c", "Ac Ad 8h 8s 5c", "Tc Td Kh 6s 2c", "Ac Kd Qh Js 9c"],
)
def test_a_straight_or_less_qualifies_for_nothing(cards):
    assert law.claims([wagered(4, cards)]) == []


def test_a_folded_hand_wins_nothing_however_good_it_was():
    assert law.claims([wagered(4, ROYAL_CLUBS, folded=True)]) == []


def test_a_player_excluded_from_the_round_is_recorded_as_a_fold_and_leaves_the_prize_to_the_others():
    boxes = [wagered(4, ROYAL_CLUBS, folded=True), wagered(2, ROYAL_DIAMONDS)]
    settlement = law.settle_jackpot(law.claims(boxes), PoolAmounts(50_000_00, 0), ApprovedFunding())
    assert amounts(settlement) == {2: 50_000_00}


def test_an_undeclared_hand_wins_nothing():
    assert law.claims([wagered(4, None)]) == []


def test_a_hand_without_a_wager_on_the_jackpot_wins_nothing():
    assert law.claims([wagered(4, ROYAL_CLUBS, jackpot_wager=False)]) == []


def test_a_wager_on_the_jackpot_without_an_ante_is_refused():
    with pytest.raises(RoundError, match=r"box 4 .* without an ante \(NI2016-268 r 10\.1\)"):
        law.claims([wagered(4, ROYAL_CLUBS, ante_cents=0, bet_cents=0)])


def test_a_wager_without_an_ante_is_refused_even_where_its_hand_wins_nothing():
    with pytest.raises(RoundError, match="without an ante"):
        law.claims([wagered(4, None, ante_cents=0, bet_cents=0)])


@pytest.mark.parametrize("ante", [-1, -10_00])
def test_a_negative_ante_is_no_ante(ante):
    with pytest.raises(RoundError):
        law.claims([wagered(4, ROYAL_CLUBS, ante_cents=ante, bet_cents=2 * ante)])


def test_where_antes_are_left_out_only_the_jackpot_is_settled():
    assert law.claims([Box(4, parse(FLUSH_SPADES), jackpot_wager=True)]) == [Claim(4, FLUSH)]


def test_a_box_without_a_jackpot_wager_needs_no_ante():
    assert law.claims([Box(4, parse(FLUSH_SPADES), ante_cents=0)]) == []


def test_each_box_claims_for_itself():
    boxes = [
        wagered(1, ROYAL_CLUBS),
        wagered(2, STRAIGHT_FLUSH_HEARTS, folded=True),
        wagered(3, STRAIGHT_FLUSH_SPADES, jackpot_wager=False),
        wagered(4, None),
        wagered(5, FLUSH_SPADES),
        wagered(6, "Qs Qd Qh 8c 5c"),
    ]
    assert law.claims(boxes) == [Claim(1, RF), Claim(5, FLUSH)]


@pytest.mark.parametrize("cards", ["As Ks Js 4s", "As Ks Js 4s 2s 3s", ""])
def test_a_hand_with_the_wrong_number_of_cards_is_refused_not_settled(cards):
    with pytest.raises(HandError):
        law.claims([wagered(4, cards)])


def test_a_card_held_by_two_boxes_is_refused():
    with pytest.raises(CardError, match="9s is held by box 1 and by box 2"):
        law.claims([wagered(1, STRAIGHT_FLUSH_SPADES), wagered(2, "As Ks Qs Js 9s")])


def test_the_joker_is_not_in_the_deck():
    with pytest.raises(CardError):
        law.claims([wagered(4, "As Ks Qs Js Jk")])


def test_one_player_to_a_box():
    with pytest.raises(RoundError, match="box 4 is listed twice"):
        law.claims([wagered(4, ROYAL_CLUBS), wagered(4, ROYAL_DIAMONDS)])


@pytest.mark.parametrize("box", [0, -1, True, 1.0, "1", None])
def test_a_box_is_numbered_from_one(box):
    with pytest.raises(RoundError, match="numbered from 1"):
        law.claims([wagered(box, ROYAL_CLUBS)])


def test_the_instrument_leaves_no_choice_of_deck():
    with pytest.raises(OptionError):
        law.load(deck=48)


# --- 11.1: amounts for a single winner (reading 4) ---


@pytest.mark.parametrize(
    ("jackpot", "paid", "from_jackpot", "from_reserve"),
    [
        (0, 10_000_00, 0, 10_000_00),
        (4_000_00, 10_000_00, 4_000_00, 6_000_00),
        (9_999_99, 10_000_00, 9_999_99, 1),
        (10_000_00, 10_000_00, 10_000_00, 0),
        (10_000_01, 10_000_01, 10_000_01, 0),
        (484_018_95, 484_018_95, 484_018_95, 0),
    ],
)
def test_a_royal_flush_wins_the_whole_jackpot_or_10000_if_that_is_more(jackpot, paid, from_jackpot, from_reserve):
    settlement = settle({3: RF}, jackpot)
    assert amounts(settlement) == {3: paid}
    assert sources(settlement) == {3: Sources(from_jackpot, from_reserve)}
    assert settlement.after == PoolAmounts(0, PLENTY - from_reserve)


@pytest.mark.parametrize(
    ("jackpot", "paid", "from_jackpot"),
    [
        (0, 1_000_00, 0),
        (9, 1_000_00, 0),
        (5_000_00, 1_000_00, 500_00),
        (9_999_99, 1_000_00, 999_99),
        (10_000_00, 1_000_00, 1_000_00),
        (10_000_10, 1_000_01, 1_000_01),
        (10_000_19, 1_000_01, 1_000_01),
        (48_765_43, 4_876_54, 4_876_54),
        (50_003_50, 5_000_35, 5_000_35),
    ],
)
def test_a_straight_flush_wins_a_tenth_of_the_jackpot_rounded_down_or_1000_if_that_is_more(jackpot, paid, from_jackpot):
    settlement = settle({3: SF}, jackpot)
    assert amounts(settlement) == {3: paid}
    assert sources(settlement) == {3: Sources(from_jackpot, paid - from_jackpot)}
    assert settlement.after == PoolAmounts(jackpot - from_jackpot, PLENTY - (paid - from_jackpot))


@pytest.mark.parametrize(("hand", "paid"), [(FOUR, 500_00), (FULL, 150_00), (FLUSH, 100_00)])
@pytest.mark.parametrize("jackpot", [0, 50_000_00])
def test_four_of_a_kind_wins_500_a_full_house_150_and_a_flush_100_at_any_jackpot(hand, paid, jackpot):
    settlement = settle({3: hand}, jackpot)
    assert amounts(settlement) == {3: paid}
    assert sources(settlement) == {3: Sources(reserve_cents=paid)}
    assert settlement.after == PoolAmounts(jackpot, PLENTY - paid)


@pytest.mark.parametrize("hand", [FOUR, FULL, FLUSH])
def test_two_fixed_prizes_of_one_kind_are_not_shared(hand):
    alone = amounts(settle({3: hand}, 50_000_00))[3]
    assert amounts(settle({3: hand, 5: hand}, 50_000_00)) == {3: alone, 5: alone}


@pytest.mark.parametrize(
    ("hand", "clause"), [(RF, "11.1(a)"), (SF, "11.1(b)"), (FOUR, "11.1(c)"), (FULL, "11.1(d)"), (FLUSH, "11.1(e)")]
)
def test_a_prize_won_alone_names_its_line_of_11_1(hand, clause):
    (payout,) = settle({3: hand}, 50_000_00).payouts
    assert payout.clause == f"NI2016-268 r {clause}"


@pytest.mark.parametrize(("hand", "clause"), [(RF, "11.3(a)"), (SF, "11.3(b)"), (FOUR, "11.1(c)"), (FLUSH, "11.1(e)")])
def test_only_a_shared_prize_names_11_3(hand, clause):
    payouts = settle({3: hand, 5: hand}, 50_000_00).payouts
    assert [payout.clause for payout in payouts] == [f"NI2016-268 r {clause}"] * 2


def test_one_royal_and_one_straight_flush_are_not_shared_and_cite_11_1():
    clauses = {payout.hand: payout.clause for payout in settle({3: RF, 5: SF}, 50_000_00).payouts}
    assert clauses == {SF: "NI2016-268 r 11.1(b)", RF: "NI2016-268 r 11.1(a)"}


def test_a_round_without_a_winner_pays_nothing_and_leaves_the_pools():
    settlement = settle({}, 50_000_00, 20_000_00, reset=60_000_00)
    assert settlement == Settlement((), Sources(), PoolAmounts(50_000_00, 20_000_00))


@pytest.mark.parametrize("hand", ["straight", "dead_mans_hand", "five_of_a_kind", "two_pairs", "", "Royal flush"])
def test_a_claim_that_is_no_prize_of_2016_is_refused(hand):
    with pytest.raises(RoundError, match=r"wins no prize under NI2016-268 r 10\.7#1"):
        settle({3: hand}, 50_000_00)


@pytest.mark.parametrize("hand", [None, 5, ["flush"], {"flush"}])
def test_a_claim_names_its_hand(hand):
    with pytest.raises(RoundError, match="box 3 claims with the name of a hand"):
        settle({3: hand}, 50_000_00)


def test_a_box_cannot_claim_twice():
    with pytest.raises(RoundError, match="box 3 claims twice"):
        law.settle_jackpot([Claim(3, SF), Claim(3, FLUSH)], PoolAmounts(0, 0), ApprovedFunding())


# --- 11.3(b): several straight flushes (readings 5, 9) ---


def test_two_straight_flushes_on_50000_share_5000_and_4500_and_leave_40500():
    settlement = settle({2: SF, 6: SF}, 50_000_00)
    assert amounts(settlement) == {6: 4_750_00, 2: 4_750_00}
    assert settlement.after == PoolAmounts(40_500_00, PLENTY)


def test_three_straight_flushes_on_50000_01_get_4516_66_each_and_the_odd_cents_stay_in_the_jackpot():
    settlement = settle({1: SF, 2: SF, 6: SF}, 50_000_01)
    assert amounts(settlement) == dict.fromkeys((6, 2, 1), 4_516_66)
    assert settlement.after == PoolAmounts(36_450_03, PLENTY)


def test_two_straight_flushes_on_10500_get_1000_each_of_which_the_reserve_adds_5():
    settlement = settle({2: SF, 6: SF}, 10_500_00)
    assert sources(settlement) == dict.fromkeys((6, 2), Sources(997_50, 2_50))
    assert settlement.after == PoolAmounts(8_505_00, PLENTY - 5_00)


@pytest.mark.parametrize(
    ("jackpot", "winners", "share", "after"),
    [
        (0, 2, 0, 0),
        (19, 2, 1, 17),  # 1 + 1
        (99, 3, 8, 75),  # 9 + 9 + 8 = 26, of which two odd cents stay
        (100_00, 2, 9_50, 81_00),  # 10.00 + 9.00
        (50_000_00, 4, 4_298_75, 32_805_00),  # 5,000 + 4,500 + 4,050 + 3,645
    ],
)
def test_each_tenth_is_taken_of_the_rest_of_the_one_before_and_rounded_down(jackpot, winners, share, after):
    settlement = settle(dict.fromkeys(range(1, winners + 1), SF), jackpot)
    assert [entry.jackpot_cents for entry in sources(settlement).values()] == [share] * winners
    assert settlement.after.jackpot_cents == after
    assert law.straight_flush_share(jackpot, winners) == share


# --- 11.3(a): several royal flushes (reading 6) ---


def test_two_royals_on_15000_01_get_10000_each_not_7500():
    settlement = settle({2: RF, 6: RF}, 15_000_01, 20_000_00)
    assert sources(settlement) == dict.fromkeys((6, 2), Sources(7_500_00, 2_500_00))
    assert amounts(settlement) == {6: 10_000_00, 2: 10_000_00}
    assert settlement.after == PoolAmounts(1, 15_000_00)


@pytest.mark.parametrize(
    ("jackpot", "winners", "paid", "left"),
    [(50_000_00, 2, 25_000_00, 0), (50_000_00, 3, 16_666_66, 2), (40_000_03, 4, 10_000_00, 3)],
)
def test_royals_share_all_of_the_jackpot_equally_and_odd_cents_stay_in_it(jackpot, winners, paid, left):
    settlement = settle(dict.fromkeys(range(1, winners + 1), RF), jackpot)
    assert list(amounts(settlement).values()) == [paid] * winners
    assert settlement.after == PoolAmounts(left, PLENTY)


# --- 11.4: both in one round (reading 7) ---


def test_two_straight_flushes_two_royals_and_a_flush_on_48765_43_dealt_from_one_deck():
    boxes = [
        wagered(7, ROYAL_CLUBS),
        wagered(6, STRAIGHT_FLUSH_SPADES),
        wagered(4, FLUSH_SPADES),
        wagered(3, ROYAL_DIAMONDS),
        wagered(1, STRAIGHT_FLUSH_HEARTS),
    ]
    settlement = law.settle_jackpot(law.claims(boxes), PoolAmounts(48_765_43, 10_000_00), ApprovedFunding())
    assert [(payout.order, payout.box, payout.amount_cents) for payout in settlement.payouts] == [
        (1, 6, 4_632_71),
        (2, 4, 100_00),
        (3, 1, 4_632_71),
        (4, 7, 19_750_00),
        (5, 3, 19_750_00),
    ]
    assert sources(settlement)[4] == Sources(reserve_cents=100_00)
    assert settlement.after == PoolAmounts(1, 9_900_00)
    assert settlement.house_cents == 0


def test_a_straight_flush_and_a_royal_on_10400_leave_the_royal_9360_which_the_reserve_makes_10000():
    settlement = settle({7: RF, 1: SF}, 10_400_00)
    assert amounts(settlement) == {1: 1_040_00, 7: 10_000_00}
    assert sources(settlement)[7] == Sources(9_360_00, 640_00)
    assert settlement.after == PoolAmounts(0, PLENTY - 640_00)


# --- 11.2, 11.4: the order of payment (reading 8) ---


@pytest.mark.parametrize(
    ("hands", "order"),
    [
        ({1: FLUSH, 7: FOUR, 4: FULL}, [7, 4, 1]),
        ({1: RF, 4: SF, 7: FLUSH}, [7, 4, 1]),
        ({7: RF, 4: SF, 1: FLUSH}, [4, 7, 1]),
        ({7: RF, 6: RF, 4: SF, 1: FLUSH}, [4, 7, 6, 1]),
        ({7: RF, 6: SF, 5: RF, 4: FLUSH, 3: SF, 2: FLUSH, 1: RF}, [6, 4, 3, 7, 5, 2, 1]),
        ({7: FLUSH, 6: RF, 5: FLUSH, 4: SF}, [7, 5, 4, 6]),
        ({7: RF, 5: FLUSH, 4: FLUSH}, [7, 5, 4]),
        ({7: SF, 6: RF, 5: FLUSH}, [7, 6, 5]),
        ({10: FLUSH, 9: FLUSH, 2: FLUSH}, [10, 9, 2]),
    ],
)
def test_prizes_are_paid_from_the_highest_box_down_and_royals_wait_for_the_last_straight_flush(hands, order):
    payouts = settle(hands, 50_000_00).payouts
    assert [payout.box for payout in payouts] == order
    assert [payout.order for payout in payouts] == list(range(1, len(order) + 1))
    assert {payout.box: payout.hand for payout in payouts} == hands


def test_it_does_not_matter_in_which_order_the_boxes_are_entered():
    claims = [Claim(7, RF), Claim(5, FLUSH), Claim(3, SF), Claim(1, RF)]
    results = {
        law.settle_jackpot(entered, PoolAmounts(48_765_43, 100_00), ApprovedFunding(reset_cents=10_000_00))
        for entered in permutations(claims)
    }
    assert len(results) == 1


# --- funding (reading 9) ---


def test_a_percentage_prize_comes_from_the_jackpot_alone():
    settlement = settle({3: SF}, 50_000_00, 0)
    assert sources(settlement) == {3: Sources(jackpot_cents=5_000_00)}


def test_the_rest_of_a_floor_comes_from_the_reserve_and_then_as_an_advance():
    settlement = settle({3: RF}, 4_000_00, 1_500_00)
    assert sources(settlement) == {3: Sources(4_000_00, 1_500_00, 0, 4_500_00)}
    assert settlement.after == PoolAmounts(0, 0)
    assert settlement.house_cents == 4_500_00


def test_a_fixed_prize_comes_from_the_reserve_and_then_as_an_advance():
    settlement = settle({3: FOUR}, 50_000_00, 120_00)
    assert sources(settlement) == {3: Sources(reserve_cents=120_00, advance_cents=380_00)}
    assert settlement.after == PoolAmounts(50_000_00, 0)


def test_the_reserve_is_drawn_in_payout_order_so_the_last_prize_shows_the_advance():
    settlement = settle({7: FLUSH, 4: FULL, 1: FLUSH}, 50_000_00, 200_00)
    assert sources(settlement) == {
        7: Sources(reserve_cents=100_00),
        4: Sources(reserve_cents=100_00, advance_cents=50_00),
        1: Sources(advance_cents=100_00),
    }


def test_floors_and_fixed_prizes_draw_on_one_reserve():
    settlement = settle({7: SF, 4: FLUSH}, 0, 1_050_00)
    assert sources(settlement) == {
        7: Sources(reserve_cents=1_000_00),
        4: Sources(reserve_cents=50_00, advance_cents=50_00),
    }


@pytest.mark.parametrize(("hand", "paid"), [(FOUR, 500_00), (FULL, 150_00), (FLUSH, 100_00)])
def test_fixed_prizes_from_the_house_touch_no_pool_and_are_no_advance(hand, paid):
    settlement = settle({3: hand}, 50_000_00, 20_000_00, FixedFrom.HOUSE)
    assert sources(settlement) == {3: Sources(house_cents=paid)}
    assert settlement.after == PoolAmounts(50_000_00, 20_000_00)
    assert settlement.house_cents == paid


def test_where_the_house_pays_fixed_prizes_a_floor_still_comes_from_the_reserve():
    settlement = settle({7: FLUSH, 3: SF}, 5_000_00, 20_000_00, FixedFrom.HOUSE)
    assert sources(settlement) == {7: Sources(house_cents=100_00), 3: Sources(500_00, 500_00)}


def test_a_flush_paid_first_from_the_jackpot_makes_the_straight_flush_a_tenth_of_less():
    settlement = settle({7: FLUSH, 3: SF}, 50_000_00, 0, FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(100_00), 3: Sources(4_990_00)}
    assert settlement.after == PoolAmounts(44_910_00, 0)


def test_a_flush_paid_after_it_from_the_jackpot_does_not():
    settlement = settle({7: SF, 3: FLUSH}, 50_000_00, 0, FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(5_000_00), 3: Sources(100_00)}
    assert settlement.after == PoolAmounts(44_900_00, 0)


def test_at_the_first_straight_flush_the_whole_groups_money_leaves_the_jackpot():
    settlement = settle({7: SF, 4: FOUR, 1: SF}, 50_000_00, 0, FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(4_750_00), 4: Sources(500_00), 1: Sources(4_750_00)}
    assert settlement.after == PoolAmounts(40_000_00, 0)


def test_at_the_first_royal_the_whole_groups_money_leaves_the_jackpot_and_a_later_fixed_prize_falls_to_the_reserve():
    settlement = settle({7: RF, 4: FLUSH, 1: RF}, 50_000_01, 60_00, FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(25_000_00), 4: Sources(1, 60_00, 0, 39_99), 1: Sources(25_000_00)}
    assert settlement.after == PoolAmounts(0, 0)


def test_a_fixed_prize_that_the_jackpot_cannot_cover_falls_to_the_reserve():
    settlement = settle({7: FOUR, 4: FOUR}, 700_00, 400_00, FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(500_00), 4: Sources(200_00, 300_00)}
    assert settlement.after == PoolAmounts(0, 100_00)


def test_fixed_prizes_from_the_jackpot_leave_less_to_the_royals_too():
    settlement = settle({7: FULL, 3: RF}, 50_000_00, 0, FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(150_00), 3: Sources(49_850_00)}


@pytest.mark.parametrize("fixed_from", ["reserve", "players", None, True])
def test_fixed_prizes_have_one_of_three_sources(fixed_from):
    with pytest.raises(RoundError, match="fixed prizes come from reserve, jackpot, house"):
        ApprovedFunding(fixed_from)


@pytest.mark.parametrize("cents", [-1, True, 1.0, "1", None])
def test_a_pool_holds_a_whole_number_of_cents_and_is_never_negative(cents):
    with pytest.raises(RoundError, match="the jackpot pool"):
        PoolAmounts(cents, 0)
    with pytest.raises(RoundError, match="the reserve pool"):
        PoolAmounts(0, cents)


@pytest.mark.parametrize("cents", [-1, True, 1.0, "1", None])
def test_a_reset_is_a_whole_number_of_cents(cents):
    with pytest.raises(RoundError, match="the reset amount"):
        ApprovedFunding(reset_cents=cents)


# --- when the jackpot is read, and corrections (readings 10, 11) ---


def test_the_rounds_own_wagers_are_in_the_jackpot_that_a_straight_flush_is_a_tenth_of():
    settlement = settle({3: SF}, 50_000_00 + sum(split(before, 1_00, 7_000)[0] for before in range(0, 5_00, 1_00)))
    assert amounts(settlement) == {3: 5_000_35}
    assert settlement.after.jackpot_cents == 45_003_15


def test_a_linked_table_that_wins_a_moment_later_is_settled_on_the_remaining_pools():
    first = settle({3: SF}, 50_000_00)
    second = settle({5: SF}, first.after.jackpot_cents)
    assert (amounts(first), amounts(second)) == ({3: 5_000_00}, {5: 4_500_00})


@pytest.mark.parametrize(
    ("hand", "shared", "alone", "left"), [(RF, 25_000_00, 50_000_00, 0), (SF, 4_750_00, 5_000_00, 45_000_00)]
)
def test_settled_anew_without_a_corrected_hand_the_other_takes_the_prize_alone(hand, shared, alone, left):
    assert amounts(settle({7: hand, 3: hand}, 50_000_00)) == {7: shared, 3: shared}
    anew = settle({3: hand}, 50_000_00)
    assert amounts(anew) == {3: alone}
    assert anew.after.jackpot_cents == left


# --- the reset after a royal (reading 12) ---


def test_after_a_royal_the_jackpot_is_raised_to_the_reset_from_the_reserve():
    settlement = settle({3: RF}, 50_000_00, 20_000_00, reset=10_000_00)
    assert settlement.reset == Sources(reserve_cents=10_000_00)
    assert settlement.after == PoolAmounts(10_000_00, 10_000_00)


def test_if_the_reserve_cannot_pay_the_reset_the_rest_is_an_advance():
    settlement = settle({3: RF}, 50_000_00, 4_000_00, reset=10_000_00)
    assert settlement.reset == Sources(reserve_cents=4_000_00, advance_cents=6_000_00)
    assert settlement.after == PoolAmounts(10_000_00, 0)
    assert settlement.house_cents == 6_000_00


def test_the_reset_comes_last_so_floors_and_fixed_prizes_draw_on_the_reserve_before_it():
    settlement = settle({7: RF, 1: FLUSH}, 5_000_00, 10_500_00, reset=10_000_00)
    assert sources(settlement) == {7: Sources(5_000_00, 5_000_00), 1: Sources(reserve_cents=100_00)}
    assert settlement.reset == Sources(reserve_cents=5_400_00, advance_cents=4_600_00)
    assert settlement.after == PoolAmounts(10_000_00, 0)


def test_the_reset_adds_only_the_missing_amount():
    settlement = settle({7: RF, 1: RF}, 50_000_01, 20_000_00, reset=10_000_00)
    assert settlement.reset == Sources(reserve_cents=9_999_99)
    assert settlement.after == PoolAmounts(10_000_00, 10_000_01)


def test_the_reset_never_lowers_the_jackpot():
    settlement = settle({7: RF, 4: RF, 1: RF}, 50_000_00, 20_000_00, reset=1)
    assert settlement.reset == Sources()
    assert settlement.after == PoolAmounts(2, 20_000_00)


def test_without_a_reset_amount_the_jackpot_is_not_raised():
    settlement = law.settle_jackpot([Claim(3, RF)], PoolAmounts(50_000_00, 20_000_00), ApprovedFunding())
    assert settlement.after == PoolAmounts(0, 20_000_00)
    assert settlement.reset == Sources()


@pytest.mark.parametrize("hand", [SF, FOUR, FULL, FLUSH])
def test_only_a_royal_resets_the_jackpot(hand):
    settlement = settle({3: hand}, 2_000_00, 20_000_00, reset=10_000_00)
    assert settlement.reset == Sources()
    assert settlement.after.jackpot_cents <= 2_000_00


def test_a_house_paid_prize_and_an_advance_are_both_money_the_operator_put_in():
    settlement = settle({7: RF, 1: FLUSH}, 0, 0, FixedFrom.HOUSE, reset=10_000_00)
    assert settlement.house_cents == 10_000_00 + 100_00 + 10_000_00


# --- 7-9: antes and bets (reading 27) ---

LOWEST_DEALER = "Ac Kd 4c 3d 2h"


def table(dealer: str, *hands: str, max_payout: int | None = None, **more: object) -> list[tuple]:
    boxes = [wagered(number, cards, **more) for number, cards in enumerate(hands, start=1)]
    results = law.settle_table(parse(dealer), boxes, max_payout)
    return [(result.ante, result.ante_paid_cents, result.bet, result.bet_paid_cents) for result in results]


WON_ANTE_BET_BACK = (Outcome.WIN, ANTE, Outcome.PUSH, 0)
LOST = (Outcome.LOSE, 0, Outcome.LOSE, 0)
BACK = (Outcome.PUSH, 0, Outcome.PUSH, 0)


@pytest.mark.parametrize("dealer", ["Ac Qd Jc Td 8h", "Kc Qd Jc Td 8h", "Ac Qd 4c 3d 2h", "7c 5d 4c 3d 2h"])
def test_a_dealer_without_ace_and_king_or_higher_does_not_play_antes_win_and_bets_are_returned(dealer):
    assert table(dealer, "8c 8d 5s 4s 3s", "7s 6s 5h 4h 2s") == [WON_ANTE_BET_BACK, WON_ANTE_BET_BACK]


def test_without_a_playing_dealer_even_a_royal_flush_bet_is_only_returned():
    assert table("Ac Qd Jc Td 8h", "As Ks Qs Js Ts") == [WON_ANTE_BET_BACK]


def test_without_a_playing_dealer_a_tie_too_wins_the_ante():
    assert table("Ac Qd Jc Td 8h", "Ad Qc Jd Tc 8s") == [WON_ANTE_BET_BACK]


@pytest.mark.parametrize(
    "dealer", [LOWEST_DEALER, "Ac Kd Qc Jd 9h", "3c 3d 5c 6d 7h", "5c 4d 3c 2d Ah", "2c 4c 6c 8c 9c"]
)
def test_a_dealer_with_ace_and_king_or_higher_plays_and_a_lower_hand_loses_both(dealer):
    assert table(dealer, "As Qs Jh 9d 8d") == [LOST]


def test_a_hand_higher_than_the_dealers_wins_ante_and_bet():
    assert table("Kc Kd 4c 3d 2h", "Ac Ad 5s 6s 7h") == [(Outcome.WIN, ANTE, Outcome.WIN, BET)]


def test_every_card_counts_against_the_dealer():
    assert table("Qc Qd Jc Jd 9h", "Qs Qh Js Jh Td", "8c 8d 7s 7h 2d") == [
        (Outcome.WIN, ANTE, Outcome.WIN, 2 * BET),
        LOST,
    ]


def test_a_hand_equal_to_a_playing_dealers_in_any_suits_gets_ante_and_bet_back():
    assert table(LOWEST_DEALER, "Ad Kc 4d 3c 2s") == [BACK]


@pytest.mark.parametrize(
    ("cards", "category", "odds"),
    [
        ("As Ks 5s 3h 2s", Category.FIVE_ODD_CARDS, 1),
        ("Ts Td Ks 6s 2s", Category.ONE_PAIR, 1),
        ("Qs Qh 4s 4h Jd", Category.TWO_PAIRS, 2),
        ("Qs Qh Qd 8s 5d", Category.THREE_OF_A_KIND, 3),
        ("5s 4s 3s 2s Ad", Category.STRAIGHT, 4),
        ("Ks Js 9s 7s 5s", Category.FLUSH, 5),
        ("Ks Kh Kc Js Jd", Category.FULL_HOUSE, 7),
        ("As Ah Ad 4s 4h", Category.FULL_HOUSE, 7),
        ("9s 9h 9d 9c 4h", Category.FOUR_OF_A_KIND, 20),
        ("5s 4s 3s 2s As", Category.STRAIGHT_FLUSH, 50),
        ("As Ks Qs Js Ts", Category.ROYAL_FLUSH, 250),
    ],
)
def test_a_winning_bet_is_paid_the_odds_of_its_hand_and_the_ante_even_money(cards, category, odds):
    (result,) = law.settle_table(parse(LOWEST_DEALER), [wagered(1, cards)])
    assert result.hand is category
    assert (result.ante, result.ante_paid_cents) == (Outcome.WIN, ANTE)
    assert (result.bet, result.bet_paid_cents) == (Outcome.WIN, odds * BET)


@pytest.mark.parametrize(
    ("max_payout", "bet_paid"),
    [(None, 250 * BET), (250 * BET, 250 * BET), (250 * BET - 1, 250 * BET - 1), (5_00, 5_00), (0, 0)],
)
def test_a_bet_is_paid_up_to_the_tables_maximum_payout_and_the_ante_in_full(max_payout, bet_paid):
    assert table(LOWEST_DEALER, "As Ks Qs Js Ts", max_payout=max_payout) == [(Outcome.WIN, ANTE, Outcome.WIN, bet_paid)]


@pytest.mark.parametrize("max_payout", [-1, True, 1.5, "500"])
@pytest.mark.parametrize("cards", ["As Ks Qs Js Ts", "Qs Js 9d 8d 2s"])
def test_a_maximum_payout_that_is_no_amount_of_money_is_refused(max_payout, cards):
    with pytest.raises(RulesError):
        table(LOWEST_DEALER, cards, max_payout=max_payout)


@pytest.mark.parametrize("dealer", ["Ac Qd Jc Td 8h", LOWEST_DEALER])
@pytest.mark.parametrize("bet", [None, 0, BET])
@pytest.mark.parametrize("cards", ["As Ks Qs Js Ts", None])
def test_a_fold_loses_its_ante_and_any_bet_with_any_cards(dealer, bet, cards):
    boxes = [wagered(1, cards, folded=True, bet_cents=bet)]
    (result,) = law.settle_table(parse(dealer), boxes)
    assert (result.ante, result.ante_paid_cents, result.bet, result.bet_paid_cents) == LOST


@pytest.mark.parametrize("bet", [None, 0, ANTE, BET - 1, BET + 1, 3 * ANTE])
def test_a_bet_is_exactly_twice_the_ante(bet):
    with pytest.raises(RoundError, match=rf"is {bet or 0} cents .* twice the ante of 1000 \(NI2016-268 r 7\.2\)"):
        table(LOWEST_DEALER, "As Ks Qs Js Ts", bet_cents=bet)


@pytest.mark.parametrize("ante", [None, -1, True, 10.0, "1000"])
def test_an_ante_is_a_whole_number_of_cents(ante):
    with pytest.raises(RoundError, match="the ante of box 1"):
        table(LOWEST_DEALER, "As Ks Qs Js Ts", ante_cents=ante)


@pytest.mark.parametrize("bet", [-1, True, 20.0, "2000"])
def test_a_bet_is_a_whole_number_of_cents(bet):
    with pytest.raises(RoundError, match="the bet of box 1"):
        table(LOWEST_DEALER, "As Ks Qs Js Ts", bet_cents=bet)


def test_a_box_that_neither_folds_nor_shows_its_cards_cannot_be_settled():
    with pytest.raises(RoundError, match="box 1 has not folded and shows no cards"):
        law.settle_table(parse(LOWEST_DEALER), [wagered(1, None)])


@pytest.mark.parametrize("dealer", ["Ac Kd 4c 3d", "Ac Kd 4c 3d 2h 2c"])
def test_a_dealers_hand_with_the_wrong_number_of_cards_is_refused_in_2016(dealer):
    with pytest.raises(HandError):
        table(dealer, "As Ks Qs Js Ts")


def test_one_player_to_a_box_at_the_table_too():
    with pytest.raises(RoundError, match="box 1 is listed twice"):
        law.settle_table(parse(LOWEST_DEALER), [wagered(1, "As Ks Qs Js Ts"), wagered(1, "9s 8s 7s 6s 5s")])


def test_the_highest_number_a_box_may_have_is_a_million():
    assert law.claims([wagered(1_000_000, FLUSH_SPADES)]) == [Claim(1_000_000, FLUSH)]
    with pytest.raises(RoundError, match="numbered from 1"):
        law.claims([wagered(1_000_001, FLUSH_SPADES)])


def test_the_outcome_of_a_wager_is_win_lose_or_push():
    assert [str(outcome) for outcome in (Outcome.WIN, Outcome.LOSE, Outcome.PUSH)] == ["win", "lose", "push"]


def test_a_card_held_by_the_dealer_and_a_box_is_refused():
    with pytest.raises(CardError, match="Ac is held by the dealer and by box 1"):
        table(LOWEST_DEALER, "Ac Kc Qc Jc Tc")


@pytest.mark.parametrize(
    ("dealer", "cards", "folded", "number"),
    [
        (LOWEST_DEALER, "As Ks Qs Js Ts", True, "7.3"),
        ("Ac Qd Jc Td 8h", "As Ks Qs Js Ts", True, "7.3"),
        ("Ac Qd Jc Td 8h", "7s 6s 5h 4h 2s", False, "9.3"),
        (LOWEST_DEALER, "As Ks Qs Js Ts", False, "9.4"),
        (LOWEST_DEALER, "As Qs Jh 9d 8d", False, "9.5"),
        (LOWEST_DEALER, "Ad Kc 4d 3c 2s", False, "9.6"),
    ],
)
def test_each_box_names_the_clause_that_settles_it(dealer, cards, folded, number):
    (result,) = law.settle_table(parse(dealer), [wagered(1, cards, folded=folded)])
    assert result.clause == f"NI2016-268 r {number}"


def test_boxes_are_answered_in_the_order_they_were_given():
    boxes = [wagered(3, "As Ks Qs Js Ts"), wagered(1, "Qh Jh 9d 8d 2s"), wagered(2, None, folded=True)]
    assert [result.box for result in law.settle_table(parse(LOWEST_DEALER), boxes)] == [3, 1, 2]


@pytest.mark.parametrize("dealer", ["Ac Qd Jc Td 8h", LOWEST_DEALER, "Ac Kc Qc Jc Tc"])
@pytest.mark.parametrize("max_payout", [None, 1_00])
def test_a_jackpot_prize_does_not_depend_on_the_dealers_hand_or_the_maximum_payout(dealer, max_payout):
    boxes = [wagered(4, STRAIGHT_FLUSH_SPADES)]
    law.settle_table(parse(dealer), boxes, max_payout)
    settlement = law.settle_jackpot(law.claims(boxes), PoolAmounts(50_000_00, 0), ApprovedFunding())
    assert amounts(settlement) == {4: 5_000_00}


def test_a_jackpot_prize_comes_on_top_of_ante_and_bet():
    with_wager, without = [
        law.settle_table(parse(LOWEST_DEALER), [wagered(4, STRAIGHT_FLUSH_SPADES, jackpot_wager=wager)])
        for wager in (True, False)
    ]
    assert with_wager == without
    assert (with_wager[0].ante_paid_cents, with_wager[0].bet_paid_cents) == (ANTE, 50 * BET)
    settlement = law.settle_jackpot(
        law.claims([wagered(4, STRAIGHT_FLUSH_SPADES)]), PoolAmounts(50_000_00, 0), ApprovedFunding()
    )
    assert amounts(settlement) == {4: 5_000_00}
