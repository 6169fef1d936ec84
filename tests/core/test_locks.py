"""The lock and confirmation: a settlement reads the pools at the lock, pending prizes wait in the account payable.

Every amount is worked out by hand from the readings, beside the number.
"""

from jackpot.core.commands import Confirm, Declare, OpenRound
from jackpot.core.state import PayoutStatus, Phase
from tests.support.core_floor import (
    ALL_TO_JACKPOT,
    AT,
    DEALER,
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


def test_two_straight_flushes_wait_for_confirmation_and_other_tables_play_on():
    floor = Floor(jackpot=5_000_000 - 140)
    payouts = floor.play({7: STRAIGHT_FLUSHES[0], 2: STRAIGHT_FLUSHES[1]})
    assert [(p["box"], p["amount_cents"], p["status"]) for p in payouts] == [
        (7, 475_000, "pending"),
        (2, 475_000, "pending"),
    ]
    assert (floor.holds("jackpot"), floor.holds("payable")) == (4_050_000, 950_000)
    assert floor.jackpot.tables["t1"].phase is Phase.PENDING
    floor.play({1: NOTHING}, table="t2")
    floor.confirm()
    assert floor.holds("payable") == 0
    assert floor.jackpot.tables["t1"].phase is Phase.IDLE


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
    assert floor.refusal(correction({6: ROYALS[1]})) == "conflict"
    assert floor.holds("payable") == 500_014


def test_a_hand_that_folded_does_not_win_by_a_correction():
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 6: ROYALS[1]}, folded=(6,))
    assert floor.refusal(correction({6: ROYALS[1]})) == "folded"


def test_the_jackpot_is_read_at_the_lock_with_all_wagers_accepted_before_it():
    """Declared at J = 100,000.00; then two wagers at a linked table: 10% of 100,002.00."""
    floor = Floor(jackpot=10_000_000 - 100, **ALL_TO_JACKPOT)
    floor.open()
    floor.wager(7)
    floor.close()
    assert floor.declare(7, STRAIGHT_FLUSHES[0])["amount_cents"] == 1_000_000
    floor.open("t2")
    floor.wager(1, 2, table="t2")
    assert amounts(floor.settle()) == {7: 1_000_020}
    assert floor.holds("jackpot") == 10_000_200 - 1_000_020


def test_a_linked_table_that_wins_later_is_settled_on_the_remaining_pool():
    """t1: 10% of 50,000.00; t2 does not share it: 10% of 45,000.00, then a royal takes the rest."""
    floor = Floor(jackpot=5_000_000 - 300, tables=("t1", "t2", "t3"), **ALL_TO_JACKPOT)
    for number, table in enumerate(("t1", "t2", "t3")):
        floor.open(table)
        floor.wager(7, table=table)
        floor.close(table)
        floor.declare(7, ROYALS[number] if table == "t3" else STRAIGHT_FLUSHES[number], table)
    assert amounts(floor.settle("t1")) == {7: 500_000}
    assert amounts(floor.settle("t2")) == {7: 450_000}
    assert amounts(floor.settle("t3")) == {7: 4_050_000}
    assert (floor.holds("jackpot"), floor.holds("payable")) == (0, 5_000_000)


def test_a_later_royal_gets_its_minimum_from_the_reserve():
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_JACKPOT)
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
    floor = Floor(jackpot=5_000_000 - 200, **ALL_TO_JACKPOT)
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


def test_the_table_waits_for_confirmation_which_does_not_change_the_pools():
    floor = Floor()
    floor.play({7: ROYALS[0]})
    assert floor.refusal(OpenRound(AT, DEALER, "t1")) == "wrong_phase"
    before = floor.pools
    floor.confirm()
    assert floor.pools == before
    assert floor.open() == 2
