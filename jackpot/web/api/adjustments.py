"""Money moved by hand, by two managers."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import Field

from jackpot.core import commands as core
from jackpot.core.administration import MAX_POOL_CENTS
from jackpot.core.events import EventType
from jackpot.core.ledger import Account
from jackpot.store import queries
from jackpot.store.queries import EventFilter, Page
from jackpot.web.api.permissions import At, Auditor, ByManager
from jackpot.web.api.proposals import Proposed, ToldProposal, Withdrawal, Withdrawn, approve, told, withdraw
from jackpot.web.api.schemas import (
    WHOLE,
    Body,
    Cents,
    Id,
    JackpotPath,
    JackpotQuery,
    Number,
    ProposalPath,
    ReasonText,
    Time,
    Told,
)

router = APIRouter(prefix="/api/v1", tags=["adjustments"])

APPROVED_SHOWN: Final = 50


class Approved(Told):
    """An adjustment that was made."""

    seq: int
    at: Time
    by: str
    proposed_by: str
    reason: str
    table: str | None
    round: int | None
    source: str
    target: str
    amount_cents: Cents


class Adjustments(Told):
    """Adjustments that wait, and the last that were made."""

    jackpot: str
    proposals: list[ToldProposal]
    approved: list[Approved]


class AdjustmentWish(Body):
    """Money to be moved by hand; a target of `house_advance` repays advances."""

    jackpot: Id | None = None
    source: Annotated[Account, Field(strict=False)]
    target: Annotated[Account, Field(strict=False)]
    amount_cents: Annotated[int, Field(ge=1, le=MAX_POOL_CENTS), WHOLE]
    table: Id | None = None
    round: Number | None = None
    reason: ReasonText


class AdjustmentApproved(Told):
    """What was moved."""

    moved_cents: Cents


@router.get("/adjustments")
async def adjustments(_caller: Auditor, services: At, jackpot: JackpotQuery = None) -> Adjustments:
    """Adjustments that wait for a second manager, and the last ones that were made."""
    name = services.meant(jackpot)
    wanted = EventFilter(type=EventType.ADJUSTMENT_APPROVED)
    page = Page(name, limit=APPROVED_SHOWN)
    found = await services.read(lambda connection: queries.events(connection, page, wanted))
    return Adjustments(
        jackpot=name,
        proposals=told(services.state(name), "adjustment"),
        approved=[_approved(row) for row in found.rows],
    )


@router.post("/adjustments")
async def propose_adjustment(body: AdjustmentWish, act: ByManager) -> Proposed:
    """Propose to move money by hand, or to repay an advance; another manager approves it."""
    fields = (body.source, body.target, body.amount_cents, body.reason, body.table, body.round)
    return Proposed(**await act.at_jackpot(core.ProposeAdjustment, act.services.meant(body.jackpot), *fields))


@router.post("/adjustments/{jackpot}/{number}/approve")
async def approve_adjustment(jackpot: JackpotPath, number: ProposalPath, act: ByManager) -> AdjustmentApproved:
    """Approve an adjustment that another manager proposed."""
    return AdjustmentApproved(**await approve("adjustment", jackpot, number, act))


@router.post("/adjustments/{jackpot}/{number}/withdraw")
async def withdraw_adjustment(
    jackpot: JackpotPath, number: ProposalPath, body: Withdrawal, act: ByManager
) -> Withdrawn:
    """Take a proposed adjustment off the list."""
    return await withdraw("adjustment", jackpot, number, body, act)


def _approved(row: dict[str, Any]) -> Approved:
    data, (transfer,) = json.loads(row["data"]), json.loads(row["transfers"])
    return Approved(
        seq=row["seq"],
        at=row["at"],
        by=row["actor"],
        proposed_by=data["proposed_by"],
        reason=data["reason"],
        table=row["table_id"],
        round=row["round"],
        source=transfer[0],
        target=transfer[1],
        amount_cents=transfer[2],
    )
