"""A jackpot ends by two managers; the players' money goes on to another one."""

from __future__ import annotations

from fastapi import APIRouter

from jackpot.core import commands as core
from jackpot.web.api.permissions import At, Auditor, ByManager
from jackpot.web.api.proposals import Proposed, ToldProposal, Withdrawal, Withdrawn, approve, told, withdraw
from jackpot.web.api.schemas import Body, Cents, Id, JackpotPath, JackpotQuery, ProposalPath, ReasonText, Told

router = APIRouter(prefix="/api/v1", tags=["retirements"])


class Retirements(Told):
    """Whether a jackpot has ended, and what waits."""

    jackpot: str
    retired: bool
    proposals: list[ToldProposal]


class RetirementWish(Body):
    """A jackpot that should end, and the one that the players' money goes on to."""

    jackpot: Id
    heir: Id
    reason: ReasonText


class RetirementApproved(Told):
    """What left the pools, in custody for the heir."""

    heir: str
    moved_cents: Cents


@router.get("/retirements")
async def retirements(_caller: Auditor, services: At, jackpot: JackpotQuery = None) -> Retirements:
    """Whether a jackpot has ended, or is proposed to."""
    state = services.state(services.meant(jackpot))
    return Retirements(jackpot=state.id, retired=state.retired, proposals=told(state, "retirement"))


@router.post("/retirements")
async def propose_retirement(body: RetirementWish, act: ByManager) -> Proposed:
    """Propose that a jackpot ends; another manager approves it."""
    act.services.service(body.heir)
    return Proposed(**await act.at_jackpot(core.ProposeRetirement, body.jackpot, body.heir, body.reason))


@router.post("/retirements/{jackpot}/{number}/approve")
async def approve_retirement(jackpot: JackpotPath, number: ProposalPath, act: ByManager) -> RetirementApproved:
    """Approve that a jackpot ends."""
    return RetirementApproved(**await approve("retirement", jackpot, number, act))


@router.post("/retirements/{jackpot}/{number}/withdraw")
async def withdraw_retirement(
    jackpot: JackpotPath, number: ProposalPath, body: Withdrawal, act: ByManager
) -> Withdrawn:
    """Take a proposed retirement off the list."""
    return await withdraw("retirement", jackpot, number, body, act)
