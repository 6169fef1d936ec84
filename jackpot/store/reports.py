"""The daily report: for each pool, closing = opening + all transfers of the day, to the cent."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Connection, case, func, select

from jackpot.core.ledger import POOLS, Account, Kind
from jackpot.store import tables
from jackpot.store.errors import StoreError
from jackpot.store.queries import jackpot_ids

LINES: Final = (
    Kind.CONTRIBUTION,
    Kind.VOID,
    Kind.PRIZE,
    Kind.CORRECTION,
    Kind.RESET,
    Kind.ADVANCE,
    Kind.REPAYMENT,
    Kind.ADJUSTMENT,
)
"""The kinds of transfers that change a pool, in the order of the report."""


def daily(connection: Connection, day: date, zone: str = "UTC") -> list[dict[str, Any]]:
    """Return one entry for each pool of each jackpot; `ties` is True if the ledger agrees with the equation."""
    start, end = _bounds(day, zone)
    return [entry for jackpot in jackpot_ids(connection) for entry in _entries(connection, jackpot, start, end)]


class _PoolChange(NamedTuple):
    """The net change of a pool by the ledger: before the day, after it, and during it by kind."""

    before: int
    after: int
    lines: dict[str, int]


def _entries(connection: Connection, jackpot: str, start: str, end: str) -> list[dict[str, Any]]:
    changes = _pool_changes(connection, jackpot, start, end)
    b = tables.balances.c
    held = select(b.account, b.balance_cents).where(b.chain == jackpot)
    now = {row.account: row.balance_cents for row in connection.execute(held)}
    return [_entry(jackpot, pool, now.get(pool.value, 0), changes[pool]) for pool in POOLS]


def _entry(jackpot: str, pool: Account, now: int, change: _PoolChange) -> dict[str, Any]:
    lines = {f"{kind}_cents": change.lines.get(kind, 0) for kind in LINES}
    closing = now - change.after
    return {
        "jackpot": jackpot,
        "pool": pool.value,
        "opening_cents": change.before,
        **lines,
        "closing_cents": closing,
        "ties": change.before + sum(lines.values()) == closing,
    }


def _pool_changes(connection: Connection, jackpot: str, start: str, end: str) -> dict[Account, _PoolChange]:
    """Return the changes of each pool by two scans of the ledger, in the order of its key.

    Most transfers are contributions, which the first scan sums up; only the others are grouped by kind. Times are
    compared row by row, because an index by time would read the ledger in random order.
    """
    t = tables.transfers.c
    into = [
        case((t.target == pool.value, t.amount_cents), (t.source == pool.value, -t.amount_cents), else_=0)
        for pool in POOLS
    ]
    periods = (t.at < start, t.at >= end, (t.at >= start) & (t.at < end) & (t.kind == Kind.CONTRIBUTION.value))
    sums = [func.sum(case((period, cents), else_=0)) for cents in into for period in periods]
    found = [int(cents or 0) for cents in connection.execute(select(*sums).where(t.chain == jackpot)).one()]
    unindexed_at = t.at.concat("")
    others = (t.kind != Kind.CONTRIBUTION.value) & (unindexed_at >= start) & (unindexed_at < end)
    rest = select(t.kind, *map(func.sum, into)).where(t.chain == jackpot, others).group_by(t.kind)
    by_kind = {row[0]: [int(cents) for cents in row[1:]] for row in connection.execute(rest)}
    changes = {}
    for n, pool in enumerate(POOLS):
        before, after, contributed = found[3 * n : 3 * n + 3]
        lines = {Kind.CONTRIBUTION.value: contributed} | {kind: cents[n] for kind, cents in by_kind.items()}
        changes[pool] = _PoolChange(before, after, lines)
    return changes


def is_reportable(day: date) -> bool:
    """Return True unless the day is at the very start or end of the calendar."""
    return date.min + timedelta(days=1) < day < date.max - timedelta(days=1)


def today(zone: str) -> date:
    """Return the present date in a time zone."""
    return datetime.now(zone_of(zone)).date()


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone of this name, or raise `StoreError`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise StoreError(f"there is no time zone {name!r}: write one like Australia/Canberra") from None


def _bounds(day: date, zone: str) -> tuple[str, str]:
    """Return the start of the day and of the next day, in the format of events."""
    local = zone_of(zone)
    try:
        midnights = [datetime.combine(day + timedelta(days=n), time(), local) for n in (0, 1)]
        first, last = (_format(midnight.astimezone(ZoneInfo("UTC"))) for midnight in midnights)
    except OverflowError:
        raise StoreError(f"{day} is at the end of the calendar: there can be no report of it") from None
    return first, last


def _format(moment: datetime) -> str:
    """Return a time in the format of events, with a year of four digits."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z".rjust(24, "0")
