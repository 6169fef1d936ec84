"""Signing in and out: a browser's session, in a cookie that scripts cannot read."""

from __future__ import annotations

import time
from typing import Annotated, Final

from fastapi import APIRouter, Request, Response
from pydantic import Field

from jackpot.clock import in_seconds
from jackpot.core.commands import Role
from jackpot.web.api.permissions import Auditor
from jackpot.web.api.schemas import RequestModel, ResponseModel, Time
from jackpot.web.authentication import Authenticator, Caller, cookie_name, is_secure
from jackpot.web.sessions import MAX_SECONDS

router = APIRouter(prefix="/api/v1", tags=["session"])

MAX_TOKEN: Final = 256


class SignInRequest(RequestModel):
    """An operator's token."""

    token: Annotated[str, Field(min_length=1, max_length=MAX_TOKEN)]


class SessionInfo(ResponseModel):
    """The signed-in operator, and the session's CSRF token."""

    name: str
    role: Role
    csrf: Annotated[str | None, Field(description="send it as X-CSRF-Token with every act; null if a token is used")]
    expires_at: Annotated[Time | None, Field(description="when this ends if no further request is made")]


@router.post("/session")
async def sign_in(body: SignInRequest, request: Request, response: Response) -> SessionInfo:
    """Sign a browser in with an operator's token; the session is kept in a cookie."""
    secret, caller = await authenticator_of(request).sign_in(request, body.token)
    _set_cookie(request, response, secret, round(MAX_SECONDS))
    return _session_info(caller)


@router.get("/session")
async def session(caller: Auditor) -> SessionInfo:
    """Show who is signed in."""
    return _session_info(caller)


@router.delete("/session", status_code=204)
async def sign_out(request: Request, response: Response, caller: Auditor) -> None:
    """Sign out; with a token there is nothing to end."""
    await authenticator_of(request).sign_out(caller)
    _set_cookie(request, response, "", 0)


def authenticator_of(request: Request) -> Authenticator:
    """Return the authenticator of this application."""
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator


def _set_cookie(request: Request, response: Response, secret: str, seconds: int) -> None:
    response.set_cookie(
        cookie_name(request), secret, seconds, path="/", secure=is_secure(request), httponly=True, samesite="strict"
    )


def _session_info(caller: Caller) -> SessionInfo:
    session, operator = caller.session, caller.operator
    ends = operator.expires_at or None
    if session is not None:
        ends = min(in_seconds(session.ends_in(time.monotonic())), operator.expires_at or "9")
    return SessionInfo(
        name=operator.name, role=operator.role, csrf=session.csrf if session is not None else None, expires_at=ends
    )
