"""Server-sent events: a bounded set of subscribers, each told what changed at moments of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from jackpot import metrics
from jackpot.clock import now
from jackpot.web import problems
from jackpot.web.live_view import JackpotView
from jackpot.web.rate_limits import network

MAX_DISPLAYS: Final = 300
MAX_OF_ONE_ADDRESS: Final = 200
"""Displays that one address may feed: their feed is open to everyone, and whoever is greedy leaves others a place."""
MAX_CONSOLES: Final = 200
"""Whoever has signed in has places of their own, which nobody takes who has not."""
LOOK_SECONDS: Final = 0.5
MAX_LOOKS_A_SECOND: Final = 100
"""Of all subscribers together: where there are many, each looks less often, so that lamps do not wait for them."""
HEARTBEAT_SECONDS: Final = 4.0
"""How long a subscriber hears nothing at most; one who hears nothing for ten seconds takes the feed for lost."""
STUCK_SECONDS: Final = 20.0
"""How long a subscriber may take nothing in before it is given up."""
RETRY_MS: Final = 2_000
RETRY_AFTER_SECONDS: Final = 10
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Subscriber(NamedTuple):
    """Who is fed: a display at this address, or a console of somebody who has signed in."""

    address: str = ""
    signed_in: bool = False

    @property
    def kind(self) -> str:
        """What it is called where it is counted."""
        return "console" if self.signed_in else "display"


class Feed:
    """Everyone who is fed; ends them all when the daemon stops."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._fed: dict[asyncio.Future[None], Subscriber] = {}
        self._closed = False
        self._measure()

    def stream(
        self,
        board: JackpotView,
        kinds: Collection[str],
        last_event_id: str | None,
        is_welcome: Callable[[], bool] | None = None,
    ) -> Response:
        """What one subscriber is answered: the fragments of these kinds as they are, then whatever changes.

        Whoever has signed in is asked about now and then: it ends, and says so, when they are not welcome any more.
        """
        return _Stream(self, board, kinds, last_event_id, is_welcome)

    def close(self) -> None:
        """Say goodbye to everyone, and take nobody in any more."""
        self._closed = True
        for end in list(self._fed):
            _finish(end)

    def why_not(self, asks: Subscriber) -> str | None:
        """Why this subscriber would be one too many; None where it is not."""
        if self._closed:
            return "the controller stops"
        alike = [fed for fed in self._fed.values() if fed.signed_in == asks.signed_in]
        if asks.signed_in:
            return f"{MAX_CONSOLES} consoles are fed already" if len(alike) >= MAX_CONSOLES else None
        if len(alike) >= MAX_DISPLAYS:
            return f"{MAX_DISPLAYS} displays are fed already"
        if alike.count(asks) >= MAX_OF_ONE_ADDRESS:
            return f"{MAX_OF_ONE_ADDRESS} displays at this address are fed already"
        return None

    @property
    def pace_seconds(self) -> float:
        """How long a subscriber waits between looks."""
        return max(LOOK_SECONDS, len(self._fed) / MAX_LOOKS_A_SECOND)

    @contextlib.contextmanager
    def place(self, subscriber: Subscriber) -> Iterator[asyncio.Future[None]]:
        """A place among the fed; what is given is done when the stream must end."""
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._fed[end] = subscriber
        self._measure()
        try:
            yield end
        finally:
            del self._fed[end]
            self._measure()

    def _measure(self) -> None:
        consoles = sum(fed.signed_in for fed in self._fed.values())
        metrics.SUBSCRIBERS.labels("console").set(consoles)
        metrics.SUBSCRIBERS.labels("display").set(len(self._fed) - consoles)

    def greeting(self) -> bytes:
        """The first words: when to try again after a loss, what time it is here, and which software speaks."""
        return f"retry: {RETRY_MS}\n".encode() + _said("hello", {"as_of": now(), "version": self._version})


class _Stream(Response):
    """One subscriber's response."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: Feed,
        board: JackpotView,
        kinds: Collection[str],
        last_event_id: str | None,
        is_welcome: Callable[[], bool] | None,
    ) -> None:
        super().__init__(headers=_HEADERS)
        self._is_welcome = is_welcome
        del self.headers["content-length"]
        self._feed = feed
        self._board = board
        self._kinds = kinds
        self._since = board.version_of(last_event_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        subscriber = self._subscriber(scope)
        why_not = self._feed.why_not(subscriber)
        if why_not is not None:
            metrics.REFUSED_SUBSCRIBERS.labels(subscriber.kind).inc()
            refusal = problems.answer(503, "too_many_subscribers", f"{why_not}: try again")
            refusal.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
            await refusal(scope, receive, send)
            return
        with self._feed.place(subscriber) as end:
            watching = asyncio.create_task(_watch(receive, end))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._tell(send, end)
            except TimeoutError:
                pass  # it takes nothing in: the connection is closed below its feet
            finally:
                watching.cancel()

    def _subscriber(self, scope: Scope) -> Subscriber:
        if self._is_welcome is not None:
            return Subscriber(signed_in=True)
        host, _ = scope.get("client") or ("unknown", 0)
        return Subscriber(network(host))

    async def _tell(self, send: Send, end: asyncio.Future[None]) -> None:
        """News when there are some, a heartbeat when there are none for a while."""
        await _send(send, self._feed.greeting() + b"".join(self._news()))
        said_at = time.monotonic()
        wait = random.uniform(0, self._feed.pace_seconds)  # noqa: S311 - its own moments, so that not all are told at once
        while not (await asyncio.wait((end,), timeout=wait))[0]:
            wait = self._feed.pace_seconds
            if self._is_welcome is not None and not self._is_welcome():
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
