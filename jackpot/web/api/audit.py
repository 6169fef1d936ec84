"""The audit trail: search of events, checkpoints, and verification."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from jackpot.clock import moment
from jackpot.store import queries
from jackpot.store.hash_chain import SITE
from jackpot.store.queries import EventFilter, Page
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import ID, Before, Limit, Paged, ResponseModel, TableQuery, Time, paged
from jackpot.web.problems import Problem
from jackpot.web.services import WebServices

router = APIRouter(prefix="/api/v1", tags=["audit"])

ChainQuery = Annotated[str | None, Query(pattern=ID, description=f"a jackpot's chain, or {SITE}")]
Moment = Annotated[str | None, Query(description="RFC 3339", json_schema_extra={"format": "date-time"})]
Word = Annotated[str | None, Query(pattern=ID)]


class AuditEvent(ResponseModel):
    """An event; `data` and `transfers` are the exact texts that were hashed."""

    chain: str
    seq: int
    at: Time
    actor: str
    type: str
    table_id: str | None
    round: int | None
    data: Annotated[str, Field(description="canonical JSON")]
    transfers: Annotated[str, Field(description="canonical JSON: [from, to, cents, kind]")]
    hash: Annotated[str, Field(description="SHA-256 of the event with the previous event's hash, in hexadecimal")]


class SignedCheckpoint(ResponseModel):
    """A signed note over a chain's head."""

    chain: str
    seq: int
    note: Annotated[str, Field(description="a C2SP signed note")]


class ChainVerification(ResponseModel):
    """The result of verifying one chain; `problem` is the first one found."""

    chain: str
    events: int
    head: str
    checkpoints: int
    wrong_seq: int | None
    problem: str | None


class VerificationReport(ResponseModel):
    """The results of a verification, and when it began."""

    at: Time
    ok: bool
    chains: list[ChainVerification]


@router.get("/audit")
async def audit(  # noqa: PLR0913 - a page's options and filters
    *,
    _caller: Auditor,
    services: Services,
    chain: ChainQuery = None,
    since: Moment = None,
    until: Moment = None,
    kind: Annotated[str | None, Query(alias="type", pattern=ID, description="only events of this type")] = None,
    table: TableQuery = None,
    actor: Word = None,
    before: Before = None,
    limit: Limit = 50,
) -> Paged[AuditEvent]:
    """Search events, the newest first; a page that is not full may still have more after it: see `before`."""
    page = Page(_chain(services, chain), table, before, limit)
    event_filter = EventFilter(_moment(since), _moment(until), kind, actor)
    found = await services.read(lambda connection: queries.events(connection, page, event_filter))
    return Paged[AuditEvent](rows=[AuditEvent(**row) for row in found.rows], before=found.before)


@router.get("/audit/checkpoints")
async def checkpoints(
    _caller: Auditor, services: Services, chain: ChainQuery = None, before: Before = None, limit: Limit = 50
) -> Paged[SignedCheckpoint]:
    """Show the signed notes over a chain's head, the newest first."""
    page = Page(_chain(services, chain), None, before, limit)
    found = await services.read(lambda connection: queries.checkpoints(connection, page))
    return paged([SignedCheckpoint(**row) for row in found], limit)


@router.get("/audit/verify")
async def verify(_caller: Auditor, services: Services, chain: ChainQuery = None) -> VerificationReport:
    """Verify a chain, or all of them: hashes, checkpoints, and that the events give the ledger and the state."""
    at, found = await services.verification.run(None if chain is None else _chain(services, chain))
    chains = [ChainVerification(**row._asdict()) for row in found]
    return VerificationReport(at=at, ok=all(row.problem is None for row in found), chains=chains)


@router.get("/audit/verified")
async def verified(_caller: Auditor, services: Services) -> list[VerificationReport]:
    """Show the last verification of each chain since the controller began; this starts none."""
    return [
        VerificationReport(
            at=found.at, ok=found.verified.problem is None, chains=[ChainVerification(**found.verified._asdict())]
        )
        for found in services.verification.last.values()
    ]


def _chain(services: WebServices, chain: str | None) -> str:
    return SITE if chain == SITE else services.resolve(chain)


def _moment(text: str | None) -> str | None:
    try:
        return None if text is None else moment(text)
    except ValueError as error:
        raise Problem(422, "malformed", str(error)) from None
