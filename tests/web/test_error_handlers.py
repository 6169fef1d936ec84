"""Pages about mishaps that are hard to have on a real floor: a role that is too low, a frame that fails."""

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
    """Lets a supervisor in."""

    async def admit(self, _request):
        return Caller(Operator("sue", Role.SUPERVISOR, "hash"), "127.0.0.1")


class Broken:
    """A floor whose frame cannot be drawn."""

    name = "casino"

    @property
    def jackpots(self):
        raise RuntimeError("no jackpots")


def application(floor):
    """A site of three paths, each with a mishap of its own."""
    app = FastAPI(version="1")
    app.state.services, app.state.authenticator, app.state.live = floor, Authenticator(), None
    error_pages.install(app)

    @app.get("/forbidden")
    async def forbidden():
        raise Refused(CommandError.FORBIDDEN, "sue may not do this: it is a manager's act")

    @app.get("/store")
    async def store():
        raise Unreachable("postgresql://host/db: connection refused")

    return app


def ask(app, path, accept="text/html", method="GET"):
    """What an application answers."""

    async def asked():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
            return await client.request(method, path, headers={"Accept": accept})

    return asyncio.run(asked())


def test_a_page_that_is_not_for_a_role_says_so_within_the_frame():
    app = application(SimpleNamespace(name="casino", jackpots={}, zone="UTC"))
    answer = ask(app, "/forbidden")
    assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "<h1>Not for your role</h1>" in answer.text
    assert "Sue may not do this: it is a manager&#39;s act." in answer.text
    assert 'aria-label="Places"' in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert ask(app, "/forbidden", accept="*/*").headers["content-type"] == MEDIA_TYPE


def test_where_even_the_frame_fails_there_is_a_page_without_it():
    answer = ask(application(Broken()), "/store")
    assert answer.status_code == 503
    assert "<h1>The store does not answer</h1>" in answer.text
    assert "Try again" in answer.text
    assert "connection refused" not in answer.text
    assert 'aria-label="Places"' not in answer.text


def test_only_what_is_looked_at_is_shown_as_a_page():
    app = application(SimpleNamespace(name="casino", jackpots={}, zone="UTC"))
    answer = ask(app, "/forbidden", method="POST")
    assert (answer.status_code, answer.headers["content-type"]) == (405, MEDIA_TYPE)
    assert answer.headers["allow"] == "GET"


def test_a_controller_that_starts_says_so_and_the_page_looks_again_by_itself():
    porch = StartupRouter(SimpleNamespace())
    answer = ask(porch, "/pools")
    assert (answer.status_code, answer.headers["refresh"], answer.headers["retry-after"]) == (503, "2", "2")
    assert "<h1>The controller is starting</h1>" in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert ask(porch, "/static/console.css").status_code == 200
    assert ask(porch, "/pools", accept="*/*").json()["code"] == "starting"
    assert ask(porch, "/api/v1/wins").json()["code"] == "starting"


def test_what_fails_while_the_controller_starts_is_a_problem_too_and_counted():
    errors = metrics.ERRORS.labels(SITE, "web")._value
    before = errors.get()
    answer = ask(StartupRouter(SimpleNamespace()), "/readyz", accept="*/*")  # nothing there to be asked
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert errors.get() == before + 1
