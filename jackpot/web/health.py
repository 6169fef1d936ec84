"""Health checks for load balancers and monitoring: /livez and /readyz, without sign-in and cheap.

Strangers get the status only. The parts, which name jackpots and problems, are for operators' tokens and for requests
on the machine itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sqlalchemy import select

from jackpot.engine.alarms import Alarms
from jackpot.engine.jackpots import JackpotSource
from jackpot.store import schema, tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.verification.monitor import ChainStatus
from jackpot.web.authentication import Authenticator, address_of, is_loopback
from jackpot.web.problems import MEDIA_TYPE, Problem

STORE_SECONDS: Final = 2.0
CACHE_SECONDS: Final = 1.0
"""How long the store's status is cached, so that frequent requests do not load the store."""


class Part(NamedTuple):
    """The readiness of one part, with a sentence about it; without secrets."""

    ready: bool
    says: str


class StoreStatus(NamedTuple):
    """The store's schema version and the epoch of each chain; empty if it does not answer."""

    answers: bool
    version: str | None = None
    epochs: Mapping[str, int] = {}


class Health:
    """The readiness of every part of the controller; `jackpots` and `found` are live mappings."""

    def __init__(
        self,
        database: Database,
        jackpots: Mapping[str, JackpotSource],
        found: Mapping[str, ChainStatus],
        alarms: Alarms,
    ) -> None:
        self._database = database
        self._jackpots = jackpots
        self._found = found
        self._alarms = alarms
        self.start_problem = ""
        """Why the start waits for the store; "" if it does not."""
        self._head = schema.head()
        self._query: asyncio.Task[StoreStatus] | None = None
        self._cached, self._cached_at = StoreStatus(answers=False), 0.0

    async def parts(self) -> dict[str, Part]:
        """Return the readiness of each part by its name."""
        stored = await self._store_status()
        failing = [name for name, service in self._jackpots.items() if service.committed.store_failed]
        owned = {name: service for name, service in self._jackpots.items() if service.owned}
        lost = [name for name, service in owned.items() if not service.committed.broker_connected]
        names = sorted({*self._jackpots, *stored.epochs} - {SITE})
        return {
            "store": self._store(stored, failing),
            "schema": self._schema(stored),
            "broker": _unless(
                lost,
                "the broker is connected" if owned else "this controller stands by",
                "the broker is not connected for",
            )
            if self._jackpots
            else Part(ready=False, says="no jackpot has been taken over yet"),
            "lease": self._lease(stored),
            **{f"jackpot/{name}": self._jackpot(name) for name in names},
            "audit": self._audit(),
            "alarms": self._raised(),
        }

    def _store(self, stored: StoreStatus, failing: list[str]) -> Part:
        if self.start_problem:
            return Part(ready=False, says=f"the start waits for the store: {self.start_problem}")
        if not stored.answers:
            return Part(ready=False, says="the store does not answer")
        return _unless(failing, "the store accepts writes", "the store refuses writes for")

    def _schema(self, stored: StoreStatus) -> Part:
        if stored.version == self._head:
            return Part(ready=True, says=f"the schema is at {self._head}")
        found = f"at {stored.version}" if stored.version else "not known"
        return Part(ready=False, says=f"the schema is {found} and must be at {self._head}")

    def _lease(self, stored: StoreStatus) -> Part:
        if not self._jackpots:
            return Part(ready=False, says="no jackpot has been taken over yet")
        lost = [
            name
            for name, service in self._jackpots.items()
            if service.owned and stored.epochs.get(name) != service.committed.position.epoch
        ]
        ownerless = [name for name, service in self._jackpots.items() if not service.has_owner]
        if ownerless and not lost:
            return Part(ready=False, says=f"no controller owns {', '.join(ownerless)}")
        return _unless(lost, "the leases of all jackpots are held", "another controller holds the lease of")

    def _jackpot(self, name: str) -> Part:
        service = self._jackpots.get(name)
        if service is None:
            return Part(ready=False, says="not taken over yet")
        if not service.owned:
            says = "standing by: another controller owns it" if service.has_owner else "no controller owns it"
            return Part(ready=service.has_owner, says=says)
        if service.committed.broker_connected and service.listening.is_set():
            return Part(ready=True, says="subscribed to its tables")
        return Part(ready=False, says="not subscribed to its tables")

    def _audit(self) -> Part:
        """Show an invalid trail; it only warns, because the console is needed to look into it."""
        wrong = [f"{name} at {f.verified.wrong_seq}" for name, f in self._found.items() if f.verified.problem]
        if wrong:
            return Part(ready=False, says=f"verification of the trail failed: {', '.join(wrong)}")
        newest = max((found.at for found in self._found.values()), default=None)
        return Part(ready=True, says=f"verified at {newest}" if newest else "not verified yet since the start")

    def _raised(self) -> Part:
        raised = [f"{alarm.chain}: {alarm.says}" for alarm in self._alarms.all()]
        return Part(ready=not raised, says="; ".join(raised) or "no alarm is raised")

    async def _store_status(self) -> StoreStatus:
        """Return the store's status, read by one query at a time and with a short timeout."""
        if time.monotonic() - self._cached_at < CACHE_SECONDS:
            return self._cached
        if self._query is None:
            self._query = asyncio.create_task(asyncio.to_thread(self._read_store))
        query = self._query
        done, _ = await asyncio.wait({query}, timeout=STORE_SECONDS)
        if done and self._query is query:
            self._query = None  # also after an error: the next request starts a new query
        self._cached = query.result() if done else StoreStatus(answers=False)
        self._cached_at = time.monotonic()
        return self._cached

    def _read_store(self) -> StoreStatus:
        try:
            with self._database.reader() as connection:
                version = schema.version(connection)
                chains = select(tables.chains.c.chain, tables.chains.c.epoch)
                rows = connection.execute(chains).all() if version == self._head else []
                return StoreStatus(answers=True, version=version, epochs={row.chain: row.epoch for row in rows})
        except StoreError:
            return StoreStatus(answers=False)


def _unless(failing: list[str], ready: str, unready: str) -> Part:
    """Return a part that is ready unless names are failing; the sentence lists them."""
    if failing:
        return Part(ready=False, says=f"{unready} {', '.join(failing)}")
    return Part(ready=True, says=ready)


WARNS_ONLY: Final = ("audit", "alarms")
"""Parts that are shown, but do not make the controller unready."""
_NO_CACHE: Final = {"Cache-Control": "no-store"}

router = APIRouter(tags=["health"])


@router.get("/livez")
async def livez() -> JSONResponse:
    """Answer that the event loop runs."""
    return JSONResponse({"live": True}, headers=_NO_CACHE)


_NOT_READY: Final[dict[int | str, dict[str, Any]]] = {
    503: {
        "description": "A part is not ready; `parts` says which, for those who may see it.",
        "content": {"application/problem+json": {"schema": {"type": "object"}}},
    }
}
_PROXY_HEADERS: Final = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")


@router.get("/readyz", responses=_NOT_READY)
async def readyz(request: Request) -> JSONResponse:
    """Show if the controller is ready, 503 if not; for operators and on the machine itself also each part."""
    health: Health = request.app.state.health
    parts = await health.parts()
    unready = [name for name, part in parts.items() if not part.ready and name not in WARNS_ONLY]
    shown = await _may_see_parts(request)
    body: dict[str, Any] = {"ready": not unready}
    if shown:
        body["parts"] = {name: part._asdict() for name, part in parts.items()}
    if not unready:
        return JSONResponse(body, headers=_NO_CACHE)
    problem = {"type": "urn:jackpot:problem:not_ready", "title": "not ready", "status": 503, "code": "not_ready"}
    reason = ", ".join(unready) if shown else "the reasons are shown to operators and on the machine itself"
    return JSONResponse({**body, **problem, "detail": f"not ready: {reason}"}, 503, _NO_CACHE, MEDIA_TYPE)


async def _may_see_parts(request: Request) -> bool:
    """Return True for a request on the machine itself that no proxy passed on, or with an operator's token."""
    if is_loopback(address_of(request)) and not any(name in request.headers for name in _PROXY_HEADERS):
        return True
    authenticator: Authenticator | None = getattr(request.app.state, "authenticator", None)
    if authenticator is None or "Authorization" not in request.headers:
        return False
    try:
        await authenticator.authenticate(request)
    except (Problem, StoreError):
        return False  # a load balancer with an expired token still gets the status
    return True


router.add_api_route("/livez", livez, methods=["HEAD"], include_in_schema=False)
router.add_api_route("/readyz", readyz, methods=["HEAD"], include_in_schema=False)
