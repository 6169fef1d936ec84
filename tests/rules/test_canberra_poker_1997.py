"""Gazette S89 of 1997: the Boomerang Jackpot (ss 11-13), and its antes and bets (ss 9-10), to the cent.

Amounts are in cents, written so that the dollars can be read: 50_000_01 is $50,000.01.
"""

from itertools import permutations

import pytest

from rules import CardError, Category, OptionError, RoundError, parse
from rules.canberra_common import Box
from rules.instruments import canberra_poker_1997 as law
from rules.instruments.canberra_poker_1997 import Pooled, Wagers
from rules.jackpot_prizes import ApprovedFunding, Claim, FixedFrom, PoolAmounts, Settlement, Sources
from rules.round_checks import Outcome

RF, SF, FOUR, FULL, FLUSH = "royal_flush", "straight_flush", "four_of_a_kind", "full_house", "flush"
DEAD_MAN = "dead_mans_hand"
PLENTY = 1_000_000_00

ROYAL_CLUBS, ROYAL_DIAMONDS = "Ac Kc Qc Jc Tc", "Ad Kd Qd Jd Td"
STRAIGHT_FLUSH_SPADES = "9s 8s 7s 6s 5s"
FLUSH_SPADES = "As Ks Js 4s 2s"
ACES_AND_EIGHTS = "Ah As 8h 8c 2s"

ANTE, BET = 10_00, 20_00


def settle(
    hands: dict[int, str],
    jackpot: int,
    reserve: int = PLENTY,
    *,
    displayed: int | dict[int, int] | None = None,
    fixed_from: FixedFrom = FixedFrom.RESERVE,
    reset: int = 0,
    wagers: Wagers | None = None,
) -> tuple[Settlement, Pooled]:
    """Settle claims on the displayed amount, by default the amount in the jackpot."""
    shown = jackpot if displayed is None else displayed
    claims = [Claim(box, hand, shown[box] if isinstance(shown, dict) else shown) for box, hand in hands.items()]
    return law.settle_jackpot(claims, PoolAmounts(jackpot, reserve), ApprovedFunding(fixed_from, reset), wagers)


def amounts(settlement: Settlement) -> dict[int, int]:
    return {payout.box: payout.amount_cents for payout in settlement.payouts}


def sources(settlement: Settlement) -> dict[int, Sources]:
    return {payout.box: payout.sources for payout in settlement.payouts}


def wagered(box: int, cards: str | None, **more: object) -> Box:
    fields = {"jackpot_wager": True, "ante_cents": ANTE, "bet_cents": BET} | more
    return Box(box, None if cards is None else parse(cards), **fields)


# --- s 12: hands that qualify (reading 19) ---


@pytest.mark.parametrize(
    ("cards", "prize"),
    [
        (ROYAL_CLUBS, RF),
        (STRAIGHT_FLUSH_SPADES, SF),
        ("5s 4s 3s 2s As", SF),
        ("4c 4d 4h 4s 2c", FOUR),
        ("8c 8d 8h 8s Ac", FOUR),
        ("6c 6d 6h 2h 2d", FULL),
        (FLUSH_SPADES, FLUSH),
        ("Ah As 8h 8c 2s", DEAD_MAN),
        ("Ac Ad 8d 8s Kh", DEAD_MAN),
        ("8c Ac 7s 8s Ad", DEAD_MAN),
    ],
)
def test_a_flush_or_better_or_the_dead_mans_hand_qualifies(cards, prize):
    assert law.claims([wagered(4, cards)], 50_000_00) == [Claim(4, prize, 50_000_00)]


def test_aces_full_of_eights_is_a_full_house_and_not_the_dead_mans_hand():
    assert law.prize_hand(law.load().hand("Ac Ad Ah 8c 8d")) == FULL


def test_eights_full_of_aces_is_a_full_house_and_not_the_dead_mans_hand():
    assert law.prize_hand(law.load().hand("8c 8d 8h Ac Ad")) == FULL


@pytest.mark.parametrize(
    "cards",
    [
        "Ac Ad 7h 7s 8c",
        "Kc Kd 8h 8s Ac",
        "Ac Ad 8h 7s 6c",
        "8c 8d Ah 7s 6c",
        "Ac Ad Ah 8s 7c",
        "8c 8d 8h As 7c",
        "Qc Qd 4h 4s Jc",
        "Ac Kd Qh Js Tc",
    ],
)
def test_no_other_hand_below_a_flush_qualifies(cards):
    assert law.claims([wagered(4, cards)], 50_000_00) == []


@pytest.mark.parametrize(
    "more",
    [{"folded": True}, {"jackpot_wager": False}, {"misdealt": True}, {"ante_cents": 0, "bet_cents": 0}],
)
def test_a_folded_hand_one_without_a_wager_and_a_void_one_win_nothing(more):
    assert law.claims([wagered(4, ROYAL_CLUBS, **more)], 50_000_00) == []


def test_an_undeclared_hand_wins_nothing():
    assert law.claims([wagered(4, None)], 50_000_00) == []


@pytest.mark.parametrize("cards", ["As Ks Js 4s", "As Ks Js 4s 2s 3s", ""])
def test_a_hand_with_the_wrong_number_of_cards_wins_nothing(cards):
    assert law.claims([wagered(4, cards)], 50_000_00) == []


def test_a_card_held_by_two_boxes_is_refused():
    with pytest.raises(CardError, match="9s is held by box 1 and by box 2"):
        law.claims([wagered(1, STRAIGHT_FLUSH_SPADES), wagered(2, "As Ks Qs Js 9s")], 50_000_00)


def test_only_one_wager_is_accepted_on_a_box():
    with pytest.raises(RoundError, match="box 4 is listed twice"):
        law.claims([wagered(4, ROYAL_CLUBS), wagered(4, ROYAL_DIAMONDS)], 50_000_00)


def test_the_instrument_leaves_no_choice_of_deck():
    with pytest.raises(OptionError):
        law.load(joker=True)


# --- s 12: the displayed amount (reading 17) ---


def test_a_hand_is_paid_on_the_amount_displayed_when_it_was_declared():
    boxes = [wagered(7, ROYAL_CLUBS, displayed_cents=30_000_00), wagered(1, STRAIGHT_FLUSH_SPADES)]
    claims = law.claims(boxes, 50_000_00)
    assert claims == [Claim(7, RF, 30_000_00), Claim(1, SF, 50_000_00)]
    settlement, _ = law.settle_jackpot(claims, PoolAmounts(50_000_00, 0), ApprovedFunding())
    assert amounts(settlement) == {7: 30_000_00, 1: 5_000_00}


def test_a_display_of_zero_at_the_declaration_is_an_amount_and_not_a_missing_one():
    assert law.claims([wagered(7, ROYAL_CLUBS, displayed_cents=0)], 50_000_00) == [Claim(7, RF, 0)]


@pytest.mark.parametrize("displayed", [-1, True, 1.0, "1"])
def test_a_displayed_amount_is_a_whole_number_of_cents(displayed):
    with pytest.raises(RoundError, match="the displayed amount"):
        law.claims([wagered(7, ROYAL_CLUBS)], displayed)
    with pytest.raises(RoundError, match="the display of box 7"):
        law.claims([wagered(7, ROYAL_CLUBS, displayed_cents=displayed)], 50_000_00)


@pytest.mark.parametrize("displayed", [-1, -50_000_00])
def test_a_claim_on_a_negative_display_is_refused(displayed):
    with pytest.raises(RoundError):
        settle({7: SF}, 50_000_00, displayed=displayed)


def test_the_jackpot_keeps_all_beyond_the_displayed_amount():
    settlement, _ = settle({7: RF}, 50_000_70, displayed=50_000_00)
    assert sources(settlement) == {7: Sources(50_000_00)}
    assert settlement.after.jackpot_cents == 70


def test_where_the_display_shows_more_than_the_jackpot_holds_the_reserve_pays_the_difference():
    settlement, _ = settle({7: RF}, 49_000_00, 600_00, displayed=50_000_00)
    assert sources(settlement) == {7: Sources(49_000_00, 600_00, 0, 400_00)}
    assert settlement.after == PoolAmounts(0, 0)


# --- s 12: amounts (readings 4, 9, 18) ---


@pytest.mark.parametrize(
    ("hand", "displayed", "paid", "from_jackpot"),
    [
        (RF, 0, 10_000_00, 0),
        (RF, 9_999_99, 10_000_00, 9_999_99),
        (RF, 10_000_01, 10_000_01, 10_000_01),
        (SF, 0, 1_000_00, 0),
        (SF, 9_999_99, 1_000_00, 999_99),
        (SF, 10_000_19, 1_000_01, 1_000_01),
        (SF, 48_765_43, 4_876_54, 4_876_54),
    ],
)
def test_the_percentage_comes_from_the_jackpot_and_the_rest_of_a_floor_from_the_reserve(
    hand, displayed, paid, from_jackpot
):
    settlement, _ = settle({7: hand}, 90_000_00, displayed=displayed)
    assert sources(settlement) == {7: Sources(from_jackpot, paid - from_jackpot)}
    assert settlement.after == PoolAmounts(90_000_00 - from_jackpot, PLENTY - (paid - from_jackpot))


def test_if_the_reserve_cannot_pay_a_floor_the_rest_is_an_advance():
    settlement, _ = settle({7: RF}, 4_000_00, 1_500_00)
    assert sources(settlement) == {7: Sources(4_000_00, 1_500_00, 0, 4_500_00)}


@pytest.mark.parametrize(("hand", "paid"), [(FOUR, 500_00), (FULL, 150_00), (FLUSH, 100_00), (DEAD_MAN, 50_00)])
@pytest.mark.parametrize(
    ("fixed_from", "expected"),
    [
        (FixedFrom.RESERVE, lambda paid: Sources(0, 20_00, 0, paid - 20_00)),
        (FixedFrom.JACKPOT, lambda paid: Sources(30_00, min(paid - 30_00, 20_00), 0, max(0, paid - 50_00))),
        (FixedFrom.HOUSE, lambda paid: Sources(house_cents=paid)),
    ],
)
def test_a_bonus_payout_is_500_150_100_or_50_from_the_approved_source(hand, paid, fixed_from, expected):
    settlement, _ = settle({7: hand}, 30_00, 20_00, fixed_from=fixed_from)
    assert amounts(settlement) == {7: paid}
    assert sources(settlement) == {7: expected(paid)}


def test_every_prize_names_section_12():
    settlement, _ = settle({7: RF, 6: RF, 5: SF, 4: FOUR, 3: FULL, 2: FLUSH, 1: DEAD_MAN}, 50_000_00)
    assert {payout.clause for payout in settlement.payouts} == {"Gazette S89 of 1997 r 12"}


@pytest.mark.parametrize("hand", ["straight", "two_pairs", "five_of_a_kind", ""])
def test_a_claim_that_is_no_prize_of_1997_is_refused(hand):
    with pytest.raises(RoundError, match="wins no prize under Gazette S89 of 1997 r 12"):
        settle({7: hand}, 50_000_00)


def test_two_straight_flushes_at_50000_are_paid_5000_each_without_sharing():
    settlement, _ = settle({7: SF, 2: SF}, 50_000_00)
    assert amounts(settlement) == {7: 5_000_00, 2: 5_000_00}
    assert settlement.after == PoolAmounts(40_000_00, PLENTY)


def test_two_royals_at_30000_are_paid_30000_each_the_second_by_the_reserve():
    settlement, _ = settle({7: RF, 2: RF}, 30_000_00, 20_000_00)
    assert sources(settlement) == {7: Sources(30_000_00), 2: Sources(0, 20_000_00, 0, 10_000_00)}
    assert settlement.after == PoolAmounts(0, 0)
    assert settlement.house_cents == 10_000_00


def test_a_royal_is_paid_before_a_straight_flush_to_its_left():
    settlement, _ = settle({7: RF, 4: FLUSH, 1: SF}, 50_000_00)
    assert [(payout.order, payout.box) for payout in settlement.payouts] == [(1, 7), (2, 4), (3, 1)]
    assert sources(settlement)[1] == Sources(reserve_cents=5_000_00)


def test_a_straight_flush_to_the_right_of_a_royal_is_paid_by_the_jackpot_first():
    settlement, _ = settle({7: SF, 1: RF}, 50_000_00)
    assert sources(settlement) == {7: Sources(5_000_00), 1: Sources(45_000_00, 5_000_00)}


def test_a_fixed_prize_from_the_jackpot_does_not_change_the_displayed_amount_a_straight_flush_is_a_tenth_of():
    settlement, _ = settle({7: FLUSH, 1: SF}, 50_000_00, fixed_from=FixedFrom.JACKPOT)
    assert sources(settlement) == {7: Sources(100_00), 1: Sources(5_000_00)}
    assert settlement.after == PoolAmounts(44_900_00, PLENTY)


def test_it_does_not_matter_in_which_order_the_boxes_are_entered():
    claims = [Claim(7, RF, 30_000_00), Claim(5, FLUSH), Claim(3, SF, 40_000_00), Claim(1, RF, 50_000_00)]
    approved = ApprovedFunding(FixedFrom.JACKPOT, 10_000_00)
    results = {
        law.settle_jackpot(entered, PoolAmounts(48_765_43, 100_00), approved) for entered in permutations(claims)
    }
    assert len(results) == 1


def test_a_box_cannot_claim_twice():
    with pytest.raises(RoundError, match="box 3 claims twice"):
        law.settle_jackpot([Claim(3, SF), Claim(3, FLUSH)], PoolAmounts(0, 0), ApprovedFunding())


# --- r 11.3: only losing wagers are pooled (reading 16) ---


def test_after_a_royal_on_50000_the_four_losing_dollars_make_a_jackpot_of_2_80_and_the_winners_goes_to_the_house():
    wagers = Wagers(wager_cents=1_00, jackpot_bps=7_000, losing=4, winning=1)
    settlement, pooled = settle({3: RF}, 50_000_00, 20_000_00, wagers=wagers)
    assert amounts(settlement) == {3: 50_000_00}
    assert settlement.after == PoolAmounts(2_80, 20_001_20)
    assert pooled == Pooled(jackpot_cents=2_80, reserve_cents=1_20, house_cents=1_00, returned_cents=0)


def test_losing_wagers_are_pooled_after_all_prizes_so_no_prize_is_paid_out_of_them():
    wagers = Wagers(wager_cents=5_00, jackpot_bps=5_000, losing=6)
    settlement, _ = settle({3: FLUSH, 2: RF}, 0, 0, displayed=0, wagers=wagers)
    assert sources(settlement) == {3: Sources(advance_cents=100_00), 2: Sources(advance_cents=10_000_00)}
    assert settlement.after == PoolAmounts(15_00, 15_00)


def test_a_round_without_a_winner_pools_every_wager():
    wagers = Wagers(wager_cents=2_00, jackpot_bps=7_000, losing=7)
    settlement, pooled = settle({}, 50_000_00, 20_000_00, wagers=wagers)
    assert settlement.after == PoolAmounts(50_009_80, 20_004_20)
    assert pooled == Pooled(9_80, 4_20, 0, 0)


def test_a_void_hands_wager_goes_back_and_enters_no_pool():
    wagers = Wagers(wager_cents=2_00, jackpot_bps=7_000, losing=1, winning=1, returned=3)
    settlement, pooled = settle({3: FLUSH}, 0, 500_00, wagers=wagers)
    assert pooled == Pooled(1_40, 60, 2_00, 6_00)
    assert settlement.after == PoolAmounts(1_40, 400_60)


def test_losing_wagers_are_split_cumulatively_on_from_the_total_split_before():
    totals = [0, 1_00, 2_00, 3_00]
    pooled = [
        settle({}, 0, 0, wagers=Wagers(1_00, 6_667, losing=1, split_before_cents=before))[1].jackpot_cents
        for before in totals
    ]
    assert pooled == [66, 67, 67, 66]
    assert settle({}, 0, 0, wagers=Wagers(1_00, 6_667, losing=4))[1].jackpot_cents == 2_66


def test_without_wagers_only_the_prizes_are_settled():
    settlement, pooled = settle({3: FLUSH}, 50_000_00, 20_000_00)
    assert settlement.after == PoolAmounts(50_000_00, 19_900_00)
    assert pooled == Pooled(0, 0, 0, 0)


@pytest.mark.parametrize("bad", [-1, True, 1.0, "1"])
@pytest.mark.parametrize("field", ["wager_cents", "jackpot_bps", "losing", "winning", "returned", "split_before_cents"])
@pytest.mark.parametrize("losing", [0, 1])
def test_wagers_that_are_no_amounts_or_counts_are_refused_even_if_no_box_lost(field, bad, losing):
    fields = {"wager_cents": 1_00, "jackpot_bps": 7_000, "losing": losing, "winning": 1, "returned": 1} | {field: bad}
    with pytest.raises(RoundError):
        settle({3: FLUSH}, 50_000_00, 20_000_00, wagers=Wagers(**fields))


def test_a_rounds_wagers_are_winning_void_or_losing_and_a_fold_and_an_undeclared_hand_lose():
    boxes = [
        wagered(1, ROYAL_CLUBS),
        wagered(2, ACES_AND_EIGHTS),
        wagered(3, ROYAL_DIAMONDS, folded=True),
        wagered(4, None),
        wagered(5, "7s 6s 5h 4h 2h"),
        wagered(6, "Ks Qs Js"),
        wagered(7, None, misdealt=True),
        wagered(8, "9s 8s 7h 6h 5s", ante_cents=0),
        wagered(9, "Ts 9h 8d 7c 6c", jackpot_wager=False),
        wagered(10, None, misdealt=True, jackpot_wager=False),
    ]
    claims = law.claims(boxes, 50_000_00)
    assert claims == [Claim(1, RF, 50_000_00), Claim(2, DEAD_MAN, 50_000_00)]
    wagers = law.wagers_of(boxes, claims, wager_cents=1_00, jackpot_bps=7_000, split_before_cents=5_00)
    assert wagers == Wagers(1_00, 7_000, losing=3, winning=2, returned=3, split_before_cents=5_00)


def test_the_first_wagers_ever_are_split_from_a_total_of_nothing():
    assert law.wagers_of([], [], wager_cents=1_00, jackpot_bps=7_000).split_before_cents == 0


@pytest.mark.parametrize("bad", [-1, True, 1.0, "1", None])
def test_a_wager_is_a_whole_number_of_cents(bad):
    with pytest.raises(RoundError, match="the wager"):
        law.wagers_of([], [], wager_cents=bad, jackpot_bps=7_000)


# --- the reset (reading 12): the settlement's last entry ---


def test_the_reset_after_a_royal_comes_after_the_losing_wagers_are_pooled():
    wagers = Wagers(wager_cents=1_00, jackpot_bps=7_000, losing=4, winning=1)
    settlement, _ = settle({3: RF}, 50_000_00, 5_000_00, reset=10_000_00, wagers=wagers)
    assert settlement.reset == Sources(reserve_cents=5_001_20, advance_cents=4_996_00)
    assert settlement.after == PoolAmounts(10_000_00, 0)


def test_the_reset_never_lowers_a_jackpot_that_held_more_than_displayed():
    settlement, _ = settle({3: RF}, 50_000_00, displayed=30_000_00, reset=10_000_00)
    assert settlement.reset == Sources()
    assert settlement.after == PoolAmounts(20_000_00, PLENTY)


@pytest.mark.parametrize("hand", [SF, FOUR, FULL, FLUSH, DEAD_MAN])
def test_only_a_royal_resets_the_jackpot(hand):
    settlement, _ = settle({3: hand}, 2_000_00, reset=10_000_00)
    assert settlement.reset == Sources()
    assert settlement.after.jackpot_cents <= 2_000_00


# --- ss 9, 10: antes and bets (reading 27) ---

LOWEST_DEALER = "Ac Kd 4c 3d 2h"
NO_HAND = "Ac Qd Jc Td 8h"
WON_ANTE_BET_BACK = (Outcome.WIN, ANTE, Outcome.PUSH, 0)
LOST = (Outcome.LOSE, 0, Outcome.LOSE, 0)
BACK = (Outcome.PUSH, 0, Outcome.PUSH, 0)


def table(dealer: str, cards: str | None, max_payout: int | None = None, **more: object) -> tuple:
    (result,) = law.settle_table(parse(dealer), [wagered(1, cards, **more)], max_payout)
    return result.ante, result.ante_paid_cents, result.bet, result.bet_paid_cents


@pytest.mark.parametrize("dealer", [NO_HAND, "Kc Qd Jc Td 8h", "7c 5d 4c 3d 2h"])
@pytest.mark.parametrize("cards", ["8c 8d 5s 4s 3s", "7s 6s 5h 4h 2s", "As Ks Qs Js Ts"])
def test_on_no_hand_antes_are_paid_and_bets_are_void(dealer, cards):
    assert table(dealer, cards) == WON_ANTE_BET_BACK


def test_on_no_hand_an_equal_hand_too_wins_its_ante():
    assert table(NO_HAND, "Ad Qc Jd Tc 8s") == WON_ANTE_BET_BACK


@pytest.mark.parametrize("dealer", [LOWEST_DEALER, "Ac Kd Qc Jd 9h", "3c 3d 5c 6d 7h", "5c 4d 3c 2d Ah"])
def test_a_dealer_with_ace_and_king_or_higher_plays_and_a_lower_hand_loses_both(dealer):
    assert table(dealer, "As Qs Jh 9d 8d") == LOST


def test_a_hand_equal_to_a_playing_dealers_gets_both_back():
    assert table(LOWEST_DEALER, "Ad Kc 4d 3c 2s") == BACK


@pytest.mark.parametrize(
    ("cards", "category", "odds"),
    [
        ("As Ks 5s 3h 2s", Category.FIVE_ODD_CARDS, 1),
        ("Ts Td Ks 6s 2s", Category.ONE_PAIR, 1),
        ("Ah As 8s 8h Jd", Category.TWO_PAIRS, 2),
        ("Qs Qh Qd 8s 5d", Category.THREE_OF_A_KIND, 3),
        ("5s 4s 3s 2s Ad", Category.STRAIGHT, 4),
        ("Ks Js 9s 7s 5s", Category.FLUSH, 5),
        ("Ks Kh Kc Js Jd", Category.FULL_HOUSE, 7),
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


@pytest.mark.parametrize(("max_payout", "paid"), [(250 * BET, 250 * BET), (4_999_99, 4_999_99), (0, 0)])
def test_a_bet_is_paid_up_to_the_maximum_payout_and_the_ante_in_full(max_payout, paid):
    assert table(LOWEST_DEALER, "As Ks Qs Js Ts", max_payout) == (Outcome.WIN, ANTE, Outcome.WIN, paid)


@pytest.mark.parametrize("dealer", [NO_HAND, LOWEST_DEALER])
@pytest.mark.parametrize("bet", [None, 0, BET])
@pytest.mark.parametrize("cards", ["As Ks Qs Js Ts", None])
def test_a_fold_loses_its_ante_and_any_bet(dealer, bet, cards):
    assert table(dealer, cards, folded=True, bet_cents=bet) == LOST


@pytest.mark.parametrize("bet", [None, 0, ANTE, BET - 1, BET + 1])
def test_a_bet_is_exactly_twice_the_ante(bet):
    with pytest.raises(RoundError, match=r"exactly twice the ante of 1000 \(Gazette S89 of 1997 r 6\.4\)"):
        table(LOWEST_DEALER, "As Ks Qs Js Ts", bet_cents=bet)


def test_a_box_that_neither_folds_nor_shows_its_cards_cannot_be_settled():
    with pytest.raises(RoundError, match="box 1 has not folded and shows no cards"):
        table(LOWEST_DEALER, None)


@pytest.mark.parametrize("max_payout", [-1, True, 1.5, "500"])
@pytest.mark.parametrize("cards", ["As Ks Qs Js Ts", "Qs Js 9d 8d 2s"])
def test_a_maximum_payout_that_is_no_amount_of_money_is_refused(max_payout, cards):
    with pytest.raises(RoundError):
        table(LOWEST_DEALER, cards, max_payout)


@pytest.mark.parametrize(
    ("dealer", "cards", "more", "number"),
    [
        (LOWEST_DEALER, "As Ks Qs Js Ts", {"folded": True}, "9.1"),
        (NO_HAND, "7s 6s 5h 4h 2s", {}, "9.4"),
        ("Ac Kd 4c", "7s 6s 5h 4h 2s", {}, "9.4"),
        (LOWEST_DEALER, "As Ks Qs Js Ts", {}, "9.5(a)(i)"),
        (LOWEST_DEALER, "As Qs Jh 9d 8d", {}, "9.5(a)(ii)"),
        (LOWEST_DEALER, "Ad Kc 4d 3c 2s", {}, "9.5(a)(iii)"),
        (LOWEST_DEALER, "As Ks Qs Js Ts", {"misdealt": True}, "13.3"),
        (LOWEST_DEALER, "As Ks Qs Js", {}, "13.4"),
        (LOWEST_DEALER, "As Ks Qs Js Ts", {"ante_cents": 0, "bet_cents": 0}, "13.7"),
    ],
)
def test_each_box_names_the_clause_that_settles_it(dealer, cards, more, number):
    (result,) = law.settle_table(parse(dealer), [wagered(1, cards, **more)])
    assert result.clause == f"Gazette S89 of 1997 r {number}"


def test_a_card_held_by_the_dealer_and_a_box_is_refused():
    with pytest.raises(CardError, match="Ac is held by the dealer and by box 1"):
        table(LOWEST_DEALER, "Ac Kc Qc Jc Tc")


def test_one_wager_to_a_box_at_the_table_too():
    with pytest.raises(RoundError, match="box 1 is listed twice"):
        law.settle_table(parse(LOWEST_DEALER), [wagered(1, "As Ks Qs Js Ts"), wagered(1, "9s 8s 7s 6s 5s")])


@pytest.mark.parametrize("dealer", [NO_HAND, LOWEST_DEALER, "Ac Kc Qc Jc Tc"])
def test_a_jackpot_prize_does_not_depend_on_the_dealers_hand(dealer):
    boxes = [wagered(4, STRAIGHT_FLUSH_SPADES)]
    law.settle_table(parse(dealer), boxes, 1_00)
    settlement, _ = law.settle_jackpot(law.claims(boxes, 50_000_00), PoolAmounts(50_000_00, 0), ApprovedFunding())
    assert amounts(settlement) == {4: 5_000_00}


# --- s 13: void hands (reading 20) ---


@pytest.mark.parametrize("dealer", [NO_HAND, LOWEST_DEALER, "Ad Kh 4c"])
@pytest.mark.parametrize("cards", ["As Ks Qs Js Ts", "7s 6s 5h 4h 2s", None])
def test_a_misdealt_hand_is_void_and_its_ante_and_bet_go_back(dealer, cards):
    assert table(dealer, cards, misdealt=True) == BACK
    assert law.is_void(wagered(1, cards, misdealt=True))


@pytest.mark.parametrize("cards", ["As Ks Qs Js", "As Ks Qs Js Ts 9s", "As", ""])
def test_a_hand_with_the_wrong_number_of_cards_is_void_and_its_ante_and_bet_go_back(cards):
    assert table(LOWEST_DEALER, cards) == BACK
    assert law.is_void(wagered(1, cards))


def test_a_hand_without_an_ante_is_void():
    assert table(LOWEST_DEALER, "As Ks Qs Js Ts", ante_cents=0, bet_cents=0) == BACK
    assert law.is_void(wagered(1, "As Ks Qs Js Ts", ante_cents=0, bet_cents=0))


@pytest.mark.parametrize("box", [wagered(1, ROYAL_CLUBS), wagered(1, None), wagered(1, ROYAL_CLUBS, ante_cents=None)])
def test_a_hand_of_five_cards_an_undeclared_one_and_one_whose_ante_is_left_out_are_not_void(box):
    assert not law.is_void(box)


def test_a_void_hand_does_not_hinder_the_others():
    boxes = [wagered(3, "As Ks Qs Js"), wagered(2, STRAIGHT_FLUSH_SPADES), wagered(1, None, misdealt=True)]
    results = law.settle_table(parse(LOWEST_DEALER), boxes)
    assert [(result.box, result.ante, result.bet_paid_cents) for result in results] == [
        (3, Outcome.PUSH, 0),
        (2, Outcome.WIN, 50 * BET),
        (1, Outcome.PUSH, 0),
    ]
    assert law.claims(boxes, 50_000_00) == [Claim(2, SF, 50_000_00)]


@pytest.mark.parametrize("dealer", ["Ac Kc Qc Jc", "Ac Kc Qc Jc Tc 9c", ""])
def test_a_dealers_hand_with_the_wrong_number_of_cards_is_no_hand(dealer):
    assert table(dealer, "7s 6s 5h 4h 2s") == WON_ANTE_BET_BACK
