"""Start the processes that verify the audit trail, and report their results in metrics, log and notices."""

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
from jackpot.verification.verifier_process import VerificationRequest

FIRST_SECONDS: Final = 30.0
"""The first verification does not compete with the start of the daemon."""
RESTART_SECONDS: Final = 60.0
STOP_SECONDS: Final = 5.0

log = structlog.get_logger()


class ChainStatus(NamedTuple):
    """The last verification of a chain, its time, and True if it covered the whole chain."""

    verified: Verified
    at: str
    whole: bool


class VerificationMonitor:
    """Verifies every chain at intervals and on request.

    `on_wrong` is called with the result of a chain that is wrong, after each verification until it returns True.
    """

    def __init__(self, request: VerificationRequest, on_wrong: Callable[[Verified], Awaitable[bool]]) -> None:
        self._request = request
        self._on_wrong = on_wrong
        self._reported: dict[str, str] = {}
        self._process: Process | None = None
        self.found: dict[str, ChainStatus] = {}

    async def verify_now(self, chain: str | None = None) -> list[Verified]:
        """Verify one whole chain, or all of them, in a separate process."""
        request = self._request._replace(every_seconds=0.0, chain=chain)
        found: list[Verified] = []
        async with _verifier(request) as process:
            async for message in _messages(process):
                if "verified" not in message:
                    self._failed(str(message["failed"]))
                    raise StoreError(str(message["failed"]))
                found.append(await self._record(message))
            if await process.wait():
                raise StoreError(f"the verification process ended unexpectedly: {process.returncode}")
        return found

    async def run(self, chains: Iterable[str]) -> None:
        """Verify at intervals until cancelled; a process that ends is started again. These chains exist already."""
        metrics.ERRORS.labels(SITE, "verification")
        for chain in chains:
            for gauge in (metrics.VERIFIED_AT, metrics.VERIFIED_SEQ, metrics.AUDIT_WRONG):
                gauge.labels(chain).set(0)
        await asyncio.sleep(min(FIRST_SECONDS, self._request.every_seconds))
        while True:
            try:
                self._failed(f"the verification process ended unexpectedly: {await self._follow()}")
            except Exception as error:  # noqa: BLE001 - a fault in verification must not stop the daemon
                self._failed(f"the verification process could not be read: {error!r}")
            await asyncio.sleep(RESTART_SECONDS)

    async def _follow(self) -> int:
        """Record the results of the process that verifies at intervals until it ends; return its exit code."""
        async with _verifier(self._request) as self._process:
            async for message in _messages(self._process):
                if "verified" in message:
                    await self._record(message)
                else:
                    self._failed(str(message["failed"]))
            return await self._process.wait()

    async def _record(self, message: dict[str, Any]) -> Verified:
        verified, whole = Verified(**message["verified"]), bool(message["whole"])
        extent = "all" if whole else "new"
        metrics.VERIFICATION_SECONDS.labels(verified.chain, extent).set(float(message["seconds"]))
        before = self.found.get(verified.chain)
        if verified.problem is None and not whole and before is not None and before.verified.problem is not None:
            return verified  # only a verification of the whole chain can clear a problem
        self.found[verified.chain] = ChainStatus(verified, now(), whole)
        metrics.AUDIT_WRONG.labels(verified.chain).set(verified.problem is not None)
        if verified.problem is None:
            self._record_correct(verified, whole=whole, seconds=message["seconds"])
        else:
            await self._report_wrong(verified, verified.problem)
        return verified

    def _record_correct(self, verified: Verified, *, whole: bool, seconds: object) -> None:
        self._reported.pop(verified.chain, None)
        metrics.VERIFIED_SEQ.labels(verified.chain).set(verified.events)
        metrics.VERIFIED_AT.labels(verified.chain).set(time.time())
        write = log.info if whole else log.debug
        write("trail verified", chain=verified.chain, events=verified.events, seconds=seconds)

    async def _report_wrong(self, verified: Verified, problem: str) -> None:
        log.error("trail wrong", chain=verified.chain, seq=verified.wrong_seq, problem=problem)
        if self._reported.get(verified.chain) != problem and await self._on_wrong(verified):
            self._reported[verified.chain] = problem

    @staticmethod
    def _failed(problem: str) -> None:
        log.error("trail not verified", problem=problem)
        metrics.ERRORS.labels(SITE, "verification").inc()


@asynccontextmanager
async def _verifier(request: VerificationRequest) -> AsyncIterator[Process]:
    """Start a process for this request; end it when the context ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "jackpot.verification.verifier_process", stdin=PIPE, stdout=PIPE
    )
    if process.stdin is None:
        raise AssertionError("the process has no pipe")
    try:
        process.stdin.write(json.dumps(request._asdict()).encode() + b"\n")
        yield process
    finally:
        process.stdin.close()
        await _end(process)


async def _messages(process: Process) -> AsyncIterator[dict[str, Any]]:
    """Return the messages of a process."""
    if process.stdout is None:
        raise AssertionError("the process has no pipe")
    async for line in process.stdout:
        yield json.loads(line)


async def _end(process: Process) -> None:
    """Wait for a process, which ends when its input is closed; kill it if it does not."""
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        log.warning("the verification process does not end", process=process.pid)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
