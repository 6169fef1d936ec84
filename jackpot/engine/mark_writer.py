"""Write the marks of a running controller to the file beside its key, off the commit path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from jackpot import metrics
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.marks import ChainMark, MarkFile, Marks

WRITE_SECONDS: Final = 1.0
MAX_WRITE_SECONDS: Final = 10.0
"""A write that takes longer is reported, and not waited for."""

log = structlog.get_logger()


class MarkWriter:
    """Writes what was committed, once a second if it changed, and at the stop."""

    def __init__(self, file: MarkFile, committed: Callable[[], Mapping[str, ChainMark]]) -> None:
        self._file = file
        self._committed = committed
        self._written: Mapping[str, ChainMark] = {}
        metrics.ERRORS.labels(SITE, "marks")

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            await self.write()

    async def write(self) -> None:
        """Write what changed since the last time; a failure is reported, and tried again at the next time."""
        marks = dict(self._committed())
        if marks == self._written:
            return
        try:
            async with asyncio.timeout(MAX_WRITE_SECONDS):
                await asyncio.to_thread(self._file.raise_to, Marks(marks))
        except (StoreError, TimeoutError) as error:
            metrics.ERRORS.labels(SITE, "marks").inc()
            log.warning("marks not written", problem=str(error) or f"no answer for {MAX_WRITE_SECONDS:.0f} s")
        else:
            self._written = marks
