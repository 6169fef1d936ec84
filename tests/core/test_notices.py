"""What supervisors are told: a pure function of events and of the balances before them."""

import pytest

from jackpot.core.commands import ReportMalfunction, ResumeTable
from jackpot.core.ledger import NOTHING
from jackpot.core.notices import found_low, notices_of
from tests.support.core_floor import AT, DEALER, FLUSH, ROYALS, STRAIGHT_FLUSHES, SUPERVISOR, Floor


class Told:
    """A floor, and what its supervisors are told of each thing that is done."""

    def __init__(self, floor_cents=0, **options):
        self.floor, self._floor_cents, self._seen = Floor(**options), floor_cents, 0
        self.news()

    def news(self):
        """The notices since the last time, as (type, data); all events since then are one batch."""
        before = NOTHING if not self._seen else self._balances
        events = self.floor.events[self._seen :]
        self._seen, self._balances = len(self.floor.events), self.floor.jackpot.balances
        found = notices_of(before, events, self._floor_cents)
        return [(notice.type.value, dict(notice.data)) for _, notices in found for notice in notices]

    def types(self):
        return [kind for kind, _ in self.news()]


def test_a_round_without_anything_special_tells_nothing():
    told = Told(floor_cents=1)
    told.floor.play({1: FLUSH, 2: None})
    assert told.news() == []


def test_a_win_that_awaits_confirmation_is_told_with_its_prizes():
    told = Told()
    told.floor.play({3: ROYALS[0], 5: FLUSH})
    ((kind, data),) = told.news()
    assert (kind, data["table"], data["round"]) == ("win.pending", "t1", 1)
    assert data["payouts"] == [
        {"box": 3, "hand": "royal_flush", "amount_cents": 5_000_140, "clause": "NI2016-268 r 11.1(a)"}
    ]
    told.floor.confirm()
    assert told.news() == []


def test_a_correction_that_leaves_a_win_pending_is_told_again_and_one_that_does_not_is_not():
    told = Told()
    told.floor.play({1: ROYALS[0], 6: ROYALS[1]})
    assert told.types() == ["win.pending"]
    told.floor.correct({6: None})
    ((kind, data),) = told.news()
    assert (kind, [prize["box"] for prize in data["payouts"]]) == ("win.pending", [1])
    told.floor.correct({1: None})
    assert told.news() == []


def test_a_malfunction_is_told_and_a_resumption_is_not():
    told = Told()
    told.floor.ask(ReportMalfunction(AT, DEALER, "t1", "pad 2", "dark"))
    told.floor.ask(ResumeTable(AT, SUPERVISOR, "t1", "mended"))
    expected = {"table": "t1", "round": 0, "cause": "dealer_report", "equipment": "pad 2", "note": "dark"}
    assert told.news() == [("table.suspended", expected)]


def test_what_the_house_advances_is_told_with_what_is_owed_in_all():
    told = Told(jackpot=1_000_000, reserve=0)
    owed = -told.floor.holds("house_advance")
    told.floor.play({1: FLUSH})
    ((kind, data),) = told.news()
    advanced = -told.floor.holds("house_advance") - owed
    assert (kind, data["advanced_cents"], data["owed_cents"]) == ("house.advanced", advanced, owed + advanced)
    assert advanced == 10_000 - 30  # the reserve held the flush's own wager


def test_a_repayment_is_no_advance():
    told = Told(jackpot=1_000_000, reserve=500_000)
    told.floor.approve(told.floor.adjust("reserve", "house_advance", 100_000))
    assert told.news() == []


def test_a_reserve_that_falls_below_its_floor_is_told_once_until_it_has_been_above():
    told = Told(floor_cents=1_995_000, reserve=2_000_000)
    told.floor.play({1: FLUSH})
    ((kind, data),) = told.news()
    assert (kind, data["reserve_cents"], data["reserve_floor_cents"]) == ("reserve.low", 1_990_030, 1_995_000)
    told.floor.play({1: FLUSH})
    assert told.news() == []
    told.floor.approve(told.floor.adjust("house", "reserve", 20_000))
    assert told.news() == []
    told.floor.play({1: FLUSH})
    assert told.types() == ["reserve.low"]


def test_the_floor_is_watched_event_by_event_within_a_batch():
    told = Told(floor_cents=1_995_000, reserve=2_000_000)
    told.floor.play({1: FLUSH})
    told.floor.approve(told.floor.adjust("house", "reserve", 20_000))
    told.floor.play({1: FLUSH})
    told.floor.play({1: FLUSH})
    assert told.types() == ["reserve.low", "reserve.low"]


def test_exactly_the_floor_is_not_below_it_and_no_floor_is_none():
    told = Told(floor_cents=1_990_030, reserve=2_000_000)
    told.floor.play({1: FLUSH})
    assert told.news() == []
    nobody = Told(jackpot=1_000_000, reserve=10_000)
    nobody.floor.play({1: FLUSH})
    assert nobody.news() == []


@pytest.mark.parametrize(
    ("before", "floor", "told"),
    [(0, 2_000_001, True), (0, 2_000_000, False), (2_000_000, 3_000_000, True), (2_000_001, 3_000_000, False),
     (3_000_000, 2_500_000, False), (0, 0, False)],
)  # fmt: skip
def test_a_floor_that_is_raised_above_the_reserve_tells_of_it_once(before, floor, told):
    held = Floor(reserve=2_000_000).jackpot
    found = found_low(held, AT, before, floor)
    assert (found is not None) == told
    if found is not None:
        data = {"table": None, "round": None, "reserve_cents": 2_000_000, "reserve_floor_cents": floor}
        assert (found.type, found.data) == ("reserve.low", data)
    assert found_low(held._replace(retired=True), AT, before, floor) is None


@pytest.mark.parametrize("wagers", [0, 1, 500])
def test_wagers_alone_are_not_looked_at(wagers):
    floor = Floor(tables=tuple(f"t{n}" for n in range(100)))
    for n in range(100):
        floor.open(f"t{n}")
    begin = len(floor.events)
    for n in range(wagers):
        floor.wager(1 + n // 100, table=f"t{n % 100}")
    assert notices_of({}, floor.events[begin:], 10**12) == []  # not even the balances


def test_a_win_an_advance_and_a_low_reserve_of_one_event_are_told_together():
    told = Told(floor_cents=1_000, jackpot=1_000_000, reserve=2_000, reset_cents=1_000_000)
    told.floor.play({1: ROYALS[0], 2: STRAIGHT_FLUSHES[1]})
    assert told.types() == ["win.pending", "house.advanced", "reserve.low"]
