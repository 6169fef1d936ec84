"""Adjustments: money moved by hand, proposed by one manager and approved by another."""

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
from jackpot.web.api.permissions import Auditor, ByManager, Services
from jackpot.web.api.proposals import (
    NewProposal,
    PendingProposal,
    WithdrawalRequest,
    WithdrawnProposal,
    approve,
    pending_proposals,
    withdraw,
)
from jackpot.web.api.schemas import (
    WHOLE,
    Cents,
    Id,
    JackpotPath,
    JackpotQuery,
    Number,
    ProposalPath,
    ReasonText,
    RequestModel,
    ResponseModel,
    Time,
)

router = APIRouter(prefix="/api/v1", tags=["adjustments"])

APPROVED_SHOWN: Final = 50


class ApprovedAdjustment(ResponseModel):
    """An approved adjustment."""

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


class Adjustments(ResponseModel):
    """Pending adjustments, and the last approved ones."""

    jackpot: str
    proposals: list[PendingProposal]
    approved: list[ApprovedAdjustment]


class AdjustmentRequest(RequestModel):
    """Money to move by hand; a target of `house_advance` repays advances."""

    jackpot: Id | None = None
    source: Annotated[Account, Field(strict=False)]
    target: Annotated[Account, Field(strict=False)]
    amount_cents: Annotated[int, Field(ge=1, le=MAX_POOL_CENTS), WHOLE]
    table: Id | None = None
    round: Number | None = None
    reason: ReasonText


class AdjustmentApproval(ResponseModel):
    """The amount moved by an approved adjustment."""

    moved_cents: Cents


@router.get("/adjustments")
async def adjustments(_caller: Auditor, services: Services, jackpot: JackpotQuery = None) -> Adjustments:
    """Show adjustments that wait for a second manager, and the last approved ones."""
    name = services.resolve(jackpot)
    event_filter = EventFilter(type=EventType.ADJUSTMENT_APPROVED)
    page = Page(name, limit=APPROVED_SHOWN)
    found = await services.read(lambda connection: queries.events(connection, page, event_filter))
    return Adjustments(
        jackpot=name,
        proposals=pending_proposals(services.state(name), "adjustment"),
        approved=[_approved(row) for row in found.rows],
    )


@router.post("/adjustments")
async def propose_adjustment(body: AdjustmentRequest, act: ByManager) -> NewProposal:
    """Propose to move money by hand, or to repay an advance; another manager approves it."""
    fields = (body.source, body.target, body.amount_cents, body.reason, body.table, body.round)
    return NewProposal(**await act.at_jackpot(core.ProposeAdjustment, act.services.resolve(body.jackpot), *fields))


@router.post("/adjustments/{jackpot}/{number}/approve")
async def approve_adjustment(jackpot: JackpotPath, number: ProposalPath, act: ByManager) -> AdjustmentApproval:
    """Approve an adjustment that another manager proposed."""
    return AdjustmentApproval(**await approve("adjustment", jackpot, number, act))


@router.post("/adjustments/{jackpot}/{number}/withdraw")
async def withdraw_adjustment(
    jackpot: JackpotPath, number: ProposalPath, body: WithdrawalRequest, act: ByManager
) -> WithdrawnProposal:
    """Withdraw a proposed adjustment."""
    return await withdraw("adjustment", jackpot, number, body, act)


def _approved(row: dict[str, Any]) -> ApprovedAdjustment:
    data, (transfer,) = json.loads(row["data"]), json.loads(row["transfers"])
    return ApprovedAdjustment(
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
