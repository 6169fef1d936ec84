"""The floor page: every table with its boxes and lamps, and what needs an operator."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.web.api.operators import proposals
from jackpot.web.console.fragments import card, waiting
from jackpot.web.console.layout import Context

router = APIRouter(include_in_schema=False)


@router.get("/")
async def overview(context: Context) -> HTMLResponse:
    """Show the floor of the selected jackpot."""
    if not context.services.jackpots:
        return context.render("console/no_jackpot.html")
    view = context.view
    tables = [table for table in view.jackpot.tables.values() if not table.unlinked]
    cards = [(table.id, card(view, table)) for table in tables]
    proposed = await proposals(context.caller, context.services)
    return context.render("console/floor.html", cards=cards, waiting=waiting(view), proposals=proposed)
