"""When the meter is published: at most ten times a second, soon after a change, and never older than five seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

BETWEEN_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 4.0


class MeterPacer:
    """Calls `publish` when it is time; the newest value always gets out."""

    def __init__(self, publish: Callable[[], None]) -> None:
        self._publish = publish
        self._changed = asyncio.Event()

    def change(self) -> None:
        """Say that the meter is not what it was."""
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
