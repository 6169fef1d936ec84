"""What operators and auditors ask of the store; long lists are paged by key, never by offset."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select

from jackpot.core.ledger import Account
from jackpot.core.state import Jackpot
from jackpot.store import tables
from jackpot.store.book import read_jackpot
from jackpot.store.chain import SITE

MOST_ROWS: Final = 1_000

Plain = dict[str, Any]


class Page(NamedTuple):
    """Which part of a long list is wanted: the newest rows with a seq below `before`."""

    jackpot: str | None = None
    table: str | None = None
    before: int | None = None
    limit: int = 50


class EventFilter(NamedTuple):
    """Which events are wanted; what is None does not matter."""

    since: str | None = None
    until: str | None = None
    type: str | None = None
    actor: str | None = None


def jackpot_ids(connection: Connection) -> list[str]:
    """Every jackpot there is."""
    names = select(tables.chains.c.chain).where(tables.chains.c.chain != SITE).order_by(tables.chains.c.chain)
    return list(connection.execute(names).scalars())


def pools(connection: Connection) -> list[Plain]:
    """Each jackpot's pools, meter and what they owe the house."""
    return [_pools(read_jackpot(connection, name)) for name in jackpot_ids(connection)]


def floor(connection: Connection, jackpot: str | None = None) -> list[Plain]:
    """Each table as it stands."""
    names = [jackpot] if jackpot else jackpot_ids(connection)
    found = [(name, read_jackpot(connection, name)) for name in names]
    return [_table(name, table) for name, state in found for table in state.tables.values() if not table.unlinked]


def rounds(connection: Connection, page: Page) -> list[Plain]:
    """Rounds, the newest first."""
    w = tables.wagers.c
    found = []
    for row in _page(connection, tables.rounds, page):
        mine = (w.chain == row["chain"]) & (w.table_id == row["table_id"]) & (w.round == row["round"])
        count, cents = connection.execute(
            select(func.count(), func.coalesce(func.sum(w.amount_cents), 0)).where(mine, w.status == "accepted")
        ).one()
        found.append({**row, "wagers": count, "wagered_cents": int(cents)})
    return found


def round_detail(connection: Connection, jackpot: str, table: str, number: int) -> Plain | None:
    """One round down to each wager and prize."""
    of_round = [
        select(t).where(t.c.chain == jackpot, t.c.table_id == table, t.c.round == number)
        for t in (tables.rounds, tables.wagers, tables.payouts)
    ]
    played = connection.execute(of_round[0]).mappings().one_or_none()
    if played is None:
        return None
    wagers, prizes = (connection.execute(query.order_by("box")).mappings().all() for query in of_round[1:])
    return {**played, "wagers": [dict(w) for w in wagers], "payouts": [dict(p) for p in prizes]}


def wins(connection: Connection, page: Page) -> list[Plain]:
    """Prizes, the newest first."""
    return _page(connection, tables.payouts, page)


def events(connection: Connection, page: Page, wanted: EventFilter) -> list[Plain]:
    """Events of a chain, the newest first, as far as the filter wants them."""
    e = tables.events.c
    also = []
    if wanted.since is not None:
        also.append(e.at >= wanted.since)
    if wanted.until is not None:
        also.append(e.at < wanted.until)
    if wanted.type is not None:
        also.append(e.type == wanted.type)
    if wanted.actor is not None:
        also.append(e.actor == wanted.actor)
    return [{**row, "hash": bytes(row["hash"]).hex()} for row in _page(connection, tables.events, page, *also)]


def _page(connection: Connection, table: Table, page: Page, *also: ColumnElement[bool]) -> list[Plain]:
    """The newest rows of a table, as far as the page wants them; rows of one seq are never parted by a page's end."""
    query = select(table).where(*also)
    if page.jackpot is not None:
        query = query.where(table.c.chain == page.jackpot)
    if page.table is not None:
        query = query.where(table.c.table_id == page.table)
    ordered = query.order_by(table.c.seq.desc(), *table.primary_key.columns)
    below = ordered if page.before is None else ordered.where(table.c.seq < page.before)
    limit = min(page.limit, MOST_ROWS)
    rows = connection.execute(below.limit(limit)).mappings().all()
    if len(rows) == limit:
        last = rows[-1]["seq"]
        whole = connection.execute(ordered.where(table.c.seq == last)).mappings().all()
        rows = [*(row for row in rows if row["seq"] != last), *whole]
    return [dict(row) for row in rows]


def _pools(jackpot: Jackpot) -> Plain:
    balances = {account.value: cents for account, cents in jackpot.balances.items()}
    return {
        "jackpot": jackpot.id,
        "instrument": jackpot.instrument,
        "retired": jackpot.retired,
        "meter_cents": jackpot.meter_cents,
        "reserve_cents": balances["reserve"],
        "payable_cents": balances["payable"],
        "advance_owed_cents": -jackpot.balances[Account.HOUSE_ADVANCE],
        "config_version": jackpot.version,
        "tables": sum(not table.unlinked for table in jackpot.tables.values()),
        "balances": balances,
    }


def _table(jackpot: str, table: Any) -> Plain:  # noqa: ANN401 - a state's table
    played = table.round
    return {
        "table": table.id,
        "jackpot": jackpot,
        "boxes": table.boxes,
        "phase": table.phase.value,
        "round": table.number,
        "lit": played.lit if played and table.phase.value != "idle" else [],
        "suspended": table.suspended,
        "mode": "tournament" if table.tournament else "normal",
        "restricted": table.restricted,
    }
