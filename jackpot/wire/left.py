"""What an earlier controller left with the broker: its epoch, tables that it could only say were suspended, lamps."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from jackpot.wire import messages
from jackpot.wire.messages import Malformed
from jackpot.wire.session import Address, Session
from jackpot.wire.stream import Letter
from jackpot.wire.topics import Topics

PROBE_SECONDS: Final = 1.0


class Left(NamedTuple):
    """The epoch in the retained `controller` message, and the tables whose retained state says that the store failed.

    Of each such table the seq of its state is told: where the failure is on record, it is in the trail up to there.
    Lamps are told by table and box, of all tables: a box may be one that its table does not have.
    """

    epoch: int = 0
    failed: Mapping[str, int] = {}
    lamps: Collection[tuple[str, int]] = ()


class _Probe:
    """Hears what is retained until there is nothing more to wait for."""

    def __init__(self, topics: Topics, jackpot: str, tables: Collection[str]) -> None:
        self._controller = topics.controller(jackpot)
        self._jackpot = jackpot
        self._tables = {topics.state(table): table for table in tables}
        self._missing = {self._controller, *self._tables}
        self._epoch = 0
        self._failed: dict[str, int] = {}
        self._box_of = topics.box_of
        self._lamps: set[tuple[str, int]] = set()
        self.filters = [topics.every_lamp, self._controller, topics.state("+")]  # in this order: lamps are not awaited
        self.complete = asyncio.Event()

    @property
    def left(self) -> Left:
        """What was found."""
        return Left(self._epoch, self._failed, self._lamps)

    def hear(self, letter: Letter) -> None:
        """Take one message in."""
        try:
            if letter.topic == self._controller:
                self._epoch = messages.read(messages.ControllerMessage, letter.payload).epoch
            elif letter.topic in self._tables:
                self._hear_state(self._tables[letter.topic], letter.payload)
            elif (lamp := self._box_of(letter.topic)) is not None:
                self._lamps.add(lamp)
        except Malformed:
            pass  # whoever wrote that, it will be overwritten
        self._missing.discard(letter.topic)
        if not self._missing:
            self.complete.set()

    def _hear_state(self, table: str, payload: bytes) -> None:
        state = messages.read(messages.TableStateMessage, payload)
        if (state.jackpot, state.suspended) == (self._jackpot, "store"):
            self._failed[table] = state.seq


async def look(address: Address, topics: Topics, jackpot: str, tables: Collection[str], probe: str) -> Left:
    """What is left of a jackpot with these tables; waits for the broker as long as it takes.

    This is asked with a connection of its own, before the will of the real one must name an epoch, and before the
    retained states are overwritten.
    """
    hearing = _Probe(topics, jackpot, tables)
    subscribed = asyncio.Event()

    def heard(letter: Letter) -> None:
        session.acknowledge(letter)
        hearing.hear(letter)

    async def connected() -> None:
        await session.subscribe(hearing.filters)
        subscribed.set()

    session = Session(address, probe, on_letter=heard, on_connect=connected, clean=True)
    running = asyncio.create_task(session.run())
    try:
        await subscribed.wait()
        async with asyncio.timeout(PROBE_SECONDS):
            await hearing.complete.wait()
    except TimeoutError:
        pass  # not everything is retained: a new table, a broker that forgot
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return hearing.left
