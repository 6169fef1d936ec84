"""Queries for operators and auditors; long lists are paged by key, never by offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Subquery, Table, func, select, tuple_

from jackpot.core import state
from jackpot.core.commands import DEVICES, PAD
from jackpot.core.events import EventType
from jackpot.core.ledger import Account
from jackpot.core.state import Jackpot, PayoutStatus
from jackpot.store import tables
from jackpot.store.event_lookup import IS_NOT_BY_PAD, IS_NOT_WAGER, SeqRange, seqs_of_round, seqs_of_table
from jackpot.store.hash_chain import SITE
from jackpot.store.state_tables import read_jackpot

MAX_ROWS: Final = 1_000
MAX_SCANNED: Final = 1_000
_MAX_SEQ: Final = 2**62
_ADJUSTMENTS: Final = (EventType.ADJUSTMENT_PROPOSED.value, EventType.ADJUSTMENT_APPROVED.value)
PLAYING: Final = "playing"
"""The outcome to search for rounds that have none yet."""

Plain = dict[str, Any]


class Page(NamedTuple):
    """A requested page of a long list: the newest rows with a seq below `before`."""

    jackpot: str
    table: str | None = None
    before: int | None = None
    limit: int = 50


class EventFilter(NamedTuple):
    """The conditions of a search for events; None means any."""

    since: str | None = None
    until: str | None = None
    type: str | None = None
    actor: str | None = None


class ResultPage(NamedTuple):
    """A page of results; `before` is where the next page starts, None if this is the last page."""

    rows: list[Plain]
    before: int | None


def jackpot_ids(connection: Connection) -> list[str]:
    """Return the ids of all jackpots."""
    names = select(tables.chains.c.chain).where(tables.chains.c.chain != SITE).order_by(tables.chains.c.chain)
    return list(connection.execute(names).scalars())


def pools(connection: Connection) -> list[Plain]:
    """Return each jackpot's pools, meter and owed advances."""
    return [pools_of(read_jackpot(connection, name)) for name in jackpot_ids(connection)]


def floor(connection: Connection, jackpot: str | None = None) -> list[Plain]:
    """Return the present state of each linked table."""
    names = [jackpot] if jackpot else jackpot_ids(connection)
    found = [(name, read_jackpot(connection, name)) for name in names]
    return [table_row(name, table) for name, state in found for table in state.tables.values() if not table.unlinked]


def rounds(connection: Connection, page: Page, outcome: str | None = None) -> ResultPage:
    """Return rounds, the newest first, optionally of one outcome only (`playing`: without an outcome yet).

    A search by outcome scans a limited number of rounds, so that a page never takes long; `before` is where it goes on.
    """
    limit = min(page.limit, MAX_ROWS)
    scanned = _rounds_below(page).limit(limit if outcome is None else MAX_SCANNED).subquery()
    matches = (
        [] if outcome is None else [scanned.c.outcome.is_(None) if outcome == PLAYING else scanned.c.outcome == outcome]
    )
    matching = select(scanned, *_wager_sums(scanned)).where(*matches).order_by(scanned.c.seq.desc()).limit(limit)
    rows = [{**row, "wagered_cents": int(row["wagered_cents"])} for row in connection.execute(matching).mappings()]
    return ResultPage(rows, _next_before(connection, scanned, rows, limit))


def _rounds_below(page: Page) -> Select[Any]:
    """Select the rounds below the page's start, the newest first; at one table by round number."""
    r = tables.rounds.c
    before = _MAX_SEQ if page.before is None else page.before
    of_jackpot = select(tables.rounds).where(r.chain == page.jackpot)
    if page.table is None:
        return of_jackpot.where(r.seq < before).order_by(r.seq.desc())
    seq = r.seq + 0  # `+ 0` keeps the planner from using the index on seq and sorting all of its rows
    return of_jackpot.where(r.table_id == page.table, seq < before).order_by(r.round.desc())


def _wager_sums(scanned: Subquery) -> list[ColumnElement[Any]]:
    """Return the columns with the number of standing wagers of each round, and their sum."""
    w = tables.wagers.c
    mine = (w.chain == scanned.c.chain) & (w.table_id == scanned.c.table_id) & (w.round == scanned.c.round)
    standing = mine & (w.status == "accepted")
    return [
        select(func.count()).where(standing).scalar_subquery().label("wagers"),
        select(func.coalesce(func.sum(w.amount_cents), 0)).where(standing).scalar_subquery().label("wagered_cents"),
    ]


def round_detail(connection: Connection, jackpot: str, table: str, number: int) -> Plain | None:
    """Return one round with each wager and prize, None if it does not exist."""
    of_round = [
        select(t).where(t.c.chain == jackpot, t.c.table_id == table, t.c.round == number)
        for t in (tables.rounds, tables.wagers, tables.payouts)
    ]
    played = connection.execute(of_round[0]).mappings().one_or_none()
    if played is None:
        return None
    wagers = connection.execute(of_round[1].order_by("box")).mappings().all()
    prizes = connection.execute(of_round[2].order_by("seq", "pay_order")).mappings().all()
    return {**played, "wagers": [dict(w) for w in wagers], "payouts": [dict(p) for p in prizes]}


def round_events(connection: Connection, jackpot: str, table: str, number: int) -> list[Plain]:
    """Return the events of a round, the oldest first: from its opening to the next one, and later adjustments."""
    e, r = tables.events.c, tables.rounds.c
    opened = select(r.round, r.seq).where(r.chain == jackpot, r.table_id == table, r.round.in_([number, number + 1]))
    seqs = {row.round: row.seq for row in connection.execute(opened)}
    if number not in seqs:
        return []
    after = seqs.get(number + 1, _MAX_SEQ)
    played = seqs_of_round(connection, jackpot, table, number, SeqRange(seqs[number], after))
    of_chain = select(tables.events).where(e.chain == jackpot).order_by(e.seq)
    named = (e.table_id == table, e.round == number, e.seq >= after)
    late = of_chain.where(e.type.in_(_ADJUSTMENTS), IS_NOT_WAGER, *named)
    rows = [*connection.execute(of_chain.where(e.seq.in_(played))).mappings(), *connection.execute(late).mappings()]
    return [_with_hash(dict(row)) for row in rows]


def transfers_of(connection: Connection, jackpot: str, seqs: Sequence[int]) -> list[Plain]:
    """Return the transfers of these events, in order."""
    t = tables.transfers.c
    found = select(tables.transfers).where(t.chain == jackpot, t.seq.in_(seqs)).order_by(t.seq, t.n)
    return [dict(row) for row in connection.execute(found).mappings()]


def checkpoints(connection: Connection, page: Page) -> list[Plain]:
    """Return signed notes over a chain's head, the newest first."""
    return _page(connection, select(tables.checkpoints), tables.checkpoints, page)


def wins(connection: Connection, page: Page, status: PayoutStatus | None = None) -> list[Plain]:
    """Return prizes, the newest first, optionally of one status only."""
    wanted = select(tables.payouts)
    return _page(
        connection, wanted if status is None else wanted.where(tables.payouts.c.status == status), tables.payouts, page
    )


def hits(connection: Connection, jackpot: str, since: str) -> list[Plain]:
    """Return the number and the sum of prizes of each hand since a time, without corrected prizes.

    The first event is found by its time, the prizes by their events' numbers, so that older rows are not read.
    """
    e, p = tables.events.c, tables.payouts.c
    first = select(e.seq).where(e.chain == jackpot, e.at >= since).order_by(e.at, e.seq).limit(1)
    seq = connection.execute(first).scalar_one_or_none()
    sums = select(p.hand, func.count().label("prizes"), func.sum(p.amount_cents).label("amount_cents"))
    wanted = (p.chain == jackpot, p.seq >= (_MAX_SEQ if seq is None else seq), p.at >= since, p.status != "corrected")
    found = connection.execute(sums.where(*wanted).group_by(p.hand)).mappings()
    return [{**row, "amount_cents": int(row["amount_cents"])} for row in found]


def changed_wins(connection: Connection, jackpot: str, since: str) -> list[Plain]:
    """Return the present prizes of every round that was settled, confirmed, corrected or voided since a time."""
    e, p = tables.events.c, tables.payouts.c
    first = select(e.seq).where(e.chain == jackpot, e.at >= since).order_by(e.at, e.seq).limit(1).scalar_subquery()
    kinds = e.type.in_([kind.value for kind in _PRIZE_EVENTS])
    rounds = select(e.table_id, e.round).where(e.chain == jackpot, e.seq >= first, kinds)
    found = select(tables.payouts).where(p.chain == jackpot, tuple_(p.table_id, p.round).in_(rounds))
    return [dict(row) for row in connection.execute(found.order_by(p.seq, p.pay_order)).mappings()]


def last_event_time(connection: Connection, jackpot: str) -> str | None:
    """Return the time of a chain's last event, None if there is none."""
    e = tables.events.c
    return connection.execute(select(e.at).where(e.chain == jackpot).order_by(e.seq.desc()).limit(1)).scalar()


def newest_event_time(connection: Connection) -> str | None:
    """Return the latest time of the last events of all chains, None if there is none."""
    chains = connection.execute(select(tables.chains.c.chain)).scalars().all()
    return max((at for chain in chains if (at := last_event_time(connection, chain))), default=None)


_PRIZE_EVENTS: Final = (
    EventType.ROUND_SETTLED,
    EventType.PAYOUTS_CONFIRMED,
    EventType.ROUND_CORRECTED,
    EventType.ROUND_VOIDED,
)


def pending_wins(connection: Connection) -> list[Plain]:
    """Return the prizes of all rounds, of every jackpot, in which one awaits confirmation."""
    p, r = tables.payouts.c, tables.rounds.c
    same = (p.chain == r.chain) & (p.table_id == r.table_id) & (p.round == r.round)
    found = select(tables.payouts).join(tables.rounds, same).where(r.phase == "pending", p.status != "corrected")
    return [dict(row) for row in connection.execute(found.order_by(p.chain, p.seq, p.pay_order)).mappings()]


def is_resumed_since(connection: Connection, jackpot: str, table: str, seq: int) -> bool:
    """Return True if a table was resumed after this event."""
    e = tables.events.c
    resumed = (e.type == EventType.TABLE_RESUMED.value) & IS_NOT_WAGER
    later = (e.chain == jackpot) & (e.seq > seq) & (e.table_id == table) & resumed
    return connection.execute(select(e.seq).where(later).limit(1)).first() is not None


def last_decrease(connection: Connection, jackpot: str) -> Plain | None:
    """Return the last event that took money out of the jackpot pool, None if there is none.

    A settlement is found by its prizes, of which there are few, and any other event by its type.
    """
    e, t = tables.events.c, tables.transfers.c
    taken = select(t.seq).where(t.chain == jackpot, t.source == Account.JACKPOT.value)
    newest = []
    for kind in (*_DECREASING, None):
        found_by = tables.events if kind else tables.payouts
        wanted = [found_by.c.chain == jackpot, taken.where(t.seq == found_by.c.seq).exists()]
        query = select(found_by.c.seq).where(*wanted, *([e.type == kind.value, IS_NOT_WAGER] if kind else []))
        newest.append(connection.execute(query.order_by(found_by.c.seq.desc()).limit(1)).scalar_one_or_none())
    seq = max((seq for seq in newest if seq is not None), default=None)
    if seq is None:
        return None
    found = select(e.seq, e.type, e.table_id, e.round, e.at).where(e.chain == jackpot, e.seq == seq)
    return dict(connection.execute(found).mappings().one())


_DECREASING: Final = (
    EventType.HAND_VOIDED,
    EventType.ROUND_VOIDED,
    EventType.ROUND_CORRECTED,
    EventType.ADJUSTMENT_APPROVED,
    EventType.JACKPOT_RETIRED,
)
"""The events that take money out of the jackpot pool, besides settlements."""


def events(connection: Connection, page: Page, wanted: EventFilter) -> ResultPage:
    """Return the events of a chain that match a filter, the newest first.

    One condition is looked up by its index; the others are checked on a limited number of its rows, so that a page
    never takes long; if the search is not complete then, `before` is where it goes on. Most events are pads' wagers,
    which are in no index but the primary key.
    """
    e = tables.events.c
    indexed, rest = _split_conditions(page, wanted)
    within, times = _seq_bounds(connection, page, wanted)
    limit = min(page.limit, MAX_ROWS)
    if page.table is not None and indexed == [("table_id", page.table)]:
        return _table_events(connection, page, within, [*(e[name] == value for name, value in rest), *times])
    bounds = [
        e.chain == page.jackpot,
        *(_indexed_condition(connection, name, value) for name, value in indexed),
        e.seq < within.before,
        *([e.seq >= within.low] if within.low else []),
        *times,
    ]
    bounded = select(tables.events).where(*bounds).order_by(e.seq.desc())
    if not rest:
        rows = [dict(row) for row in connection.execute(bounded.limit(limit)).mappings()]
        return ResultPage([_with_hash(row) for row in rows], rows[-1]["seq"] if len(rows) == limit else None)
    scanned = bounded.limit(MAX_SCANNED).subquery()
    matches = [scanned.c[name] == value for name, value in rest]
    rows = [dict(row) for row in connection.execute(select(scanned).where(*matches).limit(limit)).mappings()]
    return ResultPage([_with_hash(row) for row in rows], _next_before(connection, scanned, rows, limit))


def _table_events(connection: Connection, page: Page, within: SeqRange, rest: list[ColumnElement[bool]]) -> ResultPage:
    """Return the events of one table that fulfil the other conditions, the newest first."""
    e = tables.events.c
    limit = min(page.limit, MAX_ROWS)
    seqs = seqs_of_table(connection, page.jackpot, page.table or "", within, MAX_SCANNED if rest else limit)
    matching = select(tables.events).where(e.chain == page.jackpot, e.seq.in_(seqs.newest), *rest)
    found = connection.execute(matching.order_by(e.seq.desc()).limit(limit)).mappings()
    rows = [_with_hash(dict(row)) for row in found]
    return ResultPage(rows, rows[-1]["seq"] if len(rows) == limit else seqs.below)


def _next_before(connection: Connection, scanned: Subquery, rows: list[Plain], limit: int) -> int | None:
    """Return where the next page starts: below the last row of a full page, else below the last scanned row."""
    if len(rows) == limit:
        return int(rows[-1]["seq"])
    count, last = connection.execute(select(func.count(), func.min(scanned.c.seq)).select_from(scanned)).one()
    return int(last) if count == MAX_SCANNED else None


def _split_conditions(page: Page, wanted: EventFilter) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the most selective condition, to be looked up by its index (if any), and the others."""
    given = [
        (wanted.actor in DEVICES, "actor", wanted.actor),
        (False, "type", wanted.type),
        (False, "table_id", page.table),
    ]
    present = [(common, name, value) for common, name, value in given if value is not None]
    ordered = [(name, value) for _, name, value in sorted(present, key=lambda condition: condition[0])]
    indexed = [condition for condition in ordered if condition not in _COMMON][:1]
    return indexed, [condition for condition in ordered if condition not in indexed]


_COMMON: Final = (("type", EventType.WAGER_ACCEPTED), ("actor", PAD.name))
"""Conditions that most events fulfil."""


def _seq_bounds(connection: Connection, page: Page, wanted: EventFilter) -> tuple[SeqRange, list[ColumnElement[bool]]]:
    """Return the range of sequence numbers that the times allow, and the conditions on the times."""
    e = tables.events.c
    of_chain = select(e.seq).where(e.chain == page.jackpot).limit(1)
    low, before = 0, _MAX_SEQ if page.before is None else page.before
    times = []
    if wanted.since is not None:
        oldest = connection.execute(of_chain.where(e.at >= wanted.since).order_by(e.at, e.seq)).scalar_one_or_none()
        low = _MAX_SEQ if oldest is None else oldest
        times.append(_without_index(e.at) >= wanted.since)
    if wanted.until is not None:
        last = of_chain.where(e.at < wanted.until).order_by(e.at.desc(), e.seq.desc())
        newest = connection.execute(last).scalar_one_or_none() or 0
        times.append(_without_index(e.at) < wanted.until)
        before = min(before, newest + 1)
    return SeqRange(low, before), times


def _indexed_condition(connection: Connection, name: str, value: str) -> ColumnElement[bool]:
    """Return a condition that few rows fulfil, with the restriction of its partial index.

    Without the hint SQLite would read a whole range of the trail instead of using the index.
    """
    column = tables.events.c[name]
    condition = func.unlikely(column == value) if connection.dialect.name == "sqlite" else column == value
    return condition & (IS_NOT_BY_PAD if name == "actor" else IS_NOT_WAGER)


def _without_index(text: ColumnElement[str]) -> ColumnElement[str]:
    """Return a column as an expression, so that the planner does not use its index and sort all of its rows."""
    return text.concat("")


def _with_hash(row: Plain) -> Plain:
    return {**row, "hash": bytes(row["hash"]).hex()}


def _page(connection: Connection, query: Select[Any], table: Table, page: Page) -> list[Plain]:
    """Return a page of the newest rows of a table; rows of one seq are never split between two pages."""
    query = query.where(table.c.chain == page.jackpot)
    if page.table is not None:
        query = query.where(table.c.table_id == page.table)
    ordered = query.order_by(table.c.seq.desc(), *([table.c.box] if "box" in table.c else []))
    below = ordered if page.before is None else ordered.where(table.c.seq < page.before)
    limit = min(page.limit, MAX_ROWS)
    rows = connection.execute(below.limit(limit)).mappings().all()
    if len(rows) == limit:
        last = rows[-1]["seq"]
        whole = connection.execute(ordered.where(table.c.seq == last)).mappings().all()
        rows = [*(row for row in rows if row["seq"] != last), *whole]
    return [dict(row) for row in rows]


def pools_of(jackpot: Jackpot) -> Plain:
    """Return a jackpot's pools, meter and owed advances."""
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


def table_row(jackpot: str, table: state.Table) -> Plain:
    """Return the present state of a table."""
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
