"""The floor at a glance: every table with its boxes and lamps, and what waits for somebody."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.web.api.operators import proposals
from jackpot.web.console.fragments import card, waiting
from jackpot.web.console.layout import Visiting

router = APIRouter(include_in_schema=False)


@router.get("/")
async def overview(visit: Visiting) -> HTMLResponse:
    """The services."""
    if not visit.services.jackpots:
        return visit.show("console/no_jackpot.html")
    board = visit.board
    tables = [table for table in board.jackpot.tables.values() if not table.unlinked]
    cards = [(table.id, card(board, table)) for table in tables]
    people = await proposals(visit.caller, visit.services)
    return visit.show("console/floor.html", cards=cards, waiting=waiting(board), people=people)
