"""The outbox: notices wait here, written with the events they follow from, until they are delivered or too old."""

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

AT_ONCE: Final = 50

NoticeRow = tuple[str, str, str, str, str]


class Waiting(NamedTuple):
    """A notice to be delivered; its id stays the same however often it is tried."""

    id: str
    at: str
    chain: str
    type: str
    body: str


class Depth(NamedTuple):
    """How many notices wait, and since when the oldest does."""

    waiting: int
    oldest: str | None


def notice_rows(
    notified: NoticeTarget | None, balances: Balances, events: Sequence[Event], rows: Sequence[EventRow]
) -> list[NoticeRow]:
    """The rows of a batch's notices; each is named after its event's hash, which no other history has."""
    if notified is None:
        return []
    return [
        _row(f"{rows[place].hash.hex()[:40]}{n}", notified.site, rows[place].chain, rows[place].seq, notice)
        for place, notices in notices_of(balances, events, notified.reserve_floor_cents)
        for n, notice in enumerate(notices)
    ]


def put(database: Database, site: str, chain: str, seq: int, notice: Notice) -> None:
    """Add a notice that follows from no event; one that waits already is not added again."""
    name = sha256(canonical([site, chain, seq, notice.type, notice.data]).encode()).hexdigest()[:40]
    row = _row(name, site, chain, seq, notice)
    with database.transaction() as connection:
        if connection.execute(select(tables.outbox.c.id).where(tables.outbox.c.id == row[0])).one_or_none() is None:
            connection.execute(insert(tables.outbox).values(row))


def waiting(database: Database, after: Waiting | None = None) -> list[Waiting]:
    """The oldest notices, those after this one, so many at once."""
    o = tables.outbox.c
    oldest = select(tables.outbox).order_by(o.at, o.id).limit(AT_ONCE)
    if after is not None:
        oldest = oldest.where(tuple_(o.at, o.id) > tuple_(after.at, after.id))
    with database.reader() as connection:
        return [Waiting._make(row) for row in connection.execute(oldest)]


def depth(database: Database) -> Depth:
    """How many notices wait."""
    with database.reader() as connection:
        found = connection.execute(select(func.count(), func.min(tables.outbox.c.at)).select_from(tables.outbox))
        return Depth._make(found.one())


def remove(database: Database, name: str) -> None:
    """A notice was delivered."""
    with database.transaction() as connection:
        connection.execute(delete(tables.outbox).where(tables.outbox.c.id == name))


def give_up(database: Database, before: str, most: int) -> int:
    """Remove the notices from before a moment, and the oldest of those beyond a number; says how many."""
    o = tables.outbox.c
    with database.transaction() as connection:
        gone: int = connection.execute(delete(tables.outbox).where(o.at < before)).rowcount
        newest = select(o.id).order_by(o.at.desc(), o.id.desc()).limit(most)
        gone += connection.execute(delete(tables.outbox).where(o.id.not_in(newest))).rowcount
    return gone


def _row(name: str, site: str, chain: str, seq: int, notice: Notice) -> NoticeRow:
    data: dict[str, Any] = {"site": site, "jackpot": chain, "seq": seq, **notice.data}
    body = canonical({"type": notice.type.value, "timestamp": notice.at, "data": data})
    return f"msg_{name}", notice.at, chain, notice.type.value, body
