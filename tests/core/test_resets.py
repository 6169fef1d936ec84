"""Resets: after a royal the jackpot is raised to the reset, from the reserve, then by an advance (reading 12).

Every amount is worked out by hand from the readings, beside the number.
"""

import pytest

from jackpot.core.ledger import Account, Kind
from tests.support.core_floor import ALL_TO_JACKPOT, FLUSH, ROYALS, STRAIGHT_FLUSHES, Floor, amounts


def test_a_reset_caused_by_a_corrected_royal_is_undone():
    floor = Floor(reset_cents=1_000_000)
    floor.play({7: ROYALS[0], 1: FLUSH})
    assert floor.holds("jackpot") == 1_000_000
    floor.correct({7: None})
    assert floor.pools == (5_000_140, 2_000_060 - 10_000)


def test_without_a_reset_the_meter_shows_the_remaining_pool_after_a_royal():
    floor = Floor(jackpot=5_000_001 - 200, confirm=(), **ALL_TO_JACKPOT)
    floor.play({7: ROYALS[0], 6: ROYALS[1]})
    assert floor.holds("jackpot") == floor.jackpot.meter_cents == 1


def test_the_settlements_last_entry_raises_the_jackpot_to_the_reset_from_the_reserve():
    floor = Floor(jackpot=5_000_001 - 200, reset_cents=1_000_000, **ALL_TO_JACKPOT)
    floor.play({7: ROYALS[0], 6: ROYALS[1], 1: None})
    # 50,000.01 + 1.00 of the third wager: 25,000.50 each, 0.01 stays; the reset adds 9,999.99.
    assert floor.pools == (1_000_000, 2_000_000 - 999_999)
    assert floor.events[-1].transfers[-1] == (Account.RESERVE, Account.JACKPOT, 999_999, Kind.RESET)


def test_an_advance_covers_the_reserves_shortfall_for_the_reset():
    floor = Floor(jackpot=5_000_000, reserve=400_000, reset_cents=1_000_000, **ALL_TO_JACKPOT)
    owed = floor.holds("house_advance")
    floor.play({7: ROYALS[0]})
    assert floor.pools == (1_000_000, 0)
    assert floor.holds("house_advance") == owed - 600_000
    assert floor.events[-1].transfers[-2:] == (
        (Account.RESERVE, Account.JACKPOT, 400_000, Kind.RESET),
        (Account.HOUSE_ADVANCE, Account.JACKPOT, 600_000, Kind.ADVANCE),
    )


def test_there_is_no_reset_without_a_royal():
    floor = Floor(jackpot=200_000, reset_cents=1_000_000, **ALL_TO_JACKPOT)
    floor.play({7: STRAIGHT_FLUSHES[0], 1: FLUSH})
    # SF 1,000.00: 10% of 2,002.00 from J, 799.80 from R; the flush 100.00 from R.
    assert floor.pools == (200_200 - 20_020, 2_000_000 - 79_980 - 10_000)


def test_a_reset_that_an_advance_paid_is_undone_with_the_royal_that_caused_it():
    floor = Floor(jackpot=5_000_000 - 100, reserve=0, reset_cents=1_000_000, **ALL_TO_JACKPOT)
    owed = floor.holds("house_advance")
    floor.play({7: ROYALS[0]})
    assert floor.holds("house_advance") == owed - 1_000_000
    floor.correct({7: None})
    assert floor.pools == (5_000_000, 0)
    assert floor.holds("house_advance") == owed


def test_the_reserve_bears_the_part_of_an_undone_reset_that_a_linked_table_has_won():
    """Royal on J = 1,000.00: R adds 9,000.00 and the reset of 10,000.00, which t2's royal takes; t2 has no reset.

    R: 50,000.00 − 9,000.00 − 10,000.00 = 31,000.00. Corrected to nothing, 1,000.00 returns to J and 9,000.00 to R;
    the reset is undone with the 1,000.00 there is.
    """
    floor = Floor(jackpot=100_000 - 100, reserve=5_000_000, reset_cents=1_000_000, **ALL_TO_JACKPOT)
    floor.play({7: ROYALS[0]})
    assert floor.pools == (1_000_000, 3_100_000)
    floor.approve(floor.propose(reset_cents=0, **ALL_TO_JACKPOT))
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
    floor = Floor(jackpot=5_000_000 - 100, reserve=reserve, reset_cents=1_000_000, **ALL_TO_JACKPOT)
    owed = floor.holds("house_advance")
    floor.play({7: STRAIGHT_FLUSHES[0]})
    floor.play({1: ROYALS[1]}, table="t2")
    assert floor.holds("jackpot") == 1_000_000
    assert amounts(floor.correct({7: ROYALS[0]})) == {7: 5_000_000}
    assert floor.pools == (1_000_000, left)
    assert floor.holds("house_advance") == owed - advance
