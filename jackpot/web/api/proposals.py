"""What waits for a second manager, whatever it is: told, approved, or taken off the list."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from jackpot.core import commands as core
from jackpot.core.state import Jackpot, Proposal
from jackpot.web.api.permissions import Act
from jackpot.web.api.schemas import Body, ReasonText, Told
from jackpot.web.problems import Problem

Kind = Literal["config", "adjustment", "retirement"]


class ToldProposal(Told):
    """A change that waits for a second manager."""

    number: int
    kind: Kind
    by: str
    body: dict[str, Any]
    reason: str
    warning: str | None


class Withdrawal(Body):
    """Why a proposal goes off the list."""

    reason: ReasonText


class Proposed(Told):
    """A proposal that waits now."""

    proposal: int
    warning: Annotated[str | None, Field(description="what a second manager should know")]


class Withdrawn(Told):
    """A proposal that waits no more."""

    withdrawn: int


async def approve(kind: Kind, jackpot: str, number: int, act: Act) -> dict[str, Any]:
    """Approve a proposal of this kind."""
    _require_kind(kind, jackpot, number, act)
    return await act.at_jackpot(core.Approve, jackpot, number)


async def withdraw(kind: Kind, jackpot: str, number: int, body: Withdrawal, act: Act) -> Withdrawn:
    """Take a proposal of this kind off the list."""
    _require_kind(kind, jackpot, number, act)
    await act.at_jackpot(core.Withdraw, jackpot, number, body.reason)
    return Withdrawn(withdrawn=number)


def _require_kind(kind: Kind, jackpot: str, number: int, act: Act) -> None:
    """Whoever approves an adjustment must know that it is one; what waits no more may be a repeat, and is left."""
    waiting = act.services.state(jackpot).proposals.get(number)
    if waiting is not None and waiting.kind != kind:
        raise Problem(404, "unknown_proposal", f"proposal {number} is no {kind}: it is a proposed {waiting.kind}")


def of_kind(state: Jackpot, kind: Kind) -> list[Proposal]:
    """The proposals of this kind that wait."""
    return [proposal for proposal in state.proposals.values() if proposal.kind == kind]


def told(state: Jackpot, kind: Kind) -> list[ToldProposal]:
    """The proposals of this kind, ready to be told."""
    return [ToldProposal(**plain(proposal)) for proposal in of_kind(state, kind)]


def plain(proposal: Proposal) -> dict[str, Any]:
    """A proposal as plain data."""
    return {**proposal._asdict(), "body": dict(proposal.body)}
