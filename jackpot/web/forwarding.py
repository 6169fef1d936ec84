"""Acts on a jackpot that another controller owns are forwarded there, in the operator's name.

The request carries no credential of the operator but a claim signed with the site's key: who acts, from where, and the
request itself by its hash. The owner accepts a claim once and for ten seconds, and takes the role from its own state of
the site. A forwarded request is never forwarded again. Every one has an idempotency key, so that a retry acts once.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import quote

import structlog
from fastapi import FastAPI, Request
from starlette.responses import Response

from jackpot.clock import now
from jackpot.core.site.state import Operator
from jackpot.engine.controllers import ControllerReport, live_owner
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import canonical
from jackpot.store.signed_notes import Checkpoint, Signer
from jackpot.web.authentication import Caller
from jackpot.web.http_client import HttpError, HttpRequest, HttpResponse, send_request
from jackpot.web.problems import Problem, response_to_refusal
from jackpot.web.services import OwnedElsewhere, WebServices

HEADER: Final = "Jackpot-Forwarded"
KEY: Final = "Idempotency-Key"
NOT_OWNER: Final = "not_owner"
FORWARD_SECONDS: Final = 10.0
"""The limit of a forwarded act, with all attempts."""
ATTEMPT_SECONDS: Final = 4.0
"""After this long without an answer the owner is looked up again: another controller may have taken over."""
BETWEEN_ATTEMPTS_SECONDS: Final = 0.25
VALID_SECONDS: Final = 10.0
MAX_FORWARDED: Final = 50
"""Acts that are being forwarded at one time."""
MAX_CLAIMS: Final = 10_000
_PASSED_BACK: Final = ("content-type", "retry-after", "www-authenticate", "allow")

log = structlog.get_logger()


class ForwardingClaim(NamedTuple):
    """What the forwarding controller signs."""

    to: str
    """The name of the controller that the request is for."""
    operator: str
    address: str
    method: str
    target: str
    key: str
    body_hash: str
    at_ms: int
    id: str


class ForwardingClaims:
    """Signs claims, and opens those of other controllers of the site; each is accepted once."""

    def __init__(self, signer: Signer, name: str, wall: Callable[[], float] = time.time) -> None:
        self._signer = signer
        self._wall = wall
        self.name = name
        self._seen: OrderedDict[str, int] = OrderedDict()

    def now_ms(self) -> int:
        """Return the present time."""
        return round(self._wall() * 1_000)

    def sign(self, claim: ForwardingClaim) -> str:
        """Return a claim as the value of a header."""
        note = self._signer.sign(self._content(claim))
        return urlsafe_b64encode(json.dumps([*claim, note]).encode()).decode()

    def open(self, header: str, request: Request) -> ForwardingClaim:
        """Return the claim of a request; raise `Problem` unless it is signed, fresh, new and for this request."""
        try:
            *fields, note = json.loads(urlsafe_b64decode(header.encode()))
            claim = ForwardingClaim(*fields)
            signed = self._signer.verifier.open(note)
        except (ValueError, TypeError, AttributeError, StoreError):
            raise _refused("it is not signed with the site's key") from None
        if signed != self._content(claim):
            raise _refused("its signature is of another request")
        if (claim.to, claim.method, claim.target) != (self.name, request.method, target_of(request)):
            raise _refused("it is for another controller or another path")
        if claim.key != request.headers.get(KEY, ""):
            raise _refused("its idempotency key was changed")
        self._accept_once(claim)
        return claim

    def _accept_once(self, claim: ForwardingClaim) -> None:
        at_ms, valid_ms = self.now_ms(), VALID_SECONDS * 1_000
        if abs(at_ms - claim.at_ms) > valid_ms:
            raise _refused("it is older than 10 s, or the clocks of the two controllers differ")
        while self._seen and next(iter(self._seen.values())) < at_ms:
            self._seen.popitem(last=False)
        if claim.id in self._seen:
            raise _refused("it was received before")
        if len(self._seen) >= MAX_CLAIMS:
            raise Problem(503, "busy", "too many forwarded requests: try again", wait_seconds=1)
        self._seen[claim.id] = round(at_ms + 2 * valid_ms)  # one from a clock ahead of ours stays valid for longer

    def _content(self, claim: ForwardingClaim) -> Checkpoint:
        """Return what is signed; no chain has a name without a character, so that no checkpoint is like it."""
        digest = sha256(canonical(list(claim)).encode()).digest()
        return Checkpoint(f"{self._signer.verifier.name}//forwarded-request", claim.at_ms, digest)


class Forwarding:
    """Forwards acts to the owners of jackpots, and authenticates those that other controllers forward."""

    def __init__(self, services: WebServices, signer: Signer, name: str) -> None:
        self._services = services
        self._claims = ForwardingClaims(signer, name)
        self._forwarded = 0

    # At the owner.

    async def authenticate(self, request: Request) -> tuple[Caller, str]:
        """Return the caller of a forwarded request, and the hash that its body must have."""
        claim = self._claims.open(request.headers[HEADER], request)
        operator = self._operator(claim.operator)
        if operator is None:
            await asyncio.to_thread(self._services.site_writer.refresh)
            operator = self._operator(claim.operator)
        if operator is None:
            raise Problem(401, "unauthenticated", f"there is no active operator {claim.operator}")
        return Caller(operator, claim.address), claim.body_hash

    def _operator(self, name: str) -> Operator | None:
        found = self._services.site.operators.get(name)
        return found if found is not None and found.active and not found.is_expired(now()) else None

    # At another controller.

    async def forward(self, request: Request, jackpot: str) -> Response:
        """Forward a request to the owner of a jackpot, and return the owner's response."""
        if self._forwarded >= MAX_FORWARDED:
            busy = f"{MAX_FORWARDED} acts are being forwarded already: try again"
            return response_to_refusal(Problem(503, "busy", busy, wait_seconds=1))
        self._forwarded += 1
        try:
            answer = await self._forward(request, jackpot)
        except (Problem, StoreError) as problem:
            return response_to_refusal(problem)
        finally:
            self._forwarded -= 1
        headers = {name: answer.headers[name] for name in _PASSED_BACK if name in answer.headers}
        return Response(answer.body, answer.status, headers)

    async def _forward(self, request: Request, jackpot: str) -> HttpResponse:
        if HEADER in request.headers:
            raise Problem(503, NOT_OWNER, f"this controller does not own {jackpot} any more: try again", wait_seconds=1)
        key = request.headers.get(KEY) or f"forwarded-{secrets.token_hex(16)}"
        until = time.monotonic() + FORWARD_SECONDS
        while True:
            left = until - time.monotonic()
            try:
                return await self._attempt(request, jackpot, key, min(left, ATTEMPT_SECONDS))
            except Problem as problem:
                if until - time.monotonic() <= BETWEEN_ATTEMPTS_SECONDS:
                    log.warning("act not forwarded", jackpot=jackpot, problem=problem.detail)
                    raise
            await asyncio.sleep(BETWEEN_ATTEMPTS_SECONDS)

    async def _attempt(self, request: Request, jackpot: str, key: str, seconds: float) -> HttpResponse:
        """Send the request to the present owner; raise `Problem` if there is none, or no answer that counts."""
        owner = await self._owner(jackpot)
        try:
            answer = await send_request(owner.address, self._signed(request, owner.name, key), seconds)
        except HttpError as error:
            says = f"{owner.name}, which owns {jackpot}, did not answer ({error}): look if it was done, then try again"
            raise Problem(503, "owner_unreachable", says, wait_seconds=2) from None
        if answer.status == 503 and _code(answer) in (NOT_OWNER, "starting"):
            raise Problem(503, NOT_OWNER, f"{jackpot} is being taken over: try again", wait_seconds=1)
        if answer.status == 401:  # our claim was not accepted; to the client it would mean that its own sign-in ended
            return answer._replace(status=503)
        return answer

    async def _owner(self, jackpot: str) -> ControllerReport:
        owner = await self._services.read(lambda connection: live_owner(connection, jackpot))
        if owner is None or not owner.address:
            raise Problem(503, "no_owner", f"no controller owns {jackpot} at present: try again", wait_seconds=2)
        if owner.name == self._claims.name:
            raise Problem(503, NOT_OWNER, f"this controller is taking {jackpot} over: try again", wait_seconds=1)
        return owner

    def _signed(self, request: Request, owner: str, key: str) -> HttpRequest:
        caller: Caller = request.state.caller
        body: bytes = request.state.body
        target, at_ms = target_of(request), self._claims.now_ms()
        claim = ForwardingClaim(
            owner, caller.operator.name, caller.address, request.method, target, key, body_hash(body), at_ms,
            secrets.token_hex(16),
        )  # fmt: skip
        headers = {HEADER: self._claims.sign(claim), KEY: key, "Accept": "application/json"}
        if body:
            headers["Content-Type"] = "application/json"
        return HttpRequest(request.method, target, headers, body)


def install(app: FastAPI, forwarding: Forwarding | None) -> None:
    """Forward every act on a jackpot that another controller owns."""

    async def forward(request: Request, error: Exception) -> Response:
        jackpot = error.jackpot if isinstance(error, OwnedElsewhere) else ""
        if forwarding is None:
            return response_to_refusal(Problem(503, NOT_OWNER, f"another controller owns {jackpot}", wait_seconds=2))
        return await forwarding.forward(request, jackpot)

    app.add_exception_handler(OwnedElsewhere, forward)


def target_of(request: Request) -> str:
    """Return the path and the query of a request as they were sent."""
    raw: bytes | None = request.scope.get("raw_path")
    path = raw.decode("latin-1") if raw else quote(request.url.path)
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def body_hash(body: bytes) -> str:
    """Return the hash of a body."""
    return sha256(body).hexdigest()


def _code(answer: HttpResponse) -> str | None:
    try:
        document = json.loads(answer.body)
    except ValueError:
        return None
    return document.get("code") if isinstance(document, dict) else None


def _refused(reason: str) -> Problem:
    return Problem(401, "forwarding_refused", f"this forwarded request is not accepted: {reason}")
