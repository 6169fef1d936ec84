"""The daily report: for each pool, closing = opening + all that moved it, tied to the cent."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Connection, func, select

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
    return [_entry(connection, jackpot, pool, start, end) for jackpot in jackpot_ids(connection) for pool in POOLS]


def _entry(connection: Connection, jackpot: str, pool: Account, start: str, end: str) -> dict[str, Any]:
    moved = _moved(connection, jackpot, pool, start, end)
    after = sum(_moved(connection, jackpot, pool, end, None).values())
    held = select(tables.balances.c.balance_cents).where(
        tables.balances.c.chain == jackpot, tables.balances.c.account == pool.value
    )
    now = connection.execute(held).scalar_one_or_none() or 0
    opening = sum(_moved(connection, jackpot, pool, None, start).values())
    closing = now - after
    lines = {f"{kind}_cents": moved.get(kind, 0) for kind in LINES}
    return {
        "jackpot": jackpot,
        "pool": pool.value,
        "opening_cents": opening,
        **lines,
        "closing_cents": closing,
        "ties": opening + sum(lines.values()) == closing,
    }


def _moved(connection: Connection, jackpot: str, pool: Account, start: str | None, end: str | None) -> dict[str, int]:
    """What each kind of transfer brought the pool, less what it took."""
    t = tables.transfers.c
    total: dict[str, int] = {}
    for side, sign in ((t.target, 1), (t.source, -1)):
        query = select(t.kind, func.sum(t.amount_cents)).where(t.chain == jackpot, side == pool.value)
        if start is not None:
            query = query.where(t.at >= start)
        if end is not None:
            query = query.where(t.at < end)
        for kind, cents in connection.execute(query.group_by(t.kind)):
            total[kind] = total.get(kind, 0) + sign * int(cents)
    return total


def has(day: date) -> bool:
    """Whether a report can be made of a day: not of the calendar's first and last."""
    return date.min + timedelta(days=1) < day < date.max - timedelta(days=1)


def today(zone: str) -> date:
    """The day it is at the site."""
    return datetime.now(_zone(zone)).date()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise StoreError(f"there is no time zone {name!r}: write one like Australia/Canberra") from None


def _bounds(day: date, zone: str) -> tuple[str, str]:
    """The day's first moment and the next day's, in UTC as events tell time."""
    local = _zone(zone)
    try:
        midnights = [datetime.combine(day + timedelta(days=n), time(), local) for n in (0, 1)]
        first, last = (moment.astimezone(ZoneInfo("UTC")).strftime("%Y-%m-%dT%H:%M:%S.000Z") for moment in midnights)
    except OverflowError:
        raise StoreError(f"{day} is at the end of the calendar: no report can be made of it") from None
    return first, last
