"""Rounds: found by table and outcome, and one of them down to each wager, prize, transfer and event."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.web.api import rounds as api
from jackpot.web.api.schemas import Before, RoundPath, TablePath
from jackpot.web.console.fragments import card
from jackpot.web.console.layout import Visit, Visiting
from jackpot.web.console.query_params import EMPTY, PAGE_ROWS, Filter, address
from jackpot.web.console.sentences import sentence

router = APIRouter(include_in_schema=False)

Outcome = Annotated[Literal["played", "void", "playing"] | None, EMPTY, Query()]


@router.get("/rounds")
async def rounds(visit: Visiting, table: Filter = None, outcome: Outcome = None, before: Before = None) -> HTMLResponse:
    """Rounds, the newest first."""
    found = await api.rounds(
        _caller=visit.caller,
        services=visit.services,
        jackpot=visit.jackpot,
        table=table,
        outcome=outcome,
        before=before,
        limit=PAGE_ROWS,
    )
    return visit.show(
        "console/rounds.html",
        found=found,
        before=before,
        chosen={"outcome": outcome or "", "table": table or ""},
        tables=sorted(visit.board.jackpot.tables),
        base=address("/rounds", table=table, outcome=outcome, jackpot=visit.jackpot),
    )


@router.get("/rounds/{table}/{number}")
async def one_round(visit: Visiting, table: TablePath, number: RoundPath) -> HTMLResponse:
    """One round, with what a supervisor can do about it."""
    visit.look_at(visit.services.jackpot_of(table))
    found = await api.one_round(table, number, visit.caller, visit.services)
    return visit.show(
        "console/round.html",
        round=found,
        declared=_declared(visit, found),
        last=_last(visit, table),
        say=sentence,
        card=_card(visit, found),
    )


def _last(visit: Visit, table: str) -> int:
    """The number of the table's newest round."""
    known = visit.board.jackpot.tables.get(table)
    return known.number if known else 0


def _declared(visit: Visit, found: api.RoundDetail) -> dict[int, tuple[str, ...]]:
    """The hands that can be corrected: those which stand in a round that awaits confirmation."""
    table = visit.board.jackpot.tables[found.table_id]
    if table.round is None or table.number != found.round:
        return {}
    return {box: told.cards for box, told in sorted(table.round.declared.items())}


def _card(visit: Visit, found: api.RoundDetail) -> str | None:
    """The table as it is now, where it plays this round."""
    table = visit.board.jackpot.tables[found.table_id]
    playing = found.outcome is None and not table.unlinked
    return card(visit.board, table) if playing else None
