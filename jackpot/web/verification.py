"""Verifying chains because somebody asks for it: one verification at a time, beside the daemon."""

from __future__ import annotations

from collections.abc import Mapping

from jackpot.clock import now
from jackpot.store.trail_verification import Verified
from jackpot.verification.monitor import Found, VerificationMonitor
from jackpot.web.problems import Problem


class Verification:
    """Has the watch over the trail verify what it is told to, and knows what was last found of each chain."""

    def __init__(self, watch: VerificationMonitor) -> None:
        self._watch = watch
        self._running = False

    @property
    def last(self) -> Mapping[str, Found]:
        """The last result of each chain."""
        return self._watch.found

    async def run(self, chain: str | None = None) -> tuple[str, list[Verified]]:
        """Verify a chain, or all of them; says when it began, and what it found."""
        if self._running:
            raise Problem(409, "verification_running", "a verification is running: ask again later", wait_seconds=5)
        self._running, at = True, now()
        try:
            return at, await self._watch.verify_now(chain)
        finally:
            self._running = False
