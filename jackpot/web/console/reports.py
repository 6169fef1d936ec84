"""The daily report: what moved each pool, line by line, checked against the closing balance."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from jackpot import clock
from jackpot.store import reports as store
from jackpot.web.api import reports as api
from jackpot.web.console.layout import Context
from jackpot.web.console.query_params import Filter
from jackpot.web.problems import Problem

router = APIRouter(include_in_schema=False)

LINES: Final = (
    ("contribution_cents", "Contributions", "players’ wagers"),
    ("void_cents", "Voids", "wagers returned and prizes cancelled"),
    ("prize_cents", "Prizes", "won from the pool"),
    ("correction_cents", "Corrections", "hands corrected by a supervisor"),
    ("reset_cents", "Resets", "from the reserve after a royal flush"),
    ("advance_cents", "Advances", "added by the house, owed back"),
    ("repayment_cents", "Repayments", "advances paid back"),
    ("adjustment_cents", "Adjustments", "approved by two managers"),
)
"""The lines of the report in order: field, label and meaning."""


@router.get("/reports")
async def reports(context: Context, request: Request, day: Filter = None) -> HTMLResponse:
    """Show one day's report of every jackpot."""
    today = store.today(context.services.zone)
    try:
        rows = await api.daily(request=request, _caller=context.caller, services=context.services, day=day, form="json")
        problem = None
    except Problem as error:
        rows, problem = [], error.detail
    chosen = today if day is None or problem else clock.day(day)
    return context.render(
        "console/reports.html",
        status=422 if problem else 200,
        problem=problem,
        day=chosen,
        today=today,
        earlier=chosen - timedelta(days=1),
        later=chosen + timedelta(days=1),
        lines=LINES,
        pools_of=_by_jackpot(rows),
    )


def _by_jackpot(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group the pools by jackpot, each with the sum of its opening balance and movements."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        total = row["opening_cents"] + sum(row[name] for name, _, _ in LINES)
        found.setdefault(row["jackpot"], []).append({**row, "sum_cents": total})
    return found
