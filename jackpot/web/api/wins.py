"""Wins: prizes, and the cards of those whose round is still in the state."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from jackpot.core.state import PayoutStatus, Table
from jackpot.store import queries
from jackpot.store.queries import Page
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import Before, Cents, JackpotQuery, Limit, Paged, ResponseModel, TableQuery, Time, paged
from jackpot.web.services import WebServices

router = APIRouter(prefix="/api/v1", tags=["play"])


class WinRow(ResponseModel):
    """A prize."""

    chain: str
    seq: int
    box: int
    at: Time
    table_id: str
    round: int
    pay_order: int
    hand: str
    amount_cents: Cents
    status: PayoutStatus
    clause: str


class WinDetail(WinRow):
    """A prize; with its cards if it belongs to the table's present round."""

    cards: list[str] | None


@router.get("/wins")
async def wins(  # noqa: PLR0913 - a page's options
    *,
    _caller: Auditor,
    services: Services,
    jackpot: JackpotQuery = None,
    table: TableQuery = None,
    status: Annotated[PayoutStatus | None, Query(description="only these")] = None,
    before: Before = None,
    limit: Limit = 50,
) -> Paged[WinDetail]:
    """Show prizes, the newest first."""
    page = Page(services.resolve(jackpot), table, before, limit)
    found = await services.read(lambda connection: queries.wins(connection, page, status))
    return paged([WinDetail(**row, cards=_cards(services, row)) for row in found], limit)


def _cards(services: WebServices, win: dict[str, Any]) -> list[str] | None:
    """Return a prize's cards if its round is still in the state."""
    table: Table | None = services.state(win["chain"]).tables.get(win["table_id"])
    if table is None or table.round is None or table.round.number != win["round"]:
        return None
    declared = table.round.declared.get(win["box"])
    return None if declared is None else list(declared.cards)
