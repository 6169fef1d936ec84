"""The readings of the rules, played through the core: the split, who can win, amounts and funding, malfunctions.

Every amount is worked out by hand from the readings, beside the number.
"""

import pytest

from jackpot.core.commands import CloseWagers, Fold, ReportMalfunction
from jackpot.core.ledger import Account, Kind
from rules.jackpot_prizes import FixedFrom
from tests.support.core_floor import (
    ALL_TO_JACKPOT,
    AT,
    DEALER,
    FLUSH,
    NOTHING,
    ROYALS,
    STRAIGHT_FLUSHES,
    Floor,
    amounts,
)


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


def test_a_share_of_zero_posts_no_transfer():
    floor = Floor(jackpot=0, reserve=0, **ALL_TO_JACKPOT)
    floor.open()
    floor.wager(1)
    assert floor.events[-1].transfers == ((Account.PLAYERS, Account.JACKPOT, 100, Kind.CONTRIBUTION),)


def test_a_box_with_a_dark_lamp_at_close_is_reported_and_voided_by_a_supervisor():
    floor = Floor()
    floor.open()
    floor.wager(3, 5)
    assert floor.execute(CloseWagers(AT, DEALER, "t1", 1, dark=(5,)))["unconfirmed"] == [5]
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
    floor.execute(Fold(AT, DEALER, "t1", 1, 7, "excluded: showed cards (13.2)"))
    assert floor.jackpot.tables["t1"].round.folded == {7: "excluded: showed cards (13.2)"}
    assert floor.events[-1].data["reason"] == "excluded: showed cards (13.2)"
    assert floor.settle() == []


def test_two_straight_flushes_at_10500_are_raised_to_their_floor_by_the_reserve():
    """1,050.00 + 945.00 = 1,995.00, 997.50 each, so 1,000.00 each; J after 8,505.00, R pays 5.00."""
    floor = Floor(jackpot=1_050_000 - 200, **ALL_TO_JACKPOT)
    assert amounts(floor.play({7: STRAIGHT_FLUSHES[0], 6: STRAIGHT_FLUSHES[1]})) == {7: 100_000, 6: 100_000}
    assert floor.pools == (850_500, 1_999_500)


def test_three_straight_flushes_at_50000_01_leave_the_odd_cents_in_the_jackpot():
    """5,000.00 + 4,500.00 + 4,050.00 = 13,550.00, 4,516.66 each, J after 36,450.03."""
    floor = Floor(jackpot=5_000_001 - 300, **ALL_TO_JACKPOT)
    payouts = floor.play({7: STRAIGHT_FLUSHES[0], 4: STRAIGHT_FLUSHES[1], 1: STRAIGHT_FLUSHES[2]})
    assert amounts(payouts) == {7: 451_666, 4: 451_666, 1: 451_666}
    assert floor.pools == (3_645_003, 2_000_000)


def test_two_royals_at_15000_01_get_10000_each_and_a_cent_stays_in_the_jackpot():
    floor = Floor(jackpot=1_500_001 - 200, **ALL_TO_JACKPOT)
    assert amounts(floor.play({7: ROYALS[0], 6: ROYALS[1]})) == {7: 1_000_000, 6: 1_000_000}
    assert floor.pools == (1, 1_500_000)


def test_a_straight_flush_and_a_royal_at_10400():
    """SF 1,040.00; left 9,360.00; RF 10,000.00, of which R adds 640.00."""
    floor = Floor(jackpot=1_040_000 - 200, **ALL_TO_JACKPOT)
    assert amounts(floor.play({7: ROYALS[0], 6: STRAIGHT_FLUSHES[1]})) == {6: 104_000, 7: 1_000_000}
    assert floor.pools == (0, 2_000_000 - 64_000)


def test_an_advance_covers_the_reserves_shortfall_and_is_owed_back():
    """A royal on J = 1.00 and R = 50.00: 10,000.00 = 1.00 + 50.00 + an advance of 9,949.00."""
    floor = Floor(jackpot=0, reserve=5_000, **ALL_TO_JACKPOT)
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
def test_the_approved_configuration_decides_who_pays_a_fixed_prize(payer, jackpot, reserve, house, advance):
    floor = Floor(jackpot=100_000, reserve=6_000, fixed_prizes_from=payer, **ALL_TO_JACKPOT)
    owed = floor.holds("house_advance")
    floor.play({7: FLUSH})
    assert floor.pools == (jackpot, reserve)
    assert (floor.holds("house"), floor.holds("house_advance")) == (-house, owed - advance)


def test_a_fixed_prize_the_jackpot_cannot_cover_falls_to_the_reserve_then_an_advance():
    """A flush on J = 31.00 and R = 40.00: 31.00 + 40.00 + an advance of 29.00."""
    floor = Floor(jackpot=3_000, reserve=4_000, fixed_prizes_from=FixedFrom.JACKPOT, **ALL_TO_JACKPOT)
    owed = floor.holds("house_advance")
    floor.play({7: FLUSH})
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == owed - 2_900


@pytest.mark.parametrize(
    ("flush_box", "straight_flush", "jackpot"),
    [(7, 249_000, 2_500_000 - 10_000 - 249_000), (1, 250_000, 2_500_000 - 250_000 - 10_000)],
)
def test_if_the_jackpot_pays_fixed_prizes_a_flush_paid_first_lowers_the_straight_flush_prize(
    flush_box, straight_flush, jackpot
):
    floor = Floor(jackpot=2_500_000 - 200, fixed_prizes_from=FixedFrom.JACKPOT, **ALL_TO_JACKPOT)
    payouts = floor.play({flush_box: FLUSH, 4: STRAIGHT_FLUSHES[0]})
    assert amounts(payouts) == {flush_box: 10_000, 4: straight_flush}
    assert floor.pools == (jackpot, 2_000_000)


def test_wagers_accepted_before_a_malfunction_are_settled_from_the_ledger():
    floor = Floor(jackpot=5_000_000 - 70)
    floor.open()
    floor.wager(7)
    floor.execute(ReportMalfunction(AT, DEALER, "t1", "meter", "frozen", "display"))
    assert floor.refusal(floor.wagered(6)) == "table_suspended"
    floor.close()
    floor.declare(7, ROYALS[0])
    assert amounts(floor.settle()) == {7: 5_000_000}
    floor.confirm()
    assert floor.holds("players") == 5_000_000 - 100
