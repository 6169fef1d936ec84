"""Verification of chains on request: one at a time, in a process beside the daemon."""

from __future__ import annotations

from collections.abc import Mapping

from jackpot.clock import now
from jackpot.store.trail_verification import Verified
from jackpot.verification.monitor import ChainStatus, VerificationMonitor
from jackpot.web.problems import Problem


class VerificationService:
    """Runs verifications for operators through the monitor, and shows the last result of each chain."""

    def __init__(self, monitor: VerificationMonitor) -> None:
        self._monitor = monitor
        self._running = False

    @property
    def last(self) -> Mapping[str, ChainStatus]:
        """The last result of each chain."""
        return self._monitor.found

    async def run(self, chain: str | None = None) -> tuple[str, list[Verified]]:
        """Verify a chain, or all of them; return the time it began and the results."""
        if self._running:
            raise Problem(409, "verification_running", "a verification is running: try again later", wait_seconds=5)
        self._running, at = True, now()
        try:
            return at, await self._monitor.verify_now(chain)
        finally:
            self._running = False
