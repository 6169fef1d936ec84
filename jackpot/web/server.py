"""The HTTP server, inside the daemon's own loop."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI
from prometheus_client import start_http_server
from starlette.types import ASGIApp

from jackpot.web import acts, health, problems
from jackpot.web.floor import Floor
from jackpot.web.health import Health


class ListenError(OSError):
    """The address to listen on cannot be had."""


def application(floor: Floor, version: str, health_of: Health) -> FastAPI:
    """The whole site under its paths."""
    app = FastAPI(title="Jackpot controller", version=version, docs_url=None, redoc_url=None)
    problems.install(app)
    app.state.floor = floor
    app.state.health = health_of
    app.include_router(health.router)
    app.include_router(acts.router)
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
        return socket.create_server((host, port), reuse_port=False)
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror}") from None


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


async def serve(app: ASGIApp, where: socket.socket) -> None:
    """Serve until cancelled."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=2)
    server = _Server(config)
    try:
        await server.serve(sockets=[where])
    finally:
        where.close()
