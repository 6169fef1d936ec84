"""A floor: any number of tables with their pads and dealer terminals, displays, and one log of all wagers.

async with Floor(tables=["t1", "t2"], speed=20) as floor:
    await floor.play(rounds=10)
    await floor.stop()
    assert floor.reconcile().is_equal
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Final, NamedTuple, Self

from hardware_sim.connection import Broker, DeviceConnection
from hardware_sim.dealer import ConfirmWin, ResumeTable, SimulatedDealerTerminal
from hardware_sim.device_context import DeviceContext, new_nonce
from hardware_sim.display import SimulatedDisplay
from hardware_sim.faults import Faults
from hardware_sim.messages import ReceivedMeter, ReceivedWin
from hardware_sim.pad import SimulatedPad
from hardware_sim.player import Habits, People
from hardware_sim.reconciliation import Books, Reconciliation, compare
from hardware_sim.shoe import MAX_BOXES, Shoe
from hardware_sim.table import SimulatedTable
from hardware_sim.timing import Timing
from hardware_sim.topics import DeviceTopics
from hardware_sim.wager_log import RoundKey, WagerLog

CONNECT_SECONDS: Final = 10.0
STOP_SECONDS: Final = 30.0
CONNECT_AT_ONCE: Final = 20

Device = SimulatedPad | SimulatedDealerTerminal | SimulatedDisplay


class FloorError(Exception):
    """A floor that cannot be created, connected or played."""


class TableView(NamedTuple):
    """A table as a view shows it."""

    table: str
    phase: str
    round: int
    boxes: tuple[str, ...]
    """For each box: `lit`, `dark`, `folded` or `offline`."""
    suspended: str | None
    wagered_cents: int


class Snapshot(NamedTuple):
    """All that a view shows, at one moment."""

    seconds: float
    meter: ReceivedMeter | None
    tables: tuple[TableView, ...]
    wins: tuple[ReceivedWin, ...]
    win_count: int
    rounds: int
    sent: int
    repeated: int
    unanswered: int
    verdicts: Mapping[str, int]
    rejected: Mapping[str, int]
    commands: int
    faults: Mapping[str, int]
    online: int
    devices: int


class Floor:
    """The devices of one jackpot's tables, at one broker; the seed determines what people decide."""

    def __init__(  # noqa: PLR0913 - one argument for each property of a floor
        self,
        tables: Sequence[str] = ("t1",),
        *,
        boxes: int = 7,
        displays: int = 1,
        site: str = "casino",
        jackpot: str = "main",
        broker: Broker | None = None,
        speed: float = 1.0,
        seed: int = 0,
        shoe: Shoe | None = None,
        faults: Faults | None = None,
        habits: Habits | None = None,
        confirm_win: ConfirmWin | None = None,
        resume_table: ResumeTable | None = None,
    ) -> None:
        if not 1 <= boxes <= MAX_BOXES:
            raise FloorError(f"a simulated table has 1 to {MAX_BOXES} boxes, because one deck serves no more")
        if speed <= 0:
            raise FloorError("the speed must be greater than 0")
        self.has_supervisor = confirm_win is not None and resume_table is not None
        """True if the floor handles tables that wait for a supervisor."""
        self.wager_log = WagerLog()
        self.faults = faults or Faults(seed=seed)
        self.shoe = shoe or Shoe(seed)
        self._context = DeviceContext(
            broker or Broker(), DeviceTopics(site), jackpot, Timing(speed), self.faults, self.wager_log, new_nonce()
        )
        self.tables: dict[str, SimulatedTable] = {}
        self.pads: dict[str, SimulatedPad] = {}
        self.dealers: dict[str, SimulatedDealerTerminal] = {}
        for name in tables:
            table = SimulatedTable(name, boxes, self.shoe, People(seed, name, habits or Habits(), self.shoe))
            self.tables[name] = table
            self.pads.update(
                {pad.name: pad for pad in (SimulatedPad(table, box, self._context) for box in range(1, boxes + 1))}
            )
            self.dealers[name] = SimulatedDealerTerminal(table, self._context, confirm_win, resume_table)
        self.displays = [SimulatedDisplay(f"sim-display-{number}", self._context) for number in range(1, displays + 1)]
        self._playing: dict[str, asyncio.Task[None]] = {}
        self._started_at = time.monotonic()
        self._stopped = False
        self._connecting_stopped = False

    @property
    def devices(self) -> list[Device]:
        """Every device of the floor."""
        return [*self.pads.values(), *self.dealers.values(), *self.displays]

    def device(self, name: str) -> Device:
        """Return the device with this name: `t1/3`, `t1/dealer` or `sim-display-1`."""
        for device in self.devices:
            if device.name == name:
                return device
        raise FloorError(f"there is no device {name}: a pad is t1/3, a dealer terminal t1/dealer")

    async def __aenter__(self) -> Self:
        self._started_at = time.monotonic()
        try:
            await self._connect()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.stop()
        await self._close()

    def stop_connecting(self) -> None:
        """Make `__aenter__` raise an error if the devices are still connecting; no effect on a connected floor."""
        self._connecting_stopped = True

    async def play(
        self, rounds: int | None = None, *, until: asyncio.Event | None = None, seconds: float | None = None
    ) -> None:
        """Play so many more rounds at every table, or until an event or a time; open rounds are left open."""
        for table, dealer in self.dealers.items():
            if table not in self._playing:
                self._playing[table] = asyncio.create_task(dealer.play(rounds), name=dealer.name)
        ended = asyncio.create_task(until.wait()) if until is not None else None
        tasks = set(self._playing.values())
        try:
            await _until_done(tasks, ended, seconds)
        finally:
            if ended is not None:
                ended.cancel()
        self._playing = {table: task for table, task in self._playing.items() if not task.done()}

    async def stop(self, limit_seconds: float = STOP_SECONDS) -> bool:
        """Finish the open rounds, take no more wagers, wait for every answer; return True if all came in time."""
        if self._stopped:
            return self.wager_log.all_answered and not self._playing
        self._stopped = True
        limit = time.monotonic() + limit_seconds
        for pad in self.pads.values():
            pad.stop_wagering()
        for dealer in self.dealers.values():
            dealer.stop()
        for table, task in self._playing.items():
            if self.tables[table].state is None:
                task.cancel()
        if self._playing:
            done, _ = await asyncio.wait(self._playing.values(), timeout=limit_seconds)
            self._playing = {table: task for table, task in self._playing.items() if task not in done}
            for task in done:
                if not task.cancelled():
                    task.result()
        for pad in self.pads.values():
            pad.clear_up()
        return await self.wait_for(lambda: self.wager_log.all_answered, limit - time.monotonic()) and not self._playing

    async def missing_tables(self, limit_seconds: float) -> list[str]:
        """Wait so long for every table's state; return the tables whose state has not been received."""
        await self.wait_for(lambda: all(table.state for table in self.tables.values()), limit_seconds)
        return [name for name, table in self.tables.items() if table.state is None]

    async def wait_for(self, reached: Callable[[], bool], limit_seconds: float) -> bool:
        """Wait for a condition; return True if it was met in time."""
        limit = time.monotonic() + limit_seconds
        while not reached():
            if time.monotonic() > limit:
                return False
            await asyncio.sleep(0.02)
        return True

    @property
    def played(self) -> list[RoundKey]:
        """The rounds of this run."""
        return [(name, number) for name, table in self.tables.items() for number in table.booked]

    @property
    def wire_books(self) -> Books:
        """The wagers of each round by the tables' states: the lit boxes times the wager amount."""
        totals = {
            (name, number): total for name, table in self.tables.items() for number, total in table.booked.items()
        }
        return Books("what the controller published on the wire", totals, is_wire=True)

    def reconcile(self, books: Books | None = None) -> Reconciliation:
        """Compare the pads' wagers with the books; without books, with the tables' states."""
        booked = self.wire_books if books is None else books
        return Reconciliation(
            booked,
            compare(self.played, self.wager_log.standing, booked),
            len(self.wager_log.unanswered),
            tuple(self.wager_log.contradictions),
        )

    def snapshot(self) -> Snapshot:
        """Return all that a view shows, now."""
        display = self.displays[0] if self.displays else None
        log = self.wager_log
        dealers = self.dealers.values()
        return Snapshot(
            seconds=time.monotonic() - self._started_at,
            meter=display.shown if display else None,
            tables=tuple(self._table_view(table) for table in self.tables),
            wins=tuple(display.wins.values()) if display else (),
            win_count=display.win_count if display else 0,
            rounds=sum(len(table.booked) for table in self.tables.values()),
            sent=log.sent,
            repeated=log.repeated + sum(dealer.repeated for dealer in dealers),
            unanswered=len(log.unanswered),
            verdicts=Counter(log.verdicts),
            rejected=Counter(log.rejected),
            commands=sum(dealer.commands for dealer in dealers),
            faults={fault.value: count for fault, count in self.faults.counts.items() if count},
            online=sum(device.connection.online.is_set() for device in self.devices),
            devices=len(self.devices),
        )

    def _table_view(self, name: str) -> TableView:
        table = self.tables[name]
        state = table.state
        cents = sum(total.cents for total in table.booked.values())
        boxes = tuple(self._box_view(name, box) for box in range(1, table.boxes + 1))
        if state is None:
            return TableView(name, "unknown", 0, boxes, None, cents)
        return TableView(name, state.phase, state.round, boxes, state.suspended, cents)

    def _box_view(self, name: str, box: int) -> str:
        pad, state = self.pads[f"{name}/{box}"], self.tables[name].state
        if not pad.connection.online.is_set():
            return "offline"
        if state is not None and box in state.folded:
            return "folded"
        return "lit" if pad.lamp is not None and pad.lamp.lit else "dark"

    async def _connect(self) -> None:
        devices = self.devices
        for first in range(0, len(devices), CONNECT_AT_ONCE):
            connections = [device.connection for device in devices[first : first + CONNECT_AT_ONCE]]
            for connection in connections:
                connection.start()
            if not await self.wait_for(partial(self._has_connected_or_stopped, connections), CONNECT_SECONDS):
                problem = next((c.problem for c in connections if c.problem), "no answer")
                raise FloorError(f"cannot reach the broker at {self._context.broker}: {problem}")
            if self._connecting_stopped:
                raise FloorError("stopped before the devices were connected: nothing was played")

    def _has_connected_or_stopped(self, connections: Sequence[DeviceConnection]) -> bool:
        return self._connecting_stopped or all(connection.online.is_set() for connection in connections)

    async def _close(self) -> None:
        for task in self._playing.values():
            task.cancel()
        await asyncio.gather(*self._playing.values(), return_exceptions=True)
        self._playing = {}
        for pad in self.pads.values():
            pad.close()
        await asyncio.gather(*(device.connection.close() for device in self.devices))


async def _until_done(tasks: set[asyncio.Task[None]], ended: asyncio.Task[bool] | None, seconds: float | None) -> None:
    """Wait for all tasks, the end or the time limit; raise the error of a task that fails."""
    limit = None if seconds is None else time.monotonic() + seconds
    while tasks and not (ended is not None and ended.done()):
        left = None if limit is None else limit - time.monotonic()
        if left is not None and left <= 0:
            return
        waited: set[asyncio.Task[None] | asyncio.Task[bool]] = {*tasks, ended} if ended is not None else {*tasks}
        done, _ = await asyncio.wait(waited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for task in done & tasks:
            task.result()
        tasks -= done
