"""The rounds pages: a list by table and outcome, and one round with its wagers, prizes, transfers and events."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.web.api import rounds as api
from jackpot.web.api.schemas import Before, RoundPath, TablePath
from jackpot.web.console.fragments import card
from jackpot.web.console.layout import Context, PageContext
from jackpot.web.console.query_params import EMPTY, PAGE_ROWS, Filter, address
from jackpot.web.console.sentences import sentence

router = APIRouter(include_in_schema=False)

Outcome = Annotated[Literal["played", "void", "playing"] | None, EMPTY, Query()]


@router.get("/rounds")
async def rounds(
    context: Context, table: Filter = None, outcome: Outcome = None, before: Before = None
) -> HTMLResponse:
    """Show the rounds that match the filters, newest first."""
    found = await api.rounds(
        _caller=context.caller,
        services=context.services,
        jackpot=context.jackpot,
        table=table,
        outcome=outcome,
        before=before,
        limit=PAGE_ROWS,
    )
    return context.render(
        "console/rounds.html",
        found=found,
        before=before,
        chosen={"outcome": outcome or "", "table": table or ""},
        tables=sorted(context.view.jackpot.tables),
        base=address("/rounds", table=table, outcome=outcome, jackpot=context.jackpot),
    )


@router.get("/rounds/{table}/{number}")
async def one_round(context: Context, table: TablePath, number: RoundPath) -> HTMLResponse:
    """Show one round and the acts of a supervisor on it."""
    context.select_jackpot(context.services.jackpot_of(table))
    found = await api.one_round(table, number, context.caller, context.services)
    return context.render(
        "console/round.html",
        round=found,
        declared=_declared(context, found),
        last=_last(context, table),
        sentence=sentence,
        card=_card(context, found),
    )


def _last(context: PageContext, table: str) -> int:
    """Return the number of the table's newest round."""
    known = context.view.jackpot.tables.get(table)
    return known.number if known else 0


def _declared(context: PageContext, found: api.RoundDetail) -> dict[int, tuple[str, ...]]:
    """Return the declared hands of the table's current round, which can be corrected."""
    table = context.view.jackpot.tables[found.table_id]
    if table.round is None or table.number != found.round:
        return {}
    return {box: hand.cards for box, hand in sorted(table.round.declared.items())}


def _card(context: PageContext, found: api.RoundDetail) -> str | None:
    """Return the table's card if it is playing this round."""
    table = context.view.jackpot.tables[found.table_id]
    playing = found.outcome is None and not table.unlinked
    return card(context.view, table) if playing else None
