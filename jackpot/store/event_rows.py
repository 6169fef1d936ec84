"""Convert events to rows and back."""

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
from jackpot.store.hash_chain import EventRow, canonical, event_hash

ROWS_PER_FETCH: Final = 2_000


def chained_row(chain: str, seq: int, before: bytes, event: Event | SiteEvent) -> EventRow:
    """Return an event as the next row of its chain, hashed with the hash before."""
    if isinstance(event, SiteEvent):
        fields = (chain, seq, event.at, event.actor, event.type.value, None, None, canonical(event.data), "[]")
        return EventRow._make((*fields, event_hash(before, fields)))
    kind, at, actor, table, played, data, transfers = event
    data_json = _wager_json(data) if kind is EventType.WAGER_ACCEPTED else canonical(data)
    of_jackpot = (chain, seq, at, actor, kind.value, table, played, data_json, _transfers_json(transfers))
    return EventRow._make((*of_jackpot, event_hash(before, of_jackpot)))


def _wager_json(data: Mapping[str, Any]) -> str:
    """Return a wager's data as canonical JSON; formatted here for speed, as nearly every event is a wager."""
    return (
        f'{{"amount_cents":{data["amount_cents"]},"box":{data["box"]},"jackpot_cents":{data["jackpot_cents"]},'
        f'"reserve_cents":{data["reserve_cents"]},"wager_id":{encode_basestring(data["wager_id"])}}}'
    )


def _transfers_json(transfers: tuple[Transfer, ...]) -> str:
    """Return transfers as canonical JSON; formatted here for speed, as names and numbers need no escaping."""
    written = []
    for source, target, cents, kind in transfers:
        parts = _JSON_PARTS.get((source, target, kind))
        if parts is None:
            parts = _JSON_PARTS[source, target, kind] = f'["{source.value}","{target.value}",', f',"{kind.value}"]'
        written.append(f"{parts[0]}{cents}{parts[1]}")
    return f"[{','.join(written)}]"


_JSON_PARTS: Final[dict[tuple[Account, Account, Kind], tuple[str, str]]] = {}
"""A cache of the JSON before and after the amount, for each combination of accounts and kind."""


def transfer_rows(row: EventRow, transfers: Iterable[Transfer]) -> list[tuple[Any, ...]]:
    """Return an event's transfers as rows."""
    return [
        (row.chain, row.seq, n, row.at, source.value, target.value, cents, kind.value)
        for n, (source, target, cents, kind) in enumerate(transfers)
    ]


def event_from_row(row: EventRow | Row[Any]) -> Event:
    """Return the event of a jackpot's row."""
    transfers = tuple(Transfer(Account(s), Account(t), cents, Kind(k)) for s, t, cents, k in json.loads(row.transfers))
    return Event(EventType(row.type), row.at, row.actor, row.table_id, row.round, json.loads(row.data), transfers)


def site_event_from_row(row: EventRow | Row[Any]) -> SiteEvent:
    """Return the event of the site's row."""
    return SiteEvent(SiteEventType(row.type), row.at, row.actor, json.loads(row.data))


def plain_row(row: EventRow) -> Mapping[str, Any]:
    """Return a row as plain data for an export."""
    return {**row._asdict(), "hash": row.hash.hex()}


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
