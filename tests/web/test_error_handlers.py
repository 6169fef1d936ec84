"""Error pages that are hard to cause on a running site: a forbidden page, a failing layout, startup."""

import asyncio
from types import SimpleNamespace

import httpx
from fastapi import FastAPI

from jackpot import metrics
from jackpot.core.commands import Role
from jackpot.core.results import CommandError, Refused
from jackpot.core.site.state import Operator
from jackpot.store.errors import Unreachable
from jackpot.store.hash_chain import SITE
from jackpot.web.authentication import Caller
from jackpot.web.console import error_pages
from jackpot.web.problems import MEDIA_TYPE
from jackpot.web.security_headers import POLICY
from jackpot.web.startup import StartupRouter


class Authenticator:
    """Accept every request as a supervisor's."""

    async def authenticate(self, _request):
        return Caller(Operator("sue", Role.SUPERVISOR, "hash"), "127.0.0.1")


class BrokenServices:
    """Services with which the layout fails."""

    name = "casino"

    @property
    def jackpots(self):
        raise RuntimeError("no jackpots")


def application(services):
    """An application with two paths, each failing in its own way."""
    app = FastAPI(version="1")
    app.state.services, app.state.authenticator, app.state.live_view = services, Authenticator(), None
    error_pages.install(app)

    @app.get("/forbidden")
    async def forbidden():
        raise Refused(CommandError.FORBIDDEN, "sue may not do this: it is a manager's act")

    @app.get("/store")
    async def store():
        raise Unreachable("postgresql://host/db: connection refused")

    return app


def request(app, path, accept="text/html", method="GET"):
    """Return the application's answer."""

    async def send():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
            return await client.request(method, path, headers={"Accept": accept})

    return asyncio.run(send())


def test_a_refused_page_says_so_in_the_layout():
    app = application(SimpleNamespace(name="casino", jackpots={}, zone="UTC"))
    answer = request(app, "/forbidden")
    assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "<h1>Not allowed for your role</h1>" in answer.text
    assert "Sue may not do this: it is a manager&#39;s act." in answer.text
    assert 'aria-label="Main"' in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert request(app, "/forbidden", accept="*/*").headers["content-type"] == MEDIA_TYPE


def test_if_the_layout_fails_the_error_page_is_shown_without_it():
    answer = request(application(BrokenServices()), "/store")
    assert answer.status_code == 503
    assert "<h1>The store does not answer</h1>" in answer.text
    assert "Try again" in answer.text
    assert "connection refused" not in answer.text
    assert 'aria-label="Main"' not in answer.text


def test_only_get_requests_are_answered_with_error_pages():
    app = application(SimpleNamespace(name="casino", jackpots={}, zone="UTC"))
    answer = request(app, "/forbidden", method="POST")
    assert (answer.status_code, answer.headers["content-type"]) == (405, MEDIA_TYPE)
    assert answer.headers["allow"] == "GET"


def test_a_starting_controller_shows_a_page_that_reloads_itself():
    router = StartupRouter(SimpleNamespace())
    answer = request(router, "/pools")
    assert (answer.status_code, answer.headers["refresh"], answer.headers["retry-after"]) == (503, "2", "2")
    assert "<h1>The controller is starting</h1>" in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert request(router, "/static/console.css").status_code == 200
    assert request(router, "/pools", accept="*/*").json()["code"] == "starting"
    assert request(router, "/api/v1/wins").json()["code"] == "starting"


def test_a_failure_during_startup_is_a_problem_and_is_counted():
    errors = metrics.ERRORS.labels(SITE, "web")._value
    before = errors.get()
    router = StartupRouter(SimpleNamespace())  # without health checks, so that /readyz fails
    answer = request(router, "/readyz", accept="*/*")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert errors.get() == before + 1
