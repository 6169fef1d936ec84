"""Invariants: after any sequence of commands the ledger balances, and replaying the events gives the same state."""

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
    Settle,
    Unfold,
    VoidHand,
    VoidRound,
)
from jackpot.core.evolve import evolve
from jackpot.core.ledger import NEVER_NEGATIVE
from jackpot.core.results import Refused
from jackpot.core.state import NEW, PayoutStatus, Phase
from rules.jackpot_prizes import FixedFrom
from tests.support.core_floor import (
    AT,
    BOOMERANG,
    DEAD_MANS_HAND,
    DEALER,
    FLUSH,
    FULL_HOUSE,
    NOTHING,
    ROYALS,
    STRAIGHT_FLUSHES,
    SUPERVISOR,
    THIRDS,
    Floor,
    phase,
)


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


TABLES = ("t1", "t2", "t3")
HANDS = (*ROYALS, *STRAIGHT_FLUSHES, FLUSH, NOTHING, FULL_HOUSE, DEAD_MANS_HAND)
ACTS = ("open", "wager", "close", "fold", "unfold", "declare", "settle", "confirm", "correct", "void", "void hand")
SCRIPTS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.sampled_from(TABLES), st.integers(1, 3), st.sampled_from([None, *HANDS])),
    max_size=60,
)


def act(floor, kind, table, box, cards):
    """Return a command of this kind at any time, by an actor with the right to send it."""
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
    """Three tables, each closed with a royal, a straight flush and an undeclared hand: the start of every script."""
    for suit, table in enumerate(TABLES):
        floor.open(table)
        floor.wager(1, 2, 3, table=table)
        floor.close(table)
        floor.declare(1, ROYALS[suit], table)
        floor.declare(2, STRAIGHT_FLUSHES[suit], table)


@pytest.mark.parametrize("rules", ["canberra-poker-2016", BOOMERANG])
@settings(max_examples=60)
@given(
    script=SCRIPTS,
    jackpot=st.sampled_from([0, 99, 1_000_001, 5_000_000]),
    reserve=st.sampled_from([0, 5_000, 2_000_000]),
    reset=st.sampled_from([0, 1_000_000]),
    payer=st.sampled_from(list(FixedFrom)),
)
def test_after_any_commands_no_account_is_overdrawn_no_cent_is_made_and_all_can_be_voided(
    *, rules, script, jackpot, reserve, reset, payer
):
    changes = {"reset_cents": reset, "fixed_prizes_from": payer, **THIRDS}
    floor = Floor(jackpot, reserve, rules, TABLES, **changes)
    dealt_hands(floor)
    for step in script:
        try:
            floor.execute(act(floor, *step))
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
