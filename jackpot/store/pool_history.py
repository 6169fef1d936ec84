"""The balances of the pools over the last hours, computed backwards from the present ones over the ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final, NamedTuple

from sqlalchemy import Connection, case, func, select

from jackpot.core.ledger import POOLS, Account
from jackpot.store import tables

MAX_POINTS: Final = 300
MAX_HOURS: Final = 24 * (MAX_POINTS - 2)


class Point(NamedTuple):
    """The balances of the pools at one time."""

    at: str
    meter_cents: int
    reserve_cents: int


_WIDTHS: Final = (15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
"""Seconds between two points; the first width that gives at most `MAX_POINTS` points is used."""
_END_OF_TIME: Final = "9999-12-31T23:59:59.999Z"


class _BucketSums(NamedTuple):
    """The cents added to each pool in each bucket of time, the oldest first, for all events up to `last`."""

    last: int
    buckets: dict[str, tuple[int, int]]


class PoolHistory:
    """The history of pools with cached sums: each transfer is read once per bucket width, not at each request.

    Sums and present balances must be of one snapshot, so this must be the first use of its connection.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, int], _BucketSums] = {}
        self._lock = Lock()

    def points(self, connection: Connection, jackpot: str, hours: int, now: str) -> list[Point]:
        """Return the balances of the pools at equal intervals over the last hours, and now."""
        width = next((w for w in _WIDTHS if hours * 3_600 <= w * (MAX_POINTS - 2)), _WIDTHS[-1])
        end = datetime.fromisoformat(now)
        with self._lock:
            buckets = self._update_sums(connection, jackpot, width, end)
        return _points(
            _pool_balances(connection, jackpot), buckets, _bucket_starts(end - timedelta(hours=hours), end, width), now
        )

    def _update_sums(
        self, connection: Connection, jackpot: str, width: int, end: datetime
    ) -> dict[str, tuple[int, int]]:
        """Return the sums by the start of their bucket; only new transfers are read, bucket by bucket."""
        names = _bucket_starts(end - timedelta(seconds=width * MAX_POINTS), end, width)
        known = self._sums.get((jackpot, width), _BucketSums(0, {}))
        buckets = {name: cents for name, cents in known.buckets.items() if name >= names[0]}
        newest = max(buckets, default=names[0])
        first = known.last + 1 if buckets else _first_seq(connection, jackpot, names[0])
        for name, following in zip(names, [*names[1:], _END_OF_TIME], strict=True):
            if name >= newest:
                until = max(first, _first_seq(connection, jackpot, following))
                added = _sum(connection, jackpot, first, until)
                before = buckets.get(name, (0, 0))
                buckets[name] = before[0] + added[0], before[1] + added[1]
                first = until
        self._sums[jackpot, width] = _BucketSums(first - 1, buckets)
        return buckets


def _first_seq(connection: Connection, jackpot: str, at: str) -> int:
    """Return the sequence number of the first event at or after a time, or one after the last event."""
    e = tables.events.c
    since = select(e.seq).where(e.chain == jackpot, e.at >= at).order_by(e.at, e.seq).limit(1)
    last = select(func.max(e.seq)).where(e.chain == jackpot)
    found = connection.execute(since).scalar_one_or_none()
    return int(found if found is not None else (connection.execute(last).scalar_one() or 0) + 1)


def _sum(connection: Connection, jackpot: str, first: int, until: int) -> tuple[int, int]:
    """Return the cents that these events added to each pool, read in the order of the ledger's key."""
    if first >= until:
        return 0, 0
    t = tables.transfers.c
    into = [
        func.sum(case((t.target == pool.value, t.amount_cents), (t.source == pool.value, -t.amount_cents), else_=0))
        for pool in POOLS
    ]
    found = select(*into).where(t.chain == jackpot, t.seq >= first, t.seq < until)
    sums = connection.execute(found).one()
    return int(sums[0] or 0), int(sums[1] or 0)


def _pool_balances(connection: Connection, jackpot: str) -> dict[str, int]:
    b = tables.balances.c
    found = select(b.account, b.balance_cents).where(b.chain == jackpot, b.account.in_([pool.value for pool in POOLS]))
    return {row.account: row.balance_cents for row in connection.execute(found)}


def _points(held: dict[str, int], buckets: dict[str, tuple[int, int]], names: list[str], now: str) -> list[Point]:
    """Return the points from the first bucket to now, computed backwards from the present balances."""
    jackpot, reserve = held.get(Account.JACKPOT, 0), held.get(Account.RESERVE, 0)
    points = [Point(now, jackpot, reserve)]
    for name in reversed(names):
        moved = buckets.get(name, (0, 0))
        jackpot, reserve = jackpot - moved[0], reserve - moved[1]
        points.append(Point(name, jackpot, reserve))
    return points[::-1]


def _bucket_starts(start: datetime, end: datetime, width: int) -> list[str]:
    """Return the start times of the buckets between two times."""
    first, last = (int(moment.timestamp() // width) for moment in (start, end))
    return [_format(datetime.fromtimestamp(n * width, UTC)) for n in range(first, last + 1)]


def _format(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03d}Z"
