"""Retirement of a jackpot by two managers; its money passes to another jackpot."""

from __future__ import annotations

from fastapi import APIRouter

from jackpot.core import commands as core
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
    Cents,
    Id,
    JackpotPath,
    JackpotQuery,
    ProposalPath,
    ReasonText,
    RequestModel,
    ResponseModel,
)

router = APIRouter(prefix="/api/v1", tags=["retirements"])


class Retirements(ResponseModel):
    """The retirement status of a jackpot, and pending proposals."""

    jackpot: str
    retired: bool
    proposals: list[PendingProposal]


class RetirementRequest(RequestModel):
    """A jackpot to retire, and the heir that its money passes to."""

    jackpot: Id
    heir: Id
    reason: ReasonText


class RetirementApproval(ResponseModel):
    """The amount taken out of the pools, held for the heir."""

    heir: str
    moved_cents: Cents


@router.get("/retirements")
async def retirements(_caller: Auditor, services: Services, jackpot: JackpotQuery = None) -> Retirements:
    """Show if a jackpot is retired, or proposed to be."""
    state = services.state(services.resolve(jackpot))
    return Retirements(jackpot=state.id, retired=state.retired, proposals=pending_proposals(state, "retirement"))


@router.post("/retirements")
async def propose_retirement(body: RetirementRequest, act: ByManager) -> NewProposal:
    """Propose to retire a jackpot; another manager approves it."""
    act.services.service(body.heir)
    return NewProposal(**await act.at_jackpot(core.ProposeRetirement, body.jackpot, body.heir, body.reason))


@router.post("/retirements/{jackpot}/{number}/approve")
async def approve_retirement(jackpot: JackpotPath, number: ProposalPath, act: ByManager) -> RetirementApproval:
    """Approve the retirement of a jackpot."""
    return RetirementApproval(**await approve("retirement", jackpot, number, act))


@router.post("/retirements/{jackpot}/{number}/withdraw")
async def withdraw_retirement(
    jackpot: JackpotPath, number: ProposalPath, body: WithdrawalRequest, act: ByManager
) -> WithdrawnProposal:
    """Withdraw a proposed retirement."""
    return await withdraw("retirement", jackpot, number, body, act)
