"""The journal of one jackpot: a batch of commands in, one transaction, the outcomes out.

A batch passes through the phases look up ids → decide → stage → commit, one method each. `Writer` collects the batch
before them and delivers the outcomes after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple, cast

from jackpot.core.commands import Command, Identified, PlaceWager, not_before
from jackpot.core.decide import decide
from jackpot.core.events import Event, EventType
from jackpot.core.evolve import evolve
from jackpot.core.notices import NoticeTarget
from jackpot.core.results import Decision, Refused
from jackpot.core.snapshot import parts_of
from jackpot.core.state import Jackpot
from jackpot.core.wager_batch import WagerBatch
from jackpot.engine.lease import Lease, Seal, acquire_lease, unsealed
from jackpot.store import queries, tables
from jackpot.store.database import Database
from jackpot.store.errors import Rejected
from jackpot.store.event_rows import transfer_rows
from jackpot.store.hash_chain import EventRow
from jackpot.store.idempotency import KnownIds, look_up
from jackpot.store.outbox import NoticeRow, notice_rows
from jackpot.store.projection import Projection, new_projection
from jackpot.store.state_tables import StateRow, read_jackpot, state_rows, write_balances, write_states
from jackpot.store.write_connection import WriteConnection

Outcome = Decision | Refused


class IdNotLookedUpError(Exception):
    """A wager is to be refused, and its id was not looked up yet."""


class DecidedBatch(NamedTuple):
    """A batch after the decide phase: its commands, the outcome of each, the events, and the state after them."""

    commands: Sequence[Command | Identified]
    outcomes: list[Outcome]
    events: list[Event]
    after: Jackpot


class StagedBatch(NamedTuple):
    """A decided batch with every row that its transaction writes."""

    decided: DecidedBatch
    rows: list[EventRow]
    transfers: list[tuple[Any, ...]]
    projection: Projection
    states: list[StateRow]
    notices: list[NoticeRow]


class Journal:
    """A jackpot's chain of events with the state it gives."""

    def __init__(
        self, lease: Lease, jackpot: Jackpot, notice_target: NoticeTarget | None = None, last_at: str = ""
    ) -> None:
        self.lease = lease
        self.jackpot = jackpot
        self.last_at = last_at
        """The time of the last event; no later event has an earlier one."""
        self.notices_written = 0
        self._notice_target = notice_target
        self._attempts: dict[bytes, DecidedBatch] = {}
        """Batches whose commit has an unknown outcome, by the hash of their last event."""

    @classmethod
    def open(  # noqa: PLR0913 - the terms of the lease
        cls,
        database: Database,
        name: str,
        owner: str,
        *,
        seen_epoch: int = 0,
        notice_target: NoticeTarget | None = None,
        seal: Seal = unsealed,
        at: int | None = None,
        mark_epoch: int = 0,
    ) -> Journal:
        """Acquire the lease on a jackpot and read its state tables, never its history.

        With `at`, the lease is acquired only if its epoch is still this one.
        """
        lease = acquire_lease(database, name, owner, seen_epoch=seen_epoch, seal=seal, at=at, mark_epoch=mark_epoch)
        with database.reader() as connection:
            last_at = queries.last_event_time(connection, name) or ""
            return cls(lease, read_jackpot(connection, name), notice_target, last_at)

    def execute(self, commands: Sequence[Command | Identified]) -> list[Outcome]:
        """Carry out a batch without a writer thread: all phases in this thread."""
        self.resolve_unconfirmed()
        try:
            return self._execute(commands, self.look_up_ids(commands))
        except (Rejected, IdNotLookedUpError):
            return self._execute(commands, self.look_up_ids(commands, every_id=True))

    def _execute(self, commands: Sequence[Command | Identified], known_ids: KnownIds) -> list[Outcome]:
        return self.commit(self.stage(self.decide(commands, known_ids)))

    def look_up_ids(self, commands: Sequence[Command | Identified], *, every_id: bool = False) -> KnownIds:
        """Look up in the store the ids of these commands that the state no longer knows.

        The ids of wagers on current rounds are in the state, so they are looked up only with `every_id`: when a wager
        is to be refused, or when the key of the wagers table has found an id of an earlier round. Looking them all up
        takes 1.3 times as long for a wager alone on SQLite, 2.8 times on PostgreSQL (`bench/hot_path.py`).
        """
        looked_up = commands if every_id else [c for c in commands if not self.targets_current_round(c)]
        wagers = [c for c in looked_up if type(c) is PlaceWager]
        identified = [c for c in looked_up if type(c) is Identified]
        if not wagers and not identified:
            return KnownIds()
        with self.lease.database.reader() as connection:
            return look_up(connection, self.lease.chain, wagers, identified)

    def decide(self, commands: Sequence[Command | Identified], known_ids: KnownIds) -> DecidedBatch:
        """Decide each command in order; a refusal does not disturb the others.

        Raises `IdNotLookedUpError` if a wager is to be refused whose id was not looked up: a reused id comes before
        every other reason of a refusal.
        """
        decided = _decide_batch(self.jackpot, _in_time_order(commands, self.last_at), known_ids)
        return decided._replace(commands=commands)  # as they were given: a landed batch is recognised by them

    def stage(self, decided: DecidedBatch) -> StagedBatch:
        """Build every row of the batch's transaction: events, transfers, projections, states and notices."""
        chain, events = self.lease.chain, decided.events
        rows = self.lease.next_rows(events)
        projection = new_projection(chain)
        transfers: list[tuple[Any, ...]] = []
        for row, event in zip(rows, events, strict=True):
            projection.add(row.seq, event)
            transfers += transfer_rows(row, event.transfers)
        tables_of = decided.after.tables
        changed = {e.table for e in events if e.type is not EventType.WAGER_ACCEPTED and e.table in tables_of}
        states = state_rows(chain, parts_of(decided.after, sorted(table for table in changed if table)))
        notices = notice_rows(self._notice_target, self.jackpot.balances, events, rows)
        return StagedBatch(decided, rows, transfers, projection, states, notices)

    def commit(self, staged: StagedBatch) -> list[Outcome]:
        """Write the batch in one transaction; where there are no events, there is nothing to write."""
        decided = staged.decided
        if not staged.rows:
            return decided.outcomes

        def write(connection: WriteConnection) -> None:
            connection.insert(tables.transfers, staged.transfers)
            staged.projection.write(connection)
            write_balances(connection, self.lease.chain, self.jackpot, decided.after)
            write_states(connection, staged.states)
            connection.insert(tables.outbox, staged.notices)

        last = staged.rows[-1].hash
        self._attempts[last] = decided
        try:
            self.lease.append(staged.rows, write)
        except Rejected:
            self._attempts.pop(last)  # it is known to have had no effect
            raise
        self._attempts.clear()
        self.jackpot, self.last_at = decided.after, decided.events[-1].at
        self.notices_written += len(staged.notices)
        return decided.outcomes

    def resolve_unconfirmed(self) -> DecidedBatch | None:
        """Return the batch whose commit broke off and yet took place, else None."""
        if self.lease.head.hash not in self._attempts and self.lease.find_landed() is None:
            return None
        landed = self._attempts[self.lease.head.hash]
        self._attempts.clear()
        self.jackpot, self.last_at = landed.after, landed.events[-1].at
        return landed

    def targets_current_round(self, command: Command | Identified) -> bool:
        """Return True for a wager on its table's current round, whose ids the state holds."""
        if type(command) is not PlaceWager:
            return False
        table = self.jackpot.tables.get(command.table)
        return table is not None and table.number == command.round


def _in_time_order(commands: Sequence[Command | Identified], last_at: str) -> Sequence[Command | Identified]:
    """Return the commands with times that never run backwards, also after the clock was set back."""
    ordered = []
    for command in commands:
        at = command.at
        if at < last_at:
            ordered.append(not_before(command, last_at))
        else:
            ordered.append(command)
            last_at = at
    return ordered


def _decide_batch(jackpot: Jackpot, commands: Sequence[Command | Identified], known_ids: KnownIds) -> DecidedBatch:
    outcomes: list[Outcome] = []
    for are_wagers, stretch in groupby(commands, key=lambda command: type(command) is PlaceWager):
        if are_wagers:
            batch = WagerBatch(jackpot)
            outcomes += [_place(batch, cast("PlaceWager", wager), known_ids) for wager in stretch]
            jackpot = batch.finish()
            continue
        for command in stretch:
            try:
                decision = decide(jackpot, known_ids.with_earlier(command))
            except Refused as refused:
                outcomes.append(refused)
                continue
            for event in decision.events:
                if event.type is EventType.ROUND_OPENED:
                    known_ids.keep_round(jackpot.tables[event.table or ""])
                jackpot = evolve(jackpot, event)
            known_ids.keep_command(command, decision.answer)
            outcomes.append(decision)
    events = [event for outcome in outcomes if type(outcome) is Decision for event in outcome.events]
    return DecidedBatch(commands, outcomes, events, jackpot)


def _place(batch: WagerBatch, wager: PlaceWager, known_ids: KnownIds) -> Outcome:
    try:
        decision = decide(batch.jackpot, known_ids.with_earlier_wager(wager))
    except Refused as refused:
        if not known_ids.has_looked_up(wager):
            raise IdNotLookedUpError from None
        return refused
    for event in decision.events:
        batch.post(event)
    return decision
