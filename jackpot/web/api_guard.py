"""The guard of the API: authentication, body size, time limit and media type, checked before routing."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jackpot.core.results import Refused
from jackpot.store.errors import StoreError
from jackpot.web.authentication import SAFE_METHODS, Authenticator
from jackpot.web.forwarding import HEADER, Forwarding, body_hash
from jackpot.web.problems import Problem, response_to_refusal

GUARDED: Final = ("/api/", "/openapi.json")
SIGN_IN: Final = ("POST", "/api/v1/session")
MAX_BYTES: Final = 64 * 1024
BODY_SECONDS: Final = 10.0


class ApiGuard:
    """Refuses API requests that are not authenticated, too large, too slow or not JSON; forbids caching."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, forwarding: Forwarding | None = None) -> None:
        self._app = app
        self._authenticator = authenticator
        self._forwarding = forwarding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on."""
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            expected_hash = await self._authenticate(request)
            is_read = request.method in SAFE_METHODS
            checked = receive if is_read else _ReplayedBody(await _body(request, receive, expected_hash), receive)
        except (Problem, Refused, StoreError) as problem:
            await response_to_refusal(problem)(scope, receive, _without_caching(send))
            return
        await self._app(scope, checked, _without_caching(send))

    async def _authenticate(self, request: Request) -> str | None:
        """Determine the caller; return the hash that the body must have, if another controller forwarded it."""
        if (request.method, request.url.path) == SIGN_IN:
            return None
        if HEADER in request.headers and self._forwarding is not None:
            request.state.caller, expected_hash = await self._forwarding.authenticate(request)
            return expected_hash
        request.state.caller = await self._authenticator.authenticate(request)
        return None


class _ReplayedBody:
    """A `receive` that gives a body that was read already."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        """Return the body once, then the client's further messages, such as its disconnect."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _body(request: Request, receive: Receive, expected_hash: str | None) -> bytes:
    """Return the whole JSON body, within the limits of size and time; it is kept to be forwarded."""
    declared = request.headers.get("Content-Length", "0")
    if declared.isdigit() and int(declared) > MAX_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read(receive)
    except TimeoutError:
        raise Problem(408, "too_slow", f"the request was not complete within {BODY_SECONDS:.0f} s") from None
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if body and media_type != "application/json":
        raise Problem(415, "unsupported_media_type", "send JSON, with Content-Type: application/json")
    if expected_hash is not None and body_hash(body) != expected_hash:
        raise Problem(401, "forwarding_refused", "the body of this forwarded request was changed")
    request.state.body = body
    return body


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)  # the client disconnected
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)


def _too_large() -> Problem:
    return Problem(413, "too_large", f"a request may have at most {MAX_BYTES} bytes")


def _without_caching(send: Send) -> Send:
    """Return a `send` that tells browsers and proxies not to cache the response."""

    async def send_uncached(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
        await send(message)

    return send_uncached
