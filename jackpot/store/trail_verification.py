"""Verify the audit trail: hashes, checkpoints, ledger, and every table that can be rebuilt from the events."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from copy import copy
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, Table, create_engine, select
from sqlalchemy.pool import StaticPool

from jackpot.core.events import Event, EventType
from jackpot.core.evolve import evolve
from jackpot.core.ledger import Account
from jackpot.core.site.events import SiteEvent
from jackpot.core.site.evolve import evolve_site
from jackpot.core.site.state import Site, plain_site
from jackpot.core.snapshot import parts_of
from jackpot.core.state import NEW, Jackpot
from jackpot.core.wager_batch import WagerBatch
from jackpot.store import tables
from jackpot.store.checkpoints import CheckpointChain, checkpoints_of
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.event_rows import (
    ROWS_PER_FETCH,
    event_from_row,
    ordered_rows,
    rows_of_chain,
    site_event_from_row,
    transfer_rows,
)
from jackpot.store.hash_chain import GENESIS, SITE, EventRow, canonical, event_hash
from jackpot.store.idempotency import wagers_of_rounds
from jackpot.store.marks import ChainMark, MarkFile, Marks
from jackpot.store.projection import new_projection
from jackpot.store.recoveries import is_given_up, known_problem
from jackpot.store.signed_notes import NoteError, Verifier
from jackpot.store.snapshots import read_snapshot
from jackpot.store.state_tables import read_site
from jackpot.store.store_checks import chains_in, damage, lease_problem, unknown_chain
from jackpot.store.write_connection import SqliteWriteConnection
from rules.errors import shown

_QUERY_TABLES: Final = (tables.wagers, tables.commands, tables.rounds, tables.payouts)


class TrailError(StoreError):
    """The first problem of a trail."""

    def __init__(self, seq: int, problem: str) -> None:
        super().__init__(problem)
        self.seq = seq
        self.problem = problem


class WrongTrail(StoreError):  # noqa: N818
    """A chain is wrong, so it is neither served nor signed."""


class Verified(NamedTuple):
    """The result of the verification of one chain: no problem, or the first one."""

    chain: str
    events: int
    head: str
    checkpoints: int
    wrong_seq: int | None = None
    problem: str | None = None


def every_chain(connection: Connection) -> list[str]:
    """Return every chain that any table names, so that one deleted from the list is still verified."""
    return sorted({SITE, *_chains_with_rows(connection), *_jackpots_of_site(connection)})


def _chains_with_rows(connection: Connection) -> list[str]:
    return [*chains_in(connection, tables.chains), *chains_in(connection, tables.events)]


def _jackpots_of_site(connection: Connection) -> Iterable[str]:
    """Return the jackpots of the site's state; an unreadable state is reported when its chain is verified."""
    try:
        return read_site(connection).jackpots
    except (ValueError, TypeError, LookupError, AttributeError):  # errors that a forged state can cause
        return ()


def verify(database: Database, chain: str, verifier: Verifier, marks: MarkFile | None = None) -> Verified:
    """Verify a chain, its checkpoints, and that replaying its events gives exactly the ledger and the state tables."""
    return Trail(database, chain, verifier, marks).verify()


class Trail:
    """Repeated verification of a chain: all of it or from a snapshot at first, then optionally only its new events."""

    def __init__(self, database: Database, chain: str, verifier: Verifier, marks: MarkFile | None = None) -> None:
        self._database = database
        self._chain = chain
        self._verifier = verifier
        self._marks = marks
        self._replay = Replay(chain)

    @property
    def state(self) -> Jackpot | Site:
        """The state after the last event that was verified."""
        return self._replay.site if self._chain == SITE else self._replay.jackpot

    def verify(self) -> Verified:
        """Verify every event, and every table that is rebuilt from events."""
        return self._verify(Replay(self._chain), whole=True)

    def verify_new(self) -> Verified:
        """Verify the events since the last call, their transfers, and the state after all events.

        Older events and the query tables are not read again: that is for `verify`.
        """
        return self._verify(copy(self._replay), whole=not self._replay.seq)

    def verify_start(self, retained: ChainMark | None = None) -> Verified:
        """Verify what a start relies on: marks, events since the snapshot, balances, states, current rounds' wagers.

        `retained` is a mark that the site has signed and a broker has kept; it is written to the file of marks. Without
        a snapshot, all events are replayed. A mark that a recovery covers is lowered.
        """
        if retained is not None and self._marks is not None:
            self._marks.raise_to(Marks({self._chain: retained}))
        known = self._known()
        replay = Replay(self._chain)
        with self._database.reader() as connection:
            try:
                _verify_known(connection, self._chain, self._verifier, known)
                if self._chain not in _chains_with_rows(connection):
                    return Verified(self._chain, 0, GENESIS.hex(), 0)
                _load_snapshot(connection, replay, self._verifier)
                count = _verify_rows(connection, replay, self._verifier, whole=False)
                _verify_current_wagers(connection, replay)
            except TrailError as error:
                return Verified(self._chain, replay.seq, replay.head.hex(), 0, error.seq, error.problem)
            given_up = is_given_up(connection, self._chain, known)
            epochs = select(tables.chains.c.epoch).where(tables.chains.c.chain == self._chain)
            epoch = connection.execute(epochs).scalar_one_or_none() or 0
        if self._marks is not None and given_up:
            self._marks.lower(self._chain, ChainMark(epoch, replay.seq, replay.head))
        self._replay = replay
        return Verified(self._chain, replay.seq, replay.head.hex(), count)

    def require_start(self, retained: ChainMark | None = None) -> Verified:
        """Raise `WrongTrail` if the chain cannot be served; a chain that does not exist yet can be."""
        return _required(self.verify_start(retained))

    def require_new(self) -> Verified:
        """Raise `WrongTrail` if the events since the last call, or the state after them, are wrong."""
        return _required(self.verify_new())

    def _known(self) -> Marks:
        """Return the marks; read before the store, so that they are never newer than what is read there."""
        return self._marks.read() if self._marks is not None else Marks()

    def _verify(self, replay: Replay, *, whole: bool) -> Verified:
        known = self._known()
        count = 0
        with self._database.reader() as connection:
            try:
                count = _verify_rows(connection, replay, self._verifier, whole=whole)
                _verify_known(connection, self._chain, self._verifier, known)
                _verify_lease(connection, replay, self._verifier, known)
                if whole and self._chain == SITE:
                    _verify_store(connection, replay)
            except TrailError as error:
                self._replay = Replay(self._chain)  # the next verification starts from the first event
                return Verified(self._chain, replay.seq, replay.head.hex(), count, error.seq, error.problem)
        self._replay = replay
        return Verified(self._chain, replay.seq, replay.head.hex(), count)


def _required(found: Verified) -> Verified:
    if found.problem is not None:
        raise WrongTrail(f"the chain {found.chain} is wrong at event {found.wrong_seq:,}: {found.problem}")
    return found


class Replay:
    """The replay of a chain event by event: its hashes, and the state after its events."""

    def __init__(self, chain: str) -> None:
        self.chain = chain
        self.seq = 0
        self.head = GENESIS
        self.site = Site()
        self._jackpot: Jackpot = NEW
        self._wagers: WagerBatch | None = None

    @property
    def jackpot(self) -> Jackpot:
        """The jackpot after the last event."""
        if self._wagers is not None:
            self._jackpot, self._wagers = self._wagers.finish(), None
        return self._jackpot

    @jackpot.setter
    def jackpot(self, jackpot: Jackpot) -> None:
        self._jackpot, self._wagers = jackpot, None

    def follow(self, row: EventRow) -> Event | SiteEvent:
        """Add the next event and return it, or raise `TrailError`."""
        if row.chain != self.chain or row.seq != self.seq + 1:
            raise TrailError(self.seq + 1, f"event {self.seq + 1} is missing: {row.chain} {row.seq} is in its place")
        if event_hash(self.head, row[:-1]) != row.hash:
            raise TrailError(row.seq, f"event {row.seq} does not match its hash or the event before it")
        try:
            event = self._evolve(row)
        except Exception as error:  # noqa: BLE001 - a forged event may cause any error
            raise TrailError(row.seq, f"event {row.seq} cannot have happened: {shown(error)}") from None
        self.seq, self.head = row.seq, row.hash
        return event

    def finish(self) -> None:
        """Post the last wagers, or raise `TrailError`."""
        try:
            self.jackpot  # noqa: B018 - posts them
        except AssertionError as error:
            raise TrailError(self.seq, f"the wagers up to event {self.seq} cannot have happened: {error}") from None

    def _evolve(self, row: EventRow) -> Event | SiteEvent:
        """Apply an event; consecutive wagers are posted to one copy of the state, which takes a third of the time."""
        if self.chain == SITE:
            of_site = site_event_from_row(row)
            self.site = evolve_site(self.site, of_site)
            return of_site
        event = event_from_row(row)
        if event.type is EventType.WAGER_ACCEPTED:
            self._wagers = self._wagers or WagerBatch(self._jackpot)
            self._wagers.post(event)
        else:
            self.jackpot = evolve(self.jackpot, event)
        return event


def _verify_rows(connection: Connection, replay: Replay, verifier: Verifier, *, whole: bool) -> int:
    """Verify the rows after the replay's position, and the query tables if `whole`; return the number of notes."""
    chain, start = replay.chain, replay.seq
    later = checkpoints_of(connection, chain, start)
    notes = _notes_up_to(connection, chain, verifier, start)
    count = notes.count + len(later)
    transfers = connection.execution_options(yield_per=ROWS_PER_FETCH).execute(
        ordered_rows(tables.transfers, chain, start)
    )
    stored = _LookaheadRows(transfers)
    scratch = _scratch_store() if whole else nullcontext(connection)
    with scratch as rebuilt, closing(transfers), closing(rows_of_chain(connection, chain, start)) as rows:
        chunk: list[tuple[int, Event | SiteEvent]] = []
        for row in rows:
            event = replay.follow(row)
            chunk.append((row.seq, event))
            _verify_checkpoint(row, later.pop(row.seq, None), notes)
            if isinstance(event, Event):
                _verify_transfers(row.seq, stored, transfer_rows(row, event.transfers))
            if len(chunk) == ROWS_PER_FETCH:
                _rebuild(rebuilt, chain, chunk, wanted=whole)
                chunk = []
        replay.finish()
        _rebuild(rebuilt, chain, chunk, wanted=whole)
        _verify_head(connection, replay, max(later, default=0), count)
        _verify_transfers(replay.seq + 1, stored, [], rest=True)
        for table in _QUERY_TABLES if whole else ():
            _verify_table(table, connection, rebuilt, chain)
    _verify_balances(connection, replay)
    _verify_states(connection, replay)
    return count


def _notes_up_to(connection: Connection, chain: str, verifier: Verifier, seq: int) -> CheckpointChain:
    try:
        return CheckpointChain.up_to(connection, chain, verifier, seq)
    except NoteError as error:
        raise TrailError(seq, f"the checkpoints up to {seq}: {error}") from None


def _load_snapshot(connection: Connection, replay: Replay, verifier: Verifier) -> None:
    """Continue from the chain's snapshot, if it has one."""
    try:
        found = read_snapshot(connection, replay.chain, verifier)
    except StoreError as error:
        raise TrailError(replay.seq, str(error)) from None
    if found is not None:
        replay.seq, replay.head = found.seq, found.head
        if isinstance(found.state, Site):
            replay.site = found.state
        else:
            replay.jackpot = found.state


def _verify_known(connection: Connection, chain: str, verifier: Verifier, known: Marks) -> None:
    """Compare the store with the heads that are known outside of it."""
    problem = known_problem(connection, chain, verifier, known)
    if problem is not None:
        raise TrailError(problem.seq, problem.says)


def _verify_lease(connection: Connection, replay: Replay, verifier: Verifier, known: Marks) -> None:
    problem = lease_problem(connection, replay.chain, verifier, known.marks.get(replay.chain))
    if problem is not None:
        raise TrailError(replay.seq, problem)


def _verify_store(connection: Connection, replay: Replay) -> None:
    """Check what belongs to no single chain; the site's chain names all chains that exist."""
    problem = damage(connection) or unknown_chain(connection, {SITE, *replay.site.jackpots})
    if problem is not None:
        raise TrailError(replay.seq, problem)


@contextmanager
def _scratch_store() -> Iterator[Connection]:
    """Yield an empty store in which the query tables are rebuilt; SQLite moves it to disk if it gets too large."""
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(""), poolclass=StaticPool)
    try:
        with engine.connect() as connection:
            tables.metadata.create_all(connection)
            connection.commit()
            yield connection
    finally:
        engine.dispose()


def _rebuild(rebuilt: Connection, chain: str, chunk: list[tuple[int, Event | SiteEvent]], *, wanted: bool) -> None:
    """Project these events to the query tables; if that fails, one by one, to name the wrong event."""
    if not wanted:
        return
    try:
        _project(rebuilt, chain, chunk)
    except sqlite3.IntegrityError:
        for seq, event in chunk:
            try:
                _project(rebuilt, chain, [(seq, event)])
            except sqlite3.IntegrityError:
                raise TrailError(seq, f"event {seq} adds a row that an earlier event has added already") from None


def _project(rebuilt: Connection, chain: str, chunk: list[tuple[int, Event | SiteEvent]]) -> None:
    projection = new_projection(chain)
    for seq, event in chunk:
        if isinstance(event, SiteEvent):
            projection.add_site(seq, event)
        else:
            projection.add(seq, event)
    with rebuilt.begin():
        projection.write(SqliteWriteConnection.of(rebuilt))


def _verify_checkpoint(row: EventRow, note: str | None, notes: CheckpointChain) -> None:
    if note is None:
        return
    try:
        notes.follow(row.seq, row.hash, str(note))
    except NoteError as error:
        raise TrailError(row.seq, f"the checkpoint at {row.seq}: {error}") from None


def _verify_transfers(seq: int, stored: _LookaheadRows, expected: list[tuple[Any, ...]], *, rest: bool = False) -> None:
    found = stored.take(lambda row: rest or row.seq <= seq)
    if found != expected:
        first = min([row[1] for row in [*found, *expected]])
        raise TrailError(min(first, seq), f"the transfers of event {min(first, seq)} do not match the ledger")


def _verify_head(connection: Connection, replay: Replay, last_signed: int, notes: int) -> None:
    head = connection.execute(select(tables.chains).where(tables.chains.c.chain == replay.chain)).one_or_none()
    if head is None or type(head.seq) is not int:
        raise TrailError(replay.seq, "the chain has no valid head")
    known = max(last_signed, head.seq)
    if known > replay.seq:
        raise TrailError(replay.seq + 1, f"event {replay.seq + 1} is missing: the chain goes on to {known}")
    if head.seq < replay.seq:
        raise TrailError(head.seq + 1, f"event {head.seq + 1} was added after the chain's head")
    if head.head != replay.head:
        raise TrailError(replay.seq, f"the chain's head is not the hash of its last event, {replay.seq}")
    if head.signed != notes:
        raise TrailError(replay.seq, f"the chain was signed {head.signed} times, but there are {notes} checkpoints")


def _verify_table(table: Table, connection: Connection, rebuilt: Connection, chain: str) -> None:
    stored = connection.execution_options(yield_per=ROWS_PER_FETCH).execute(_select_in_event_order(table, chain))
    with closing(stored), closing(rebuilt.execute(_select_in_event_order(table, chain))) as expected:
        while True:
            found, wanted = stored.fetchone(), expected.fetchone()
            if found is None and wanted is None:
                return
            if found is None or wanted is None or tuple(found) != tuple(wanted):
                seq = min(row.seq for row in (found, wanted) if row is not None)
                raise TrailError(seq, f"the table {table.name} does not match event {seq}")


def _verify_balances(connection: Connection, replay: Replay) -> None:
    of_chain = select(tables.balances.c.account, tables.balances.c.balance_cents)
    held = {
        row.account: row.balance_cents
        for row in connection.execute(of_chain.where(tables.balances.c.chain == replay.chain))
    }
    expected = {account.value: replay.jackpot.balances[account] for account in Account} if replay.jackpot.id else {}
    if held != expected:
        account = next(a for a in sorted({*held, *expected}) if held.get(a) != expected.get(a))
        raise TrailError(
            replay.seq, f"the balance of {account} is {held.get(account)} but must be {expected.get(account)}"
        )


def _verify_states(connection: Connection, replay: Replay) -> None:
    of_chain = select(tables.states.c.part, tables.states.c.body).where(tables.states.c.chain == replay.chain)
    found = {row.part: row.body for row in connection.execute(of_chain)}
    parts = {"site": plain_site(replay.site)} if replay.chain == SITE else {}
    if replay.jackpot.id:
        parts = parts_of(replay.jackpot)
    expected = {part: canonical(plain) for part, plain in parts.items()} if replay.seq else {}
    if found != expected:
        part = next(p for p in sorted({*found, *expected}) if found.get(p) != expected.get(p))
        raise TrailError(replay.seq, f"the part {part} of the state table does not match the events")


def _verify_current_wagers(connection: Connection, replay: Replay) -> None:
    """Compare the wagers of each table's last round, which a start reads into the state."""
    rounds = {table.id: table.round for table in replay.jackpot.tables.values() if table.round is not None}
    found = wagers_of_rounds(connection, replay.chain, {table: played.number for table, played in rounds.items()})
    for table, played in rounds.items():
        if found[table] != list(played.wagers.values()):
            raise TrailError(
                replay.seq, f"the table wagers does not match the events of round {played.number} at table {table}"
            )


class _LookaheadRows:
    """Rows read in order, one row ahead."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = iter(rows)
        self._next = next(self._rows, None)

    def take(self, wanted: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - a predicate over rows
        """Return the rows up to the first that is not wanted."""
        taken = []
        while self._next is not None and wanted(self._next):
            taken.append(tuple(self._next))
            self._next = next(self._rows, None)
        return taken


def _select_in_event_order(table: Table, chain: str) -> Select[Any]:
    """Select rows in the order of their events, which does not depend on the database's collation."""
    return select(table).where(table.c.chain == chain).order_by(table.c.seq, *table.primary_key.columns)
