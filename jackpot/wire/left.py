"""What an earlier controller left with the broker: its epoch, and tables that it could only say were suspended."""

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
    """

    epoch: int = 0
    failed: Mapping[str, int] = {}


class _Probe:
    """Hears what is retained until there is nothing more to wait for."""

    def __init__(self, topics: Topics, jackpot: str, tables: Collection[str]) -> None:
        self._controller = topics.controller(jackpot)
        self._jackpot = jackpot
        self._tables = {topics.state(table): table for table in tables}
        self._missing = {self._controller, *self._tables}
        self._epoch = 0
        self._failed: dict[str, int] = {}
        self.filters = [self._controller, topics.state("+")]
        self.complete = asyncio.Event()

    @property
    def left(self) -> Left:
        """What was found."""
        return Left(self._epoch, self._failed)

    def hear(self, letter: Letter) -> None:
        """Take one message in."""
        try:
            if letter.topic == self._controller:
                self._epoch = messages.read(messages.ControllerMessage, letter.payload).epoch
            elif letter.topic in self._tables:
                self._hear_state(self._tables[letter.topic], letter.payload)
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
