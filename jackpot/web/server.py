"""The HTTP server, inside the daemon's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import uvicorn
from fastapi import FastAPI
from prometheus_client import start_http_server

from jackpot.web import display, fragments, health
from jackpot.web.api import (
    acts,
    adjustments,
    configs,
    daily,
    document,
    entry,
    equipment,
    people,
    play,
    pools,
    retirements,
    trail,
)
from jackpot.web.connection import Connection
from jackpot.web.console import (
    audit,
    changes,
    devices,
    live_feed,
    mishaps,
    operators,
    overview,
    reports,
    rounds,
    rulebook,
    sign_in,
    table,
    wins,
)
from jackpot.web.console import fragments as console_fragments
from jackpot.web.console import odds as odds_page
from jackpot.web.console import pools as pools_page
from jackpot.web.door import Door
from jackpot.web.feed import Feed
from jackpot.web.floor import Floor
from jackpot.web.gate import Gate
from jackpot.web.headers import Headers
from jackpot.web.health import Health
from jackpot.web.live import Live
from jackpot.web.pages import Files
from jackpot.web.porch import Porch

API: Final = (entry, pools, play, acts, configs, adjustments, retirements, people, trail, daily, equipment)
"""The rooms of the API; each has a router, and each path of it says which role it needs."""
PAGES: Final = (
    sign_in, overview, live_feed, wins, rounds, table, pools_page, audit, reports, changes, operators, devices,
    odds_page, rulebook,
)  # fmt: skip
"""The pages of the console."""
STOP_SECONDS: Final = 1
"""How long requests in hand may take when the daemon stops."""


class ListenError(OSError):
    """The address to listen on cannot be had."""


class Site(NamedTuple):
    """What the whole site is made of."""

    floor: Floor
    door: Door
    live: Live
    health: Health


def application(site: Site, version: str) -> FastAPI:
    """The whole site under its paths."""
    app = FastAPI(title="Jackpot controller", version=version, openapi_url=None, docs_url=None, redoc_url=None)
    mishaps.install(app)
    app.state.floor, app.state.door, app.state.live, app.state.health = site
    app.state.feed = Feed(version)
    for fragments_of in (fragments, display, console_fragments):
        fragments_of.install(site.live)
    for room in (*API, document):
        app.include_router(document.require_roles(room.router))
    for place in (health, display, *PAGES):
        app.include_router(place.router, include_in_schema=False)
    app.mount("/static", Files(), "static")
    app.add_middleware(Gate, door=site.door)
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


async def serve(app: Porch, where: socket.socket, trusted_proxies: str = "") -> None:
    """Serve until cancelled; only these proxies are believed when they say who asks them.

    In the end whoever is fed hears goodbye, and requests in hand are finished.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
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
        app.close()
        server.should_exit = True
        await asyncio.wait((serving,))
        where.close()
