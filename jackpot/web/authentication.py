"""Who comes in: by a token, or by a browser's session; refusals are limited and told to the entry log."""

from __future__ import annotations

import asyncio
import secrets
import time
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
"""Wrong tokens from one address within a minute; after that it waits."""
MAX_FAILURES_OF_ALL: Final = 200
MAX_SIGN_INS: Final = 20
"""Sign-ins of one operator within a minute: each of them is an entry in the audit trail."""
MAX_TOLD: Final = 20
"""Refusals that the entry log hears of within a minute, whatever their number."""
WATCH_SECONDS: Final = 1.0
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
UNATTENDED: Final = "X-Unattended"
"""The header of what a page asks by itself: that alone does not keep a session alive."""
FEED: Final = "/console/feed"
"""What a page listens to; a browser asks for it again by itself, and cannot send the header."""

log = structlog.get_logger()


class Caller(NamedTuple):
    """Who asks, from where; with the session, where a browser does."""

    operator: Operator
    address: str
    session: Session | None = None

    @property
    def actor(self) -> Actor:
        """Who acts when this caller does."""
        return self.operator.actor


class Authenticator:
    """Knows the site as it is now, and every session."""

    def __init__(self, site_writer: SiteWriter) -> None:
        self._site_writer = site_writer
        self.sessions = Sessions()
        self._failures = RateLimiter(MAX_FAILURES)
        self._all_failures = RateLimiter(MAX_FAILURES_OF_ALL)
        self._sign_ins = RateLimiter(MAX_SIGN_INS)
        self._refusals = Refusals(MAX_TOLD)

    async def admit(self, request: Request) -> Caller:
        """Who asks; a token in the header comes before a cookie."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._by_token(request, token.strip())
        if cookie_name(request) in request.cookies:
            return self._by_session(request, request.cookies[cookie_name(request)])
        raise Problem(401, "unauthenticated", "this needs an operator's token (Authorization: Bearer …) or a sign-in")

    def is_still_valid(self, caller: Caller) -> bool:
        """Whether a caller would be let in now: what lasts longer than a request asks this now and then."""
        known = self._site_writer.site.operators.get(caller.operator.name)
        if known is None or not known.active or known.token_hash != caller.operator.token_hash:
            return False
        if caller.session is not None:
            return self.sessions.holds(caller.session, self._site_writer.site, now(), time.monotonic())
        return not known.is_expired(now())

    async def sign_in(self, request: Request, token: str) -> tuple[str, Caller]:
        """Open a session for the operator with this token, durably recorded; says its id, for the cookie alone."""
        require_same_origin(request, needed=False)
        at, address = time.monotonic(), address_of(request)
        operator = await self._operator(address, token)
        wait = self._sign_ins.wait_seconds(operator.name, at)
        if wait:
            raise Problem(429, "too_many_sign_ins", f"{operator.name} signs in too often", wait_seconds=wait)
        self._sign_ins.add(operator.name, at)
        await self._record(SignIn(now(), operator.actor, address))
        self._end_former(request, at)
        secret, session = self.sessions.open(operator, at)
        return secret, Caller(operator, address, session)

    async def sign_out(self, caller: Caller) -> None:
        """End a session; a token stays what it is."""
        if caller.session is not None:
            self.sessions.end(caller.session)
            await self._record(SignOut(now(), caller.actor, caller.address))

    async def watch(self) -> None:
        """Notice what others write of the site, and tell the entry log of refusals."""
        reachable = True
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await asyncio.to_thread(self._site_writer.refresh)
                await self.tell_refusals()
            except StoreError as error:
                if reachable:
                    log.warning("site not read", problem=str(error))
                reachable = False
            else:
                reachable = True

    async def tell_refusals(self) -> None:
        """Refused sign-ins into the entry log, as many as it takes; what it does not take now stays to be told."""
        at = time.monotonic()
        while (refused := self._refusals.due(at)) is not None:
            await self._record(RefuseSignIn(now(), CONTROLLER, refused.address, refused.attempts))
            self._refusals.tell(refused, at)
            log.warning("sign-in refused", address=refused.address, attempts=refused.attempts)

    async def _by_token(self, request: Request, token: str) -> Caller:
        address = address_of(request)
        return Caller(await self._operator(address, token), address)

    async def _operator(self, address: str, token: str) -> Operator:
        """Whom a token belongs to: a right one is let in however many wrong ones came beside it, for nobody guesses it.

        One that is not known is looked for in the store, because it may be new, unless too many were wrong.
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
            raise Problem(401, "session_ended", "this session has ended: sign in again")
        if request.method not in SAFE_METHODS:
            require_same_origin(request, needed=True)
            if not secrets.compare_digest(session.csrf.encode(), request.headers.get("X-CSRF-Token", "").encode()):
                raise Problem(403, "csrf", "an act from a page needs the session's X-CSRF-Token")
        return Caller(self._site_writer.site.operators[session.name], address_of(request), session)

    def _end_former(self, request: Request, at: float) -> None:
        """A browser that signs in anew leaves its former session."""
        former = request.cookies.get(cookie_name(request), "")
        session = self.sessions.find(former, self._site_writer.site, now(), at)
        if session is not None:
            self.sessions.end(session)

    async def _record(self, entry: SignIn | SignOut | RefuseSignIn) -> None:
        await asyncio.shield(asyncio.wrap_future(self._site_writer.submit(entry, sign=False)))


def is_secure(request: Request) -> bool:
    """Whether cookies are for https alone: always, but where a browser speaks plain http to its own machine."""
    try:
        host = urlsplit(f"//{request.headers.get('Host', '')}").hostname
    except ValueError:
        return True
    return request.scope["scheme"] == "https" or host not in LOOPBACK


def cookie_name(request: Request) -> str:
    """The session's cookie; the prefix has browsers take it from nobody but this very host."""
    return "__Host-jackpot" if is_secure(request) else "jackpot-session"


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return request.client.host if request.client else "unknown"


def require_same_origin(request: Request, *, needed: bool) -> None:
    """Refuse what another site's page had a browser send; programs send neither header."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        ours = site == "same-origin"
    elif origin is not None:
        ours = origin.partition("://")[2] == request.headers.get("Host", "")
    else:
        ours = not needed
    if not ours:
        raise Problem(403, "foreign_page", "this comes from a page of another site")


def _too_many(wait: float) -> Problem:
    return Problem(429, "too_many_failures", "too many wrong tokens came from here: wait a little", wait_seconds=wait)
