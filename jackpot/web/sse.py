"""Server-sent events: a bounded set of subscribers, each polling for changed fragments in its own rhythm."""

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
MAX_DISPLAYS_PER_ADDRESS: Final = 200
"""The display feed is open to everyone: one address must not take all places."""
MAX_CONSOLES: Final = 200
"""Signed-in operators have places of their own, which displays cannot take."""
POLL_SECONDS: Final = 0.5
MAX_POLLS_PER_SECOND: Final = 100
"""Limit over all subscribers: with many of them each polls less often, so that lamps do not wait."""
HEARTBEAT_SECONDS: Final = 4.0
"""The longest silence on a stream; a page treats the feed as lost after ten seconds without an event."""
SEND_SECONDS: Final = 20.0
"""How long a subscriber may read nothing before its stream is ended."""
RETRY_MS: Final = 2_000
RETRY_AFTER_SECONDS: Final = 10
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class FeedSubscriber(NamedTuple):
    """A display at an address, or the console of a signed-in operator."""

    address: str = ""
    signed_in: bool = False

    @property
    def kind(self) -> str:
        """The label of this subscriber in metrics."""
        return "console" if self.signed_in else "display"


class SseFeed:
    """All subscribers of the feeds; ends their streams when the daemon stops."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._subscribers: dict[asyncio.Future[None], FeedSubscriber] = {}
        self._closed = False
        self._measure()

    def stream(
        self,
        view: JackpotView,
        kinds: Collection[str],
        last_event_id: str | None,
        is_still_valid: Callable[[], bool] | None = None,
    ) -> Response:
        """Return the response to one subscriber: the fragments of these kinds, then every change to them.

        `is_still_valid` is given for signed-in operators: the stream ends with the event `ended` once it is False.
        """
        return _EventStream(self, view, kinds, last_event_id, is_still_valid)

    def close(self) -> None:
        """End every stream, and refuse new subscribers."""
        self._closed = True
        for end in list(self._subscribers):
            _finish(end)

    def refusal_reason(self, candidate: FeedSubscriber) -> str | None:
        """Return why this subscriber is refused; None if it is accepted."""
        if self._closed:
            return "the controller is stopping"
        alike = [other for other in self._subscribers.values() if other.signed_in == candidate.signed_in]
        if candidate.signed_in:
            return f"{MAX_CONSOLES} consoles are connected already" if len(alike) >= MAX_CONSOLES else None
        if len(alike) >= MAX_DISPLAYS:
            return f"{MAX_DISPLAYS} displays are connected already"
        if alike.count(candidate) >= MAX_DISPLAYS_PER_ADDRESS:
            return f"{MAX_DISPLAYS_PER_ADDRESS} displays at this address are connected already"
        return None

    @property
    def poll_seconds(self) -> float:
        """The time between two polls of one subscriber."""
        return max(POLL_SECONDS, len(self._subscribers) / MAX_POLLS_PER_SECOND)

    @contextlib.contextmanager
    def subscription(self, subscriber: FeedSubscriber) -> Iterator[asyncio.Future[None]]:
        """Count a subscriber; the future it yields is done when its stream must end."""
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._subscribers[end] = subscriber
        self._measure()
        try:
            yield end
        finally:
            del self._subscribers[end]
            self._measure()

    def _measure(self) -> None:
        consoles = sum(subscriber.signed_in for subscriber in self._subscribers.values())
        metrics.SUBSCRIBERS.labels("console").set(consoles)
        metrics.SUBSCRIBERS.labels("display").set(len(self._subscribers) - consoles)

    def hello(self) -> bytes:
        """Return the first event: the reconnection delay, the controller's time and its version."""
        return f"retry: {RETRY_MS}\n".encode() + _encode("hello", {"as_of": now(), "version": self._version})


class _EventStream(Response):
    """The response to one subscriber."""

    media_type = "text/event-stream"

    def __init__(
        self,
        feed: SseFeed,
        view: JackpotView,
        kinds: Collection[str],
        last_event_id: str | None,
        is_still_valid: Callable[[], bool] | None,
    ) -> None:
        super().__init__(headers=_HEADERS)
        self._is_still_valid = is_still_valid
        del self.headers["content-length"]
        self._feed = feed
        self._view = view
        self._kinds = kinds
        self._version = view.version_of(last_event_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        subscriber = self._subscriber(scope)
        reason = self._feed.refusal_reason(subscriber)
        if reason is not None:
            metrics.REFUSED_SUBSCRIBERS.labels(subscriber.kind).inc()
            refusal = problems.problem_response(503, "too_many_subscribers", f"{reason}: try again")
            refusal.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
            await refusal(scope, receive, send)
            return
        with self._feed.subscription(subscriber) as end:
            watching = asyncio.create_task(_finish_on_disconnect(receive, end))
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._send_changes(send, end)
            except TimeoutError:
                pass  # the subscriber reads nothing: its connection is closed
            finally:
                watching.cancel()

    def _subscriber(self, scope: Scope) -> FeedSubscriber:
        if self._is_still_valid is not None:
            return FeedSubscriber(signed_in=True)
        host, _ = scope.get("client") or ("unknown", 0)
        return FeedSubscriber(network(host))

    async def _send_changes(self, send: Send, end: asyncio.Future[None]) -> None:
        """Send changes as they come, and a heartbeat after a while without any."""
        await _send(send, self._feed.hello() + b"".join(self._changes()))
        sent_at = time.monotonic()
        wait = random.uniform(0, self._feed.poll_seconds)  # noqa: S311 - spreads the subscribers' polls over time
        while not (await asyncio.wait((end,), timeout=wait))[0]:
            wait = self._feed.poll_seconds
            if self._is_still_valid is not None and not self._is_still_valid():
                await _send(send, _encode("ended", None))
                break
            changes = self._changes()
            if changes:
                await _send(send, b"".join(changes))
            elif time.monotonic() + wait - sent_at > HEARTBEAT_SECONDS:  # the next poll would be too late for it
                await _send(send, _encode("heartbeat", {"as_of": now()}))
            else:
                continue
            sent_at = time.monotonic()
        await _send(send, _encode("goodbye", None), more=False)

    def _changes(self) -> list[bytes]:
        self._version, changes = self._view.changes_since(self._version, self._kinds)
        return changes


async def _send(send: Send, body: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def _finish_on_disconnect(receive: Receive, end: asyncio.Future[None]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    _finish(end)


def _finish(end: asyncio.Future[None]) -> None:
    if not end.done():
        end.set_result(None)


def _encode(name: str, body: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'name': name, 'body': body})}\n\n".encode()
