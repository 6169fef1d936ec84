"""Corrections: a corrected round ends as if its hands had been read correctly the first time (reading 11).

Every amount is worked out by hand from the readings, beside the number.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackpot.core.commands import Confirm, Correct
from jackpot.core.ledger import Account
from jackpot.core.state import Phase
from tests.support.core_floor import (
    ALL_TO_JACKPOT,
    AT,
    FLUSH,
    FULL_HOUSE,
    NOTHING,
    ROYALS,
    STRAIGHT_FLUSHES,
    SUPERVISOR,
    Floor,
    amounts,
    correction,
    phase,
)

BOXES = (1, 2, 3)
HANDS = {
    box: (ROYALS[box], STRAIGHT_FLUSHES[box], (f"K{suit}", f"J{suit}", f"9{suit}", f"4{suit}", f"2{suit}"), None)
    for box, suit in zip(BOXES, "hdc", strict=True)
}
hands = st.fixed_dictionaries({box: st.sampled_from(HANDS[box]) for box in BOXES})
pools = st.sampled_from([0, 50_000, 990_001, 5_000_001])


def played(declared, jackpot, reserve, reset):
    """Settle a round with these hands; None is declared as cards that win nothing."""
    floor = Floor(jackpot=jackpot, reserve=reserve, reset_cents=reset)
    floor.open()
    floor.wager(*BOXES, 7)
    floor.close()
    floor.declare(7, ROYALS[0])
    for box, cards in declared.items():
        floor.declare(box, cards or losing(box))
    floor.settle()
    return floor


def losing(box):
    suit = "hdc"[box - 1]
    return (f"K{suit}", f"J{suit}", f"9{suit}", f"4{suit}", ("5s", "6s", "7s")[box - 1])


@given(hands, st.lists(hands, min_size=1, max_size=3), pools, pools, st.sampled_from([0, 1_000_000]))
def test_corrections_leave_the_pools_as_if_the_hands_had_been_read_correctly(first, later, jackpot, reserve, reset):
    floor = played(first, jackpot, reserve, reset)
    for corrected in later:
        floor.execute(
            Correct(AT, SUPERVISOR, "t1", 1, {box: cards or losing(box) for box, cards in corrected.items()}, "misread")
        )
    right = played(later[-1], jackpot, reserve, reset)
    assert floor.jackpot.balances == right.jackpot.balances
    assert floor.jackpot.tables["t1"].round.payouts == right.jackpot.tables["t1"].round.payouts
    for each in (floor, right):
        each.execute(Confirm(AT, SUPERVISOR, "t1", 1))
        assert each.jackpot.tables["t1"].phase is Phase.IDLE
    assert floor.jackpot.balances == right.jackpot.balances


def test_an_advance_is_repaid_once():
    floor = played({1: ROYALS[1], 2: None, 3: None}, 50_000, 0, 0)
    owed = floor.jackpot.balances[Account.HOUSE_ADVANCE]
    for _ in range(3):
        floor.execute(Correct(AT, SUPERVISOR, "t1", 1, {1: losing(1)}, "misread"))
        less = floor.jackpot.balances[Account.HOUSE_ADVANCE]
        floor.execute(Correct(AT, SUPERVISOR, "t1", 1, {1: ROYALS[1]}, "read correctly after all"))
        assert (floor.jackpot.balances[Account.HOUSE_ADVANCE], less > owed) == (owed, True)


def test_two_royals_pending_at_25000_one_corrected_to_nothing_leaves_the_other_50000():
    floor = Floor(jackpot=5_000_000 - 140)
    payouts = floor.play({7: ROYALS[0], 2: ROYALS[1]})
    assert [p["amount_cents"] for p in payouts] == [2_500_000, 2_500_000]
    payouts = floor.correct({7: None})
    assert [(p["box"], p["amount_cents"], p["status"]) for p in payouts] == [(2, 5_000_000, "pending")]
    assert (floor.holds("jackpot"), floor.holds("payable")) == (0, 5_000_000)


def test_two_straight_flushes_one_corrected_leaves_the_other_5000_and_45000_in_the_jackpot():
    floor = Floor(jackpot=5_000_000 - 140)
    floor.play({7: STRAIGHT_FLUSHES[0], 2: STRAIGHT_FLUSHES[1]})
    payouts = floor.correct({2: NOTHING})
    assert [p["amount_cents"] for p in payouts] == [500_000]
    assert floor.holds("jackpot") == 4_500_000


def test_a_correction_that_leaves_nothing_pending_ends_the_round():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert floor.correct({7: None}) == []
    assert floor.jackpot.tables["t1"].phase is Phase.IDLE
    assert floor.pools == (5_000_070, 2_000_030)


def test_a_correction_is_posted_to_todays_pools_and_other_tables_wins_stand():
    """t1: SF 500,014 of 5,000,140, the royal the other 4,500,126; a reset. t2's royal takes the reset; another reset.

    Corrected to nothing, the royal returns 4,500,126 to J, and t1's reset of 1,000,000 goes back to R.
    """
    floor = Floor(reset_cents=1_000_000, confirm=("royal_flush",))
    floor.play({7: STRAIGHT_FLUSHES[0], 6: ROYALS[1]})
    floor.play({1: ROYALS[2]}, table="t2")
    assert floor.pools == (1_000_000, 90)
    floor.correct({6: None})
    assert floor.pools == (4_500_126, 1_000_090)
    assert floor.jackpot.tables["t2"].round.payouts[0].amount_cents == 1_000_070


@pytest.mark.parametrize(
    ("declared", "corrected", "amount", "jackpot", "reserve"),
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
    declared, corrected, amount, jackpot, reserve
):
    floor = Floor(jackpot=5_000_000 - 100, **ALL_TO_JACKPOT)
    floor.play({7: declared})
    payouts = floor.correct({7: corrected})
    assert amounts(payouts) == {7: amount}
    assert floor.pools == (jackpot, reserve)
    pending = amount >= 500_000
    assert phase(floor) is (Phase.PENDING if pending else Phase.IDLE)
    assert (floor.holds("payable"), floor.holds("players")) == ((amount, -100) if pending else (0, amount - 100))
    if pending:
        floor.confirm()
    assert (floor.holds("payable"), floor.holds("players")) == (0, amount - 100)


def test_a_hand_declared_as_nothing_may_share_the_prize_after_a_correction():
    """One SF at 5,000.00 becomes two at 4,750.00: J after 40,500.00."""
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_JACKPOT)
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
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_JACKPOT)
    floor.play({7: STRAIGHT_FLUSHES[0], 6: FLUSH})
    assert floor.pools == (4_500_000, 1_990_000)
    floor.correct({6: FULL_HOUSE})
    assert (floor.pools, floor.holds("players")) == ((4_500_000, 1_985_000), 15_000 - 200)
    floor.correct({6: None})
    assert (floor.pools, floor.holds("players")) == ((4_500_000, 2_000_000), -200)
    assert phase(floor) is Phase.PENDING


def test_a_corrected_round_waits_again_and_may_be_corrected_again():
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_JACKPOT)
    floor.play({7: ROYALS[0], 6: ROYALS[1]})
    assert amounts(floor.correct({7: STRAIGHT_FLUSHES[0]})) == {7: 500_000, 6: 4_500_000}
    assert amounts(floor.correct({6: STRAIGHT_FLUSHES[1]})) == {7: 475_000, 6: 475_000}
    assert amounts(floor.correct({7: ROYALS[0], 6: ROYALS[1]})) == {7: 2_500_000, 6: 2_500_000}
    assert (floor.pools, floor.holds("payable")) == ((0, 2_000_000), 5_000_000)
    floor.confirm()
    assert floor.holds("players") == 5_000_000 - 200


def test_two_hands_that_were_mixed_up_are_corrected_together():
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


def test_a_correction_settles_on_the_pools_as_at_the_lock_without_later_wagers():
    """Wagers at a linked table since the lock count neither in the prize nor against it."""
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_JACKPOT)
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


def test_the_reserve_then_an_advance_cover_the_jackpots_shortfall_in_a_correction():
    """50,000.00 − 5,000.00 = 45,000.00 more: J has none, R 20,000.30, so the advance is 24,999.70."""
    floor = a_royal_found_after_a_linked_table_took_the_jackpot()
    owed = floor.holds("house_advance")
    assert amounts(floor.correct({7: ROYALS[0]})) == {7: 5_000_000}
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == owed - 2_499_970
    assert floor.holds("payable") == 5_000_000 + 4_500_070
    assert floor.jackpot.tables["t2"].round.payouts[0].amount_cents == 4_500_070


def test_a_void_after_a_correction_reverses_exactly_the_cents_that_were_posted():
    """J gave 5,000.00 of the prize, R 20,000.30 and the advance 24,999.70: each is repaid its part (reading 13)."""
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
    floor = Floor(jackpot=5_000_000 - 100, **ALL_TO_JACKPOT)
    floor.play({7: STRAIGHT_FLUSHES[0]})
    floor.play({1: STRAIGHT_FLUSHES[1]}, table="t2")
    # t2: 10% of 45,001.00
    floor.correct({7: None})
    assert floor.holds("payable") == 450_010
    assert floor.holds("jackpot") == 5_000_000 + 100 - 450_010
    assert phase(floor, "t2") is Phase.PENDING
