"""Whether the controller lives and is ready, for machines that ask: /livez and /readyz, open to all and cheap."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sqlalchemy import select

from jackpot.engine.service import JackpotService
from jackpot.store import schema, tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.verification.monitor import Found

STORE_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 1.0
"""How long an answer of the store is kept: whoever asks a thousand times a second asks the store once."""


class Part(NamedTuple):
    """Whether a part is ready, and a sentence about it that anybody may read."""

    ready: bool
    says: str


class Stored(NamedTuple):
    """What the store says of itself; nothing where it does not answer."""

    answers: bool
    version: str | None = None
    epochs: Mapping[str, int] = {}


class Health:
    """Every part of the controller, looked at when somebody asks; `jackpots` and `found` are live."""

    def __init__(self, database: Database, jackpots: Mapping[str, JackpotService], found: Mapping[str, Found]) -> None:
        self._database = database
        self._jackpots = jackpots
        self._found = found
        self._head = schema.head()
        self._asking: asyncio.Task[Stored] | None = None
        self._kept, self._kept_at = Stored(answers=False), 0.0

    async def parts(self) -> dict[str, Part]:
        """Each part by its name."""
        stored = await self._stored()
        failing = [name for name, service in self._jackpots.items() if service.committed.store_failed]
        lost = [name for name, service in self._jackpots.items() if not service.committed.broker_connected]
        names = sorted({*self._jackpots, *stored.epochs} - {SITE})
        return {
            "store": _all_well(failing, "the store takes what is written", "the store refuses what is written for")
            if stored.answers
            else Part(ready=False, says="the store does not answer"),
            "schema": self._schema(stored),
            "broker": _all_well(lost, "the broker is connected", "the broker is not connected for")
            if self._jackpots
            else Part(ready=False, says="no jackpot has been taken over yet"),
            "lease": self._lease(stored),
            **{f"jackpot/{name}": self._jackpot(name) for name in names},
            "audit": self._audit(),
        }

    def _schema(self, stored: Stored) -> Part:
        if stored.version == self._head:
            return Part(ready=True, says=f"the schema is at {self._head}")
        found = f"at {stored.version}" if stored.version else "not known"
        return Part(ready=False, says=f"the schema is {found} and must be at {self._head}")

    def _lease(self, stored: Stored) -> Part:
        if not self._jackpots:
            return Part(ready=False, says="no jackpot has been taken over yet")
        lost = [
            name
            for name, service in self._jackpots.items()
            if stored.epochs.get(name) != service.committed.position.epoch
        ]
        return _all_well(lost, "every jackpot is ours to write", "another may write what we should:")

    def _jackpot(self, name: str) -> Part:
        service = self._jackpots.get(name)
        if service is None:
            return Part(ready=False, says="not taken over yet")
        if service.committed.broker_connected and service.listening.is_set():
            return Part(ready=True, says="listens to its tables")
        return Part(ready=False, says="does not listen to its tables")

    def _audit(self) -> Part:
        """A trail that is wrong is said, but it takes the console from nobody who must look into it."""
        wrong = [f"{name} at {f.verified.wrong_seq}" for name, f in self._found.items() if f.verified.problem]
        if wrong:
            return Part(ready=False, says=f"something is wrong with the trail: {', '.join(wrong)}")
        newest = max((found.at for found in self._found.values()), default=None)
        return Part(ready=True, says=f"verified at {newest}" if newest else "not verified yet since the start")

    async def _stored(self) -> Stored:
        """What the store says, asked once at a time and never waited for long."""
        if time.monotonic() - self._kept_at < KEPT_SECONDS:
            return self._kept
        if self._asking is None:
            self._asking = asyncio.create_task(asyncio.to_thread(self._ask))
        asking = self._asking
        done, _ = await asyncio.wait({asking}, timeout=STORE_SECONDS)
        if done and self._asking is asking:
            self._asking = None  # whatever came of it, the next to come asks anew
        self._kept = asking.result() if done else Stored(answers=False)
        self._kept_at = time.monotonic()
        return self._kept

    def _ask(self) -> Stored:
        try:
            with self._database.reader() as connection:
                version = schema.version(connection)
                chains = select(tables.chains.c.chain, tables.chains.c.epoch)
                rows = connection.execute(chains).all() if version == self._head else []
                return Stored(answers=True, version=version, epochs={row.chain: row.epoch for row in rows})
        except StoreError:
            return Stored(answers=False)


def _all_well(bad: list[str], well: str, otherwise: str) -> Part:
    return Part(ready=False, says=f"{otherwise} {', '.join(bad)}") if bad else Part(ready=True, says=well)


WARNS_ONLY: Final = ("audit",)
"""Parts that are told of, but do not make the controller unready."""
_FRESH: Final = {"Cache-Control": "no-store"}

router = APIRouter(tags=["health"])


@router.get("/livez")
async def livez() -> JSONResponse:
    """The loop turns."""
    return JSONResponse({"live": True}, headers=_FRESH)


_NOT_READY: Final[dict[int | str, dict[str, Any]]] = {
    503: {
        "description": "A part is not ready; `parts` says which.",
        "content": {"application/problem+json": {"schema": {"type": "object"}}},
    }
}


@router.get("/readyz", responses=_NOT_READY)
async def readyz(request: Request) -> JSONResponse:
    """Whether every part is ready; 503 where one is not, and which."""
    health: Health = request.app.state.health
    parts = await health.parts()
    waits = [name for name, part in parts.items() if not part.ready and name not in WARNS_ONLY]
    body: dict[str, Any] = {"ready": not waits, "parts": {name: part._asdict() for name, part in parts.items()}}
    if not waits:
        return JSONResponse(body, headers=_FRESH)
    problem = {"type": "urn:jackpot:problem:not_ready", "title": "not ready", "status": 503, "code": "not_ready"}
    body |= problem | {"detail": f"not ready: {', '.join(waits)}"}
    return JSONResponse(body, 503, _FRESH, "application/problem+json")


router.add_api_route("/livez", livez, methods=["HEAD"], include_in_schema=False)
router.add_api_route("/readyz", readyz, methods=["HEAD"], include_in_schema=False)
