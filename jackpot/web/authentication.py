"""Authentication by token or by browser session; failures are rate-limited and recorded in the audit trail."""

from __future__ import annotations

import asyncio
import secrets
import time
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import structlog
from starlette.requests import Request

from jackpot.clock import now
from jackpot.core.commands import CONTROLLER, Actor
from jackpot.core.results import Refused
from jackpot.core.site.commands import RefuseSignIn, SignIn, SignOut
from jackpot.core.site.state import Operator
from jackpot.engine.site_writer import SiteWriter
from jackpot.store.errors import StoreError
from jackpot.tokens import Expired, operator_of
from jackpot.web.problems import Problem
from jackpot.web.rate_limits import RateLimiter, Refusals, network
from jackpot.web.sessions import Session, Sessions

MAX_FAILURES: Final = 10
"""Wrong tokens from one address within a minute; after that it has to wait."""
MAX_FAILURES_OVERALL: Final = 200
MAX_SIGN_INS: Final = 20
"""Sign-ins of one operator within a minute: each is an entry in the audit trail."""
MAX_REFUSAL_ENTRIES: Final = 20
"""Entries about refused sign-ins in the audit trail within a minute."""
WATCH_SECONDS: Final = 1.0
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
UNATTENDED: Final = "X-Unattended"
"""The header of requests that a page makes by itself: they do not keep a session alive."""
FEED: Final = "/console/feed"
"""The console's feed; a browser reconnects to it by itself, and cannot send that header."""

log = structlog.get_logger()


class Caller(NamedTuple):
    """The authenticated operator behind a request, their address, and the session if a browser sent it."""

    operator: Operator
    address: str
    session: Session | None = None

    @property
    def actor(self) -> Actor:
        """The actor of commands that this caller submits."""
        return self.operator.actor


class Authenticator:
    """Authenticates requests against the operators of the site, and keeps the sessions."""

    def __init__(self, site_writer: SiteWriter) -> None:
        self._site_writer = site_writer
        self.sessions = Sessions()
        self._failures = RateLimiter(MAX_FAILURES)
        self._all_failures = RateLimiter(MAX_FAILURES_OVERALL)
        self._sign_ins = RateLimiter(MAX_SIGN_INS)
        self._refusals = Refusals(MAX_REFUSAL_ENTRIES)

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller of a request; a token in the header takes precedence over a cookie."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._by_token(request, token.strip())
        if cookie_name(request) in request.cookies:
            return self._by_session(request, request.cookies[cookie_name(request)])
        raise Problem(401, "unauthenticated", "send an operator's token (Authorization: Bearer …) or sign in")

    def is_still_valid(self, caller: Caller) -> bool:
        """Return True if a caller would still be authenticated; feeds check it while they last."""
        known = self._site_writer.site.operators.get(caller.operator.name)
        if known is None or not known.active or known.token_hash != caller.operator.token_hash:
            return False
        if caller.session is not None:
            return self.sessions.is_valid(caller.session, self._site_writer.site, now(), time.monotonic())
        return not known.is_expired(now())

    async def sign_in(self, request: Request, token: str) -> tuple[str, Caller]:
        """Open a session once its entry in the trail is durable; return its id, for the cookie only."""
        require_same_origin(request, needed=False)
        at, address = time.monotonic(), address_of(request)
        operator = await self._operator(address, token)
        wait = self._sign_ins.wait_seconds(operator.name, at)
        if wait:
            raise Problem(429, "too_many_sign_ins", f"{operator.name} has signed in too often", wait_seconds=wait)
        self._sign_ins.add(operator.name, at)
        await self._record(SignIn(now(), operator.actor, address))
        self._end_previous(request, at)
        secret, session = self.sessions.open(operator, at)
        return secret, Caller(operator, address, session)

    async def sign_out(self, caller: Caller) -> None:
        """End a session; its token stays valid."""
        if caller.session is not None:
            self.sessions.end(caller.session)
            await self._record(SignOut(now(), caller.actor, caller.address))

    async def watch(self) -> None:
        """Read what other processes wrote about the site, and record refused sign-ins, until cancelled."""
        reachable = True
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await asyncio.to_thread(self._site_writer.refresh)
                await self.record_refusals()
            except StoreError as error:
                if reachable:
                    log.warning("site state not read", problem=str(error))
                reachable = False
            else:
                reachable = True

    async def record_refusals(self) -> None:
        """Record refused sign-ins within the limit; those that cannot be written now stay due."""
        at = time.monotonic()
        while (refused := self._refusals.due(at)) is not None:
            await self._record(RefuseSignIn(now(), CONTROLLER, refused.address, refused.attempts))
            self._refusals.mark_recorded(refused, at)
            log.warning("sign-in refused", address=refused.address, attempts=refused.attempts)

    async def _by_token(self, request: Request, token: str) -> Caller:
        address = address_of(request)
        return Caller(await self._operator(address, token), address)

    async def _operator(self, address: str, token: str) -> Operator:
        """Return the operator of a token. Valid tokens are never rate-limited: they cannot be guessed.

        An unknown token may be new, so the store is read again, unless there were too many wrong ones.
        """
        try:
            return operator_of(self._site_writer.site, token, now())
        except Refused:
            wait = self._failures.wait_seconds(network(address), time.monotonic())
        if wait:
            self._refusals.add(address)
            raise _too_many(wait)
        await asyncio.to_thread(self._site_writer.refresh)
        try:
            return operator_of(self._site_writer.site, token, now())
        except Refused as refused:
            at = time.monotonic()
            flood = self._all_failures.wait_seconds("", at)
            self._failures.add(network(address), at)
            self._all_failures.add("", at)
            self._refusals.add(address)
            if flood:
                raise _too_many(flood) from None
            if isinstance(refused, Expired):
                raise Problem(401, "token_expired", refused.message) from None
            raise Problem(401, "unauthenticated", "this token belongs to no active operator") from None

    def _by_session(self, request: Request, secret: str) -> Caller:
        attended = UNATTENDED not in request.headers and request.url.path != FEED
        session = self.sessions.find(secret, self._site_writer.site, now(), time.monotonic(), attended=attended)
        if session is None:
            raise Problem(401, "session_ended", "the session has ended: sign in again")
        if request.method not in SAFE_METHODS:
            require_same_origin(request, needed=True)
            if not secrets.compare_digest(session.csrf.encode(), request.headers.get("X-CSRF-Token", "").encode()):
                raise Problem(403, "csrf", "an act by a session needs its X-CSRF-Token header")
        return Caller(self._site_writer.site.operators[session.name], address_of(request), session)

    def _end_previous(self, request: Request, at: float) -> None:
        """End the previous session of a browser that signs in again."""
        previous = request.cookies.get(cookie_name(request), "")
        session = self.sessions.find(previous, self._site_writer.site, now(), at)
        if session is not None:
            self.sessions.end(session)

    async def _record(self, entry: SignIn | SignOut | RefuseSignIn) -> None:
        await asyncio.shield(asyncio.wrap_future(self._site_writer.submit(entry, sign=False)))


def is_secure(request: Request) -> bool:
    """Return True if cookies must be https-only: always, except for plain http on the machine itself."""
    try:
        host = urlsplit(f"//{request.headers.get('Host', '')}").hostname
    except ValueError:
        return True
    return request.scope["scheme"] == "https" or host not in LOOPBACK


def cookie_name(request: Request) -> str:
    """Return the name of the session's cookie; browsers accept the prefix `__Host-` only from this very host."""
    return "__Host-jackpot" if is_secure(request) else "jackpot-session"


def address_of(request: Request) -> str:
    """Return the client's address."""
    return request.client.host if request.client else "unknown"


def is_loopback(address: str) -> bool:
    """Return True if an address is of the machine itself."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return (mapped or parsed).is_loopback


def require_same_origin(request: Request, *, needed: bool) -> None:
    """Refuse requests that a page of another site made a browser send; programs send neither header."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        same = site == "same-origin"
    elif origin is not None:
        same = origin.partition("://")[2] == request.headers.get("Host", "")
    else:
        same = not needed
    if not same:
        raise Problem(403, "foreign_page", "the request comes from a page of another site")


def _too_many(wait: float) -> Problem:
    return Problem(429, "too_many_failures", "too many wrong tokens from this address: wait", wait_seconds=wait)
