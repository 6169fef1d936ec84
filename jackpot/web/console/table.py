"""One table: live, with its devices, its last rounds, and what can be done in place of a dead dealer terminal."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.core.state import Phase, Table
from jackpot.web.api import rounds as rounds_api
from jackpot.web.api import tables
from jackpot.web.api.schemas import TablePath
from jackpot.web.console.fragments import card
from jackpot.web.console.layout import Visiting

router = APIRouter(include_in_schema=False)

LAST_ROUNDS: Final = 10


@router.get("/tables/{table}")
async def one_table(visit: Visiting, table: TablePath) -> HTMLResponse:
    """One table, linked or not any more."""
    visit.look_at(visit.services.jackpot_of(table))
    known = visit.board.jackpot.tables.get(table)
    linked = known is not None and not known.unlinked
    found = await tables.one_table(table, visit.caller, visit.services) if linked else None
    rounds = await rounds_api.rounds(
        _caller=visit.caller, services=visit.services, jackpot=visit.jackpot, table=table, limit=LAST_ROUNDS
    )
    return visit.show(
        "console/table.html",
        name=table,
        table=found,
        card=card(visit.board, known) if known is not None and linked else "",
        boxes=_boxes(known) if known is not None and linked else [],
        rounds=rounds.rows,
    )


def _boxes(table: Table) -> list[dict[str, Any]]:
    """The boxes that play for the jackpot now, and what is said of them so far."""
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
