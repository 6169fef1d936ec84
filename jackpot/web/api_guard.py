"""Before anything of the API is looked at: who asks, how much, and in which form."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jackpot.core.results import Refused
from jackpot.store.errors import StoreError
from jackpot.web.authentication import SAFE_METHODS, Authenticator
from jackpot.web.problems import Problem, answer_to

GUARDED: Final = ("/api/", "/openapi.json")
SIGN_IN: Final = ("POST", "/api/v1/session")
MAX_BYTES: Final = 64 * 1024
BODY_SECONDS: Final = 10.0


class ApiGuard:
    """Lets nothing through to the API that is not signed in, too large, slow, or not JSON; answers are not kept."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator) -> None:
        self._app = app
        self._door = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            if (request.method, request.url.path) != SIGN_IN:
                request.state.caller = await self._door.admit(request)
            heard = receive if request.method in SAFE_METHODS else _Replayed(await _body(request, receive), receive)
        except (Problem, Refused, StoreError) as problem:
            await answer_to(problem)(scope, receive, _unkept(send))
            return
        await self._app(scope, heard, _unkept(send))


class _Replayed:
    """A body that was read already."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        """The body once, then whatever else comes: that the client went away."""
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _body(request: Request, receive: Receive) -> bytes:
    """The whole of a small body of JSON."""
    declared = request.headers.get("Content-Length", "0")
    if declared.isdigit() and int(declared) > MAX_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read(receive)
    except TimeoutError:
        raise Problem(408, "too_slow", f"the request did not come whole within {BODY_SECONDS:.0f} s") from None
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        raise Problem(415, "unsupported_media_type", "say it in JSON: Content-Type: application/json")
    return body


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)  # the client went away
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)


def _too_large() -> Problem:
    return Problem(413, "too_large", f"a request has at most {MAX_BYTES} bytes")


def _unkept(send: Send) -> Send:
    """No browser and no proxy keeps an answer of the API."""

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
        await send(message)

    return marked
