"""The readings, played through the core to the cent."""

import pytest

from jackpot.core.evolve import evolve
from jackpot.core.state import NEW, Phase
from tests.support.core_floor import FLUSH, NOTHING, ROYALS, STRAIGHT_FLUSHES, Floor


def test_five_dollar_wagers_at_70_30_raise_the_jackpot_by_3_50():
    floor = Floor()
    floor.open()
    floor.wager(1, 2, 3, 4, 5)
    assert floor.pools == (5_000_350, 2_000_150)


def test_wagers_are_split_cumulatively_across_tables():
    floor = Floor(jackpot=0, jackpot_bps=6_667, reserve_bps=3_333)
    shares = []
    for table in ("t1", "t2"):
        floor.open(table)
        for box in (1, 2):
            before = floor.holds("jackpot")
            floor.wager(box, table=table)
            shares.append(floor.holds("jackpot") - before)
    assert shares == [66, 67, 67, 66]


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


def test_a_reset_caused_by_a_corrected_royal_is_undone():
    floor = Floor(reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 1: FLUSH})
    assert floor.holds("jackpot") == 1_000_000
    floor.correct({7: None})
    assert floor.pools == (5_000_140, 2_000_060 - 10_000)


def test_a_correction_is_posted_to_todays_pools_and_other_tables_wins_stand():
    """The royal at t1 vanishes after t2 has won the reset pool: what J lacks, R and then an advance make up."""
    floor = Floor(reset_cents=1_000_000, confirm=("royal_flush",))
    floor.play({7: STRAIGHT_FLUSHES[0], 6: ROYALS[1]})
    floor.play({1: ROYALS[2]}, table="t2")
    before = floor.pools
    floor.correct({6: None})
    assert min(floor.pools) >= 0
    assert floor.jackpot.tables["t2"].round.payouts[0].amount_cents == 1_000_070
    assert before != floor.pools


def test_a_void_reverses_exactly_what_was_posted_after_a_linked_table_has_won():
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


def test_what_the_pools_no_longer_hold_an_advance_returns():
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


def test_in_1997_wagers_wait_and_are_pooled_at_settlement():
    floor = Floor(rules="canberra-poker-1997", confirm=())
    floor.open()
    floor.wager(1, 2, 3, 4, 5)
    assert (floor.pools, floor.holds("wagers")) == ((5_000_000, 2_000_000), 500)
    floor.close()
    floor.declare(1, ROYALS[0], displayed=5_000_000)
    floor.fold(2)
    payouts = floor.settle()
    assert payouts[0]["amount_cents"] == 5_000_000
    assert floor.pools == (280, 2_000_120)
    assert (floor.holds("wagers"), floor.holds("house")) == (0, 100)


def test_in_1997_a_void_of_a_pending_round_gives_everything_back():
    floor = Floor(rules="canberra-poker-1997", reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 1: NOTHING})
    floor.void()
    assert floor.pools == (5_000_000, 2_000_000)
    assert (floor.holds("players"), floor.holds("house"), floor.holds("wagers")) == (0, 0, 0)


@pytest.mark.parametrize("rules", ["canberra-poker-2016", "canberra-poker-1997"])
def test_replaying_the_events_gives_the_same_state(rules):
    floor = Floor(rules=rules, reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1], 1: FLUSH}, folded=(6,))
    floor.correct({7: STRAIGHT_FLUSHES[2]})
    floor.confirm()
    floor.approve(floor.propose(wager_cents=500))
    floor.play({3: NOTHING}, table="t2")
    again = NEW
    for event in floor.events:
        again = evolve(again, event)
    assert again == floor.jackpot
    assert sum(floor.jackpot.balances.values()) == 0
