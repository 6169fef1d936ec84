"""The operators page: roles, access, expiry of tokens, and proposals for managers."""

from __future__ import annotations

from typing import Final, NamedTuple

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.clock import in_days, now
from jackpot.core.commands import Role
from jackpot.tokens import DAYS
from jackpot.web.api import operators as api
from jackpot.web.console.layout import Context
from jackpot.web.templates import page

router = APIRouter(include_in_schema=False)

SOON_DAYS: Final = 30


class OperatorRow(NamedTuple):
    """A row of the page: `token` is the token's status, `renewal` how it can be renewed."""

    name: str
    role: str
    active: bool
    expires_at: str | None
    token: str
    renewal: str


@router.get("/operators")
async def operators(context: Context) -> HTMLResponse:
    """Show all operators, those without access last."""
    known = await api.operators(context.caller, context.services)
    waiting = await api.proposals(context.caller, context.services)
    own, at, soon = context.caller.operator, now(), in_days(SOON_DAYS)
    rows = [_row(operator, own.name, at, soon) for operator in known]
    return context.render(
        "console/operators.html",
        people=sorted(rows, key=lambda row: (not row.active, row.name)),
        own=next(row for row in rows if row.name == own.name),
        waiting=waiting,
        pending_names={proposal.name for proposal in waiting},
        days=DAYS,
    )


@router.get("/operators/waiting")
async def waiting(context: Context) -> HTMLResponse:
    """Return the part of the floor page that lists proposed managers."""
    proposals = await api.proposals(context.caller, context.services)
    return page("console/people_waiting.html", jackpot=context.jackpot, proposals=proposals)


def _row(operator: api.OperatorSummary, own: str, at: str, soon: str) -> OperatorRow:
    renewal = "none" if not operator.active else "own" if operator.name == own else _renewal(operator.role)
    return OperatorRow(
        operator.name, operator.role.value, operator.active, operator.expires_at, _token(operator, at, soon), renewal
    )


def _token(operator: api.OperatorSummary, at: str, soon: str) -> str:
    if not operator.active:
        return "none"
    expires_at = operator.expires_at or "9999"
    return "expired" if expires_at <= at else "soon" if expires_at <= soon else "good"


def _renewal(role: Role) -> str:
    """Return how many managers must renew a lost token: two for a manager's, one for others."""
    return "two" if role is Role.MANAGER else "one"
