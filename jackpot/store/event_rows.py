"""Events as rows and back."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from json.encoder import encode_basestring
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, Table, select

from jackpot.core.events import Event, EventType
from jackpot.core.ledger import Account, Kind, Transfer
from jackpot.core.site.events import SiteEvent, SiteEventType
from jackpot.store import tables
from jackpot.store.hash_chain import SITE, EventRow, canonical, event_hash

ROWS_PER_FETCH: Final = 2_000


def linked(chain: str, seq: int, before: bytes, event: Event | SiteEvent) -> EventRow:
    """An event as the next row of its chain."""
    if isinstance(event, SiteEvent):
        fields = (chain, seq, event.at, event.actor, event.type.value, None, None, canonical(event.data), "[]")
        return EventRow._make((*fields, event_hash(before, fields)))
    kind, at, actor, table, played, data, transfers = event
    written = _wager(data) if kind is EventType.WAGER_ACCEPTED else canonical(data)
    of_jackpot = (chain, seq, at, actor, kind.value, table, played, written, _transfers(transfers))
    return EventRow._make((*of_jackpot, event_hash(before, of_jackpot)))


def _wager(data: Mapping[str, Any]) -> str:
    """A wager's data as canonical JSON, written by hand: nearly every event is one."""
    return (
        f'{{"amount_cents":{data["amount_cents"]},"box":{data["box"]},"jackpot_cents":{data["jackpot_cents"]},'
        f'"reserve_cents":{data["reserve_cents"]},"wager_id":{encode_basestring(data["wager_id"])}}}'
    )


def _transfers(transfers: tuple[Transfer, ...]) -> str:
    """Transfers as canonical JSON, written by hand: names and numbers need no escaping, and there are many."""
    written = []
    for source, target, cents, kind in transfers:
        around = _AROUND.get((source, target, kind))
        if around is None:
            around = _AROUND[source, target, kind] = f'["{source.value}","{target.value}",', f',"{kind.value}"]'
        written.append(f"{around[0]}{cents}{around[1]}")
    return f"[{','.join(written)}]"


_AROUND: Final[dict[tuple[Account, Account, Kind], tuple[str, str]]] = {}
"""What stands around an amount, for each kind of transfer seen so far: there are few kinds and many transfers."""


def transfer_rows(row: EventRow, transfers: Iterable[Transfer]) -> list[tuple[Any, ...]]:
    """An event's transfers as rows."""
    return [
        (row.chain, row.seq, n, row.at, source.value, target.value, cents, kind.value)
        for n, (source, target, cents, kind) in enumerate(transfers)
    ]


def event_of(row: EventRow | Row[Any]) -> Event:
    """The event of a jackpot's row."""
    transfers = tuple(Transfer(Account(s), Account(t), cents, Kind(k)) for s, t, cents, k in json.loads(row.transfers))
    return Event(EventType(row.type), row.at, row.actor, row.table_id, row.round, json.loads(row.data), transfers)


def site_event_of(row: EventRow | Row[Any]) -> SiteEvent:
    """The event of the site's row."""
    return SiteEvent(SiteEventType(row.type), row.at, row.actor, json.loads(row.data))


def plain_row(row: EventRow) -> Mapping[str, Any]:
    """A row as an export writes it."""
    return {**row._asdict(), "hash": row.hash.hex()}


def is_site(chain: str) -> bool:
    """Whether this is the site's chain."""
    return chain == SITE


def rows_of_chain(connection: Connection, chain: str, after: int = 0) -> Generator[EventRow, None, None]:
    """Yield the rows of a chain after a sequence number, in order."""
    wanted = ordered_rows(tables.events, chain, after)
    with closing(connection.execution_options(yield_per=ROWS_PER_FETCH).execute(wanted)) as found:
        for row in found:
            yield EventRow._make(row)


def ordered_rows(table: Table, chain: str, after: int = 0) -> Select[Any]:
    """Select a chain's rows of a table in the order of its key."""
    rows = select(table).where(table.c.chain == chain).order_by(*table.primary_key.columns)
    return rows.where(table.c.seq > after) if after else rows
