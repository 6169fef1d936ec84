"""What the daemon knows of its trail's verification: it starts processes beside it, and tells what they find."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import structlog

from jackpot import metrics
from jackpot.clock import now
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.trail_verification import Verified
from jackpot.verification.verifier_process import Order

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


class VerificationMonitor:
    """Has every chain verified while it runs, and whenever somebody asks.

    `wrong` hears of a chain with which something is wrong, again at each look until it says that it took it.
    """

    def __init__(self, order: Order, wrong: Callable[[Verified], Awaitable[bool]]) -> None:
        self._order = order
        self._wrong = wrong
        self._told: dict[str, str] = {}
        self._process: Process | None = None
        self.found: dict[str, Found] = {}

    async def verify_now(self, chain: str | None = None) -> list[Verified]:
        """Have all of a chain verified, or of every chain, by a process of its own."""
        order = self._order._replace(every_seconds=0.0, chain=chain)
        found: list[Verified] = []
        async with _beside(order) as process:
            async for told in _lines(process):
                if "verified" not in told:
                    self._failed(str(told["failed"]))
                    raise StoreError(str(told["failed"]))
                found.append(await self._heard(told))
            if await process.wait():
                raise StoreError(f"the process that verifies ended by itself: {process.returncode}")
        return found

    async def run(self, chains: Iterable[str]) -> None:
        """Verify until cancelled; a process that ends is started again. These chains are known to be there."""
        metrics.ERRORS.labels(SITE, "verification")
        for chain in chains:
            for gauge in (metrics.VERIFIED_AT, metrics.VERIFIED_SEQ, metrics.AUDIT_WRONG):
                gauge.labels(chain).set(0)
        await asyncio.sleep(min(FIRST_SECONDS, self._order.every_seconds))
        while True:
            try:
                self._failed(f"the process that verifies ended by itself: {await self._follow()}")
            except Exception as error:  # noqa: BLE001 - no fault of a watch may end what it watches
                self._failed(f"the process that verifies could not be followed: {error!r}")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _follow(self) -> int:
        """Hear the process that looks again and again until it ends; says how."""
        async with _beside(self._order) as self._process:
            async for told in _lines(self._process):
                if "verified" in told:
                    await self._heard(told)
                else:
                    self._failed(str(told["failed"]))
            return await self._process.wait()

    async def _heard(self, told: dict[str, Any]) -> Verified:
        verified, whole = Verified(**told["verified"]), bool(told["whole"])
        extent = "all" if whole else "new"
        metrics.VERIFICATION_SECONDS.labels(verified.chain, extent).set(float(told["seconds"]))
        before = self.found.get(verified.chain)
        if verified.problem is None and not whole and before is not None and before.verified.problem is not None:
            return verified  # a look at what is new does not mend what another look found
        self.found[verified.chain] = Found(verified, now(), whole)
        metrics.AUDIT_WRONG.labels(verified.chain).set(verified.problem is not None)
        if verified.problem is None:
            self._right(verified, whole=whole, seconds=told["seconds"])
        else:
            await self._tell_wrong(verified, verified.problem)
        return verified

    def _right(self, verified: Verified, *, whole: bool, seconds: object) -> None:
        self._told.pop(verified.chain, None)
        metrics.VERIFIED_SEQ.labels(verified.chain).set(verified.events)
        metrics.VERIFIED_AT.labels(verified.chain).set(time.time())
        tell = log.info if whole else log.debug
        tell("trail verified", chain=verified.chain, events=verified.events, seconds=seconds)

    async def _tell_wrong(self, verified: Verified, problem: str) -> None:
        log.error("trail wrong", chain=verified.chain, seq=verified.wrong_seq, problem=problem)
        if self._told.get(verified.chain) != problem and await self._wrong(verified):
            self._told[verified.chain] = problem

    @staticmethod
    def _failed(problem: str) -> None:
        log.error("trail not verified", problem=problem)
        metrics.ERRORS.labels(SITE, "verification").inc()


@asynccontextmanager
async def _beside(order: Order) -> AsyncIterator[Process]:
    """A process that carries out an order, and ends when nobody waits for it any more."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "jackpot.verification.verifier_process", stdin=PIPE, stdout=PIPE
    )
    if process.stdin is None:
        raise AssertionError("it is a pipe")
    try:
        process.stdin.write(json.dumps(order._asdict()).encode() + b"\n")
        yield process
    finally:
        process.stdin.close()
        await _end(process)


async def _lines(process: Process) -> AsyncIterator[dict[str, Any]]:
    """What a process says."""
    if process.stdout is None:
        raise AssertionError("it is a pipe")
    async for line in process.stdout:
        yield json.loads(line)


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
