"""A batch of wagers ends as if each were decided by itself: the same events, answers, refusals and state."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jackpot.core.commands import CloseWagers, PlaceWager, ReportMalfunction, VoidHand
from jackpot.core.decide import decide
from jackpot.core.evolve import evolve
from jackpot.core.results import Refused
from jackpot.core.wager_batch import WagerBatch
from tests.support.core_floor import AT, DEALER, MANAGER, PAD, SUPERVISOR, Floor


def a_floor(rules):
    """Return a state with three tables, open, closed and suspended, and some wagers."""
    floor = Floor(rules=rules, tables=("t1", "t2", "t3", "t4"))
    for table in ("t1", "t2", "t3"):
        floor.open(table)
        floor.wager(1, table=table)
    floor.execute(CloseWagers(AT, DEALER, "t2", 1))
    floor.execute(ReportMalfunction(AT, DEALER, "t3", "shoe", "jammed", "dealer_report"))
    floor.wager(2)
    floor.execute(VoidHand(AT, SUPERVISOR, "t1", 1, 2, "misdeal"))
    return floor.jackpot


FLOORS = {rules: a_floor(rules) for rules in ("canberra-poker-2016", "canberra-poker-1997")}

wagers = st.builds(
    PlaceWager,
    at=st.just(AT),
    actor=st.sampled_from([PAD, MANAGER]),
    table=st.sampled_from(["t1", "t1", "t2", "t3", "t4", "t9"]),
    box=st.integers(0, 9),
    wager_id=st.sampled_from(["w1", "w2", "w3", "w4", "w5", "bad\0", "ü", "\ud800"]),
    round=st.sampled_from([1, 1, 1, 2]),
    amount_cents=st.sampled_from([100, 100, 100, 50]),
    ante=st.sampled_from([True, True, True, False]),
)


def one_by_one(jackpot, commands):
    ended = []
    for wager in commands:
        try:
            decision = decide(jackpot, wager)
        except Refused as refused:
            ended.append((refused.code, refused.message))
            continue
        for event in decision.events:
            jackpot = evolve(jackpot, event)
        ended.append(decision)
    return jackpot, ended


def in_a_batch(jackpot, commands):
    batch, ended = WagerBatch(jackpot), []
    for wager in commands:
        try:
            decision = decide(batch.jackpot, wager)
        except Refused as refused:
            ended.append((refused.code, refused.message))
            continue
        for event in decision.events:
            batch.post(event)
        ended.append(decision)
    return batch.finish(), ended


@settings(max_examples=300)
@given(st.sampled_from(sorted(FLOORS)), st.lists(wagers, max_size=30))
def test_a_batch_ends_like_its_wagers_one_by_one(rules, commands):
    before = FLOORS[rules]
    unchanged = repr(before)
    assert in_a_batch(before, commands) == one_by_one(before, commands)
    assert repr(before) == unchanged  # the state it started from is never changed
