"""The retained state that an earlier controller left with the broker: its epoch, failed tables and lamps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from jackpot.engine.view_models import MeterMessage, TableStateMessage
from jackpot.wire import messages
from jackpot.wire.messages import Malformed
from jackpot.wire.mqtt_session import Address, MqttSession
from jackpot.wire.mqtt_transport import ReceivedMessage
from jackpot.wire.topics import Topics

PROBE_SECONDS: Final = 1.0


class RetainedState(NamedTuple):
    """The epoch of the retained `controller` message, tables suspended by a store failure, and all lamps.

    `failed` has the seq of each table's retained state: a failure that is on record is in the trail up to there.
    `lamps` are by table and box, and include boxes that their table does not have. `mark` is the note of the signed
    mark, "" if there is none; `seq` the highest number in messages that are not signed.
    """

    epoch: int = 0
    failed: Mapping[str, int] = {}
    lamps: Collection[tuple[str, int]] = ()
    mark: str = ""
    seq: int = 0


class _RetainedCollector:
    """Collects retained messages until every expected one has arrived."""

    def __init__(self, topics: Topics, jackpot: str, tables: Collection[str]) -> None:
        self._controller = topics.controller(jackpot)
        self._jackpot = jackpot
        self._tables = {topics.state(table): table for table in tables}
        self._mark = topics.mark(jackpot)
        self._meter = topics.meter(jackpot)
        self._missing = {self._controller, self._mark, *self._tables}
        self._epoch = 0
        self._failed: dict[str, int] = {}
        self._box_of = topics.box_of
        self._lamps: set[tuple[str, int]] = set()
        self._note = ""
        self._seq = 0
        first = [topics.every_lamp, self._meter]  # not waited for
        self.filters = [*first, self._controller, self._mark, topics.state("+")]
        self.complete = asyncio.Event()

    @property
    def found(self) -> RetainedState:
        """The retained state collected so far."""
        return RetainedState(self._epoch, self._failed, self._lamps, self._note, self._seq)

    def receive(self, message: ReceivedMessage) -> None:
        """Take in one message."""
        try:
            if message.topic == self._controller:
                self._epoch = messages.read(messages.ControllerMessage, message.payload).epoch
            elif message.topic in self._tables:
                self._receive_state(self._tables[message.topic], message.payload)
            elif message.topic == self._mark:
                self._note = messages.read(messages.MarkMessage, message.payload).note
            elif message.topic == self._meter:
                self._see(messages.read(MeterMessage, message.payload).seq)
            elif (lamp := self._box_of(message.topic)) is not None:
                self._lamps.add(lamp)
                if lamp[0] in self._tables.values():
                    self._see(messages.read(messages.LampMessage, message.payload).seq)
        except Malformed:
            pass  # it will be overwritten
        self._missing.discard(message.topic)
        if not self._missing:
            self.complete.set()

    def _receive_state(self, table: str, payload: bytes) -> None:
        state = messages.read(TableStateMessage, payload)
        if state.jackpot == self._jackpot:
            self._see(state.seq)
            if state.suspended == "store":
                self._failed[table] = state.seq

    def _see(self, seq: int) -> None:
        self._seq = max(self._seq, seq)


async def read_retained(
    address: Address, topics: Topics, jackpot: str, tables: Collection[str], probe: str
) -> RetainedState:
    """Read the retained state of a jackpot with these tables; waits for the broker as long as it takes.

    This uses a connection of its own, before the real one: its will must name an epoch, and it overwrites the states.
    """
    collector = _RetainedCollector(topics, jackpot, tables)
    subscribed = asyncio.Event()

    def received(message: ReceivedMessage) -> None:
        session.acknowledge(message)
        collector.receive(message)

    async def connected() -> None:
        await session.subscribe(collector.filters)
        subscribed.set()

    session = MqttSession(address, probe, on_message=received, on_connect=connected, clean=True)
    running = asyncio.create_task(session.run())
    try:
        await subscribed.wait()
        async with asyncio.timeout(PROBE_SECONDS):
            await collector.complete.wait()
    except TimeoutError:
        pass  # not everything is retained: a new table, or a broker that lost its memory
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return collector.found
