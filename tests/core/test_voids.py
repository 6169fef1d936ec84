"""Voids: wagers go back to the cent as they were posted, and postings are reversed by new entries (reading 13).

Every amount is worked out by hand from the readings, beside the number.
"""

import pytest

from jackpot.core.commands import Confirm, VoidHand, VoidHands, VoidRound
from jackpot.core.events import EventType
from jackpot.core.ledger import Kind
from jackpot.core.state import Phase
from rules.jackpot_prizes import FixedFrom
from tests.support.core_floor import (
    AT,
    DEALER,
    FLUSH,
    ROYALS,
    STRAIGHT_FLUSHES,
    SUPERVISOR,
    THIRDS,
    Floor,
    amounts,
    phase,
)


def test_a_void_reverses_exactly_the_posted_cents_after_a_linked_table_has_won():
    floor = Floor(confirm=())
    floor.open("t1")
    floor.wager(1, 2, 3, 4, 5)
    assert floor.holds("jackpot") == 5_000_350
    floor.open("t2")
    floor.wager(1, table="t2")
    floor.void_hand(1, table="t2")
    assert floor.holds("jackpot") == 5_000_350
    floor.wager(1, table="t2")
    floor.close("t2")
    floor.declare(1, STRAIGHT_FLUSHES[0], "t2")
    paid = floor.settle("t2")[0]["amount_cents"]
    assert paid == 500_042
    assert floor.void("t1") == 500
    assert floor.holds("jackpot") == 5_000_350 + 70 - paid - 350


def test_voiding_a_pending_round_gives_back_prizes_reset_and_wagers():
    floor = Floor(reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 1: FLUSH})
    floor.void()
    assert floor.pools == (5_000_000, 2_000_000)
    assert (floor.holds("payable"), floor.holds("players")) == (0, 0)


def test_an_advance_returns_wagers_that_the_pools_no_longer_hold():
    floor = Floor(jackpot=0, reserve=0, confirm=())
    floor.open("t1")
    floor.wager(1)
    floor.open("t2")
    floor.wager(2, table="t2")
    floor.close("t2")
    floor.declare(2, ROYALS[0], "t2")
    floor.settle("t2")
    assert floor.pools == (0, 0)
    owed = floor.holds("house_advance")
    assert floor.void("t1") == 100
    assert floor.holds("house_advance") == owed - 100


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


def test_the_reserve_returns_wagers_that_the_jackpot_no_longer_holds():
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


def test_an_advance_returns_wagers_that_neither_pool_holds_and_no_pool_is_negative():
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
def test_a_voided_pending_round_leaves_every_account_as_before_it(payer, reserve):
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


def test_boxes_are_voided_together_each_with_its_own_event_and_money():
    floor = Floor()
    before = floor.pools
    floor.open()
    floor.wager(1, 3, 5)
    assert floor.execute(VoidHands(AT, SUPERVISOR, "t1", 1, (5, 1), "misdeal")) == {"returned_cents": 200}
    voided = [event for event in floor.events if event.type is EventType.HAND_VOIDED]
    assert [event.data["box"] for event in voided] == [5, 1]
    assert [sum(t.amount_cents for t in event.transfers) for event in voided] == [100, 100]
    assert floor.jackpot.tables["t1"].round.lit == [3]
    floor.void()
    assert floor.pools == before


@pytest.mark.parametrize(
    ("boxes", "code"), [((1, 2), "no_wager"), ((1, 9), "unknown_box"), ((1, 1), "malformed"), ((), "malformed")]
)
def test_if_one_box_cannot_be_voided_none_is(boxes, code):
    floor = Floor()
    floor.open()
    floor.wager(1, 3)
    before = floor.jackpot
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 1, boxes, "misdeal")) == code
    assert floor.jackpot == before


def test_a_void_of_several_boxes_follows_the_rules_of_a_void_of_one():
    floor = Floor()
    floor.open()
    floor.wager(1, 3)
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 1, (1,), " ")) == "malformed"
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 2, (1,), "misdeal")) == "wrong_round"
    floor.close()
    assert floor.refusal(VoidHands(AT, DEALER, "t1", 1, (1,), "misdeal")) == "needs_supervisor"
    floor.declare(1, ROYALS[0])
    floor.settle()
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 1, (1,), "misdeal")) == "wrong_phase"


def test_the_shortfall_of_emptied_pools_is_covered_box_by_box():
    floor = Floor(jackpot=0, reserve=0)
    floor.open()
    floor.wager(1, 3)
    floor.approve(floor.adjust("jackpot", "house", 140))
    floor.approve(floor.adjust("reserve", "house", 60))
    floor.execute(VoidHands(AT, SUPERVISOR, "t1", 1, (1, 3), "misdeal"))
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == -200
