"""The wins page: prizes awaiting confirmation, live, and the history of prizes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.core.state import PayoutStatus
from jackpot.web.api import wins as api
from jackpot.web.api.schemas import Before
from jackpot.web.console.fragments import pending
from jackpot.web.console.layout import Context
from jackpot.web.console.query_params import EMPTY, PAGE_ROWS, Filter, address

router = APIRouter(include_in_schema=False)


@router.get("/wins")
async def wins(
    context: Context,
    status: Annotated[PayoutStatus | None, EMPTY, Query()] = None,
    table: Filter = None,
    before: Before = None,
) -> HTMLResponse:
    """Show pending prizes, and the prizes that match the filters, newest first."""
    found = await api.wins(
        _caller=context.caller,
        services=context.services,
        jackpot=context.jackpot,
        table=table,
        status=status,
        before=before,
        limit=PAGE_ROWS,
    )
    return context.render(
        "console/wins.html",
        pending=pending(context.view),
        found=found,
        before=before,
        chosen={"status": status.value if status else "", "table": table or ""},
        tables=sorted(context.view.jackpot.tables),
        base=address("/wins", status=status, table=table, jackpot=context.jackpot),
    )
