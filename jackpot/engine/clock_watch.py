"""Watch the wall clock: a step of more than 2 s is recorded, counted, logged and raised as an alarm."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

import structlog

from jackpot import metrics
from jackpot.clock import now
from jackpot.core.commands import CONTROLLER
from jackpot.core.site.commands import RecordClockStep
from jackpot.engine.alarms import AlarmCode, Alarms
from jackpot.engine.site_writer import SiteWriter
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE

CHECK_SECONDS: Final = 1.0
MAX_STEP_SECONDS: Final = 2.0
ALARM_SECONDS: Final = 600.0
MAX_UNRECORDED: Final = 100
MAX_READ_SECONDS: Final = 0.1
"""Two clocks read further apart than this are read again: the process was stopped in between."""

log = structlog.get_logger()


class Clocks(NamedTuple):
    """The wall clock, which can be set, and the monotonic clock, which cannot; both in seconds."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def offset(self) -> float:
        """Return the difference of the two clocks."""
        while True:
            before = self.monotonic()
            wall = self.wall()
            if self.monotonic() - before <= MAX_READ_SECONDS:
                return wall - before


class ClockWatch:
    """Compares the wall clock with the monotonic clock every second, and with the last event at the start."""

    def __init__(self, site_writer: SiteWriter, alarms: Alarms, clocks: Clocks | None = None) -> None:
        self._site_writer = site_writer
        self._alarms = alarms
        self._clocks = clocks or Clocks()
        self._offset = self._clocks.offset()
        self._unrecorded: deque[int] = deque(maxlen=MAX_UNRECORDED)
        self._alarm_until = 0.0

    def check_start(self, last_at: str) -> None:
        """Compare the wall clock with the time of the last event, "" if there is none."""
        ahead = datetime.fromisoformat(last_at).timestamp() - self._clocks.wall() if last_at else 0.0
        if ahead > MAX_STEP_SECONDS:
            says = f"the clock is {round(ahead)} s before the last event: set it right"
            self._flag(-round(ahead), f"{says}; until it has caught up, new events get the time of the last one")

    def check(self) -> None:
        """Compare the clocks with those of the last check."""
        offset = self._clocks.offset()
        step, self._offset = offset - self._offset, offset
        if abs(step) > MAX_STEP_SECONDS:
            direction = "back" if step < 0 else "forward"
            says = f"the clock was set {direction} by {abs(round(step))} s: check the time service of this machine"
            self._flag(round(step), says)
        elif self._clocks.monotonic() >= self._alarm_until:
            self._alarms.end_alarm(SITE, AlarmCode.CLOCK_STEPPED)

    async def run(self) -> None:
        """Check every second until cancelled."""
        while True:
            await self.record()
            await asyncio.sleep(CHECK_SECONDS)
            self.check()

    async def record(self) -> None:
        """Record the steps in the site's trail; those that cannot be written now are written later."""
        while self._unrecorded:
            step = RecordClockStep(now(), CONTROLLER, self._unrecorded[0])
            try:
                await asyncio.wrap_future(self._site_writer.submit(step))
            except StoreError as error:
                log.warning("clock step not recorded yet", problem=str(error))
                return
            self._unrecorded.popleft()

    def _flag(self, seconds: int, says: str) -> None:
        metrics.CLOCK_STEPS.inc()
        log.warning("clock stepped", seconds=seconds)
        self._alarms.raise_alarm(SITE, AlarmCode.CLOCK_STEPPED, says)
        self._alarm_until = self._clocks.monotonic() + ALARM_SECONDS
        self._unrecorded.append(seconds)
