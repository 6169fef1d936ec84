"""What pools held over the last hours: from what they hold now, backwards over the ledger."""

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
    """What the pools held at this moment."""

    at: str
    meter_cents: int
    reserve_cents: int


_WIDTHS: Final = (15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
"""How many seconds there are between two points; the first that makes few enough of them is taken."""
_AFTER_ALL: Final = "9999-12-31T23:59:59.999Z"


class _Moved(NamedTuple):
    """What each bucket of time brought each pool, the oldest first, for all events up to one."""

    last: int
    buckets: dict[str, tuple[int, int]]


class History:
    """Remembers what it has summed up: each transfer is looked at once for each width of bucket, not at each question.

    What is summed up and what is held now must be of one moment: so a connection's first question is asked here.
    """

    def __init__(self) -> None:
        self._moved: dict[tuple[str, int], _Moved] = {}
        self._summing = Lock()

    def points(self, connection: Connection, jackpot: str, hours: int, now: str) -> list[Point]:
        """What the pools held at the ends of equal spans of the last hours, and now."""
        width = next((w for w in _WIDTHS if hours * 3_600 <= w * (MAX_POINTS - 2)), _WIDTHS[-1])
        end = datetime.fromisoformat(now)
        with self._summing:
            buckets = self._summed(connection, jackpot, width, end)
        return _points(_held(connection, jackpot), buckets, _names(end - timedelta(hours=hours), end, width), now)

    def _summed(self, connection: Connection, jackpot: str, width: int, end: datetime) -> dict[str, tuple[int, int]]:
        """What moved the pools lately, by the buckets' beginnings; only what is new is read, bucket by bucket."""
        names = _names(end - timedelta(seconds=width * MAX_POINTS), end, width)
        known = self._moved.get((jackpot, width), _Moved(0, {}))
        buckets = {name: cents for name, cents in known.buckets.items() if name >= names[0]}
        newest = max(buckets, default=names[0])
        first = known.last + 1 if buckets else _first(connection, jackpot, names[0])
        for name, following in zip(names, [*names[1:], _AFTER_ALL], strict=True):
            if name >= newest:
                until = max(first, _first(connection, jackpot, following))
                added = _sum(connection, jackpot, first, until)
                before = buckets.get(name, (0, 0))
                buckets[name] = before[0] + added[0], before[1] + added[1]
                first = until
        self._moved[jackpot, width] = _Moved(first - 1, buckets)
        return buckets


def _first(connection: Connection, jackpot: str, at: str) -> int:
    """The first event at or after this moment; one beyond the last where there is none."""
    e = tables.events.c
    since = select(e.seq).where(e.chain == jackpot, e.at >= at).order_by(e.at, e.seq).limit(1)
    last = select(func.max(e.seq)).where(e.chain == jackpot)
    found = connection.execute(since).scalar_one_or_none()
    return int(found if found is not None else (connection.execute(last).scalar_one() or 0) + 1)


def _sum(connection: Connection, jackpot: str, first: int, until: int) -> tuple[int, int]:
    """What these events brought the pools, less what they took: read in the order in which the ledger lies."""
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


def _held(connection: Connection, jackpot: str) -> dict[str, int]:
    b = tables.balances.c
    found = select(b.account, b.balance_cents).where(b.chain == jackpot, b.account.in_([pool.value for pool in POOLS]))
    return {row.account: row.balance_cents for row in connection.execute(found)}


def _points(held: dict[str, int], buckets: dict[str, tuple[int, int]], names: list[str], now: str) -> list[Point]:
    """From what is held now back to the span's beginning."""
    jackpot, reserve = held.get(Account.JACKPOT, 0), held.get(Account.RESERVE, 0)
    points = [Point(now, jackpot, reserve)]
    for name in reversed(names):
        moved = buckets.get(name, (0, 0))
        jackpot, reserve = jackpot - moved[0], reserve - moved[1]
        points.append(Point(name, jackpot, reserve))
    return points[::-1]


def _names(start: datetime, end: datetime, width: int) -> list[str]:
    """The beginnings of the buckets of a span, which name them."""
    first, last = (int(moment.timestamp() // width) for moment in (start, end))
    return [_told(datetime.fromtimestamp(n * width, UTC)) for n in range(first, last + 1)]


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03d}Z"
