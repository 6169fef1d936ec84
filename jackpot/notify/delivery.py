"""Delivery of the notices in the outbox: the oldest first, at least once, each with one id, for up to seven days.

While the receiver cannot be reached or fails (5xx), all notices wait, which keeps their order; the waits between
attempts grow. A notice that the receiver refuses (4xx) delays no other. Attempts are not stored: they cost no commit,
and a daemon that restarts tries again at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from jackpot import metrics
from jackpot.notify.http_post import PostError, post
from jackpot.notify.webhook import Webhook
from jackpot.store import outbox
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.outbox import OutboxNotice

FIRST_WAIT_SECONDS: Final = 1.0
MAX_WAIT_SECONDS: Final = 300.0
POLL_SECONDS: Final = 30.0
"""How often to read the outbox without being woken: commands on the command line do not wake this task."""
KEPT_DAYS: Final = 7
MAX_WAITING: Final = 10_000
_RETRY_STATUSES: Final = (408, 425, 429)

log = structlog.get_logger()


class NoticeSender:
    """The task that posts notices; of several controllers, each posts those of the chains that it `sends_for`."""

    def __init__(
        self,
        database: Database,
        webhook: Webhook,
        software: str,
        sends_for: Callable[[str], bool] = lambda _chain: True,
    ) -> None:
        self._database = database
        self._webhook = webhook
        self._sends_for = sends_for
        self._headers = [("content-type", "application/json"), ("user-agent", f"jackpot-controller/{software}")]
        self._woken = asyncio.Event()
        self._refused: dict[str, tuple[float, float]] = {}
        self._oldest: float | None = None
        metrics.NOTICES_AGE.set_function(lambda: time.time() - self._oldest if self._oldest else 0.0)

    def wake(self) -> None:
        """Read the outbox now: it holds a new notice."""
        self._woken.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        wait = FIRST_WAIT_SECONDS
        while True:
            self._woken.clear()
            delivered = await self._deliver()
            await self._measure()
            if delivered:
                wait = FIRST_WAIT_SECONDS
                await self._wait_for_wake(POLL_SECONDS)
            else:
                await asyncio.sleep(_spread(wait))
                wait = min(2 * wait, MAX_WAIT_SECONDS)

    async def _wait_for_wake(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _deliver(self) -> bool:
        """Post all waiting notices; return False if the store or the receiver failed."""
        try:
            await self._discard()
            last: OutboxNotice | None = None
            while page := await asyncio.to_thread(outbox.waiting, self._database, last):
                for notice in page:
                    if not await self._deliver_one(notice):
                        return False
                last = page[-1]
        except StoreError as error:
            log.warning("outbox not read", problem=str(error))
            return False
        except Exception as error:  # noqa: BLE001 - a fault in sending notices must not stop the daemon
            log.warning("notices not delivered", problem=repr(error))
            metrics.NOTICES.labels("failed").inc()
            return False
        return True

    async def _deliver_one(self, notice: OutboxNotice) -> bool:
        """Post one notice; return True if the next can be posted."""
        if not self._sends_for(notice.chain) or self._refused.get(notice.id, (0.0, 0.0))[1] > time.monotonic():
            return True
        body = notice.body.encode()
        try:
            status = await post(
                self._webhook, self._webhook.headers(notice.id, int(time.time()), body) + self._headers, body
            )
        except PostError as error:
            return self._failed(notice, str(error))
        if 200 <= status < 300:
            await asyncio.to_thread(outbox.remove, self._database, notice.id)
            self._refused.pop(notice.id, None)
            metrics.NOTICES.labels("delivered").inc()
            log.info("notice delivered", id=notice.id, type=notice.type)
            return True
        if 400 <= status < 500 and status not in _RETRY_STATUSES:
            self._set_aside(notice, status)
            return True
        return self._failed(notice, f"it answered {status}")

    def _failed(self, notice: OutboxNotice, problem: str) -> bool:
        metrics.NOTICES.labels("failed").inc()
        log.warning("notice not delivered", id=notice.id, type=notice.type, to=self._webhook.shown, problem=problem)
        return False

    def _set_aside(self, notice: OutboxNotice, status: int) -> None:
        """Try a refused notice again later, with growing waits."""
        before = self._refused.get(notice.id, (FIRST_WAIT_SECONDS, 0.0))[0]
        self._refused[notice.id] = min(2 * before, MAX_WAIT_SECONDS), time.monotonic() + _spread(before)
        metrics.NOTICES.labels("refused").inc()
        log.warning("notice refused", id=notice.id, type=notice.type, to=self._webhook.shown, status=status)

    async def _discard(self) -> None:
        """Discard notices that are too old or too many."""
        before = datetime.now(UTC) - timedelta(days=KEPT_DAYS)
        oldest_kept = before.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        count, oldest = await asyncio.to_thread(outbox.depth, self._database)
        if count > MAX_WAITING or (oldest is not None and oldest < oldest_kept):
            discarded = await asyncio.to_thread(outbox.discard_old, self._database, oldest_kept, MAX_WAITING)
            metrics.NOTICES.labels("given_up").inc(discarded)
            log.error("notices given up", count=discarded)

    async def _measure(self) -> None:
        try:
            count, oldest = await asyncio.to_thread(outbox.depth, self._database)
        except StoreError:
            return
        metrics.NOTICES_WAITING.set(count)
        if not count:
            self._refused.clear()
        self._oldest = datetime.fromisoformat(oldest).timestamp() if oldest else None


def _spread(wait: float) -> float:
    return random.uniform(wait / 2, wait)  # noqa: S311 - no secret, only spreads attempts
