"""What the daemon knows of its trail's verification: it starts the process beside it, and tells what that finds."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

import structlog

from jackpot import metrics
from jackpot.clock import now
from jackpot.store.audit import Verified
from jackpot.store.chain import SITE
from jackpot.watch.beside import Order

FIRST_SECONDS: Final = 30.0
"""A daemon that has just begun has better things to do."""
AGAIN_SECONDS: Final = 60.0
ENDS_SECONDS: Final = 5.0

log = structlog.get_logger()


class Found(NamedTuple):
    """What verification last found of a chain, and when."""

    verified: Verified
    at: str
    whole: bool


class TrailWatch:
    """Has every chain verified while it runs; `wrong` hears of a chain with which something is wrong."""

    def __init__(self, order: Order, wrong: Callable[[Verified], Awaitable[None]]) -> None:
        self._order = order
        self._wrong = wrong
        self._process: Process | None = None
        self.found: dict[str, Found] = {}

    def ask_for_all(self) -> None:
        """Have everything verified now; what is found comes to `found`."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(b"\n")

    async def run(self, chains: Iterable[str]) -> None:
        """Verify until cancelled; a process that ends is started again. These chains are known to be there."""
        metrics.ERRORS.labels(SITE, "verification")
        for chain in chains:
            for gauge in (metrics.VERIFIED_AT, metrics.VERIFIED_SEQ, metrics.AUDIT_WRONG):
                gauge.labels(chain).set(0)
        await asyncio.sleep(min(FIRST_SECONDS, self._order.every_seconds))
        while True:
            try:
                self._failed(f"the process that verifies ended by itself: {await self._beside()}")
            except Exception as error:  # noqa: BLE001 - no fault of a watch may end what it watches
                self._failed(f"the process that verifies could not be followed: {error!r}")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _beside(self) -> int:
        """Run the process until it ends; says how."""
        program = (sys.executable, "-m", "jackpot.watch.beside")
        process = self._process = await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE)
        if process.stdin is None or process.stdout is None:
            raise AssertionError("both are pipes")
        try:
            process.stdin.write(json.dumps(self._order._asdict()).encode() + b"\n")
            async for line in process.stdout:
                await self._heard(json.loads(line))
            return await process.wait()
        finally:
            self._process = None
            process.stdin.close()
            await _end(process)

    async def _heard(self, told: dict[str, object]) -> None:
        if "verified" not in told:
            self._failed(str(told["failed"]))
            return
        verified = Verified(**told["verified"])  # type: ignore[arg-type]
        whole = bool(told["whole"])
        before = self.found.get(verified.chain)
        self.found[verified.chain] = Found(verified, now(), whole)
        extent = "all" if whole else "new"
        metrics.VERIFICATION_SECONDS.labels(verified.chain, extent).set(float(str(told["seconds"])))
        metrics.AUDIT_WRONG.labels(verified.chain).set(verified.problem is not None)
        if verified.problem is None:
            metrics.VERIFIED_SEQ.labels(verified.chain).set(verified.events)
            metrics.VERIFIED_AT.labels(verified.chain).set(time.time())
            tell = log.info if whole else log.debug
            tell("trail verified", chain=verified.chain, events=verified.events, seconds=told["seconds"])
        else:
            log.error("trail wrong", chain=verified.chain, seq=verified.wrong_seq, problem=verified.problem)
            if before is None or before.verified.problem != verified.problem:
                await self._wrong(verified)

    @staticmethod
    def _failed(problem: str) -> None:
        log.error("trail not verified", problem=problem)
        metrics.ERRORS.labels(SITE, "verification").inc()


async def _end(process: Process) -> None:
    """It ends when its input does; one that does not, or that nobody has time to wait for, is ended."""
    try:
        async with asyncio.timeout(ENDS_SECONDS):
            await process.wait()
    except TimeoutError:
        log.warning("the process that verifies does not end by itself", process=process.pid)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
