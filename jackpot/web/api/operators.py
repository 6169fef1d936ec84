"""Operators and their tokens; a token is shown once, and only its hash is stored."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from jackpot.clock import in_days
from jackpot.core.commands import Role
from jackpot.core.site.commands import (
    AddOperator,
    ApproveManager,
    ProposeManager,
    RenewToken,
    RevokeOperator,
    WithdrawManager,
)
from jackpot.core.site.decide import SiteDecision
from jackpot.tokens import DAYS, new_token, token_hash
from jackpot.web.api.permissions import Auditor, ByAnyone, ByManager, Services
from jackpot.web.api.schemas import Days, Id, OperatorPath, ReasonText, RequestModel, ResponseModel, Time

router = APIRouter(prefix="/api/v1", tags=["operators"])

_SHOWN_ONCE = "it was shown once, in the first response"


class OperatorSummary(ResponseModel):
    """An operator, and when their token expires; null: never."""

    name: str
    role: Role
    active: bool
    expires_at: Time | None


class ManagerProposal(ResponseModel):
    """A manager who waits for a second manager's approval: to be added, or to get a new token."""

    name: str
    what: Literal["add", "renew"]
    by: str


class NewOperatorRequest(RequestModel):
    """An auditor or a supervisor; a new manager takes two managers."""

    name: Id
    role: Literal["auditor", "supervisor"]
    days: Days = DAYS


class TokenLifetimeRequest(RequestModel):
    """The lifetime of a new token."""

    days: Days = DAYS


class ReasonRequest(RequestModel):
    """The reason of an act."""

    reason: ReasonText


class NewToken(ResponseModel):
    """A token, shown once: in the response to a repeat it is null."""

    operator: str
    expires_at: Time
    token: str | None
    note: Annotated[str, Field(description="what to do with it, or why it is missing")]


class HalfToken(ResponseModel):
    """One half of a manager's token, shown once; the other half is shown to another manager only."""

    operator: str
    half: Annotated[str | None, Field(description="null in the response to a repeat")]
    note: Annotated[str, Field(description="what to do with it, or why it is missing")]


class WithdrawnManager(ResponseModel):
    """The manager whose proposal was withdrawn."""

    withdrawn: str


class RevokedOperator(ResponseModel):
    """The operator whose access was revoked."""

    revoked: str


@router.get("/operators")
async def operators(_caller: Auditor, services: Services) -> list[OperatorSummary]:
    """List the operators, their roles, and when their tokens expire."""
    return [
        OperatorSummary(name=o.name, role=o.role, active=o.active, expires_at=o.expires_at or None)
        for o in services.site.operators.values()
    ]


@router.get("/operators/proposals")
async def proposals(_caller: Auditor, services: Services) -> list[ManagerProposal]:
    """List the managers who wait for a second manager's approval."""
    site = services.site
    return [
        ManagerProposal(name=name, what="renew" if name in site.operators else "add", by=by)
        for name, by in site.waiting.items()
    ]


@router.post("/operators")
async def add(body: NewOperatorRequest, act: ByManager) -> NewToken:
    """Add an auditor or a supervisor; their token is shown once."""
    fresh = new_token()
    fields = (body.name, Role(body.role), token_hash(fresh), in_days(body.days))
    return _token(await act.at_site(AddOperator, *fields, content=(body.name, body.role, body.days)), fresh)


@router.post("/operators/{name}/propose")
async def propose(name: OperatorPath, act: ByManager) -> HalfToken:
    """Propose a new manager, or a new token for one who has lost theirs; half of it is shown to you, once."""
    fresh = new_token()
    return _half(await act.at_site(ProposeManager, name, token_hash(fresh), content=(name,)), fresh)


@router.post("/operators/{name}/approve")
async def approve(name: OperatorPath, body: TokenLifetimeRequest, act: ByManager) -> HalfToken:
    """Approve a manager whom another manager proposed; the other half of the token is shown to you, once."""
    fresh = new_token()
    fields = (name, token_hash(fresh), in_days(body.days))
    return _half(await act.at_site(ApproveManager, *fields, content=(name, body.days)), fresh)


@router.post("/operators/{name}/withdraw")
async def withdraw(name: OperatorPath, body: ReasonRequest, act: ByManager) -> WithdrawnManager:
    """Withdraw the proposal of a manager."""
    await act.at_site(WithdrawManager, name, body.reason)
    return WithdrawnManager(withdrawn=name)


@router.post("/operators/{name}/renew")
async def renew(name: OperatorPath, body: TokenLifetimeRequest, act: ByAnyone) -> NewToken:
    """Renew a token, shown once: your own, or as a manager an auditor's or a supervisor's."""
    fresh = new_token()
    fields = (name, token_hash(fresh), in_days(body.days))
    return _token(await act.at_site(RenewToken, *fields, content=(name, body.days)), fresh)


@router.post("/operators/{name}/revoke")
async def revoke(name: OperatorPath, body: ReasonRequest, act: ByManager) -> RevokedOperator:
    """Revoke an operator's access permanently."""
    await act.at_site(RevokeOperator, name, body.reason)
    return RevokedOperator(revoked=name)


def _half(decision: SiteDecision, fresh: str) -> HalfToken:
    first = decision.event is not None
    note = "half of a token, shown once: hand it over in person" if first else _SHOWN_ONCE
    return HalfToken(operator=decision.answer["operator"], half=fresh if first else None, note=note)


def _token(decision: SiteDecision, fresh: str) -> NewToken:
    """Only the first response has the token: in a repeat the fresh one was not stored."""
    first = decision.event is not None
    note = "shown once: hand it over and keep no copy" if first else f"{_SHOWN_ONCE}: renew it"
    return NewToken(
        operator=decision.answer["operator"],
        expires_at=decision.answer["expires_at"],
        token=fresh if first else None,
        note=note,
    )
