"""A jackpot that another controller owns, followed in the store, so that pages and feeds show it here, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby, islice
from typing import Final, NamedTuple

import structlog
from sqlalchemy import Connection

from jackpot.core.commands import Command, Identified
from jackpot.core.events import Event, EventType
from jackpot.core.evolve import evolve
from jackpot.core.results import Decision
from jackpot.core.state import Jackpot
from jackpot.core.wager_batch import WagerBatch
from jackpot.engine.committed_state import CommittedState, NumberedEvents, Position
from jackpot.engine.controllers import Ownership, live_controllers, ownerships
from jackpot.engine.equipment import EquipmentMonitor
from jackpot.engine.quarantine import new_quarantine
from jackpot.engine.writer import Reply
from jackpot.store.database import Database
from jackpot.store.errors import Fenced
from jackpot.store.event_rows import event_from_row, rows_of_chain
from jackpot.store.state_tables import read_jackpot

FOLLOW_SECONDS: Final = 0.5
MAX_EVENTS: Final = 5_000
"""With more new events than this, the state is read again instead."""

log = structlog.get_logger()


class StoredJackpot(NamedTuple):
    """What one reading found: the state, the new events that led to it, and its owner.

    `events` is None if the state was read as a whole.
    """

    jackpot: Jackpot
    position: Position
    events: NumberedEvents | None
    owner: str
    has_owner: bool
    owner_connected: bool


class JackpotFollower:
    """Follows a jackpot's chain in the store; a jackpot's service takes its place when this controller takes over."""

    owned: Final = False

    def __init__(self, database: Database, name: str, found: StoredJackpot) -> None:
        self.id = name
        self._database = database
        self._stopped = False
        self.committed = CommittedState(found.jackpot, found.position)
        self.committed.broker_connected = found.owner_connected
        self.equipment = EquipmentMonitor(self.committed, _refuse)
        self.quarantine = new_quarantine()
        self.listening = asyncio.Event()
        self.listening.set()
        self.owner, self.has_owner = found.owner, found.has_owner
        self.on_reload: Callable[[], None] = lambda: None
        """Called after the state was read as a whole, so that subscribers have missed events."""

    @classmethod
    def open(cls, database: Database, name: str) -> JackpotFollower:
        """Read the state of a jackpot, to follow it from there."""
        with database.reader() as connection:
            return cls(database, name, _read_whole(connection, name))

    def submit(self, _command: Command | Identified) -> Future[Decision]:
        """Refuse a command: only the owner carries it out."""
        refused: Future[Decision] = Future()
        refused.set_exception(Fenced(f"another controller owns {self.id}"))
        return refused

    async def run(self) -> None:
        """Follow until cancelled or stopped."""
        while not self._stopped:
            await self.follow()
            await asyncio.sleep(FOLLOW_SECONDS)

    async def follow(self) -> None:
        """Read once what is new, and take it in; after a failure the whole state is read."""
        committed = self.committed
        try:
            found = await asyncio.to_thread(self._read, committed.jackpot, committed.position)
        except Exception as error:  # noqa: BLE001 - a standby must not end because of what it reads
            if not committed.store_failed:
                log.warning("jackpot not followed", jackpot=self.id, problem=str(error) or repr(error))
                committed.store_failed = True
                committed.notify_status()
            return
        if not self._stopped:
            self._take_in(found)

    def stop(self) -> None:
        """Take in nothing from now on."""
        self._stopped = True

    def _read(self, jackpot: Jackpot, position: Position) -> StoredJackpot:
        with self._database.reader() as connection:
            if self.committed.store_failed:
                return _read_whole(connection, self.id)
            return _read_new(connection, self.id, jackpot, position)

    def _take_in(self, found: StoredJackpot) -> None:
        committed = self.committed
        before = self._status()
        committed.jackpot, committed.position = found.jackpot, found.position
        committed.store_failed, committed.broker_connected = False, found.owner_connected
        self.owner, self.has_owner = found.owner, found.has_owner
        if found.events:
            committed.notify_commit(found.events)
        if found.events is None:
            self.on_reload()
        if self._status() != before:
            committed.notify_status()

    def _status(self) -> tuple[object, ...]:
        committed = self.committed
        return committed.store_failed, committed.broker_connected, self.owner, self.has_owner, committed.position.epoch


def _read_new(connection: Connection, name: str, jackpot: Jackpot, position: Position) -> StoredJackpot:
    """Read the events after a position, and the state after them; or the whole state, if that is far ahead."""
    found = ownerships(connection).get(name)
    if found is None or not jackpot.id or not position.seq <= found.seq <= position.seq + MAX_EVENTS:
        return _read_whole(connection, name)
    is_new = found.seq > position.seq
    rows = list(islice(rows_of_chain(connection, name, position.seq), MAX_EVENTS)) if is_new else []
    events = [(row.seq, event_from_row(row)) for row in rows]
    return _with_owner(connection, found, _after(jackpot, [event for _, event in events]), events)


def _read_whole(connection: Connection, name: str) -> StoredJackpot:
    found = ownerships(connection).get(name, Ownership(name, "", 0, 0, None))
    return _with_owner(connection, found, read_jackpot(connection, name), None)


def _with_owner(
    connection: Connection, found: Ownership, jackpot: Jackpot, events: NumberedEvents | None
) -> StoredJackpot:
    owner = live_controllers(connection).get(found.owner) if found.owner else None
    return StoredJackpot(
        jackpot,
        Position(found.epoch, found.seq),
        events,
        found.owner,
        has_owner=owner is not None,
        owner_connected=owner is not None and owner.broker,
    )


def _after(jackpot: Jackpot, events: Sequence[Event]) -> Jackpot:
    """Return the state after these events; consecutive wagers are posted together, as the journal does."""
    for are_wagers, stretch in groupby(events, key=lambda event: event.type is EventType.WAGER_ACCEPTED):
        if are_wagers:
            batch = WagerBatch(jackpot)
            for event in stretch:
                batch.post(event)
            jackpot = batch.finish()
        else:
            for event in stretch:
                jackpot = evolve(jackpot, event)
    return jackpot


def _refuse(_command: object, _reply: Reply) -> None:
    """Ignore what the equipment would report: nothing is heard of it here."""
