"""HTTP connections: closed if no complete request arrives in time, so that idle clients cannot fill the server."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from jackpot import metrics

REQUEST_SECONDS: Final = 10.0
"""How long the whole head of a request may take, from the connection or the last response on."""
CLOSING_SECONDS: Final = 60.0
"""How long after that a client may still read the responses it was sent."""
MAX_CONNECTIONS: Final = 800
"""All subscribers of feeds, and three hundred more; below the usual limit of 1,024 open files per process."""


class HttpProtocol(H11Protocol):
    """Closes connections without a request in time; over the limit, closes the one that was idle for longest.

    Connections with a response or a feed in progress are not closed.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*args, **options)
        self._application, self.app = self.app, self._run_application
        self._timer: asyncio.TimerHandle | None = None
        self.idle_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request; make room if there are too many connections."""
        super().connection_made(transport)
        self._start_timer()
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop waiting once a request has arrived."""
        super().data_received(data)
        if self._is_responding:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it has arrived already."""
        self._start_timer()
        super().on_response_complete()
        if self._is_responding:
            self._stop_timer()

    async def _run_application(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - uvicorn's
        """Run the application; if it leaves its response incomplete, the connection is closed after a time limit."""
        cycle = self.cycle  # when the application returns, the connection may be at its next request
        try:
            await self._application(scope, receive, send)
        finally:
            if cycle is self.cycle and self._is_responding:
                self._start_timer()

    @property
    def _is_responding(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_timer(self) -> None:
        self._stop_timer()
        self.idle_since = self.loop.time()
        self._timer = self.loop.call_later(REQUEST_SECONDS, self._close)

    def _stop_timer(self) -> None:
        self.idle_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        """Close the connection that was idle for longest; that is this one if all others are responding."""
        metrics.ENDED_CONNECTIONS.labels("crowded").inc()
        connections = [one for one in self.connections if isinstance(one, HttpProtocol)]
        _, longest = min((one.idle_since, n) for n, one in enumerate(connections) if one.idle_since is not None)
        connections[longest].abort()

    def _close(self) -> None:
        """Close a connection without a request; what was sent before may still be read for a while."""
        if not self.transport.is_closing():
            metrics.ENDED_CONNECTIONS.labels("slow").inc()
        self._timer = self.loop.call_later(CLOSING_SECONDS, self.abort)
        self.timeout_keep_alive_handler()

    def abort(self) -> None:
        """Close the connection at once."""
        self._stop_timer()
        self.transport.abort()
