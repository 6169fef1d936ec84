"""The HTTP server, inside the daemon's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn
from fastapi import FastAPI
from prometheus_client import start_http_server

from jackpot.web import (
    acts,
    adjustments,
    configs,
    daily,
    display,
    document,
    entry,
    equipment,
    fragments,
    people,
    play,
    pools,
    problems,
    retirements,
    trail,
)
from jackpot.web.console import (
    audit,
    changes,
    live_feed,
    operators,
    overview,
    reports,
    rounds,
    sign_in,
    table,
    wins,
)
from jackpot.web.console import fragments as console_fragments
from jackpot.web.console.frame import NotSignedIn, to_sign_in
from jackpot.web.door import Door
from jackpot.web.feed import Feed
from jackpot.web.floor import Floor
from jackpot.web.gate import Gate
from jackpot.web.headers import Headers
from jackpot.web.live import Live
from jackpot.web.pages import Files

API: Final = (entry, pools, play, acts, configs, adjustments, retirements, people, trail, daily, equipment)
"""The rooms of the API; each has a router, and each path of it says which role it needs."""
PAGES: Final = (sign_in, overview, live_feed, wins, rounds, table, audit, reports, changes, operators)
"""The pages of the console."""
STOP_SECONDS: Final = 1
"""How long requests in hand may take when the daemon stops."""


class ListenError(OSError):
    """The address to listen on cannot be had."""


def application(floor: Floor, door: Door, live: Live, version: str) -> FastAPI:
    """The whole site under its paths."""
    app = FastAPI(title="Jackpot controller", version=version, openapi_url=None, docs_url=None, redoc_url=None)
    problems.install(app)
    app.state.floor, app.state.door, app.state.live = floor, door, live
    app.state.feed = Feed(version)
    fragments.install(live)
    display.install(live)
    console_fragments.install(live)
    for room in (*API, document):
        app.include_router(document.require_roles(room.router))
    for place in (display, *PAGES):
        app.include_router(place.router)
    app.add_exception_handler(NotSignedIn, to_sign_in)
    app.mount("/static", Files(), "static")
    app.add_middleware(Gate, door=door)
    app.add_middleware(Headers)
    return app


class _Server(uvicorn.Server):
    """Signals are the daemon's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens here, or a sentence that says why not."""
    try:
        where = socket.create_server((host, port), reuse_port=False)
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    where.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections have it from here; else each waits 40 ms
    return where


def metrics_server(host: str, port: int) -> Callable[[], None]:
    """Serve Prometheus' metrics here; says how to stop."""
    try:
        server, thread = start_http_server(port, host)
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}") from None

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


async def serve(app: FastAPI, where: socket.socket, trusted_proxies: str = "") -> None:
    """Serve until cancelled; only these proxies are believed when they say who asks them.

    In the end whoever is fed hears goodbye, and requests in hand are finished.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=STOP_SECONDS,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=trusted_proxies,
        server_header=False,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[where]))
    try:
        await asyncio.shield(serving)
    finally:
        app.state.feed.close()
        server.should_exit = True
        await asyncio.wait((serving,))
        where.close()
