"""What pools held over the last hours: from what they hold now, backwards over the ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select

from jackpot.core.ledger import POOLS, Account
from jackpot.store import tables

MOST_POINTS: Final = 300
MOST_HOURS: Final = 24 * (MOST_POINTS - 2)


class Point(NamedTuple):
    """What the pools held at this moment."""

    at: str
    meter_cents: int
    reserve_cents: int


class _Width(NamedTuple):
    """How many seconds a bucket has, and how much of a moment's text names it: so the database can group by it."""

    seconds: int
    letters: int


_WIDTHS: Final = tuple(_Width(*width) for width in ((1, 19), (10, 18), (60, 16), (600, 15), (3_600, 13), (86_400, 10)))


class _Moved(NamedTuple):
    """What each bucket of time brought each pool, for all events up to one."""

    last: int
    buckets: dict[str, dict[str, int]]


class History:
    """Remembers what it has summed up: each transfer is looked at once for each width of bucket, not at each question.

    What is summed up and what is held now must be of one moment: so a connection's first question is asked here.
    """

    def __init__(self) -> None:
        self._moved: dict[tuple[str, _Width], _Moved] = {}
        self._summing = Lock()

    def points(self, connection: Connection, jackpot: str, hours: int, now: str) -> list[Point]:
        """What the pools held at the ends of equal spans of the last hours, and now."""
        width = next((w for w in _WIDTHS if hours * 3_600 <= w.seconds * (MOST_POINTS - 2)), _WIDTHS[-1])
        end = datetime.fromisoformat(now)
        oldest = _told(end - timedelta(seconds=width.seconds * MOST_POINTS))
        with self._summing:
            moved = self._summed(connection, jackpot, width, oldest)
        start = _floor(end - timedelta(hours=hours), width)
        return _points(_held(connection, jackpot), moved.buckets, width, (start, end))

    def _summed(self, connection: Connection, jackpot: str, width: _Width, oldest: str) -> _Moved:
        """What moved the pools since then, by bucket; only what is new is read."""
        t = tables.transfers.c
        known = self._moved.get((jackpot, width))
        if known is None:
            since = select(t.seq).where(t.chain == jackpot, t.at >= oldest).order_by(t.at, t.seq).limit(1)
            first = connection.execute(since).scalar_one_or_none()
            if first is None:
                return _Moved(0, {})
            known = _Moved(first - 1, {})
        last = known.last
        buckets = {name: dict(pools) for name, pools in known.buckets.items() if name >= oldest[: width.letters]}
        bucket = func.substr(t.at, 1, width.letters).label("bucket")
        for side, sign in ((t.target, 1), (t.source, -1)):
            query = select(bucket, side, func.sum(t.amount_cents), func.max(t.seq))
            wanted = query.where(t.chain == jackpot, t.seq > known.last, side.in_([pool.value for pool in POOLS]))
            for name, pool, cents, seq in connection.execute(wanted.group_by(bucket, side)):
                pools = buckets.setdefault(name, {})
                pools[pool] = pools.get(pool, 0) + sign * int(cents)
                last = max(last, seq)
        self._moved[jackpot, width] = moved = _Moved(last, buckets)
        return moved


def _held(connection: Connection, jackpot: str) -> dict[str, int]:
    b = tables.balances.c
    found = select(b.account, b.balance_cents).where(b.chain == jackpot, b.account.in_([pool.value for pool in POOLS]))
    return {row.account: row.balance_cents for row in connection.execute(found)}


def _points(
    held: dict[str, int], buckets: dict[str, dict[str, int]], width: _Width, span: tuple[datetime, datetime]
) -> list[Point]:
    """From what is held now back to the span's beginning; what moved at a time to come counts as moved just now."""
    start, end = span
    balance = {pool: held.get(pool.value, 0) for pool in POOLS}
    points = [_point(_told(end), balance)]
    left = sorted(buckets)
    began = _floor(end, width)
    while began >= start:
        name = _told(began)[: width.letters]
        while left and left[-1] >= name:
            for pool, cents in buckets[left.pop()].items():
                balance[Account(pool)] -= cents
        points.append(_point(_told(began), balance))
        began -= timedelta(seconds=width.seconds)
    return points[::-1]


def _floor(moment: datetime, width: _Width) -> datetime:
    """When the bucket of this moment began."""
    return datetime.fromtimestamp(moment.timestamp() // width.seconds * width.seconds, UTC)


def _point(at: str, balance: dict[Account, int]) -> Point:
    return Point(at, balance[Account.JACKPOT], balance[Account.RESERVE])


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03d}Z"
