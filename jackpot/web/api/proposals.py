"""Proposals of every kind that wait for a second manager: shown, approved or withdrawn."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from jackpot.core import commands as core
from jackpot.core.state import Jackpot, Proposal
from jackpot.web.api.permissions import Act
from jackpot.web.api.schemas import ReasonText, RequestModel, ResponseModel
from jackpot.web.problems import Problem

Kind = Literal["config", "adjustment", "retirement"]


class PendingProposal(ResponseModel):
    """A change that waits for a second manager."""

    number: int
    kind: Kind
    by: str
    body: dict[str, Any]
    reason: str
    warning: str | None


class WithdrawalRequest(RequestModel):
    """The reason why a proposal is withdrawn."""

    reason: ReasonText


class NewProposal(ResponseModel):
    """The number of a new proposal."""

    proposal: int
    warning: Annotated[str | None, Field(description="a warning for the second manager")]


class WithdrawnProposal(ResponseModel):
    """The number of a withdrawn proposal."""

    withdrawn: int


async def approve(kind: Kind, jackpot: str, number: int, act: Act) -> dict[str, Any]:
    """Approve a proposal of this kind."""
    _require_kind(kind, jackpot, number, act)
    return await act.at_jackpot(core.Approve, jackpot, number)


async def withdraw(kind: Kind, jackpot: str, number: int, body: WithdrawalRequest, act: Act) -> WithdrawnProposal:
    """Withdraw a proposal of this kind."""
    _require_kind(kind, jackpot, number, act)
    await act.at_jackpot(core.Withdraw, jackpot, number, body.reason)
    return WithdrawnProposal(withdrawn=number)


def _require_kind(kind: Kind, jackpot: str, number: int, act: Act) -> None:
    """Refuse a pending proposal of another kind; one that is no longer pending may be a repeat, and passes."""
    pending = act.services.state(jackpot).proposals.get(number)
    if pending is not None and pending.kind != kind:
        raise Problem(
            404, "unknown_proposal", f"proposal {number} is not a proposed {kind}: it is a proposed {pending.kind}"
        )


def of_kind(state: Jackpot, kind: Kind) -> list[Proposal]:
    """Return the pending proposals of this kind."""
    return [proposal for proposal in state.proposals.values() if proposal.kind == kind]


def pending_proposals(state: Jackpot, kind: Kind) -> list[PendingProposal]:
    """Return the pending proposals of this kind as response models."""
    return [PendingProposal(**plain(proposal)) for proposal in of_kind(state, kind)]


def plain(proposal: Proposal) -> dict[str, Any]:
    """Return a proposal as plain data."""
    return {**proposal._asdict(), "body": dict(proposal.body)}
