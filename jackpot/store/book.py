"""A chain that is being written: commands in, one transaction a batch, answers out only when it is durable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, cast

from sqlalchemy import Connection, insert, select, update

from jackpot.core.answers import Decision, Refused
from jackpot.core.commands import Command, Identified, PlaceWager
from jackpot.core.decide import decide
from jackpot.core.events import Event, EventType
from jackpot.core.evolve import evolve
from jackpot.core.ledger import Account
from jackpot.core.notices import Notified
from jackpot.core.runs import Run
from jackpot.core.site import Site, SiteCommand, SiteEvent, evolve_site, plain_site, site_of
from jackpot.core.site_once import IdentifiedSite, SiteDecision, decide_site_once
from jackpot.core.snapshot import WHOLE, jackpot_of, parts_of
from jackpot.core.state import NEW, Jackpot
from jackpot.store import tables
from jackpot.store.chain import GENESIS, SITE, EventRow, canonical
from jackpot.store.database import Database
from jackpot.store.errors import Fenced, Rejected, StoreError
from jackpot.store.line import Line, OvertakenError
from jackpot.store.memory import Memory, recalled_command, recalled_from, wagers_of_rounds
from jackpot.store.outbox import NoticeRow, notice_rows
from jackpot.store.projection import Projection, new_projection
from jackpot.store.rows import linked, transfer_rows

Outcome = Decision | Refused

_FENCE: Final = "UPDATE chains SET seq = ?, head = ? WHERE chain = ? AND epoch = ? AND seq = ?"
_BALANCE: Final = "ON CONFLICT (chain, account) DO UPDATE SET balance_cents = excluded.balance_cents"
_STATE: Final = "ON CONFLICT (chain, part) DO UPDATE SET body = excluded.body"


class Head(NamedTuple):
    """Where a chain ends, and the epoch at which it may be written."""

    seq: int
    hash: bytes
    epoch: int


class Chain:
    """One chain and the right to write it; the fence is the first statement of every transaction."""

    def __init__(self, database: Database, name: str, head: Head) -> None:
        self.database = database
        self.name = name
        self.head = head
        self._unseen: Head | None = None

    def next_rows(self, events: Iterable[Event | SiteEvent]) -> list[EventRow]:
        """The rows these events would be, each hashed with the one before."""
        rows, before, seq = [], self.head.hash, self.head.seq
        for event in events:
            seq += 1
            row = linked(self.name, seq, before, event)
            before = row.hash
            rows.append(row)
        return rows

    def commit(self, rows: Sequence[EventRow], write: Callable[[Line], None]) -> None:
        """Fence, append, and whatever `write` adds, in one transaction.

        If the connection breaks while it is being committed, what became of it is read back: unknown is not failed.
        """
        after = Head(rows[-1].seq, rows[-1].hash, self.head.epoch)
        try:
            with self.database.line() as line:
                line.begin(_FENCE, (after.seq, after.hash, self.name, self.head.epoch, self.head.seq))
                line.insert(tables.events, rows)
                write(line)
                self._unseen = after
                line.commit()
        except OvertakenError:
            self._unseen = None
            raise self._fenced() from None
        except StoreError:
            if not self.landed():
                raise
        self._unseen = None
        self.head = after

    def release(self) -> None:
        """Let others know that nobody writes this chain now; whoever took it over meanwhile is not disturbed."""
        mine = (tables.chains.c.chain == self.name) & (tables.chains.c.epoch == self.head.epoch)
        with self.database.transaction() as connection:
            connection.execute(update(tables.chains).where(mine).values(owner=""))

    def landed(self) -> bool:
        """Whether a commit whose end was not seen took place; while the store cannot tell, it is asked again."""
        after = self._unseen
        if after is None:
            return False
        with self.database.reader() as connection:
            row = connection.execute(select(tables.chains).where(tables.chains.c.chain == self.name)).one()
        self._unseen = None
        took_place = (row.seq, bytes(row.head), row.epoch) == (after.seq, after.hash, after.epoch)
        if took_place:
            self.head = after
        return took_place

    def require_mine(self) -> None:
        """Raise `Fenced` where another has taken over, without writing anything."""
        with self.database.reader() as connection:
            epochs = select(tables.chains.c.epoch).where(tables.chains.c.chain == self.name)
            if connection.execute(epochs).scalar_one_or_none() != self.head.epoch:
                raise self._fenced()

    def _fenced(self) -> Fenced:
        return Fenced(f"the chain {self.name} is no longer written at epoch {self.head.epoch}: another took over")

    def raise_epoch(self, seen_epoch: int) -> None:
        """Go on at an epoch above one that was seen elsewhere: after a restore the broker may remember a higher one."""
        mine = (tables.chains.c.chain == self.name) & (tables.chains.c.epoch == self.head.epoch)
        with self.database.transaction() as connection:
            raised = connection.execute(update(tables.chains).where(mine).values(epoch=seen_epoch + 1)).rowcount
        if raised != 1:
            raise self._fenced()
        self.head = self.head._replace(epoch=seen_epoch + 1)


def take_over(database: Database, name: str, owner: str, *, seen_epoch: int = 0) -> Chain:
    """Own a chain at a new epoch, above the last one and any that was seen elsewhere; a new chain begins empty."""
    with database.transaction() as connection:
        row = connection.execute(select(tables.chains).where(tables.chains.c.chain == name)).one_or_none()
        if row is None:
            first = {"chain": name, "seq": 0, "head": GENESIS, "epoch": seen_epoch + 1, "owner": owner}
            connection.execute(insert(tables.chains).values(**first, signed=0))
            return Chain(database, name, Head(0, GENESIS, seen_epoch + 1))
        epoch = max(row.epoch, seen_epoch) + 1
        moved = connection.execute(
            update(tables.chains)
            .where(tables.chains.c.chain == name, tables.chains.c.epoch == row.epoch)
            .values(epoch=epoch, owner=owner)
            .returning(tables.chains.c.seq, tables.chains.c.head)
        ).one_or_none()
        if moved is None:
            raise Fenced(f"the chain {name} was taken over by another at the same moment: try again")
    return Chain(database, name, Head(moved.seq, bytes(moved.head), epoch))


Where = Callable[[Callable[[], "_Prepared"]], "_Prepared"]


def here(prepare: Callable[[], _Prepared]) -> _Prepared:
    """Prepare a batch in the thread that writes it."""
    return prepare()


class _NotRememberedError(Exception):
    """A wager would be refused, and the store was not asked yet whether it knows its id."""


class _Prepared(NamedTuple):
    """A batch that was decided: its outcomes, and all the rows it would be."""

    outcomes: list[Outcome]
    rows: list[EventRow]
    moved: list[tuple[Any, ...]]
    projection: Projection
    parts: list[tuple[str, str, str]]
    after: Jackpot
    notices: list[NoticeRow]


class Book:
    """A jackpot's chain with the state it stands for."""

    def __init__(self, chain: Chain, jackpot: Jackpot, notified: Notified | None = None) -> None:
        self.chain = chain
        self.jackpot = jackpot
        self.noticed = 0
        self._notified = notified
        self._unseen: tuple[Jackpot, list[Outcome]] | None = None

    @classmethod
    def open(
        cls, database: Database, name: str, owner: str, *, seen_epoch: int = 0, notified: Notified | None = None
    ) -> Book:
        """Take a jackpot over and read its state tables, never its history."""
        chain = take_over(database, name, owner, seen_epoch=seen_epoch)
        with database.reader() as connection:
            return cls(chain, read_jackpot(connection, name), notified)

    def ask(
        self, asked: Sequence[Command | Identified], where: Where = here, top_up: Callable[[], None] = lambda: None
    ) -> list[Outcome]:
        """Carry out a batch: one transaction, then the outcomes, in order. A refusal does not disturb the others.

        A wager on the round being played is not looked up among past ones before it is accepted: the database's key
        tells if its id was used, and then the batch is decided anew with all that the store remembers. `where` says
        in which thread the batch is decided and made into rows; it is written in this one. `top_up` may add to `asked`,
        just before it is decided, wagers that `is_fresh` has been asked about.
        """
        self.resolve()
        try:
            memory = self._recalled([c for c in asked if not self.is_fresh(c)])
            return self._commit(where(lambda: self._topped_up(asked, memory, top_up)))
        except (Rejected, _NotRememberedError):
            known = self._recalled(asked)
            return self._commit(where(lambda: self._prepared(asked, known)))

    def _topped_up(
        self, asked: Sequence[Command | Identified], memory: Memory, top_up: Callable[[], None]
    ) -> _Prepared:
        top_up()
        return self._prepared(asked, memory)

    def _prepared(self, asked: Sequence[Command | Identified], memory: Memory) -> _Prepared:
        """The batch decided, and the rows it would be."""
        working, outcomes = _decided(self.jackpot, asked, memory)
        events = [event for outcome in outcomes if type(outcome) is Decision for event in outcome.events]
        rows = self.chain.next_rows(events)
        projection = new_projection(self.chain.name)
        for row, event in zip(rows, events, strict=True):
            projection.add(row.seq, event)
        moved = [entry for row, e in zip(rows, events, strict=True) for entry in transfer_rows(row, e.transfers)]
        touched = {e.table for e in events if e.type is not EventType.WAGER_ACCEPTED and e.table in working.tables}
        parts = state_rows(self.chain.name, parts_of(working, sorted(table for table in touched if table)))
        notices = notice_rows(self._notified, self.jackpot.balances, events, rows)
        return _Prepared(outcomes, rows, moved, projection, parts, working, notices)

    def resolve(self) -> list[Outcome] | None:
        """The outcomes of the last batch where its commit broke off and yet took place; None where there is none."""
        unseen = self._unseen
        if unseen is None:
            return None
        landed = self.chain.landed()
        self._unseen = None
        if not landed:
            return None
        self.jackpot = unseen[0]
        return unseen[1]

    def _commit(self, prepared: _Prepared) -> list[Outcome]:
        """Write it all in one transaction; where nothing happened, there is nothing to write."""
        if not prepared.rows:
            return prepared.outcomes

        def write(line: Line) -> None:
            line.insert(tables.transfers, prepared.moved)
            prepared.projection.write(line)
            write_balances(line, self.chain.name, self.jackpot, prepared.after)
            write_states(line, prepared.parts)
            line.insert(tables.outbox, prepared.notices)

        self._unseen = prepared.after, prepared.outcomes
        self.chain.commit(prepared.rows, write)
        self._unseen = None
        self.jackpot = prepared.after
        self.noticed += len(prepared.notices)
        return prepared.outcomes

    def _recalled(self, asked: Sequence[Command | Identified]) -> Memory:
        """What the store remembers of these commands' ids."""
        wagers = [c for c in asked if type(c) is PlaceWager]
        identified = [c for c in asked if type(c) is Identified]
        if not wagers and not identified:
            return Memory()
        with self.chain.database.reader() as connection:
            return recalled_from(connection, self.chain.name, wagers, identified)

    def is_fresh(self, asked: Command | Identified) -> bool:
        """Whether this is a wager on the round being played, which the state may know and no past round should."""
        if type(asked) is not PlaceWager:
            return False
        table = self.jackpot.tables.get(asked.table)
        return table is not None and table.number == asked.round


def _decided(jackpot: Jackpot, asked: Sequence[Command | Identified], memory: Memory) -> tuple[Jackpot, list[Outcome]]:
    """The state after these commands, and how each ended."""
    outcomes: list[Outcome] = []
    for wagers, stretch in groupby(asked, key=lambda command: type(command) is PlaceWager):
        if wagers:
            run = Run(jackpot)
            outcomes += [_placed(run, cast("PlaceWager", wager), memory) for wager in stretch]
            jackpot = run.end()
            continue
        for command in stretch:
            try:
                decision = decide(jackpot, memory.recalled(command))
            except Refused as refused:
                outcomes.append(refused)
                continue
            for event in decision.events:
                if event.type is EventType.ROUND_OPENED:
                    memory.keep(jackpot.tables[event.table or ""])
                jackpot = evolve(jackpot, event)
            memory.note(command, decision.answer)
            outcomes.append(decision)
    return jackpot, outcomes


def _placed(run: Run, wager: PlaceWager, memory: Memory) -> Outcome:
    try:
        return run.place(memory.recalled_wager(wager))
    except Refused as refused:
        if not memory.has_looked_up(wager):
            raise _NotRememberedError from None  # a refusal says the first reason that applies
        return refused


class SiteBook:
    """The site's chain with the site it stands for."""

    def __init__(self, chain: Chain, site: Site) -> None:
        self.chain = chain
        self.site = site

    @classmethod
    def open(cls, database: Database, owner: str) -> SiteBook:
        """Take the site's chain over and read its state."""
        chain = take_over(database, SITE, owner)
        with database.reader() as connection:
            return cls(chain, read_site(connection))

    def ask(self, asked: SiteCommand | IdentifiedSite) -> SiteDecision:
        """Carry out one command, durably, or raise its refusal; what was carried out under its id is answered again."""
        decision = decide_site_once(self.site, self._recalled(asked))
        if decision.event is None:
            return decision
        after = evolve_site(self.site, decision.event)
        body = state_rows(SITE, {"site": plain_site(after)})
        rows = self.chain.next_rows([decision.event])
        ids = new_projection(SITE)
        ids.add_site(rows[0].seq, decision.event)

        def write(line: Line) -> None:
            write_states(line, body)
            ids.write(line)

        self.chain.commit(rows, write)
        self.site = after
        return decision

    def _recalled(self, asked: SiteCommand | IdentifiedSite) -> SiteCommand | IdentifiedSite:
        """The command with what the store remembers of its id."""
        if not isinstance(asked, IdentifiedSite):
            return asked
        with self.chain.database.reader() as connection:
            return asked._replace(earlier=recalled_command(connection, SITE, asked.command_id))


def read_jackpot(connection: Connection, chain: str) -> Jackpot:
    """A jackpot's state from the state tables; a chain with no event yet has none."""
    parts = connection.execute(select(tables.states.c.part, tables.states.c.body).where(tables.states.c.chain == chain))
    plain = {part: json.loads(body) for part, body in parts}
    if not plain:
        return NEW
    held = connection.execute(
        select(tables.balances.c.account, tables.balances.c.balance_cents).where(tables.balances.c.chain == chain)
    )
    balances = dict.fromkeys(Account, 0) | {Account(a): cents for a, cents in held}
    rounds = {part["id"]: part["round"]["number"] for name, part in plain.items() if name != WHOLE and part["round"]}
    return jackpot_of(plain, balances, wagers_of_rounds(connection, chain, rounds))


def read_site(connection: Connection) -> Site:
    """The site's state from the state tables."""
    body = connection.execute(select(tables.states.c.body).where(tables.states.c.chain == SITE)).scalar_one_or_none()
    return site_of(json.loads(body)) if body else Site()


def write_balances(line: Line, chain: str, before: Jackpot, after: Jackpot) -> None:
    """Write the balances that changed; a new chain gets a row for each account."""
    changed = [
        (chain, account.value, cents)
        for account, cents in after.balances.items()
        if not before.id or cents != before.balances[account]
    ]
    line.insert(tables.balances, changed, _BALANCE)


def write_states(line: Line, rows: list[tuple[str, str, str]]) -> None:
    """Write the parts of a state that changed."""
    line.insert(tables.states, rows, _STATE)


def state_rows(chain: str, parts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The parts of a state as rows."""
    return [(chain, part, canonical(plain)) for part, plain in parts.items()]
