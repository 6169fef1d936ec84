"""What a browser is shown where a program is told a problem: a page, within the frame for whoever is signed in."""

from __future__ import annotations

import json
from typing import Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from jackpot.core.results import Refused
from jackpot.store.errors import StoreError
from jackpot.web.api_guard import GUARDED
from jackpot.web.console.layout import NotSignedIn, Visit, to_sign_in, visit_by
from jackpot.web.formatting import as_sentence
from jackpot.web.problems import FAILURES, Problem, response_to
from jackpot.web.security_headers import ALWAYS
from jackpot.web.services import services_of
from jackpot.web.templates import page

OPEN: Final = ("/sign-in", "/display/", "/static/")
"""What is for everyone: nobody is asked to sign in for a mishap there."""
HEADINGS: Final = {
    "forbidden": "Not for your role",
    "store": "The store does not answer",
    "busy": "The controller is busy",
    "internal": "Something is wrong with the controller",
    "malformed": "This address is not understood",
    "not_found": "There is no such page",
    "no_jackpot": "No jackpot yet",
    "starting": "The controller is starting",
}
"""What has happened, by its code; any other is told by its own name."""


def install(app: FastAPI) -> None:
    """Have every failure shown to browsers, and told to programs."""
    for kind in FAILURES:
        app.add_exception_handler(kind, _answered)
    app.add_exception_handler(NotSignedIn, to_sign_in)


async def _answered(request: Request, error: Exception) -> Response:
    response: Response = response_to(request, error)
    if is_for_people(request):
        response = await _shown(request, response)
    # What goes wrong unforeseen is answered outside of what adds these to every other answer.
    response.headers.update({**ALWAYS, "Cache-Control": "no-store"})
    return response


def is_for_people(request: Request) -> bool:
    """Whether a person's browser asks for a page, and no program for an answer of the API."""
    wants = "text/html" in request.headers.get("Accept", "")
    return wants and request.method in ("GET", "HEAD") and not request.url.path.startswith(GUARDED)


async def _shown(request: Request, answer: Response) -> Response:
    """The same problem as a page, in its frame for whoever is signed in; strangers are sent to sign in."""
    try:
        visit = await _visit(request)
    except NotSignedIn as nobody:
        if not request.url.path.startswith(OPEN):
            return await to_sign_in(request, nobody)
        visit = None
    response = None if visit is None else _within(visit, answer)
    response = response or bare(answer, services_of(request).name, request.app.version)
    kept = ("Retry-After", "Allow")
    response.headers.update({name: answer.headers[name] for name in kept if name in answer.headers})
    return response


def bare(answer: Response, site: str, version: str = "") -> Response:
    """A problem as a page without the frame."""
    return page("console/mishap.html", answer.status_code, site=site, version=version, **_told(answer))


def _told(answer: Response) -> dict[str, object]:
    """What a page says of a problem."""
    problem = json.loads(bytes(answer.body))
    return {
        "heading": HEADINGS.get(problem["code"], problem["title"].capitalize()),
        "detail": as_sentence(problem["detail"]),
        "code": f"{problem['status']} {problem['code']}",
        "again": problem["status"] >= 500,
    }


async def _visit(request: Request) -> Visit | None:
    """Who looks, without the query, which may be what is wrong; None where that cannot be found out now."""
    try:
        return await visit_by(Request({**request.scope, "query_string": b""}))
    except (Problem, Refused, StoreError):
        return None


def _within(visit: Visit, answer: Response) -> Response | None:
    """The page in its frame; None where the frame itself is what fails."""
    try:
        return visit.show("console/problem.html", status=answer.status_code, **_told(answer))
    except Exception:  # noqa: BLE001 - a page about a mishap never has one of its own
        return None
