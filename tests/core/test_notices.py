"""Notices for supervisors: a pure function of events and of the balances before them."""

import pytest

from jackpot.core.commands import ReportMalfunction, ResumeTable
from jackpot.core.ledger import NOTHING
from jackpot.core.notices import low_reserve_notice, notices_of
from tests.support.core_floor import AT, DEALER, FLUSH, ROYALS, STRAIGHT_FLUSHES, SUPERVISOR, Floor


class NoticedFloor:
    """A floor, and the notices of its events."""

    def __init__(self, floor_cents=0, **options):
        self.floor, self._floor_cents, self._seen = Floor(**options), floor_cents, 0
        self.new_notices()

    def new_notices(self):
        """Return the notices since the last call, as (type, data); all events since then are one batch."""
        before = NOTHING if not self._seen else self._balances
        events = self.floor.events[self._seen :]
        self._seen, self._balances = len(self.floor.events), self.floor.jackpot.balances
        found = notices_of(before, events, self._floor_cents)
        return [(notice.type.value, dict(notice.data)) for _, notices in found for notice in notices]

    def types(self):
        return [kind for kind, _ in self.new_notices()]


def test_an_ordinary_round_gives_no_notice():
    noticed = NoticedFloor(floor_cents=1)
    noticed.floor.play({1: FLUSH, 2: None})
    assert noticed.new_notices() == []


def test_a_win_awaiting_confirmation_gives_a_notice_with_its_prizes():
    noticed = NoticedFloor()
    noticed.floor.play({3: ROYALS[0], 5: FLUSH})
    ((kind, data),) = noticed.new_notices()
    assert (kind, data["table"], data["round"]) == ("win.pending", "t1", 1)
    assert data["payouts"] == [
        {"box": 3, "hand": "royal_flush", "amount_cents": 5_000_140, "clause": "NI2016-268 r 11.1(a)"}
    ]
    noticed.floor.confirm()
    assert noticed.new_notices() == []


def test_a_correction_gives_a_notice_only_if_a_win_stays_pending():
    noticed = NoticedFloor()
    noticed.floor.play({1: ROYALS[0], 6: ROYALS[1]})
    assert noticed.types() == ["win.pending"]
    noticed.floor.correct({6: None})
    ((kind, data),) = noticed.new_notices()
    assert (kind, [prize["box"] for prize in data["payouts"]]) == ("win.pending", [1])
    noticed.floor.correct({1: None})
    assert noticed.new_notices() == []


def test_a_malfunction_gives_a_notice_and_a_resumption_does_not():
    noticed = NoticedFloor()
    noticed.floor.execute(ReportMalfunction(AT, DEALER, "t1", "pad 2", "dark"))
    noticed.floor.execute(ResumeTable(AT, SUPERVISOR, "t1", "mended"))
    expected = {"table": "t1", "round": 0, "cause": "dealer_report", "equipment": "pad 2", "note": "dark"}
    assert noticed.new_notices() == [("table.suspended", expected)]


def test_an_advance_gives_a_notice_with_the_total_owed():
    noticed = NoticedFloor(jackpot=1_000_000, reserve=0)
    owed = -noticed.floor.holds("house_advance")
    noticed.floor.play({1: FLUSH})
    ((kind, data),) = noticed.new_notices()
    advanced = -noticed.floor.holds("house_advance") - owed
    assert (kind, data["advanced_cents"], data["owed_cents"]) == ("house.advanced", advanced, owed + advanced)
    assert advanced == 10_000 - 30  # the reserve held the flush's own wager


def test_a_repayment_gives_no_notice():
    noticed = NoticedFloor(jackpot=1_000_000, reserve=500_000)
    noticed.floor.approve(noticed.floor.adjust("reserve", "house_advance", 100_000))
    assert noticed.new_notices() == []


def test_a_reserve_below_its_floor_gives_one_notice_until_it_has_been_above_again():
    noticed = NoticedFloor(floor_cents=1_995_000, reserve=2_000_000)
    noticed.floor.play({1: FLUSH})
    ((kind, data),) = noticed.new_notices()
    assert (kind, data["reserve_cents"], data["reserve_floor_cents"]) == ("reserve.low", 1_990_030, 1_995_000)
    noticed.floor.play({1: FLUSH})
    assert noticed.new_notices() == []
    noticed.floor.approve(noticed.floor.adjust("house", "reserve", 20_000))
    assert noticed.new_notices() == []
    noticed.floor.play({1: FLUSH})
    assert noticed.types() == ["reserve.low"]


def test_the_floor_is_checked_event_by_event_within_a_batch():
    noticed = NoticedFloor(floor_cents=1_995_000, reserve=2_000_000)
    noticed.floor.play({1: FLUSH})
    noticed.floor.approve(noticed.floor.adjust("house", "reserve", 20_000))
    noticed.floor.play({1: FLUSH})
    noticed.floor.play({1: FLUSH})
    assert noticed.types() == ["reserve.low", "reserve.low"]


def test_a_reserve_at_its_floor_or_without_a_floor_gives_no_notice():
    noticed = NoticedFloor(floor_cents=1_990_030, reserve=2_000_000)
    noticed.floor.play({1: FLUSH})
    assert noticed.new_notices() == []
    without_floor = NoticedFloor(jackpot=1_000_000, reserve=10_000)
    without_floor.floor.play({1: FLUSH})
    assert without_floor.new_notices() == []


@pytest.mark.parametrize(
    ("before", "floor", "expected"),
    [(0, 2_000_001, True), (0, 2_000_000, False), (2_000_000, 3_000_000, True), (2_000_001, 3_000_000, False),
     (3_000_000, 2_500_000, False), (0, 0, False)],
)  # fmt: skip
def test_a_floor_raised_above_the_reserve_gives_one_notice(before, floor, expected):
    held = Floor(reserve=2_000_000).jackpot
    found = low_reserve_notice(held, AT, before, floor)
    assert (found is not None) == expected
    if found is not None:
        data = {"table": None, "round": None, "reserve_cents": 2_000_000, "reserve_floor_cents": floor}
        assert (found.type, found.data) == ("reserve.low", data)
    assert low_reserve_notice(held._replace(retired=True), AT, before, floor) is None


@pytest.mark.parametrize("wagers", [0, 1, 500])
def test_a_batch_of_wagers_alone_is_skipped(wagers):
    floor = Floor(tables=tuple(f"t{n}" for n in range(100)))
    for n in range(100):
        floor.open(f"t{n}")
    start = len(floor.events)
    for n in range(wagers):
        floor.wager(1 + n // 100, table=f"t{n % 100}")
    assert notices_of({}, floor.events[start:], 10**12) == []  # not even the balances are read


def test_one_event_may_give_notices_of_a_win_an_advance_and_a_low_reserve():
    noticed = NoticedFloor(floor_cents=1_000, jackpot=1_000_000, reserve=2_000, reset_cents=1_000_000)
    noticed.floor.play({1: ROYALS[0], 2: STRAIGHT_FLUSHES[1]})
    assert noticed.types() == ["win.pending", "house.advanced", "reserve.low"]
