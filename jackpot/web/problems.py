"""What goes wrong, as RFC 9457 problem documents: a sentence for a person, a code for a program."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from jackpot.core.answers import Refused
from jackpot.store.errors import StoreError

_STATUS: Final = {
    "malformed": 422,
    "forbidden": 403,
    "needs_supervisor": 403,
    "same_person": 403,
    "unknown_table": 404,
    "unknown_proposal": 404,
}
"""The status of each refusal; any other is a conflict with the present state."""


class Problem(Exception):  # noqa: N818 - an answer, not an error of the program
    """Something to tell the client."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail


def answer(status: int, code: str, detail: str) -> JSONResponse:
    """A problem document."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    body = {"type": f"urn:jackpot:problem:{code}", "title": code.replace("_", " "), "status": status, "detail": detail}
    return JSONResponse(body | {"code": code}, status, headers, "application/problem+json")


def install(app: FastAPI) -> None:
    """Have every failure of this application told as a problem."""
    app.add_exception_handler(Problem, _told)
    app.add_exception_handler(Refused, _told)
    app.add_exception_handler(StoreError, _told)
    app.add_exception_handler(RequestValidationError, _told)
    app.add_exception_handler(HTTPException, _told)


def _told(_request: Request, error: Exception) -> JSONResponse:
    match error:
        case Problem():
            return answer(error.status, error.code, error.detail)
        case Refused():
            return answer(_STATUS.get(error.code.value, 409), error.code.value, error.message)
        case StoreError():
            return answer(503, "store", "the store does not answer: try again")
        case RequestValidationError():
            first = error.errors()[0]
            return answer(422, "malformed", f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        case HTTPException():
            return answer(error.status_code, "http", str(error.detail))
    raise error
