"""More of the readings through the core, to the cent: lock, confirmation, correction, void, reset, and 1997's posting.

Every amount is worked out by hand from the readings, beside the number.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackpot.core.commands import (
    CloseWagers,
    Confirm,
    Correct,
    Declare,
    Fold,
    OpenRound,
    ReportMalfunction,
    Settle,
    Unfold,
    VoidHand,
    VoidRound,
)
from jackpot.core.evolve import evolve
from jackpot.core.ledger import NEVER_NEGATIVE, Account, Kind
from jackpot.core.results import Refused
from jackpot.core.state import NEW, PayoutStatus, Phase
from rules.jackpot_prizes import FixedFrom
from tests.support.core_floor import (
    AT,
    DEALER,
    FLUSH,
    NOTHING,
    ROYALS,
    STRAIGHT_FLUSHES,
    SUPERVISOR,
    Floor,
)

ALL_TO_J = {"jackpot_bps": 10_000, "reserve_bps": 0}
THIRDS = {"jackpot_bps": 6_667, "reserve_bps": 3_333}
BOOMERANG = "canberra-poker-1997"
FULL_HOUSE = ("6c", "6h", "6d", "5c", "5d")
OTHER_NOTHING = ("Qd", "Tc", "4d", "3c", "2c")
DEAD_MANS_HAND = ("As", "Ad", "8s", "8d", "2c")


def amounts(payouts):
    return {payout["box"]: payout["amount_cents"] for payout in payouts}


def phase(floor, table="t1"):
    return floor.jackpot.tables[table].phase


def correction(hands, reason="misread"):
    return Correct(AT, SUPERVISOR, "t1", 1, hands, reason)


# Reading 1: the split.


def test_the_split_total_is_never_reduced_by_voids():
    """6,667 bps: the first wager gives 66; it is voided; the second is still the second, and gives 67."""
    floor = Floor(jackpot=0, reserve=0, **THIRDS)
    floor.open()
    floor.wager(1)
    assert floor.pools == (66, 34)
    floor.void_hand(1)
    assert floor.pools == (0, 0)
    floor.wager(1)
    assert floor.pools == (67, 33)
    floor.void()
    floor.open()
    floor.wager(1)
    assert floor.pools == (67, 33)


def test_a_void_returns_each_wager_to_the_cent_as_it_was_split():
    floor = Floor(jackpot=0, reserve=0, **THIRDS)
    floor.open()
    floor.wager(1, 2, 3, 4)
    assert floor.pools == (66 + 67 + 67 + 66, 34 + 33 + 33 + 34)
    floor.void_hand(2)
    assert floor.pools == (66 + 67 + 66, 34 + 33 + 34)
    floor.void_hand(1)
    assert floor.pools == (67 + 66, 33 + 34)


def test_a_share_of_nothing_posts_nothing():
    floor = Floor(jackpot=0, reserve=0, **ALL_TO_J)
    floor.open()
    floor.wager(1)
    assert floor.events[-1].transfers == ((Account.PLAYERS, Account.JACKPOT, 100, Kind.CONTRIBUTION),)


# Readings 2 and 3: acceptance, and who can win.


def test_a_box_whose_lamp_was_dark_at_close_is_told_to_the_dealer_and_voided_by_a_supervisor():
    floor = Floor()
    floor.open()
    floor.wager(3, 5)
    assert floor.ask(CloseWagers(AT, DEALER, "t1", 1, dark=(5,)))["unconfirmed"] == [5]
    assert floor.void_hand(5) == 100
    assert floor.pools == (5_000_070, 2_000_030)


def test_a_folded_or_undeclared_hand_wins_nothing_and_its_contribution_stands():
    floor = Floor()
    assert floor.play({7: ROYALS[0], 6: None, 5: NOTHING}, folded=(7,)) == []
    assert floor.pools == (5_000_210, 2_000_090)


def test_a_player_excluded_from_the_round_is_recorded_as_a_fold_with_that_reason():
    floor = Floor()
    floor.open()
    floor.wager(7)
    floor.close()
    floor.declare(7, ROYALS[0])
    floor.ask(Fold(AT, DEALER, "t1", 1, 7, "excluded: showed cards (13.2)"))
    assert floor.jackpot.tables["t1"].round.folded == {7: "excluded: showed cards (13.2)"}
    assert floor.events[-1].data["reason"] == "excluded: showed cards (13.2)"
    assert floor.settle() == []


def test_a_reconstructed_hand_may_be_declared_until_the_lock_and_not_after():
    floor = Floor()
    floor.open()
    floor.wager(7, 6)
    floor.close()
    floor.declare(7, STRAIGHT_FLUSHES[0])
    floor.declare(6, FLUSH)
    assert amounts(floor.settle()) == {7: 500_014, 6: 10_000}
    assert floor.refusal(Declare(AT, DEALER, "t1", 1, 6, FULL_HOUSE)) == "wrong_phase"


def test_a_hand_not_declared_before_the_lock_does_not_win_by_a_correction():
    """Reading 3: declared before the lock; reading 11: a named hand is ranked *again*."""
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 6: None})
    assert floor.refusal(correction({6: ROYALS[1]}))
    assert floor.holds("payable") == 500_014


def test_a_hand_that_folded_does_not_win_by_a_correction():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 6: ROYALS[1]}, folded=(6,))
    assert floor.refusal(correction({6: ROYALS[1]})) == "folded"


# Readings 4 to 9: amounts and funding, as the accounts show them.


def test_two_straight_flushes_at_10500_are_raised_to_their_floor_by_the_reserve():
    """1,050.00 + 945.00 = 1,995.00, 997.50 each, so 1,000.00 each; J after 8,505.00, R pays 5.00."""
    floor = Floor(jackpot=1_050_000 - 200, **ALL_TO_J)
    assert amounts(floor.play({7: STRAIGHT_FLUSHES[0], 6: STRAIGHT_FLUSHES[1]})) == {7: 100_000, 6: 100_000}
    assert floor.pools == (850_500, 1_999_500)


def test_three_straight_flushes_at_50000_01_leave_the_odd_cents_in_the_jackpot():
    """5,000.00 + 4,500.00 + 4,050.00 = 13,550.00, 4,516.66 each, J after 36,450.03."""
    floor = Floor(jackpot=5_000_001 - 300, **ALL_TO_J)
    payouts = floor.play({7: STRAIGHT_FLUSHES[0], 4: STRAIGHT_FLUSHES[1], 1: STRAIGHT_FLUSHES[2]})
    assert amounts(payouts) == {7: 451_666, 4: 451_666, 1: 451_666}
    assert floor.pools == (3_645_003, 2_000_000)


def test_two_royals_at_15000_01_get_10000_each_and_a_cent_stays_in_the_jackpot():
    floor = Floor(jackpot=1_500_001 - 200, **ALL_TO_J)
    assert amounts(floor.play({7: ROYALS[0], 6: ROYALS[1]})) == {7: 1_000_000, 6: 1_000_000}
    assert floor.pools == (1, 1_500_000)


def test_a_straight_flush_and_a_royal_at_10400():
    """SF 1,040.00; left 9,360.00; RF 10,000.00, of which R adds 640.00."""
    floor = Floor(jackpot=1_040_000 - 200, **ALL_TO_J)
    assert amounts(floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1]})) == {6: 104_000, 7: 1_000_000}
    assert floor.pools == (0, 2_000_000 - 64_000)


def test_what_the_reserve_lacks_is_an_advance_owed_back():
    """A royal on J = 1.00 and R = 50.00: 10,000.00 = 1.00 + 50.00 + an advance of 9,949.00."""
    floor = Floor(jackpot=0, reserve=5_000, **ALL_TO_J)
    owed = floor.holds("house_advance")
    floor.play({7: ROYALS[0]})
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == owed - 994_900
    assert (floor.holds("house"), floor.holds("payable")) == (0, 1_000_000)


@pytest.mark.parametrize(
    ("payer", "jackpot", "reserve", "house", "advance"),
    [
        (FixedFrom.RESERVE, 100_100, 0, 0, 4_000),
        (FixedFrom.JACKPOT, 90_100, 6_000, 0, 0),
        (FixedFrom.HOUSE, 100_100, 6_000, 10_000, 0),
    ],
)
def test_a_fixed_prize_comes_from_whom_the_approved_configuration_says(payer, jackpot, reserve, house, advance):
    floor = Floor(jackpot=100_000, reserve=6_000, fixed_prizes_from=payer, **ALL_TO_J)
    owed = floor.holds("house_advance")
    floor.play({7: FLUSH})
    assert floor.pools == (jackpot, reserve)
    assert (floor.holds("house"), floor.holds("house_advance")) == (-house, owed - advance)


def test_a_fixed_prize_the_jackpot_cannot_cover_falls_to_the_reserve_then_an_advance():
    """A flush on J = 31.00 and R = 40.00: 31.00 + 40.00 + an advance of 29.00."""
    floor = Floor(jackpot=3_000, reserve=4_000, fixed_prizes_from=FixedFrom.JACKPOT, **ALL_TO_J)
    owed = floor.holds("house_advance")
    floor.play({7: FLUSH})
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == owed - 2_900


@pytest.mark.parametrize(
    ("flush_box", "straight_flush", "jackpot"),
    [(7, 249_000, 2_500_000 - 10_000 - 249_000), (1, 250_000, 2_500_000 - 250_000 - 10_000)],
)
def test_where_fixed_prizes_come_from_the_jackpot_a_flush_paid_first_makes_the_straight_flush_10_per_cent_of_less(
    flush_box, straight_flush, jackpot
):
    floor = Floor(jackpot=2_500_000 - 200, fixed_prizes_from=FixedFrom.JACKPOT, **ALL_TO_J)
    payouts = floor.play({flush_box: FLUSH, 4: STRAIGHT_FLUSHES[0]})
    assert amounts(payouts) == {flush_box: 10_000, 4: straight_flush}
    assert floor.pools == (jackpot, 2_000_000)


# Readings 10 and 11: the lock, and confirmation.


def test_the_jackpot_is_read_at_the_lock_with_all_wagers_accepted_before_it():
    """Declared at J = 100,000.00; then two wagers at a linked table: 10% of 100,002.00."""
    floor = Floor(jackpot=10_000_000 - 100, **ALL_TO_J)
    floor.open()
    floor.wager(7)
    floor.close()
    assert floor.declare(7, STRAIGHT_FLUSHES[0])["amount_cents"] == 1_000_000
    floor.open("t2")
    floor.wager(1, 2, table="t2")
    assert amounts(floor.settle()) == {7: 1_000_020}
    assert floor.holds("jackpot") == 10_000_200 - 1_000_020


def test_a_linked_table_that_wins_a_moment_later_is_settled_on_what_is_left():
    """t1: 10% of 50,000.00; t2 does not share it: 10% of 45,000.00, then a royal's all that is left."""
    floor = Floor(jackpot=5_000_000 - 300, tables=("t1", "t2", "t3"), **ALL_TO_J)
    for number, table in enumerate(("t1", "t2", "t3")):
        floor.open(table)
        floor.wager(7, table=table)
        floor.close(table)
        floor.declare(7, ROYALS[number] if table == "t3" else STRAIGHT_FLUSHES[number], table)
    assert amounts(floor.settle("t1")) == {7: 500_000}
    assert amounts(floor.settle("t2")) == {7: 450_000}
    assert amounts(floor.settle("t3")) == {7: 4_050_000}
    assert (floor.holds("jackpot"), floor.holds("payable")) == (0, 5_000_000)


def test_a_second_royal_a_moment_later_gets_its_floor_from_the_reserve():
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_J)
    for table, cards in (("t1", ROYALS[0]), ("t2", ROYALS[1])):
        floor.open(table)
        floor.wager(7, table=table)
        floor.close(table)
        floor.declare(7, cards, table)
    assert amounts(floor.settle("t1")) == {7: 5_000_000}
    assert amounts(floor.settle("t2")) == {7: 1_000_000}
    assert floor.pools == (0, 1_000_000)


def test_at_the_lock_pending_prizes_move_to_payable_and_others_are_paid_at_once():
    floor = Floor(jackpot=5_000_000 - 140)
    floor.play({7: STRAIGHT_FLUSHES[0], 1: FLUSH})
    assert (floor.holds("payable"), floor.holds("players")) == (500_000, 10_000 - 200)
    assert floor.pools == (4_500_000, 2_000_060 - 10_000)
    statuses = [(payout.box, payout.status) for payout in floor.jackpot.tables["t1"].round.payouts]
    assert statuses == [(7, PayoutStatus.PENDING), (1, PayoutStatus.PAID)]


def test_a_confirmation_pays_all_of_the_rounds_pending_prizes_together_and_no_other_tables():
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_J)
    floor.play({7: STRAIGHT_FLUSHES[0], 6: STRAIGHT_FLUSHES[1]})
    floor.play({5: STRAIGHT_FLUSHES[2]}, table="t2")
    # t1: 9,500.00; t2 on 40,500.00 + 1.00: 4,050.10
    assert floor.holds("payable") == 950_000 + 405_010
    answer = floor.confirm()
    assert [(p["box"], p["amount_cents"], p["status"]) for p in answer["payouts"]] == [
        (7, 475_000, "paid"),
        (6, 475_000, "paid"),
    ]
    assert floor.holds("payable") == 405_010
    assert (phase(floor), phase(floor, "t2")) == (Phase.IDLE, Phase.PENDING)
    assert floor.refusal(Confirm(AT, SUPERVISOR, "t1", 1)) == "wrong_phase"


def test_the_table_waits_for_confirmation_and_the_pools_do_not_move_again_at_it():
    floor = Floor()
    floor.play({7: ROYALS[0]})
    assert floor.refusal(OpenRound(AT, DEALER, "t1")) == "wrong_phase"
    before = floor.pools
    floor.confirm()
    assert floor.pools == before
    assert floor.open() == 2


# Reading 11: corrections.


@pytest.mark.parametrize(
    ("declared", "truly", "amount", "jackpot", "reserve"),
    [
        (ROYALS[0], STRAIGHT_FLUSHES[0], 500_000, 4_500_000, 2_000_000),
        (STRAIGHT_FLUSHES[0], ROYALS[0], 5_000_000, 0, 2_000_000),
        (ROYALS[0], FULL_HOUSE, 15_000, 5_000_000, 1_985_000),
        (STRAIGHT_FLUSHES[0], FLUSH, 10_000, 5_000_000, 1_990_000),
        (STRAIGHT_FLUSHES[0], STRAIGHT_FLUSHES[1], 500_000, 4_500_000, 2_000_000),
    ],
    ids=["royal to straight flush", "straight flush to royal", "royal to full house", "to flush", "to another suit"],
)
def test_a_corrected_hand_is_ranked_again_and_paid_as_if_it_had_been_declared_so(
    declared, truly, amount, jackpot, reserve
):
    floor = Floor(jackpot=5_000_000 - 100, **ALL_TO_J)
    floor.play({7: declared})
    payouts = floor.correct({7: truly})
    assert amounts(payouts) == {7: amount}
    assert floor.pools == (jackpot, reserve)
    pending = amount >= 500_000
    assert phase(floor) is (Phase.PENDING if pending else Phase.IDLE)
    assert (floor.holds("payable"), floor.holds("players")) == ((amount, -100) if pending else (0, amount - 100))
    if pending:
        floor.confirm()
    assert (floor.holds("payable"), floor.holds("players")) == (0, amount - 100)


def test_a_hand_declared_as_nothing_may_truly_share_the_prize():
    """One SF at 5,000.00 becomes two at 4,750.00: J after 40,500.00."""
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_J)
    floor.play({7: STRAIGHT_FLUSHES[0], 6: NOTHING})
    assert amounts(floor.correct({6: STRAIGHT_FLUSHES[1]})) == {7: 475_000, 6: 475_000}
    assert (floor.holds("jackpot"), floor.holds("payable")) == (4_050_000, 950_000)


def test_the_wager_of_a_hand_corrected_to_nothing_stands():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 6: ROYALS[1]})
    floor.correct({7: None, 6: None})
    assert floor.pools == (5_000_140, 2_000_060)
    assert floor.holds("players") == -200
    assert floor.jackpot.tables["t1"].round.lit == [6, 7]


def test_a_fixed_prize_already_paid_is_corrected_with_the_rest():
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_J)
    floor.play({7: STRAIGHT_FLUSHES[0], 6: FLUSH})
    assert floor.pools == (4_500_000, 1_990_000)
    floor.correct({6: FULL_HOUSE})
    assert (floor.pools, floor.holds("players")) == ((4_500_000, 1_985_000), 15_000 - 200)
    floor.correct({6: None})
    assert (floor.pools, floor.holds("players")) == ((4_500_000, 2_000_000), -200)
    assert phase(floor) is Phase.PENDING


def test_a_corrected_round_waits_again_and_may_be_corrected_again():
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_J)
    floor.play({7: ROYALS[0], 6: ROYALS[1]})
    assert amounts(floor.correct({7: STRAIGHT_FLUSHES[0]})) == {7: 500_000, 6: 4_500_000}
    assert amounts(floor.correct({6: STRAIGHT_FLUSHES[1]})) == {7: 475_000, 6: 475_000}
    assert amounts(floor.correct({7: ROYALS[0], 6: ROYALS[1]})) == {7: 2_500_000, 6: 2_500_000}
    assert (floor.pools, floor.holds("payable")) == ((0, 2_000_000), 5_000_000)
    floor.confirm()
    assert floor.holds("players") == 5_000_000 - 200


def test_two_hands_that_were_mixed_up_are_put_right_in_one_correction():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 6: NOTHING})
    assert floor.refusal(correction({6: STRAIGHT_FLUSHES[0]})) == "card_already_declared"
    assert amounts(floor.correct({7: NOTHING, 6: STRAIGHT_FLUSHES[0]})) == {6: 500_014}


def test_a_correction_that_changes_nothing_moves_nothing():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    before = floor.jackpot.balances
    assert amounts(floor.correct({7: STRAIGHT_FLUSHES[0]})) == {7: 500_007}
    assert (floor.jackpot.balances, floor.events[-1].transfers) == (before, ())


@pytest.mark.parametrize(
    ("hands", "error"),
    [
        ({8: None}, "unknown_box"),
        ({5: None}, "no_wager"),
        ({7: FLUSH[:4]}, "wrong_cards"),
        ({7: ("Kh", "Kh", "4h", "3h", "2h")}, "wrong_cards"),
        ({7: (*FLUSH[:4], NOTHING[0])}, "card_already_declared"),
        ({7: FLUSH, 6: FLUSH}, "card_already_declared"),
    ],
    ids=str,
)
def test_a_correction_names_boxes_with_a_wager_and_cards_of_one_deck(hands, error):
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 6: NOTHING})
    before = floor.jackpot
    assert floor.refusal(correction(hands)) == error
    assert floor.jackpot == before


def test_a_correction_settles_on_the_pools_as_at_the_lock_whatever_came_in_since():
    """Wagers at a linked table since the lock count neither in the prize nor against it."""
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_J)
    floor.play({7: ROYALS[0], 6: ROYALS[1]})
    floor.open("t2")
    floor.wager(1, 2, 3, table="t2")
    assert amounts(floor.correct({6: None})) == {7: 5_000_000}
    assert floor.holds("jackpot") == 300


def a_royal_found_after_a_linked_table_took_the_jackpot():
    """At the lock J = 50,000.00, SF 5,000.00; t2's royal takes the 45,000.70 then in J; t1's hand was a royal too."""
    floor = Floor(jackpot=5_000_000 - 70, reserve=2_000_000 - 30)
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert amounts(floor.play({1: ROYALS[1]}, table="t2")) == {1: 4_500_070}
    assert floor.pools == (0, 2_000_030)
    return floor


def test_what_the_jackpot_lacks_for_a_correction_the_reserve_pays_then_an_advance():
    """50,000.00 − 5,000.00 = 45,000.00 more: J has none, R 20,000.30, so the advance is 24,999.70."""
    floor = a_royal_found_after_a_linked_table_took_the_jackpot()
    owed = floor.holds("house_advance")
    assert amounts(floor.correct({7: ROYALS[0]})) == {7: 5_000_000}
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == owed - 2_499_970
    assert floor.holds("payable") == 5_000_000 + 4_500_070
    assert floor.jackpot.tables["t2"].round.payouts[0].amount_cents == 4_500_070


def test_a_void_after_a_correction_reverses_exactly_the_cents_that_were_posted():
    """J gave 5,000.00 of the prize, R 20,000.30 and the advance 24,999.70: each gets back what it gave (reading 13)."""
    floor = a_royal_found_after_a_linked_table_took_the_jackpot()
    owed = floor.holds("house_advance")
    floor.correct({7: ROYALS[0]})
    floor.void()
    assert floor.holds("house_advance") == owed
    assert floor.pools == (500_000 - 70, 2_000_030 - 30)
    assert floor.holds("payable") == 4_500_070


def test_a_correction_taken_back_by_another_leaves_every_account_as_it_was():
    """The 45,000.00 that R and the advance gave for J go back to them; J gave none of it."""
    floor = a_royal_found_after_a_linked_table_took_the_jackpot()
    before = floor.jackpot.balances
    floor.correct({7: ROYALS[0]})
    floor.correct({7: STRAIGHT_FLUSHES[0]})
    assert floor.jackpot.balances == before


@pytest.mark.parametrize("linked", ["pending", "paid"])
def test_a_round_corrected_twice_can_still_be_voided_to_the_cent(linked):
    floor = a_royal_found_after_a_linked_table_took_the_jackpot()
    if linked == "paid":
        floor.confirm("t2")
    owed = floor.holds("house_advance")
    floor.correct({7: ROYALS[0]})
    floor.correct({7: STRAIGHT_FLUSHES[0]})
    assert floor.void() == 100
    assert floor.pools == (500_000 - 70, 2_000_030 - 30)
    assert floor.holds("house_advance") == owed
    assert floor.holds("payable") == (4_500_070 if linked == "pending" else 0)


def test_a_void_after_a_correction_gives_everything_back():
    floor = Floor(reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 1: NOTHING})
    floor.correct({7: STRAIGHT_FLUSHES[2], 1: FLUSH})
    floor.void()
    assert floor.pools == (5_000_000, 2_000_000)
    assert (floor.holds("payable"), floor.holds("players")) == (0, 0)


def test_a_correction_of_one_round_leaves_another_tables_pending_prize_alone():
    floor = Floor(jackpot=5_000_000 - 100, **ALL_TO_J)
    floor.play({7: STRAIGHT_FLUSHES[0]})
    floor.play({1: STRAIGHT_FLUSHES[1]}, table="t2")
    # t2: 10% of 45,001.00
    floor.correct({7: None})
    assert floor.holds("payable") == 450_010
    assert floor.holds("jackpot") == 5_000_000 + 100 - 450_010
    assert phase(floor, "t2") is Phase.PENDING


# Reading 12: the reset.


def test_without_a_reset_the_jackpot_shows_what_is_truly_in_it_after_a_royal():
    floor = Floor(jackpot=5_000_001 - 200, confirm=(), **ALL_TO_J)
    floor.play({7: ROYALS[0], 6: ROYALS[1]})
    assert floor.holds("jackpot") == floor.jackpot.meter_cents == 1


def test_the_settlements_last_entry_raises_the_jackpot_to_the_reset_from_the_reserve():
    floor = Floor(jackpot=5_000_001 - 200, reset_cents=1_000_000, **ALL_TO_J)
    floor.play({7: ROYALS[0], 6: ROYALS[1], 1: None})
    # 50,000.01 + 1.00 of the third wager: 25,000.50 each, 0.01 stays; the reset adds 9,999.99.
    assert floor.pools == (1_000_000, 2_000_000 - 999_999)
    assert floor.events[-1].transfers[-1] == (Account.RESERVE, Account.JACKPOT, 999_999, Kind.RESET)


def test_what_the_reserve_lacks_for_the_reset_is_an_advance():
    floor = Floor(jackpot=5_000_000, reserve=400_000, reset_cents=1_000_000, **ALL_TO_J)
    owed = floor.holds("house_advance")
    floor.play({7: ROYALS[0]})
    assert floor.pools == (1_000_000, 0)
    assert floor.holds("house_advance") == owed - 600_000
    assert floor.events[-1].transfers[-2:] == (
        (Account.RESERVE, Account.JACKPOT, 400_000, Kind.RESET),
        (Account.HOUSE_ADVANCE, Account.JACKPOT, 600_000, Kind.ADVANCE),
    )


def test_there_is_no_reset_without_a_royal():
    floor = Floor(jackpot=200_000, reset_cents=1_000_000, **ALL_TO_J)
    floor.play({7: STRAIGHT_FLUSHES[0], 1: FLUSH})
    # SF 1,000.00: 10% of 2,002.00 from J, 799.80 from R; the flush 100.00 from R.
    assert floor.pools == (200_200 - 20_020, 2_000_000 - 79_980 - 10_000)


def test_a_reset_that_an_advance_paid_is_undone_with_the_royal_that_caused_it():
    floor = Floor(jackpot=5_000_000 - 100, reserve=0, reset_cents=1_000_000, **ALL_TO_J)
    owed = floor.holds("house_advance")
    floor.play({7: ROYALS[0]})
    assert floor.holds("house_advance") == owed - 1_000_000
    floor.correct({7: None})
    assert floor.pools == (5_000_000, 0)
    assert floor.holds("house_advance") == owed


def test_of_an_undone_reset_the_reserve_bears_what_a_linked_table_has_won_of_it():
    """Royal on J = 1,000.00: R adds 9,000.00 and the reset of 10,000.00, which t2's royal takes; t2 has no reset.

    R: 50,000.00 − 9,000.00 − 10,000.00 = 31,000.00. Corrected to nothing, 1,000.00 returns to J and 9,000.00 to R;
    the reset is undone with the 1,000.00 there is.
    """
    floor = Floor(jackpot=100_000 - 100, reserve=5_000_000, reset_cents=1_000_000, **ALL_TO_J)
    floor.play({7: ROYALS[0]})
    assert floor.pools == (1_000_000, 3_100_000)
    floor.approve(floor.propose(reset_cents=0, **ALL_TO_J))
    assert amounts(floor.play({1: ROYALS[1]}, table="t2")) == {1: 1_000_100}
    owed = floor.holds("house_advance")
    floor.correct({7: None})
    assert floor.pools == (0, 3_100_000 + 900_000 + 100_000)
    assert (floor.holds("house_advance"), floor.holds("payable")) == (owed, 1_000_100)


@pytest.mark.parametrize(
    ("reserve", "left", "advance"), [(20_000_000, 14_500_000, 0), (0, 0, 1_000_000 + 3_500_000 + 1_000_000)]
)
def test_a_correction_that_makes_a_royal_resets_the_jackpot_last(reserve, left, advance):
    """SF 5,000.00 at t1; t2's royal takes 45,001.00 and resets J to 10,000.00; then t1's SF was a royal, 50,000.00.

    45,000.00 more: J gives its 10,000.00, R (or an advance) 35,000.00; then the reset gives J 10,000.00 (reading 12).
    """
    floor = Floor(jackpot=5_000_000 - 100, reserve=reserve, reset_cents=1_000_000, **ALL_TO_J)
    owed = floor.holds("house_advance")
    floor.play({7: STRAIGHT_FLUSHES[0]})
    floor.play({1: ROYALS[1]}, table="t2")
    assert floor.holds("jackpot") == 1_000_000
    assert amounts(floor.correct({7: ROYALS[0]})) == {7: 5_000_000}
    assert floor.pools == (1_000_000, left)
    assert floor.holds("house_advance") == owed - advance


# Reading 13: voids.


def test_a_linked_straight_flush_is_not_reopened_by_a_void():
    """J = 50,003.50, a linked SF pays 5,000.35, then the round is voided: 45,003.15 − 3.50 = 44,999.65."""
    floor = Floor(jackpot=5_000_000 - 70, confirm=())
    floor.open("t1")
    floor.wager(1, 2, 3, 4, 5)
    assert amounts(floor.play({1: STRAIGHT_FLUSHES[0]}, table="t2")) == {1: 500_035}
    assert floor.holds("jackpot") == 4_500_315
    assert floor.void("t1", actor=DEALER) == 500
    assert floor.holds("jackpot") == 4_499_965
    assert floor.jackpot.tables["t2"].round.payouts[0].amount_cents == 500_035


def test_what_the_jackpot_no_longer_holds_the_reserve_returns():
    """t2's royal takes J with the 3.50 of five wagers at t1; R returns 3.50 for J and its own 1.50."""
    floor = Floor(confirm=())
    floor.open("t1")
    floor.wager(1, 2, 3, 4, 5)
    assert amounts(floor.play({1: ROYALS[0]}, table="t2")) == {1: 5_000_420}
    assert floor.pools == (0, 2_000_180)
    owed = floor.holds("house_advance")
    assert floor.void("t1") == 500
    assert floor.pools == (0, 2_000_180 - 500)
    assert (floor.holds("house_advance"), floor.holds("players")) == (owed, 5_000_420 - 100)


def test_what_neither_pool_holds_an_advance_returns_and_a_pool_is_never_negative():
    """R = 0.30 of t2's wager and 0.60 of t1's: t2's royal leaves nothing, so the advance returns all 2.00."""
    floor = Floor(jackpot=0, reserve=0, confirm=())
    floor.open("t1")
    floor.wager(1, 2)
    floor.play({1: ROYALS[0]}, table="t2")
    assert floor.pools == (0, 0)
    owed = floor.holds("house_advance")
    assert owed == -(1_000_000 - 300)
    assert floor.void_hand(1) == 100
    assert floor.void("t1") == 100
    assert (floor.pools, floor.holds("house_advance")) == ((0, 0), owed - 200)


def test_a_void_reverses_by_new_entries_and_never_by_deletion():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 1: FLUSH})
    before = list(floor.events)
    floor.void()
    assert floor.events[:-1] == before
    assert {transfer.kind for transfer in floor.events[-1].transfers} == {Kind.VOID}
    assert sum(t.amount_cents for t in floor.events[-1].transfers) == 500_014 + 10_000 + 200


@pytest.mark.parametrize("payer", list(FixedFrom))
@pytest.mark.parametrize("reserve", [0, 5_000, 2_000_000])
def test_a_voided_pending_round_leaves_every_account_as_if_it_had_never_been(payer, reserve):
    floor = Floor(reserve=reserve, reset_cents=1_000_000, fixed_prizes_from=payer, **THIRDS)
    before = floor.jackpot.balances
    floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 5: STRAIGHT_FLUSHES[2], 1: FLUSH, 2: None})
    assert floor.void() == 500
    assert floor.jackpot.balances == before
    assert phase(floor) is Phase.IDLE


def test_a_closed_round_is_voided_whole_by_a_supervisor_with_a_hand_already_voided_and_one_folded():
    floor = Floor()
    floor.open()
    floor.wager(1, 2, 3)
    floor.close()
    floor.fold(2)
    floor.declare(3, ROYALS[0])
    assert floor.void_hand(1) == 100
    assert floor.void() == 200
    assert floor.pools == (5_000_000, 2_000_000)
    assert floor.jackpot.tables["t1"].round.lit == []


def test_a_single_hand_can_be_voided_until_the_lock_and_not_after():
    floor = Floor()
    floor.open()
    floor.wager(7, 6)
    floor.close()
    floor.declare(7, STRAIGHT_FLUSHES[0])
    floor.declare(6, FLUSH)
    assert floor.void_hand(6) == 100
    assert amounts(floor.settle()) == {7: 500_007}
    assert floor.refusal(VoidHand(AT, SUPERVISOR, "t1", 1, 7, "late")) == "wrong_phase"


def test_a_voided_hand_is_neither_folded_nor_declared_and_frees_its_cards():
    floor = Floor()
    floor.open()
    floor.wager(7, 6, 5)
    floor.close()
    floor.declare(7, FLUSH)
    floor.fold(6)
    floor.void_hand(7)
    floor.void_hand(6)
    played = floor.jackpot.tables["t1"].round
    assert (played.declared, played.folded, played.lit) == ({}, {}, [5])
    assert floor.declare(5, FLUSH)["amount_cents"] == 10_000


def test_a_round_can_be_voided_until_its_last_prize_is_paid():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    floor.confirm()
    assert floor.refusal(VoidRound(AT, SUPERVISOR, "t1", 1, "late")) == "wrong_phase"


def test_after_a_void_the_table_plays_its_next_round():
    floor = Floor()
    floor.play({7: ROYALS[0]})
    floor.void()
    assert amounts(floor.play({7: FLUSH})) == {7: 10_000}
    assert floor.round() == 2


def test_a_voided_pending_round_has_no_prize_left_to_confirm():
    floor = Floor()
    floor.play({7: ROYALS[0]})
    floor.void()
    assert floor.refusal(Confirm(AT, SUPERVISOR, "t1", 1)) == "wrong_phase"
    assert floor.jackpot.tables["t1"].round.payouts == ()


# Reading 14: a malfunction.


def test_wagers_accepted_before_a_malfunction_are_settled_from_the_ledger():
    floor = Floor(jackpot=5_000_000 - 70)
    floor.open()
    floor.wager(7)
    floor.ask(ReportMalfunction(AT, DEALER, "t1", "meter", "frozen", "display"))
    assert floor.refusal(floor.wagered(6)) == "table_suspended"
    floor.close()
    floor.declare(7, ROYALS[0])
    assert amounts(floor.settle()) == {7: 5_000_000}
    floor.confirm()
    assert floor.holds("players") == 5_000_000 - 100


# Readings 16 to 20: the Boomerang Jackpot.


def test_in_1997_losers_folders_and_undeclared_hands_are_pooled_and_winners_wagers_go_to_the_house():
    """Five wagers: a flush (100.00 from R), a fold, an undeclared hand, two losers: four pooled at 70/30."""
    floor = Floor(rules=BOOMERANG)
    floor.play({7: FLUSH, 6: ROYALS[0], 5: None, 4: NOTHING, 3: OTHER_NOTHING}, folded=(6,))
    assert floor.pools == (5_000_000 + 280, 2_000_000 - 10_000 + 120)
    assert (floor.holds("house"), floor.holds("wagers")) == (100, 0)
    assert floor.holds("players") == 10_000 - 500


def test_in_1997_the_meter_does_not_move_until_the_settlement():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(1, 2)
    floor.close()
    assert floor.jackpot.meter_cents == 5_000_000
    floor.settle()
    assert floor.jackpot.meter_cents == 5_000_140


def test_in_1997_losing_wagers_are_split_cumulatively_from_round_to_round():
    """6,667 bps: 66, 67 | 67, 66 | 67: at settlement, winners and voided wagers left out."""
    floor = Floor(rules=BOOMERANG, jackpot=0, reserve=1_000_000, **THIRDS)
    floor.play({1: NOTHING, 2: OTHER_NOTHING})
    assert floor.holds("jackpot") == 133
    floor.open()
    floor.wager(1, 2, 3, 4)
    floor.close()
    floor.void_hand(4)
    floor.declare(3, FLUSH)
    floor.settle()
    assert floor.holds("jackpot") == 133 + 133
    floor.play({1: NOTHING}, table="t2")
    assert floor.holds("jackpot") == 333
    # 500 cents pooled: floor(500 × 0.6667) = 333, and R has the other 167, less the flush.
    assert floor.holds("reserve") == 1_000_000 + 167 - 10_000


def test_in_1997_a_voided_hands_wager_goes_back_from_where_it_waited():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(1, 2)
    floor.void_hand(1)
    assert (floor.pools, floor.holds("wagers"), floor.holds("players")) == ((5_000_000, 2_000_000), 100, -100)
    floor.close()
    assert floor.void() == 100
    assert (floor.pools, floor.holds("wagers"), floor.holds("players")) == ((5_000_000, 2_000_000), 0, 0)


def test_in_1997_a_hand_with_the_wrong_number_of_cards_is_void_and_its_wager_goes_back():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(7, 6)
    floor.close()
    assert floor.refusal(Declare(AT, DEALER, "t1", 1, 7, ROYALS[0][:4])) == "wrong_cards"
    assert floor.void_hand(7) == 100
    assert floor.settle() == []
    assert (floor.pools, floor.holds("players")) == ((5_000_070, 2_000_030), -100)


def test_in_1997_two_straight_flushes_at_50000_are_paid_5000_each():
    floor = Floor(rules=BOOMERANG)
    payouts = floor.play({7: STRAIGHT_FLUSHES[0], 6: STRAIGHT_FLUSHES[1]})
    assert amounts(payouts) == {7: 500_000, 6: 500_000}
    assert floor.pools == (4_000_000, 2_000_000)
    assert {payout["clause"] for payout in payouts} == {"Gazette S89 of 1997 r 12"}


def test_in_1997_two_royals_at_30000_are_paid_30000_each_by_the_jackpot_then_the_reserve_then_an_advance():
    floor = Floor(rules=BOOMERANG, jackpot=3_000_000, reserve=2_000_000)
    owed = floor.holds("house_advance")
    assert amounts(floor.play({7: ROYALS[0], 6: ROYALS[1]})) == {7: 3_000_000, 6: 3_000_000}
    paid = {payout.box: payout for payout in floor.jackpot.tables["t1"].round.payouts}
    assert (paid[7].jackpot_cents, paid[7].reserve_cents, paid[7].advance_cents) == (3_000_000, 0, 0)
    assert (paid[6].jackpot_cents, paid[6].reserve_cents, paid[6].advance_cents) == (0, 2_000_000, 1_000_000)
    assert (floor.pools, floor.holds("house_advance")) == ((0, 0), owed - 1_000_000)


def test_in_1997_the_last_declaration_and_the_amount_displayed_at_it_govern():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(7)
    floor.close()
    floor.declare(7, STRAIGHT_FLUSHES[0], displayed=4_000_000)
    assert floor.declare(7, STRAIGHT_FLUSHES[0], displayed=4_999_990)["amount_cents"] == 499_999
    assert amounts(floor.settle()) == {7: 499_999}


def test_in_1997_what_the_jackpot_holds_beyond_the_displayed_amount_stays_in_it():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(7)
    floor.close()
    floor.declare(7, ROYALS[0], displayed=4_999_900)
    assert amounts(floor.settle()) == {7: 4_999_900}
    assert floor.pools == (100, 2_000_000)


def test_in_1997_a_reset_never_lowers_the_jackpot():
    """Displayed 5,000.00 while J held 20,000.00: the royal's 10,000.00 is half J's, half R's; J keeps 15,000.00."""
    floor = Floor(rules=BOOMERANG, jackpot=2_000_000, reset_cents=1_000_000)
    floor.open()
    floor.wager(7)
    floor.close()
    floor.declare(7, ROYALS[0], displayed=500_000)
    assert amounts(floor.settle()) == {7: 1_000_000}
    assert floor.pools == (1_500_000, 1_500_000)


def test_in_1997_the_reset_comes_after_the_losing_wagers_are_pooled():
    """Four losers leave J 2.80, so the reset to 10,000.00 takes 9,997.20 from R, which had 1.20 of them."""
    floor = Floor(rules=BOOMERANG, reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 6: None, 5: None, 4: None, 3: None})
    assert floor.pools == (1_000_000, 2_000_120 - 999_720)
    assert floor.events[-1].transfers[-1] == (Account.RESERVE, Account.JACKPOT, 999_720, Kind.RESET)


def test_in_1997_prizes_go_from_the_right_with_royals_where_they_sit():
    floor = Floor(rules=BOOMERANG)
    payouts = floor.play({7: ROYALS[0], 5: FLUSH, 2: STRAIGHT_FLUSHES[2]})
    assert [payout["box"] for payout in payouts] == [7, 5, 2]
    # The royal took all 50,000.00 of J first; the straight flush's 5,000.00 falls to R.
    assert floor.pools == (0, 2_000_000 - 10_000 - 500_000)


@pytest.mark.parametrize(
    ("cards", "hand", "amount"),
    [
        (DEAD_MANS_HAND, "dead_mans_hand", 5_000),
        (("Ah", "Ac", "8h", "8c", "Kd"), "dead_mans_hand", 5_000),
        (("Ah", "Ac", "As", "8h", "8c"), "full_house", 15_000),
        (("Ah", "Ac", "8s", "8h", "8c"), "full_house", 15_000),
        (("Ah", "Ac", "9s", "9h", "8c"), "two_pairs", 0),
    ],
    ids=str,
)
def test_in_1997_a_dead_mans_hand_wins_50_and_never_counts_as_more(cards, hand, amount):
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(1)
    floor.close()
    assert floor.declare(1, cards) == {"hand": hand, "qualifies": amount > 0, "amount_cents": amount}
    assert amounts(floor.settle()) == ({1: amount} if amount else {})
    assert floor.holds("reserve") == 2_000_000 - amount + (0 if amount else 30)


def pending_in_1997():
    """SF 5,000.00 from J, a flush 100.00 from R, one loser pooled, two winners' wagers to the house."""
    floor = Floor(rules=BOOMERANG)
    floor.play({7: STRAIGHT_FLUSHES[0], 2: FLUSH, 1: NOTHING})
    assert floor.pools == (4_500_070, 2_000_000 - 10_000 + 30)
    assert (floor.holds("house"), floor.holds("wagers")) == (200, 0)
    return floor


def test_in_1997_a_winner_corrected_to_nothing_has_its_wager_pooled_after_all():
    floor = pending_in_1997()
    assert amounts(floor.correct({2: None})) == {7: 500_000}
    assert floor.pools == (4_500_140, 2_000_060)
    assert (floor.holds("house"), floor.holds("wagers")) == (100, 0)
    assert floor.holds("players") == -300


def test_in_1997_a_loser_corrected_to_a_winner_has_its_wager_taken_out_of_the_pools():
    floor = pending_in_1997()
    assert amounts(floor.correct({1: STRAIGHT_FLUSHES[2]})) == {7: 500_000, 2: 10_000, 1: 500_000}
    assert floor.pools == (4_000_000, 1_990_000)
    assert (floor.holds("house"), floor.holds("wagers"), floor.holds("payable")) == (300, 0, 1_000_000)


def test_in_1997_a_wager_pooled_by_a_correction_counts_in_the_split_total():
    """6,667 bps: the corrected winner's wager is the first pooled, 66; the next loser's is the second, 67."""
    floor = Floor(rules=BOOMERANG, jackpot=0, **THIRDS)
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert floor.holds("jackpot") == 0
    floor.correct({7: None})
    assert floor.holds("jackpot") == 66
    floor.play({1: NOTHING}, table="t2")
    assert floor.holds("jackpot") == 133


def test_in_1997_a_corrected_hand_is_paid_on_the_amount_displayed_when_it_was_declared():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(7)
    floor.close()
    floor.declare(7, STRAIGHT_FLUSHES[0], displayed=4_000_000)
    floor.settle()
    assert amounts(floor.correct({7: ROYALS[0]})) == {7: 4_000_000}
    assert floor.holds("jackpot") == 1_000_000


def test_in_1997_a_void_after_a_correction_gives_everything_back():
    floor = pending_in_1997()
    floor.correct({2: None, 1: STRAIGHT_FLUSHES[1]})
    floor.void()
    assert floor.pools == (5_000_000, 2_000_000)
    assert {floor.holds(account) for account in ("house", "wagers", "payable", "players")} == {0}


def test_in_1997_a_wager_pooled_by_a_correction_is_split_on_the_total_of_all_pooled_before_it():
    """6,667 bps: t2's loser was the first pooled wager, 66; the one the correction pools is the second: 67 (reading 1).

    The SF on nothing displayed was 1,000.00 from R, and comes back.
    """
    floor = Floor(rules=BOOMERANG, jackpot=0, reserve=2_000_000, **THIRDS)
    floor.play({7: STRAIGHT_FLUSHES[0]})
    floor.play({1: NOTHING}, table="t2")
    assert floor.pools == (66, 1_900_034)
    floor.correct({7: None})
    assert floor.pools == (66 + 67, 2_000_000 + 34 + 33)
    floor.play({1: NOTHING}, table="t2")
    assert floor.pools == (66 + 67 + 67, 2_000_000 + 34 + 33 + 33)


# Whatever happens.

TABLES = ("t1", "t2", "t3")
HANDS = (*ROYALS, *STRAIGHT_FLUSHES, FLUSH, NOTHING, FULL_HOUSE, DEAD_MANS_HAND)
ACTS = ("open", "wager", "close", "fold", "unfold", "declare", "settle", "confirm", "correct", "void", "void hand")
SCRIPTS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.sampled_from(TABLES), st.integers(1, 3), st.sampled_from([None, *HANDS])),
    max_size=60,
)


def act(floor, kind, table, box, cards):
    """Any act at any time, by someone who may."""
    here = (table, floor.round(table))
    return {
        "open": OpenRound(AT, DEALER, table),
        "wager": floor.wagered(box, table=table),
        "close": CloseWagers(AT, DEALER, *here),
        "fold": Fold(AT, DEALER, *here, box),
        "unfold": Unfold(AT, DEALER, *here, box),
        "declare": Declare(AT, DEALER, *here, box, cards or NOTHING),
        "settle": Settle(AT, DEALER, *here),
        "confirm": Confirm(AT, SUPERVISOR, *here),
        "correct": Correct(AT, SUPERVISOR, *here, {box: cards}, "misread"),
        "void": VoidRound(AT, SUPERVISOR, *here, "jammed"),
        "void hand": VoidHand(AT, SUPERVISOR, *here, box, "misdeal"),
    }[kind]


def dealt_hands(floor):
    """Three tables, each closed with a royal, a straight flush and an undeclared hand: where scripts begin."""
    for suit, table in enumerate(TABLES):
        floor.open(table)
        floor.wager(1, 2, 3, table=table)
        floor.close(table)
        floor.declare(1, ROYALS[suit], table)
        floor.declare(2, STRAIGHT_FLUSHES[suit], table)


@pytest.mark.parametrize("rules", ["canberra-poker-2016", BOOMERANG])
@settings(deadline=None, max_examples=60)
@given(
    script=SCRIPTS,
    jackpot=st.sampled_from([0, 99, 1_000_001, 5_000_000]),
    reserve=st.sampled_from([0, 5_000, 2_000_000]),
    reset=st.sampled_from([0, 1_000_000]),
    payer=st.sampled_from(list(FixedFrom)),
)
def test_whatever_is_done_no_account_is_overdrawn_no_cent_is_made_and_all_can_be_voided(
    *, rules, script, jackpot, reserve, reset, payer
):
    changes = {"reset_cents": reset, "fixed_prizes_from": payer, **THIRDS}
    floor = Floor(jackpot, reserve, rules, TABLES, **changes)
    dealt_hands(floor)
    for step in script:
        try:
            floor.ask(act(floor, *step))
        except Refused:
            continue
        assert sum(floor.jackpot.balances.values()) == 0
        assert min(floor.holds(account) for account in NEVER_NEGATIVE) >= 0
        payouts = [payout for table in floor.jackpot.tables.values() for payout in table.round.payouts]
        pending = [payout.amount_cents for payout in payouts if payout.status is PayoutStatus.PENDING]
        assert floor.holds("payable") == sum(pending)
    for table in TABLES:
        if phase(floor, table) is not Phase.IDLE:
            floor.void(table)
    assert (floor.holds("payable"), floor.holds("wagers")) == (0, 0)
    again = NEW
    for event in floor.events:
        again = evolve(again, event)
    assert again == floor.jackpot
