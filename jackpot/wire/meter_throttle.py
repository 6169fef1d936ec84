"""Limits how often the meter is published: at most ten times a second, and at least every five seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

BETWEEN_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 4.0


class MeterThrottle:
    """Calls `publish` when it is due; the newest value is always published."""

    def __init__(self, publish: Callable[[], None]) -> None:
        self._publish = publish
        self._changed = asyncio.Event()

    def change(self) -> None:
        """Publish soon: the meter has changed."""
        self._changed.set()

    async def run(self) -> None:
        """Publish until cancelled."""
        while True:
            try:
                async with asyncio.timeout(QUIET_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            self._publish()
            await asyncio.sleep(BETWEEN_SECONDS)
