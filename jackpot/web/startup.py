"""Routing while the controller starts: health from the beginning, everything else once its jackpots are served."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jackpot.web import health, problems
from jackpot.web.console import error_pages
from jackpot.web.health import Health
from jackpot.web.security_headers import SecurityHeaders
from jackpot.web.sse import SseFeed
from jackpot.web.templates import StaticAssets

RETRY_SECONDS: Final = 2
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class StartupRouter:
    """Routes to the starting or the running application, and ends its feeds when the daemon stops."""

    def __init__(self, health_of: Health) -> None:
        self.health = health_of
        self._app: ASGIApp = _starting_app(health_of)
        self._feed: SseFeed | None = None

    def route_to(self, app: FastAPI) -> None:
        """Route to the running application from now on."""
        self._app, self._feed = app, app.state.sse_feed

    def close(self) -> None:
        """End the streams of all subscribers."""
        if self._feed is not None:
            self._feed.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application."""
        await self._app(scope, receive, send)


def _starting_app(health_of: Health) -> FastAPI:
    """Return the application of a controller that waits for its store or its broker."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.health = health_of
    app.include_router(health.router)
    app.mount("/static", StaticAssets(), "static")
    app.add_api_route("/{path:path}", _starting, methods=_METHODS)
    app.add_exception_handler(Exception, problems.response_to)
    app.add_middleware(SecurityHeaders)
    return app


async def _starting(request: Request) -> Response:
    """Answer programs with a problem, and people with a page that reloads by itself."""
    detail = "the controller is starting: /readyz shows what it waits for"
    response: Response = problems.problem_response(503, "starting", detail)
    if error_pages.is_for_people(request):
        response = error_pages.without_layout(response, "Jackpot controller")
        response.headers["Refresh"] = str(RETRY_SECONDS)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
