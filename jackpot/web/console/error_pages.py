"""Error pages for browsers, in the console's layout for operators who are signed in; programs get problem documents."""

from __future__ import annotations

import json
from typing import Final

from fastapi import FastAPI, Request
from starlette.responses import Response

from jackpot.core.results import Refused
from jackpot.store.errors import StoreError
from jackpot.web.api_guard import GUARDED
from jackpot.web.console.layout import NotSignedIn, PageContext, page_context, redirect_to_sign_in
from jackpot.web.formatting import as_sentence
from jackpot.web.problems import FAILURES, Problem, response_to
from jackpot.web.security_headers import ALWAYS
from jackpot.web.services import services_of
from jackpot.web.templates import page

OPEN: Final = ("/sign-in", "/display/", "/static/")
"""Paths that need no sign-in: an error there does not redirect to the sign-in page."""
HEADINGS: Final = {
    "forbidden": "Not allowed for your role",
    "store": "The store does not answer",
    "busy": "The controller is busy",
    "internal": "Internal error",
    "malformed": "Invalid address",
    "not_found": "Page not found",
    "no_jackpot": "No jackpot yet",
    "starting": "The controller is starting",
}
"""The heading for each error code; any other code is shown by its title."""


def install(app: FastAPI) -> None:
    """Answer every failure with a page for browsers and a problem document for programs."""
    for kind in FAILURES:
        app.add_exception_handler(kind, _answer)
    app.add_exception_handler(NotSignedIn, redirect_to_sign_in)


async def _answer(request: Request, error: Exception) -> Response:
    response: Response = response_to(request, error)
    if is_for_people(request):
        response = await _error_page(request, response)
    # Unhandled exceptions are answered outside the middleware that adds these headers to all other answers.
    response.headers.update({**ALWAYS, "Cache-Control": "no-store"})
    return response


def is_for_people(request: Request) -> bool:
    """Return True if a browser requests a page, False if a program requests an answer of the API."""
    accepts_html = "text/html" in request.headers.get("Accept", "")
    return accepts_html and request.method in ("GET", "HEAD") and not request.url.path.startswith(GUARDED)


async def _error_page(request: Request, answer: Response) -> Response:
    """Return the problem as a page; redirect to the sign-in page where that is needed first."""
    try:
        context = await _context(request)
    except NotSignedIn as error:
        if not request.url.path.startswith(OPEN):
            return await redirect_to_sign_in(request, error)
        context = None
    response = None if context is None else _in_layout(context, answer)
    response = response or without_layout(answer, services_of(request).name, request.app.version)
    kept = ("Retry-After", "Allow")
    response.headers.update({name: answer.headers[name] for name in kept if name in answer.headers})
    return response


def without_layout(answer: Response, site: str, version: str = "") -> Response:
    """Return a problem as a page without the console's layout."""
    return page("console/error.html", answer.status_code, site=site, version=version, **_values(answer))


def _values(answer: Response) -> dict[str, object]:
    """Return the template's values for a problem."""
    problem = json.loads(bytes(answer.body))
    return {
        "heading": HEADINGS.get(problem["code"], problem["title"].capitalize()),
        "detail": as_sentence(problem["detail"]),
        "code": f"{problem['status']} {problem['code']}",
        "again": problem["status"] >= 500,
    }


async def _context(request: Request) -> PageContext | None:
    """Return the page context without the query, which may be invalid; None if it cannot be determined."""
    try:
        return await page_context(Request({**request.scope, "query_string": b""}))
    except (Problem, Refused, StoreError):
        return None


def _in_layout(context: PageContext, answer: Response) -> Response | None:
    """Return the error page in the console's layout; None if the layout itself fails."""
    try:
        return context.render("console/error_in_layout.html", status=answer.status_code, **_values(answer))
    except Exception:  # noqa: BLE001 - an error page must not fail
        return None
