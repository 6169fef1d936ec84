"""What HTTP finds: health from the first moment on, everything else once the floor is served."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jackpot.web import health, problems
from jackpot.web.console import error_pages
from jackpot.web.health import Health
from jackpot.web.security_headers import SecurityHeaders
from jackpot.web.sse import Feed
from jackpot.web.templates import Files

AGAIN_SECONDS: Final = 2
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class StartupRouter:
    """Leads to whatever application is inside now, and ends the feeds of whoever is inside when the daemon stops."""

    def __init__(self, health_of: Health) -> None:
        self.health = health_of
        self._inside: ASGIApp = _starting(health_of)
        self._feed: Feed | None = None

    def route_to(self, app: FastAPI) -> None:
        """Everything is served from now on."""
        self._inside, self._feed = app, app.state.feed

    def close(self) -> None:
        """Say goodbye to whoever is fed."""
        if self._feed is not None:
            self._feed.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        await self._inside(scope, receive, send)


def _starting(health_of: Health) -> FastAPI:
    """The application of a controller that waits for its store or its broker."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.health = health_of
    app.include_router(health.router)
    app.mount("/static", Files(), "static")
    app.add_api_route("/{path:path}", _not_yet, methods=_METHODS)
    app.add_exception_handler(Exception, problems.told)
    app.add_middleware(SecurityHeaders)
    return app


async def _not_yet(request: Request) -> Response:
    """A problem for programs; a page for people, which looks again by itself."""
    answer: Response = problems.answer(503, "starting", "the controller is starting: /readyz says what it waits for")
    if error_pages.is_for_people(request):
        answer = error_pages.without_layout(answer, "Jackpot controller")
        answer.headers["Refresh"] = str(AGAIN_SECONDS)
    answer.headers["Retry-After"] = str(AGAIN_SECONDS)
    return answer
