"""The meter throttle on a loop whose clock is set by the test: limits hold without anything being waited for."""

import asyncio
import selectors
from itertools import pairwise

import pytest

from jackpot.wire.meter_throttle import BETWEEN_SECONDS, QUIET_SECONDS, MeterThrottle


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose time jumps to the next timer instead of passing."""

    def __init__(self):
        super().__init__(selectors.SelectSelector())
        self.now = 0.0

    def time(self):
        return self.now

    def _run_once(self):
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0].when())
        super()._run_once()


def published_times(script, seconds):
    """The times at which the meter was published while `script` ran, up to so many seconds."""
    loop, times = SteppedLoop(), []

    async def run():
        throttle = MeterThrottle(lambda: times.append(round(loop.time(), 3)))
        running = asyncio.create_task(throttle.run())
        await script(throttle)
        await asyncio.sleep(seconds - loop.time())
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    try:
        loop.run_until_complete(run())
    finally:
        loop.close()
    return times


def test_a_change_is_published_at_once():
    async def script(throttle):
        await asyncio.sleep(1.0)
        throttle.change()

    assert published_times(script, 2.0) == [1.0]


def test_changes_all_the_time_are_published_ten_times_a_second_and_the_last_one_too():
    async def script(throttle):
        for _ in range(1_000):
            throttle.change()
            await asyncio.sleep(0.001)

    times = published_times(script, 3.0)
    assert all(later - sooner >= BETWEEN_SECONDS - 1e-6 for sooner, later in pairwise(times))
    assert len(times) == pytest.approx(11, abs=1)
    assert times[-1] >= 0.999


def test_a_meter_without_changes_is_published_at_least_every_five_seconds():
    async def script(_throttle):
        pass

    times = [0.0, *published_times(script, 60.0), 60.0]
    assert max(later - sooner for sooner, later in pairwise(times)) <= 5.0
    assert QUIET_SECONDS + BETWEEN_SECONDS <= 5.0
