"""The outbox: notices, written in the transaction of their events, until they are delivered or too old."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from sqlalchemy import delete, func, insert, select, tuple_

from jackpot.core.events import Event
from jackpot.core.ledger import Balances
from jackpot.core.notices import Notice, NoticeTarget, notices_of
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.hash_chain import EventRow, canonical

PAGE_SIZE: Final = 50

NoticeRow = tuple[str, str, str, str, str]


class OutboxNotice(NamedTuple):
    """A notice to deliver; its id is the same at every attempt."""

    id: str
    at: str
    chain: str
    type: str
    body: str


class Depth(NamedTuple):
    """The number of waiting notices, and the time of the oldest."""

    waiting: int
    oldest: str | None


def notice_rows(
    target: NoticeTarget | None, balances: Balances, events: Sequence[Event], rows: Sequence[EventRow]
) -> list[NoticeRow]:
    """Return the rows of a batch's notices; the id of each contains its event's hash, so that it is unique."""
    if target is None:
        return []
    return [
        _row(f"{rows[index].hash.hex()[:40]}{n}", target.site, rows[index].chain, rows[index].seq, notice)
        for index, notices in notices_of(balances, events, target.reserve_floor_cents)
        for n, notice in enumerate(notices)
    ]


def put(database: Database, site: str, chain: str, seq: int, notice: Notice) -> None:
    """Add a notice that follows from no event, unless it is waiting already."""
    name = sha256(canonical([site, chain, seq, notice.type, notice.data]).encode()).hexdigest()[:40]
    row = _row(name, site, chain, seq, notice)
    with database.transaction() as connection:
        if connection.execute(select(tables.outbox.c.id).where(tables.outbox.c.id == row[0])).one_or_none() is None:
            connection.execute(insert(tables.outbox).values(row))


def waiting(database: Database, after: OutboxNotice | None = None) -> list[OutboxNotice]:
    """Return a page of waiting notices, the oldest first, after a given one."""
    o = tables.outbox.c
    oldest = select(tables.outbox).order_by(o.at, o.id).limit(PAGE_SIZE)
    if after is not None:
        oldest = oldest.where(tuple_(o.at, o.id) > tuple_(after.at, after.id))
    with database.reader() as connection:
        return [OutboxNotice._make(row) for row in connection.execute(oldest)]


def depth(database: Database) -> Depth:
    """Return the number of waiting notices and the time of the oldest."""
    with database.reader() as connection:
        found = connection.execute(select(func.count(), func.min(tables.outbox.c.at)).select_from(tables.outbox))
        return Depth._make(found.one())


def remove(database: Database, name: str) -> None:
    """Remove a notice that was delivered."""
    with database.transaction() as connection:
        connection.execute(delete(tables.outbox).where(tables.outbox.c.id == name))


def discard_old(database: Database, before: str, max_notices: int) -> int:
    """Remove notices older than a time, and the oldest beyond a number; return how many were removed."""
    o = tables.outbox.c
    with database.transaction() as connection:
        removed: int = connection.execute(delete(tables.outbox).where(o.at < before)).rowcount
        newest = select(o.id).order_by(o.at.desc(), o.id.desc()).limit(max_notices)
        removed += connection.execute(delete(tables.outbox).where(o.id.not_in(newest))).rowcount
    return removed


def _row(name: str, site: str, chain: str, seq: int, notice: Notice) -> NoticeRow:
    data: dict[str, Any] = {"site": site, "jackpot": chain, "seq": seq, **notice.data}
    body = canonical({"type": notice.type.value, "timestamp": notice.at, "data": data})
    return f"msg_{name}", notice.at, chain, notice.type.value, body
