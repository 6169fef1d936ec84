"""The table page: its live card, devices and last rounds, and the acts that replace a failed dealer terminal."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.core.state import Phase, Table
from jackpot.web.api import rounds as rounds_api
from jackpot.web.api import tables
from jackpot.web.api.schemas import TablePath
from jackpot.web.console.fragments import card
from jackpot.web.console.layout import Context

router = APIRouter(include_in_schema=False)

LAST_ROUNDS: Final = 10


@router.get("/tables/{table}")
async def one_table(context: Context, table: TablePath) -> HTMLResponse:
    """Show one table, also one that was unlinked."""
    context.select_jackpot(context.services.jackpot_of(table))
    known = context.view.jackpot.tables.get(table)
    linked = known is not None and not known.unlinked
    found = await tables.one_table(table, context.caller, context.services) if linked else None
    rounds = await rounds_api.rounds(
        _caller=context.caller, services=context.services, jackpot=context.jackpot, table=table, limit=LAST_ROUNDS
    )
    return context.render(
        "console/table.html",
        name=table,
        table=found,
        card=card(context.view, known) if known is not None and linked else "",
        boxes=_boxes(known) if known is not None and linked else [],
        rounds=rounds.rows,
    )


def _boxes(table: Table) -> list[dict[str, Any]]:
    """Return the boxes that play for the jackpot, each with its declared cards or fold."""
    played = table.round
    if played is None or table.phase is Phase.IDLE:
        return []
    return [
        {
            "number": box,
            "folded": box in played.folded,
            "cards": played.declared[box].cards if box in played.declared else (),
        }
        for box in played.lit
    ]
