"""The Boomerang Jackpot of 1997: wagers are pooled at the settlement, prizes are displayed amounts (readings 16 to 20).

Every amount is worked out by hand from the readings, beside the number.
"""

import pytest

from jackpot.core.commands import Declare
from jackpot.core.ledger import Account, Kind
from tests.support.core_floor import (
    AT,
    BOOMERANG,
    DEAD_MANS_HAND,
    DEALER,
    FLUSH,
    NOTHING,
    OTHER_NOTHING,
    ROYALS,
    STRAIGHT_FLUSHES,
    THIRDS,
    Floor,
    amounts,
)


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


def test_in_1997_a_voided_hands_wager_is_returned_from_the_wagers_account():
    floor = Floor(rules=BOOMERANG)
    floor.open()
    floor.wager(1, 2)
    floor.void_hand(1)
    assert (floor.pools, floor.holds("wagers"), floor.holds("players")) == ((5_000_000, 2_000_000), 100, -100)
    floor.close()
    assert floor.void() == 100
    assert (floor.pools, floor.holds("wagers"), floor.holds("players")) == ((5_000_000, 2_000_000), 0, 0)


def test_in_1997_a_hand_with_the_wrong_number_of_cards_is_void_and_its_wager_returned():
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


def test_in_1997_money_beyond_the_displayed_amount_stays_in_the_jackpot():
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


def test_in_1997_prizes_are_paid_from_the_right_with_royals_in_their_order_of_boxes():
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
