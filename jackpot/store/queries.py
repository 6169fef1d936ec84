"""What operators and auditors ask of the store; long lists are paged by key, never by offset."""

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
from jackpot.store.event_lookup import IS_NO_PADS, IS_NO_WAGER, Span, seqs_of_round, seqs_of_table
from jackpot.store.hash_chain import SITE
from jackpot.store.state_tables import read_jackpot

MAX_ROWS: Final = 1_000
MAX_TRIED: Final = 1_000
_AFTER_ALL: Final = 2**62
_ADJUSTMENTS: Final = (EventType.ADJUSTMENT_PROPOSED.value, EventType.ADJUSTMENT_APPROVED.value)
PLAYING: Final = "playing"
"""The outcome of a round that has none yet."""

Plain = dict[str, Any]


class Page(NamedTuple):
    """Which part of a long list is wanted: the newest rows with a seq below `before`."""

    jackpot: str
    table: str | None = None
    before: int | None = None
    limit: int = 50


class EventFilter(NamedTuple):
    """Which events are wanted; what is None does not matter."""

    since: str | None = None
    until: str | None = None
    type: str | None = None
    actor: str | None = None


class Found(NamedTuple):
    """A page of what was searched for; `before` is where the search goes on, None where it is at its end."""

    rows: list[Plain]
    before: int | None


def jackpot_ids(connection: Connection) -> list[str]:
    """Every jackpot there is."""
    names = select(tables.chains.c.chain).where(tables.chains.c.chain != SITE).order_by(tables.chains.c.chain)
    return list(connection.execute(names).scalars())


def pools(connection: Connection) -> list[Plain]:
    """Each jackpot's pools, meter and what they owe the house."""
    return [pools_of(read_jackpot(connection, name)) for name in jackpot_ids(connection)]


def floor(connection: Connection, jackpot: str | None = None) -> list[Plain]:
    """Each table as it stands."""
    names = [jackpot] if jackpot else jackpot_ids(connection)
    found = [(name, read_jackpot(connection, name)) for name in names]
    return [table_row(name, table) for name, state in found for table in state.tables.values() if not table.unlinked]


def rounds(connection: Connection, page: Page, outcome: str | None = None) -> Found:
    """Rounds, the newest first; of one outcome only, where one is named (`playing` has none yet).

    Outcomes are tried on so many rounds that a page never takes long; `before` says from where the search goes on.
    """
    limit = min(page.limit, MAX_ROWS)
    seen = _rounds_below(page).limit(limit if outcome is None else MAX_TRIED).subquery()
    fits = [] if outcome is None else [seen.c.outcome.is_(None) if outcome == PLAYING else seen.c.outcome == outcome]
    fitting = select(seen, *_wagered(seen)).where(*fits).order_by(seen.c.seq.desc()).limit(limit)
    rows = [{**row, "wagered_cents": int(row["wagered_cents"])} for row in connection.execute(fitting).mappings()]
    return Found(rows, _goes_on(connection, seen, rows, limit))


def _rounds_below(page: Page) -> Select[Any]:
    """The rounds below the page's beginning, the newest first; at one table that is the order of their numbers."""
    r = tables.rounds.c
    before = _AFTER_ALL if page.before is None else page.before
    of_jackpot = select(tables.rounds).where(r.chain == page.jackpot)
    if page.table is None:
        return of_jackpot.where(r.seq < before).order_by(r.seq.desc())
    tried = r.seq + 0  # row by row and not looked up: the planner would sort all that its index gives
    return of_jackpot.where(r.table_id == page.table, tried < before).order_by(r.round.desc())


def _wagered(seen: Subquery) -> list[ColumnElement[Any]]:
    """How many wagers stand on each of these rounds, and their sum."""
    w = tables.wagers.c
    mine = (w.chain == seen.c.chain) & (w.table_id == seen.c.table_id) & (w.round == seen.c.round)
    standing = mine & (w.status == "accepted")
    return [
        select(func.count()).where(standing).scalar_subquery().label("wagers"),
        select(func.coalesce(func.sum(w.amount_cents), 0)).where(standing).scalar_subquery().label("wagered_cents"),
    ]


def round_detail(connection: Connection, jackpot: str, table: str, number: int) -> Plain | None:
    """One round down to each wager and prize."""
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
    """Every event of a round, the oldest first: those between its opening and the next one's, and late adjustments."""
    e, r = tables.events.c, tables.rounds.c
    opened = select(r.round, r.seq).where(r.chain == jackpot, r.table_id == table, r.round.in_([number, number + 1]))
    seqs = {row.round: row.seq for row in connection.execute(opened)}
    if number not in seqs:
        return []
    after = seqs.get(number + 1, _AFTER_ALL)
    played = seqs_of_round(connection, jackpot, table, number, Span(seqs[number], after))
    of_chain = select(tables.events).where(e.chain == jackpot).order_by(e.seq)
    named = (e.table_id == table, e.round == number, e.seq >= after)
    late = of_chain.where(e.type.in_(_ADJUSTMENTS), IS_NO_WAGER, *named)
    rows = [*connection.execute(of_chain.where(e.seq.in_(played))).mappings(), *connection.execute(late).mappings()]
    return [_with_hash(dict(row)) for row in rows]


def transfers_of(connection: Connection, jackpot: str, seqs: Sequence[int]) -> list[Plain]:
    """The ledger's entries of these events, in order."""
    t = tables.transfers.c
    found = select(tables.transfers).where(t.chain == jackpot, t.seq.in_(seqs)).order_by(t.seq, t.n)
    return [dict(row) for row in connection.execute(found).mappings()]


def checkpoints(connection: Connection, page: Page) -> list[Plain]:
    """Signed notes over a chain's head, the newest first."""
    return _page(connection, select(tables.checkpoints), tables.checkpoints, page)


def wins(connection: Connection, page: Page, status: PayoutStatus | None = None) -> list[Plain]:
    """Prizes, the newest first; of one status only, where one is named."""
    wanted = select(tables.payouts)
    return _page(
        connection, wanted if status is None else wanted.where(tables.payouts.c.status == status), tables.payouts, page
    )


def hits(connection: Connection, jackpot: str, since: str) -> list[Plain]:
    """How often each hand has won since a moment, and what; prizes that were corrected do not count.

    Events are found by their time, prizes by their events' numbers: what is older is not looked at.
    """
    e, p = tables.events.c, tables.payouts.c
    first = select(e.seq).where(e.chain == jackpot, e.at >= since).order_by(e.at, e.seq).limit(1)
    seq = connection.execute(first).scalar_one_or_none()
    sums = select(p.hand, func.count().label("prizes"), func.sum(p.amount_cents).label("amount_cents"))
    wanted = (p.chain == jackpot, p.seq >= (_AFTER_ALL if seq is None else seq), p.at >= since, p.status != "corrected")
    found = connection.execute(sums.where(*wanted).group_by(p.hand)).mappings()
    return [{**row, "amount_cents": int(row["amount_cents"])} for row in found]


def changed_wins(connection: Connection, jackpot: str, since: str) -> list[Plain]:
    """The prizes, as they stand, of every round that was settled, confirmed, corrected or void since a moment."""
    e, p = tables.events.c, tables.payouts.c
    first = select(e.seq).where(e.chain == jackpot, e.at >= since).order_by(e.at, e.seq).limit(1).scalar_subquery()
    kinds = e.type.in_([kind.value for kind in _ABOUT_PRIZES])
    rounds = select(e.table_id, e.round).where(e.chain == jackpot, e.seq >= first, kinds)
    found = select(tables.payouts).where(p.chain == jackpot, tuple_(p.table_id, p.round).in_(rounds))
    return [dict(row) for row in connection.execute(found.order_by(p.seq, p.pay_order)).mappings()]


def last_moment(connection: Connection, jackpot: str) -> str | None:
    """When the last event of a jackpot was; None where there is none."""
    e = tables.events.c
    return connection.execute(select(e.at).where(e.chain == jackpot).order_by(e.seq.desc()).limit(1)).scalar()


_ABOUT_PRIZES: Final = (
    EventType.ROUND_SETTLED,
    EventType.PAYOUTS_CONFIRMED,
    EventType.ROUND_CORRECTED,
    EventType.ROUND_VOIDED,
)


def pending_wins(connection: Connection) -> list[Plain]:
    """The prizes, of every jackpot, of rounds in which one awaits confirmation."""
    p, r = tables.payouts.c, tables.rounds.c
    same = (p.chain == r.chain) & (p.table_id == r.table_id) & (p.round == r.round)
    found = select(tables.payouts).join(tables.rounds, same).where(r.phase == "pending", p.status != "corrected")
    return [dict(row) for row in connection.execute(found.order_by(p.chain, p.seq, p.pay_order)).mappings()]


def is_resumed_since(connection: Connection, jackpot: str, table: str, seq: int) -> bool:
    """Whether a table was resumed after this event."""
    e = tables.events.c
    resumed = (e.type == EventType.TABLE_RESUMED.value) & IS_NO_WAGER
    later = (e.chain == jackpot) & (e.seq > seq) & (e.table_id == table) & resumed
    return connection.execute(select(e.seq).where(later).limit(1)).first() is not None


def last_fall(connection: Connection, jackpot: str) -> Plain | None:
    """The last event by which money left the jackpot pool, whatever came in with it; None where none ever did.

    A settlement is found by its prizes, of which there are few, and any other event by its type.
    """
    e, t = tables.events.c, tables.transfers.c
    left = select(t.seq).where(t.chain == jackpot, t.source == Account.JACKPOT.value)
    newest = []
    for kind in (*_FALLS, None):
        found_by = tables.events if kind else tables.payouts
        wanted = [found_by.c.chain == jackpot, left.where(t.seq == found_by.c.seq).exists()]
        query = select(found_by.c.seq).where(*wanted, *([e.type == kind.value, IS_NO_WAGER] if kind else []))
        newest.append(connection.execute(query.order_by(found_by.c.seq.desc()).limit(1)).scalar_one_or_none())
    seq = max((seq for seq in newest if seq is not None), default=None)
    if seq is None:
        return None
    found = select(e.seq, e.type, e.table_id, e.round, e.at).where(e.chain == jackpot, e.seq == seq)
    return dict(connection.execute(found).mappings().one())


_FALLS: Final = (
    EventType.HAND_VOIDED,
    EventType.ROUND_VOIDED,
    EventType.ROUND_CORRECTED,
    EventType.ADJUSTMENT_APPROVED,
    EventType.JACKPOT_RETIRED,
)
"""What takes money out of the jackpot pool, beside a settlement's prizes."""


def events(connection: Connection, page: Page, wanted: EventFilter) -> Found:
    """Events of a chain, the newest first, as far as the filter wants them.

    One condition is looked up by its index, the others are tried on the rows it gives, on so many of them that a page
    never takes long; where the search is not at its end then, `before` says from where it goes on. Pads' wagers, which
    most events are, are in no index but that of the trail itself.
    """
    e = tables.events.c
    first, rest = _by_use(page, wanted)
    span, times = _seq_bounds(connection, page, wanted)
    limit = min(page.limit, MAX_ROWS)
    if page.table is not None and first == [("table_id", page.table)]:
        return _of_table(connection, page, span, [*(e[name] == value for name, value in rest), *times])
    bounds = [
        e.chain == page.jackpot,
        *(_looked_up(connection, name, value) for name, value in first),
        e.seq < span.before,
        *([e.seq >= span.low] if span.low else []),
        *times,
    ]
    looked = select(tables.events).where(*bounds).order_by(e.seq.desc())
    if not rest:
        rows = [dict(row) for row in connection.execute(looked.limit(limit)).mappings()]
        return Found([_with_hash(row) for row in rows], rows[-1]["seq"] if len(rows) == limit else None)
    seen = looked.limit(MAX_TRIED).subquery()
    fits = [seen.c[name] == value for name, value in rest]
    rows = [dict(row) for row in connection.execute(select(seen).where(*fits).limit(limit)).mappings()]
    return Found([_with_hash(row) for row in rows], _goes_on(connection, seen, rows, limit))


def _of_table(connection: Connection, page: Page, span: Span, rest: list[ColumnElement[bool]]) -> Found:
    """Events of one table, the newest first, as far as they fulfil the rest."""
    e = tables.events.c
    limit = min(page.limit, MAX_ROWS)
    seqs = seqs_of_table(connection, page.jackpot, page.table or "", span, MAX_TRIED if rest else limit)
    fits = select(tables.events).where(e.chain == page.jackpot, e.seq.in_(seqs.newest), *rest)
    found = connection.execute(fits.order_by(e.seq.desc()).limit(limit)).mappings()
    rows = [_with_hash(dict(row)) for row in found]
    return Found(rows, rows[-1]["seq"] if len(rows) == limit else seqs.below)


def _goes_on(connection: Connection, seen: Subquery, rows: list[Plain], limit: int) -> int | None:
    """From where a search goes on: below the last row of a full page, else below the last one that was tried."""
    if len(rows) == limit:
        return int(rows[-1]["seq"])
    tried, last = connection.execute(select(func.count(), func.min(seen.c.seq)).select_from(seen)).one()
    return int(last) if tried == MAX_TRIED else None


def _by_use(page: Page, wanted: EventFilter) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The conditions: the one that leaves least, to be looked up where any does, and the others."""
    given = [
        (wanted.actor in DEVICES, "actor", wanted.actor),
        (False, "type", wanted.type),
        (False, "table_id", page.table),
    ]
    asked = [(common, name, value) for common, name, value in given if value is not None]
    ordered = [(name, value) for _, name, value in sorted(asked, key=lambda one: one[0])]
    looked_up = [one for one in ordered if one not in _EVERYWHERE][:1]
    return looked_up, [one for one in ordered if one not in looked_up]


_EVERYWHERE: Final = (("type", EventType.WAGER_ACCEPTED), ("actor", PAD.name))
"""Conditions that most events fulfil."""


def _seq_bounds(connection: Connection, page: Page, wanted: EventFilter) -> tuple[Span, list[ColumnElement[bool]]]:
    """The numbers of the events that the times begin and end with, so that the search begins there; and the times."""
    e = tables.events.c
    of_chain = select(e.seq).where(e.chain == page.jackpot).limit(1)
    low, before = 0, _AFTER_ALL if page.before is None else page.before
    times = []
    if wanted.since is not None:
        oldest = connection.execute(of_chain.where(e.at >= wanted.since).order_by(e.at, e.seq)).scalar_one_or_none()
        low = _AFTER_ALL if oldest is None else oldest
        times.append(_tried(e.at) >= wanted.since)
    if wanted.until is not None:
        last = of_chain.where(e.at < wanted.until).order_by(e.at.desc(), e.seq.desc())
        newest = connection.execute(last).scalar_one_or_none() or 0
        times.append(_tried(e.at) < wanted.until)
        before = min(before, newest + 1)
    return Span(low, before), times


def _looked_up(connection: Connection, name: str, value: str) -> ColumnElement[bool]:
    """A condition that few rows fulfil: without the hint SQLite would rather read a whole range of the trail.

    With it goes what its index is restricted to.
    """
    column = tables.events.c[name]
    condition = func.unlikely(column == value) if connection.dialect.name == "sqlite" else column == value
    return condition & (IS_NO_PADS if name == "actor" else IS_NO_WAGER)


def _tried(text: ColumnElement[str]) -> ColumnElement[str]:
    """A column to be compared row by row and not looked up: the planner would sort all that its index gives."""
    return text.concat("")


def _with_hash(row: Plain) -> Plain:
    return {**row, "hash": bytes(row["hash"]).hex()}


def _page(connection: Connection, query: Select[Any], table: Table, page: Page) -> list[Plain]:
    """The newest rows of a table, as far as the page wants them; rows of one seq are never parted by a page's end."""
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
    """A jackpot's pools, meter and what they owe the house."""
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
    """A table as it stands."""
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
