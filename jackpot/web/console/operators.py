"""Operators: who they are, when their tokens end, and changes to them."""

from __future__ import annotations

from typing import Final, NamedTuple

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.clock import in_days, now
from jackpot.core.commands import Role
from jackpot.tokens import DAYS
from jackpot.web.api import operators as api
from jackpot.web.console.layout import Visiting
from jackpot.web.templates import page

router = APIRouter(include_in_schema=False)

SOON_DAYS: Final = 30


class Person(NamedTuple):
    """An operator as the page shows them: `token` says how theirs stands, `renewal` who may renew it and how."""

    name: str
    role: str
    active: bool
    expires_at: str | None
    token: str
    renewal: str


@router.get("/operators")
async def operators(visit: Visiting) -> HTMLResponse:
    """Everybody, those without access last."""
    known = await api.operators(visit.caller, visit.services)
    waiting = await api.proposals(visit.caller, visit.services)
    own, at, soon = visit.caller.operator, now(), in_days(SOON_DAYS)
    everybody = [_person(told, own.name, at, soon) for told in known]
    return visit.show(
        "console/operators.html",
        people=sorted(everybody, key=lambda person: (not person.active, person.name)),
        own=next(person for person in everybody if person.name == own.name),
        waiting=waiting,
        waits={told.name for told in waiting},
        days=DAYS,
    )


@router.get("/operators/waiting")
async def waiting(visit: Visiting) -> HTMLResponse:
    """Who waits for a second manager, for a page that is looked at."""
    found = await api.proposals(visit.caller, visit.services)
    return page("console/people_waiting.html", jackpot=visit.jackpot, people=found)


def _person(told: api.OperatorSummary, own: str, at: str, soon: str) -> Person:
    renewal = "none" if not told.active else "own" if told.name == own else _renewal(told.role)
    return Person(told.name, told.role.value, told.active, told.expires_at, _token(told, at, soon), renewal)


def _token(told: api.OperatorSummary, at: str, soon: str) -> str:
    if not told.active:
        return "none"
    ends = told.expires_at or "9999"
    return "ended" if ends <= at else "soon" if ends <= soon else "good"


def _renewal(role: Role) -> str:
    """A manager's lost token takes two managers, another's takes one."""
    return "two" if role is Role.MANAGER else "one"
