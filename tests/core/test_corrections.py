"""However often a round is corrected, it ends as if its hands had been read rightly the first time."""

from hypothesis import given
from hypothesis import strategies as st

from jackpot.core.commands import Confirm, Correct
from jackpot.core.ledger import Account
from jackpot.core.state import Phase
from tests.support.core_floor import AT, ROYALS, STRAIGHT_FLUSHES, SUPERVISOR, Floor

BOXES = (1, 2, 3)
HANDS = {
    box: (ROYALS[box], STRAIGHT_FLUSHES[box], (f"K{suit}", f"J{suit}", f"9{suit}", f"4{suit}", f"2{suit}"), None)
    for box, suit in zip(BOXES, "hdc", strict=True)
}
hands = st.fixed_dictionaries({box: st.sampled_from(HANDS[box]) for box in BOXES})
pools = st.sampled_from([0, 50_000, 990_001, 5_000_001])


def played(declared, jackpot, reserve, reset):
    """A round with these hands, settled; a hand of nothing is declared as cards that win nothing."""
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
def test_corrections_leave_the_pools_as_if_the_hands_had_been_read_rightly(first, later, jackpot, reserve, reset):
    floor = played(first, jackpot, reserve, reset)
    for truth in later:
        floor.ask(
            Correct(AT, SUPERVISOR, "t1", 1, {box: cards or losing(box) for box, cards in truth.items()}, "misread")
        )
    right = played(later[-1], jackpot, reserve, reset)
    assert floor.jackpot.balances == right.jackpot.balances
    assert floor.jackpot.tables["t1"].round.payouts == right.jackpot.tables["t1"].round.payouts
    for one in (floor, right):
        one.ask(Confirm(AT, SUPERVISOR, "t1", 1))
        assert one.jackpot.tables["t1"].phase is Phase.IDLE
    assert floor.jackpot.balances == right.jackpot.balances


def test_an_advance_is_given_back_once():
    floor = played({1: ROYALS[1], 2: None, 3: None}, 50_000, 0, 0)
    owed = floor.jackpot.balances[Account.HOUSE_ADVANCE]
    for _ in range(3):
        floor.ask(Correct(AT, SUPERVISOR, "t1", 1, {1: losing(1)}, "misread"))
        less = floor.jackpot.balances[Account.HOUSE_ADVANCE]
        floor.ask(Correct(AT, SUPERVISOR, "t1", 1, {1: ROYALS[1]}, "read rightly after all"))
        assert (floor.jackpot.balances[Account.HOUSE_ADVANCE], less > owed) == (owed, True)
