"""The HTTP server, inside the daemon's own event loop."""

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
from jackpot.web import forwarding as forwarding_handler
from jackpot.web.api import (
    adjustments,
    audit,
    configs,
    controllers,
    devices,
    openapi,
    operators,
    pools,
    reports,
    retirements,
    rounds,
    session,
    table_acts,
    tables,
    wins,
)
from jackpot.web.api_guard import ApiGuard
from jackpot.web.authentication import Authenticator
from jackpot.web.console import audit as audit_page
from jackpot.web.console import changes, error_pages, live_feed, overview, sign_in, table
from jackpot.web.console import devices as devices_page
from jackpot.web.console import fragments as console_fragments
from jackpot.web.console import odds as odds_page
from jackpot.web.console import operators as operators_page
from jackpot.web.console import pools as pools_page
from jackpot.web.console import reports as reports_page
from jackpot.web.console import rounds as rounds_page
from jackpot.web.console import rules as rules_page
from jackpot.web.console import wins as wins_page
from jackpot.web.forwarding import Forwarding
from jackpot.web.health import Health
from jackpot.web.http_protocol import HttpProtocol
from jackpot.web.live_view import LiveView
from jackpot.web.security_headers import SecurityHeaders
from jackpot.web.services import WebServices
from jackpot.web.sse import SseFeed
from jackpot.web.startup import StartupRouter
from jackpot.web.templates import StaticAssets

API: Final = (
    session, pools, tables, rounds, wins, table_acts, configs, adjustments, retirements, operators, audit, reports,
    devices, controllers,
)  # fmt: skip
"""The modules of the API; each has a router, and each of its paths names the role it needs."""
PAGES: Final = (
    sign_in, overview, live_feed, wins_page, rounds_page, table, pools_page, audit_page, reports_page, changes,
    operators_page, devices_page, odds_page, rules_page,
)  # fmt: skip
"""The pages of the console."""
STOP_SECONDS: Final = 1
"""How long requests in progress may take when the daemon stops."""


class ListenError(OSError):
    """The address to listen on is not available."""


class AppContext(NamedTuple):
    """The parts that the application is built from."""

    services: WebServices
    authenticator: Authenticator
    live_view: LiveView
    health: Health
    forwarding: Forwarding | None = None


def application(context: AppContext, version: str) -> FastAPI:
    """Build the application with all its paths."""
    app = FastAPI(title="Jackpot controller", version=version, openapi_url=None, docs_url=None, redoc_url=None)
    error_pages.install(app)
    app.state.services, app.state.authenticator, app.state.live_view, app.state.health, forwarding = context
    forwarding_handler.install(app, forwarding)
    app.state.sse_feed = SseFeed(version)
    for module in (fragments, display, console_fragments):
        module.install(context.live_view)
    for api_module in (*API, openapi):
        app.include_router(openapi.require_roles(api_module.router))
    for page_module in (health, display, *PAGES):
        app.include_router(page_module.router, include_in_schema=False)
    app.mount("/static", StaticAssets(), "static")
    app.add_middleware(ApiGuard, authenticator=context.authenticator, forwarding=forwarding)
    app.add_middleware(SecurityHeaders)
    return app


class _Server(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signal."""
        yield


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this address; raise `ListenError` with the reason if it cannot."""
    try:
        listener = socket.create_server((host, port), reuse_port=False)
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted connections inherit it; avoids 40 ms
    return listener


def metrics_server(host: str, port: int) -> Callable[[], None]:
    """Serve the Prometheus metrics on this address; return the function that stops it."""
    try:
        server, thread = start_http_server(port, host)
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}") from None

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


async def serve(app: StartupRouter, listener: socket.socket, trusted_proxies: str = "") -> None:
    """Serve until cancelled; forwarded client addresses are accepted from these proxies only.

    On cancellation the feeds are ended and requests in progress are finished.
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
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.shield(serving)
    finally:
        app.close()
        server.should_exit = True
        await asyncio.wait((serving,))
        listener.close()
