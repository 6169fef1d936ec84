"""Wins: what awaits confirmation, live, and every prize before it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.core.state import PayoutStatus
from jackpot.web.api import wins as api
from jackpot.web.api.schemas import Before
from jackpot.web.console.fragments import pending
from jackpot.web.console.layout import Visiting
from jackpot.web.console.query_params import EMPTY, PAGE_ROWS, Filter, address

router = APIRouter(include_in_schema=False)


@router.get("/wins")
async def wins(
    visit: Visiting,
    status: Annotated[PayoutStatus | None, EMPTY, Query()] = None,
    table: Filter = None,
    before: Before = None,
) -> HTMLResponse:
    """What waits, and the prizes of one status or table, the newest first."""
    found = await api.wins(
        _caller=visit.caller,
        services=visit.services,
        jackpot=visit.jackpot,
        table=table,
        status=status,
        before=before,
        limit=PAGE_ROWS,
    )
    return visit.show(
        "console/wins.html",
        pending=pending(visit.board),
        found=found,
        before=before,
        chosen={"status": status.value if status else "", "table": table or ""},
        tables=sorted(visit.board.jackpot.tables),
        base=address("/wins", status=status, table=table, jackpot=visit.jackpot),
    )
