"""A client's connection: ended where no whole request comes of it, so that nobody is waited for without end."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from jackpot import metrics

REQUEST_SECONDS: Final = 10.0
"""How long the whole head of a request may take, from the connection or from the last answer on."""
TAKING_SECONDS: Final = 60.0
"""How long after that a client may still take in what it was answered."""
MAX_CONNECTIONS: Final = 800
"""All who can be fed, and three hundred more; fewer than the 1,024 files that a process may usually have open."""


class HttpProtocol(H11Protocol):
    """Ended where no request comes in time; where too many are open, the one that has asked nothing for longest is.

    Whoever is being answered, or fed, is left alone.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*args, **options)
        self._application, self.app = self.app, self._answer
        self._end: asyncio.TimerHandle | None = None
        self.idle_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, and have room for it."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait no more once there is something to answer."""
        super().data_received(data)
        if self._is_asked:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it has come already."""
        self._wait()
        super().on_response_complete()
        if self._is_asked:
            self._wait_no_more()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - uvicorn's
        """Have it answered; an answer that is left without its end is closed, and that must not take for ever."""
        mine = self.cycle  # by the end of this, the connection may be about another
        try:
            await self._application(scope, receive, send)
        finally:
            if mine is self.cycle and self._is_asked:
                self._wait()

    @property
    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._wait_no_more()
        self.idle_since = self.loop.time()
        self._end = self.loop.call_later(REQUEST_SECONDS, self._close)

    def _wait_no_more(self) -> None:
        self.idle_since = None
        if self._end is not None:
            self._end.cancel()
            self._end = None

    def _make_room(self) -> None:
        """Cut whoever has asked nothing for longest; where everybody else is being answered, that is this one."""
        metrics.ENDED_CONNECTIONS.labels("crowded").inc()
        mine = [one for one in self.connections if isinstance(one, HttpProtocol)]
        _, longest = min((one.idle_since, n) for n, one in enumerate(mine) if one.idle_since is not None)
        mine[longest].cut()

    def _close(self) -> None:
        """Nothing came. What was answered before may still be taken in, for a while."""
        if not self.transport.is_closing():
            metrics.ENDED_CONNECTIONS.labels("slow").inc()
        self._end = self.loop.call_later(TAKING_SECONDS, self.cut)
        self.timeout_keep_alive_handler()

    def cut(self) -> None:
        """End it now."""
        self._wait_no_more()
        self.transport.abort()
