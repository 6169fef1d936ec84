"""The history of the pools agrees with the ledger, for any period and with any events in between."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from jackpot.core.results import Refused
from jackpot.engine.journal import Journal
from jackpot.store import tables
from jackpot.store.pool_history import MAX_HOURS, MAX_POINTS, PoolHistory
from tests.support.core_floor import FLUSH, NOTHING, ROYALS, Floor

NOW = datetime(2026, 11, 15, 9, 34, 56, 789_000, UTC)


def formatted(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


class TimedFloor(Floor):
    """A floor in the store, whose commands are executed at the time `at`."""

    def __init__(self, database, start):
        self.journal, self.at = Journal.open(database, "main", "test"), start
        super().__init__(reserve=3_000_000, wager_cents=200)

    def execute(self, command):
        (outcome,) = self.journal.execute([command._replace(at=formatted(self.at))])
        self.jackpot = self.journal.jackpot
        if isinstance(outcome, Refused):
            raise outcome
        return outcome.answer


def by_hand(database, at):
    """Return the balances of the pools before this time, by adding up the whole ledger."""
    held = {"jackpot": 0, "reserve": 0}
    with database.reader() as connection:
        for row in connection.execute(select(tables.transfers)):
            if row.at < at:
                held[row.target] = held.get(row.target, 0) + row.amount_cents
                held[row.source] = held.get(row.source, 0) - row.amount_cents
    return held["jackpot"], held["reserve"]


def points_of(database, history, hours, now=NOW):
    with database.reader() as connection:
        return history.points(connection, "main", hours, formatted(now))


def play(floor, rounds):
    for number in range(rounds):
        floor.at += timedelta(minutes=7, seconds=13)
        floor.play({1: FLUSH, 2: NOTHING, 3: ROYALS[0] if number % 5 == 2 else None}, "t1" if number % 2 else "t2")
        if number % 5 == 2:
            floor.confirm("t1" if number % 2 else "t2")


def check(database, points, now=NOW):
    assert 2 <= len(points) <= MAX_POINTS
    assert [point.at for point in points] == sorted({point.at for point in points})
    assert points[-1].at == formatted(now)
    for point in points[:: max(1, len(points) // 25)]:
        assert (point.meter_cents, point.reserve_cents) == by_hand(database, point.at), point


def test_every_point_is_the_sum_of_the_ledger(database):
    floor = TimedFloor(database, NOW - timedelta(hours=7))
    play(floor, 40)
    for hours in (1, 2, 5, 6, 24, 24 * 12, MAX_HOURS):
        points = points_of(database, PoolHistory(), hours)
        check(database, points)
        first = datetime.fromisoformat(points[0].at)
        assert NOW - timedelta(hours=hours) - timedelta(days=1) <= first <= NOW - timedelta(hours=hours)
        assert (points[-1].meter_cents, points[-1].reserve_cents) == floor.pools


def test_earlier_sums_are_kept_and_new_transfers_added(database):
    floor, history = TimedFloor(database, NOW - timedelta(hours=30)), PoolHistory()
    for rounds in (20, 1, 100, 3):
        play(floor, rounds)
        for hours in (24, 20, 24, 40, 4):
            check(database, points_of(database, history, hours, floor.at), floor.at)
    floor.at += timedelta(days=3)
    play(floor, 2)
    later = floor.at + timedelta(hours=20)
    check(database, points_of(database, history, 24, later), later)


def test_without_recent_transfers_the_history_is_flat(database):
    floor = TimedFloor(database, NOW - timedelta(days=400))
    points = points_of(database, PoolHistory(), 24)
    assert {(point.meter_cents, point.reserve_cents) for point in points} == {floor.pools}


def test_a_clock_that_was_set_back_changes_no_amount(database):
    floor = TimedFloor(database, NOW - timedelta(hours=1))
    play(floor, 4)
    floor.at = NOW - timedelta(hours=3)
    play(floor, 4)
    floor.at = NOW + timedelta(minutes=30)
    play(floor, 1)
    points = points_of(database, PoolHistory(), 2)
    assert (points[-1].meter_cents, points[-1].reserve_cents) == floor.pools
