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
    adjustments,
    audit,
    configs,
    devices,
    openapi,
    operators,
    play,
    pools,
    reports,
    retirements,
    session,
    table_acts,
)
from jackpot.web.api_guard import ApiGuard
from jackpot.web.authentication import Authenticator
from jackpot.web.console import audit as audit_page
from jackpot.web.console import changes, error_pages, live_feed, overview, rounds, sign_in, table, wins
from jackpot.web.console import devices as devices_page
from jackpot.web.console import fragments as console_fragments
from jackpot.web.console import odds as odds_page
from jackpot.web.console import operators as operators_page
from jackpot.web.console import pools as pools_page
from jackpot.web.console import reports as reports_page
from jackpot.web.console import rules as rules_page
from jackpot.web.health import Health
from jackpot.web.http_protocol import HttpProtocol
from jackpot.web.live_view import LiveView
from jackpot.web.security_headers import SecurityHeaders
from jackpot.web.services import WebServices
from jackpot.web.sse import Feed
from jackpot.web.startup import StartupRouter
from jackpot.web.templates import Files

API: Final = (
    session, pools, play, table_acts, configs, adjustments, retirements, operators, audit, reports, devices,
)  # fmt: skip
"""The modules of the API; each has a router, and each of its paths names the role it needs."""
PAGES: Final = (
    sign_in, overview, live_feed, wins, rounds, table, pools_page, audit_page, reports_page, changes, operators_page,
    devices_page, odds_page, rules_page,
)  # fmt: skip
"""The pages of the console."""
STOP_SECONDS: Final = 1
"""How long requests in hand may take when the daemon stops."""


class ListenError(OSError):
    """The address to listen on cannot be had."""


class AppContext(NamedTuple):
    """What the whole site is made of."""

    services: WebServices
    authenticator: Authenticator
    live: LiveView
    health: Health


def application(context: AppContext, version: str) -> FastAPI:
    """The whole site under its paths."""
    app = FastAPI(title="Jackpot controller", version=version, openapi_url=None, docs_url=None, redoc_url=None)
    error_pages.install(app)
    app.state.services, app.state.authenticator, app.state.live, app.state.health = context
    app.state.feed = Feed(version)
    for fragments_of in (fragments, display, console_fragments):
        fragments_of.install(context.live)
    for module in (*API, openapi):
        app.include_router(openapi.require_roles(module.router))
    for place in (health, display, *PAGES):
        app.include_router(place.router, include_in_schema=False)
    app.mount("/static", Files(), "static")
    app.add_middleware(ApiGuard, authenticator=context.authenticator)
    app.add_middleware(SecurityHeaders)
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


async def serve(app: StartupRouter, where: socket.socket, trusted_proxies: str = "") -> None:
    """Serve until cancelled; only these proxies are believed when they say who asks them.

    In the end whoever is fed hears goodbye, and requests in hand are finished.
    """
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
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
