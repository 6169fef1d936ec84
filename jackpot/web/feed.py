"""Server-sent events: a bounded set of subscribers, each told what changed at moments of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable, Collection, Iterator
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from jackpot import metrics
from jackpot.clock import now
from jackpot.web import problems
from jackpot.web.live import Board

MOST_SUBSCRIBERS: Final = 500
LOOK_SECONDS: Final = 0.5
MOST_LOOKS_A_SECOND: Final = 100
"""Of all subscribers together: where there are many, each looks less often, so that lamps do not wait for them."""
HEARTBEAT_SECONDS: Final = 4.0
"""How long a subscriber hears nothing at most; one who hears nothing for ten seconds takes the feed for lost."""
STUCK_SECONDS: Final = 20.0
"""How long a subscriber may take nothing in before it is given up."""
RETRY_MS: Final = 2_000
RETRY_AFTER_SECONDS: Final = 10
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Feed:
    """Everyone who is fed; ends them all when the daemon stops."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._ends: set[asyncio.Future[None]] = set()
        self._closed = False
        metrics.SUBSCRIBERS.set(0)

    def stream(
        self,
        board: Board,
        kinds: Collection[str],
        last_event_id: str | None,
        is_welcome: Callable[[], bool] = lambda: True,
    ) -> Response:
        """What one subscriber is answered: the fragments of these kinds as they are, then whatever changes.

        It ends, and says so, when the subscriber is not welcome any more.
        """
        return _Stream(self, board, kinds, last_event_id, is_welcome)

    def close(self) -> None:
        """Say goodbye to everyone, and take nobody in any more."""
        self._closed = True
        for end in list(self._ends):
            _finish(end)

    @property
    def is_full(self) -> bool:
        """Whether another subscriber would be one too many."""
        return self._closed or len(self._ends) >= MOST_SUBSCRIBERS

    @property
    def pace_seconds(self) -> float:
        """How long a subscriber waits between looks."""
        return max(LOOK_SECONDS, len(self._ends) / MOST_LOOKS_A_SECOND)

    @contextlib.contextmanager
    def place(self) -> Iterator[asyncio.Future[None]]:
        """A place among the fed; what is given is done when the stream must end."""
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends.add(end)
        metrics.SUBSCRIBERS.set(len(self._ends))
        try:
            yield end
        finally:
            self._ends.discard(end)
            metrics.SUBSCRIBERS.set(len(self._ends))

    def greeting(self) -> bytes:
        """The first words: when to try again after a loss, what time it is here, and which software speaks."""
        return f"retry: {RETRY_MS}\n".encode() + _said("hello", {"as_of": now(), "version": self._version})


class _Stream(Response):
    """One subscriber's response."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: Feed,
        board: Board,
        kinds: Collection[str],
        last_event_id: str | None,
        is_welcome: Callable[[], bool],
    ) -> None:
        super().__init__(headers=_HEADERS)
        self._is_welcome = is_welcome
        del self.headers["content-length"]
        self._feed = feed
        self._board = board
        self._kinds = kinds
        self._since = board.version_of(last_event_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._feed.is_full:
            metrics.REFUSED_SUBSCRIBERS.inc()
            detail = f"{MOST_SUBSCRIBERS} displays and consoles are fed already, or the controller stops: try again"
            refusal = problems.answer(503, "too_many_subscribers", detail)
            refusal.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
            await refusal(scope, receive, send)
            return
        with self._feed.place() as end:
            watching = asyncio.create_task(_watch(receive, end))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._tell(send, end)
            except TimeoutError:
                pass  # it takes nothing in: the connection is closed below its feet
            finally:
                watching.cancel()

    async def _tell(self, send: Send, end: asyncio.Future[None]) -> None:
        """News when there are some, a heartbeat when there are none for a while."""
        await _send(send, self._feed.greeting() + b"".join(self._news()))
        said_at = time.monotonic()
        wait = random.uniform(0, self._feed.pace_seconds)  # noqa: S311 - its own moments, so that not all are told at once
        while not (await asyncio.wait((end,), timeout=wait))[0]:
            wait = self._feed.pace_seconds
            if not self._is_welcome():
                await _send(send, _said("ended", None))
                break
            news = self._news()
            if news:
                await _send(send, b"".join(news))
            elif time.monotonic() + wait - said_at > HEARTBEAT_SECONDS:  # the next look would be too late for it
                await _send(send, _said("heartbeat", {"as_of": now()}))
            else:
                continue
            said_at = time.monotonic()
        await _send(send, _said("goodbye", None), more=False)

    def _news(self) -> list[bytes]:
        self._since, news = self._board.news(self._since, self._kinds)
        return news


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(STUCK_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def _watch(receive: Receive, end: asyncio.Future[None]) -> None:
    """Notice that the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    _finish(end)


def _finish(end: asyncio.Future[None]) -> None:
    if not end.done():
        end.set_result(None)


def _said(name: str, body: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'name': name, 'body': body})}\n\n".encode()
