"""The daily report: for each pool, closing = opening + all that moved it, tied to the cent."""

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
"""What moves a pool, in the order the report tells it."""


def daily(connection: Connection, day: date, zone: str = "UTC") -> list[dict[str, Any]]:
    """One entry for each pool of each jackpot; `ties` says that the ledger agrees with the equation."""
    start, end = _bounds(day, zone)
    return [entry for jackpot in jackpot_ids(connection) for entry in _entries(connection, jackpot, start, end)]


class _Moved(NamedTuple):
    """What the ledger brought a pool, less what it took: before the day, after it, and in it by kind."""

    before: int
    after: int
    lines: dict[str, int]


def _entries(connection: Connection, jackpot: str, start: str, end: str) -> list[dict[str, Any]]:
    moved = _moved(connection, jackpot, start, end)
    b = tables.balances.c
    held = select(b.account, b.balance_cents).where(b.chain == jackpot)
    now = {row.account: row.balance_cents for row in connection.execute(held)}
    return [_entry(jackpot, pool, now.get(pool.value, 0), moved[pool]) for pool in POOLS]


def _entry(jackpot: str, pool: Account, now: int, moved: _Moved) -> dict[str, Any]:
    lines = {f"{kind}_cents": moved.lines.get(kind, 0) for kind in LINES}
    closing = now - moved.after
    return {
        "jackpot": jackpot,
        "pool": pool.value,
        "opening_cents": moved.before,
        **lines,
        "closing_cents": closing,
        "ties": moved.before + sum(lines.values()) == closing,
    }


def _moved(connection: Connection, jackpot: str, start: str, end: str) -> dict[Account, _Moved]:
    """All in two readings of the ledger, in the order in which it lies.

    Most of it is contributions, which are summed up as they come; only what is left is sorted by kind. There moments
    are compared row by row, for an index by time would lead all over the ledger.
    """
    t = tables.transfers.c
    into = [
        case((t.target == pool.value, t.amount_cents), (t.source == pool.value, -t.amount_cents), else_=0)
        for pool in POOLS
    ]
    whens = (t.at < start, t.at >= end, (t.at >= start) & (t.at < end) & (t.kind == Kind.CONTRIBUTION.value))
    sums = [func.sum(case((when, cents), else_=0)) for cents in into for when in whens]
    found = [int(cents or 0) for cents in connection.execute(select(*sums).where(t.chain == jackpot)).one()]
    row_by_row = t.at.concat("")
    others = (t.kind != Kind.CONTRIBUTION.value) & (row_by_row >= start) & (row_by_row < end)
    rest = select(t.kind, *map(func.sum, into)).where(t.chain == jackpot, others).group_by(t.kind)
    by_kind = {row[0]: [int(cents) for cents in row[1:]] for row in connection.execute(rest)}
    moved = {}
    for n, pool in enumerate(POOLS):
        before, after, contributed = found[3 * n : 3 * n + 3]
        lines = {Kind.CONTRIBUTION.value: contributed} | {kind: cents[n] for kind, cents in by_kind.items()}
        moved[pool] = _Moved(before, after, lines)
    return moved


def has(day: date) -> bool:
    """Whether a report can be made of a day: not of the calendar's first and last."""
    return date.min + timedelta(days=1) < day < date.max - timedelta(days=1)


def today(zone: str) -> date:
    """The day it is at the site."""
    return datetime.now(zone_of(zone)).date()


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this name, or a sentence that there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise StoreError(f"there is no time zone {name!r}: write one like Australia/Canberra") from None


def _bounds(day: date, zone: str) -> tuple[str, str]:
    """The day's first moment and the next day's, in UTC as events tell time."""
    local = zone_of(zone)
    try:
        midnights = [datetime.combine(day + timedelta(days=n), time(), local) for n in (0, 1)]
        first, last = (_told(midnight.astimezone(ZoneInfo("UTC"))) for midnight in midnights)
    except OverflowError:
        raise StoreError(f"{day} is at the end of the calendar: no report can be made of it") from None
    return first, last


def _told(moment: datetime) -> str:
    """A moment as events tell it: the year, too, has four digits."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z".rjust(24, "0")
