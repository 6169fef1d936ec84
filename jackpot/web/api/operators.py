"""Operators: who they are, and their tokens, each told once and kept nowhere."""

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
from jackpot.web.api.permissions import At, Auditor, ByAnyone, ByManager
from jackpot.web.api.schemas import Body, Days, Id, OperatorPath, ReasonText, Time, Told

router = APIRouter(prefix="/api/v1", tags=["operators"])

_TOLD_ONCE = "it was told once, in the first answer"


class ToldOperator(Told):
    """An operator, and when their token ends; null where it never does."""

    name: str
    role: Role
    active: bool
    expires_at: Time | None


class Waiting(Told):
    """A manager who waits for a second manager's approval: to be added, or to get a new token."""

    name: str
    what: Literal["add", "renew"]
    by: str


class NewOperator(Body):
    """An auditor or a supervisor; a new manager takes two managers."""

    name: Id
    role: Literal["auditor", "supervisor"]
    days: Days = DAYS


class Lifetime(Body):
    """How long a new token is worth something."""

    days: Days = DAYS


class Why(Body):
    """Why."""

    reason: ReasonText


class NewToken(Told):
    """A token, told once: a repeat of the same request finds null here."""

    operator: str
    expires_at: Time
    token: str | None
    note: Annotated[str, Field(description="what to do with it, or why it is not here")]


class HalfToken(Told):
    """One half of a manager's token, told once; another manager is told the other, and nobody but its owner both."""

    operator: str
    half: Annotated[str | None, Field(description="null in the answer to a repeat of the same request")]
    note: Annotated[str, Field(description="what to do with it, or why it is not here")]


class WithdrawnManager(Told):
    """Who waits no more."""

    withdrawn: str


class Revoked(Told):
    """Who has no access any more."""

    revoked: str


@router.get("/operators")
async def operators(_caller: Auditor, services: At) -> list[ToldOperator]:
    """List the operators, their roles, and when their tokens end."""
    return [
        ToldOperator(name=o.name, role=o.role, active=o.active, expires_at=o.expires_at or None)
        for o in services.site.operators.values()
    ]


@router.get("/operators/proposals")
async def proposals(_caller: Auditor, services: At) -> list[Waiting]:
    """List the managers who wait for a second manager's approval."""
    site = services.site
    return [
        Waiting(name=name, what="renew" if name in site.operators else "add", by=by)
        for name, by in site.waiting.items()
    ]


@router.post("/operators")
async def add(body: NewOperator, act: ByManager) -> NewToken:
    """Add an auditor or a supervisor; their token is told once."""
    fresh = new_token()
    fields = (body.name, Role(body.role), token_hash(fresh), in_days(body.days))
    return _token(await act.at_site(AddOperator, *fields, said=(body.name, body.role, body.days)), fresh)


@router.post("/operators/{name}/propose")
async def propose(name: OperatorPath, act: ByManager) -> HalfToken:
    """Propose a new manager, or a new token for one who has lost theirs: you are told half of it, once."""
    fresh = new_token()
    return _half(await act.at_site(ProposeManager, name, token_hash(fresh), said=(name,)), fresh)


@router.post("/operators/{name}/approve")
async def approve(name: OperatorPath, body: Lifetime, act: ByManager) -> HalfToken:
    """Approve a manager whom another manager proposed: you are told the other half of their token, once."""
    fresh = new_token()
    fields = (name, token_hash(fresh), in_days(body.days))
    return _half(await act.at_site(ApproveManager, *fields, said=(name, body.days)), fresh)


@router.post("/operators/{name}/withdraw")
async def withdraw(name: OperatorPath, body: Why, act: ByManager) -> WithdrawnManager:
    """Take a manager who waits for approval off the list."""
    await act.at_site(WithdrawManager, name, body.reason)
    return WithdrawnManager(withdrawn=name)


@router.post("/operators/{name}/renew")
async def renew(name: OperatorPath, body: Lifetime, act: ByAnyone) -> NewToken:
    """Give an operator a new token, told once: everybody their own, a manager an auditor's or a supervisor's."""
    fresh = new_token()
    fields = (name, token_hash(fresh), in_days(body.days))
    return _token(await act.at_site(RenewToken, *fields, said=(name, body.days)), fresh)


@router.post("/operators/{name}/revoke")
async def revoke(name: OperatorPath, body: Why, act: ByManager) -> Revoked:
    """Take an operator's access away, for good."""
    await act.at_site(RevokeOperator, name, body.reason)
    return Revoked(revoked=name)


def _half(decision: SiteDecision, fresh: str) -> HalfToken:
    first = decision.event is not None
    note = "half of a token, shown once: hand it over yourself" if first else _TOLD_ONCE
    return HalfToken(operator=decision.answer["operator"], half=fresh if first else None, note=note)


def _token(decision: SiteDecision, fresh: str) -> NewToken:
    """A repeat did not make the fresh token anything: only the first answer has one."""
    first = decision.event is not None
    note = "shown once: hand it over and forget it" if first else f"{_TOLD_ONCE}: renew it"
    return NewToken(
        operator=decision.answer["operator"],
        expires_at=decision.answer["expires_at"],
        token=fresh if first else None,
        note=note,
    )
