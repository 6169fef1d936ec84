"""Failures as RFC 9457 problem documents: a sentence for people, a code for programs."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

import structlog
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from jackpot import metrics
from jackpot.core.results import Refused
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE

MEDIA_TYPE: Final = "application/problem+json"
_STATUS: Final = {
    "malformed": 422,
    "forbidden": 403,
    "needs_supervisor": 403,
    "same_person": 403,
    "unknown_table": 404,
    "unknown_proposal": 404,
}
"""The HTTP status of each refusal; all others are conflicts with the present state (409)."""
_FAILED: Final = metrics.ERRORS.labels(SITE, "web")
"""Unexpected failures; the counter exists from the start, so that the first failure shows as an increase."""

log = structlog.get_logger()


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = Field(description="urn:jackpot:problem: and the code")
    title: str = Field(description="the code in words")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="a sentence for a person")
    code: str = Field(description="for a program")


class Problem(Exception):  # noqa: N818 - an answer, not an error of the program
    """A refusal for the client; `wait_seconds` is sent as Retry-After."""

    def __init__(self, status: int, code: str, detail: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = {} if wait_seconds is None else {"Retry-After": str(max(1, round(wait_seconds + 0.5)))}


def problem_response(status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return a problem document as a response."""
    document = ProblemDocument(
        type=f"urn:jackpot:problem:{code}", title=code.replace("_", " "), status=status, detail=detail, code=code
    )
    challenge = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    return JSONResponse(document.model_dump(), status, {**challenge, **(headers or {})}, MEDIA_TYPE)


def response_to_refusal(error: Problem | Refused | StoreError) -> JSONResponse:
    """Return the response to a refusal, or to a store that does not answer."""
    match error:
        case Problem():
            return problem_response(error.status, error.code, error.detail, error.headers)
        case Refused():
            return problem_response(_STATUS.get(error.code.value, 409), error.code.value, error.message)
    return problem_response(503, "store", "the store does not answer: try again", {"Retry-After": "1"})


FAILURES: Final = (Problem, Refused, StoreError, RequestValidationError, HTTPException, Exception)
"""Every kind of failure that `response_to` handles."""


def response_to(request: Request, error: Exception) -> JSONResponse:
    """Return the response to any failure; unexpected ones are logged and counted."""
    match error:
        case Problem() | Refused() | StoreError():
            return response_to_refusal(error)
        case RequestValidationError():
            first = error.errors()[0]
            return problem_response(422, "malformed", f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        case HTTPException() if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = ", ".join(sorted(_methods(request)))
            sentence = f"{request.url.path} does not allow {request.method}, only {allowed}"
            return problem_response(405, "method_not_allowed", sentence, {"Allow": allowed})
        case HTTPException() if error.status_code == HTTPStatus.NOT_FOUND:
            return problem_response(404, "not_found", f"there is nothing at {request.url.path}")
        case HTTPException() if error.status_code == HTTPStatus.BAD_REQUEST:
            return problem_response(422, "malformed", "the body is not JSON in UTF-8")
        case HTTPException():
            code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
            return problem_response(error.status_code, code, str(error.detail), dict(error.headers or {}))
    _FAILED.inc()
    log.error("request failed", method=request.method, path=request.url.path, problem=repr(error))
    return problem_response(500, "internal", "an error in the controller: see its log")


def _methods(request: Request) -> set[str]:
    """Return every method that this path allows."""
    return {method for route in _routes(request.app.routes) for method in _methods_of(route, request)}


def _routes(routes: Iterable[BaseRoute]) -> Iterable[BaseRoute]:
    """Yield all routes, including those of included routers."""
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is None:
            yield route
        else:
            yield from _routes(included.routes)


def _methods_of(route: BaseRoute, request: Request) -> set[str]:
    found, _ = route.matches(request.scope)
    return set(getattr(route, "methods", None) or ()) if found is not Match.NONE else set()
