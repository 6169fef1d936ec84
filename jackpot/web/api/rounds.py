"""Rounds: their history down to each wager, declaration, prize, transfer and event."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from jackpot.core.events import EventType
from jackpot.core.state import Phase, WagerStatus
from jackpot.store import queries
from jackpot.store.queries import Page
from jackpot.web.api.audit import AuditEvent
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import (
    Before,
    Cents,
    JackpotQuery,
    Limit,
    Paged,
    ResponseModel,
    RoundPath,
    TablePath,
    TableQuery,
    Time,
)
from jackpot.web.api.wins import WinRow
from jackpot.web.problems import Problem

router = APIRouter(prefix="/api/v1", tags=["play"])


class RoundRow(ResponseModel):
    """A round; `chain` is its jackpot."""

    chain: str
    table_id: str
    round: int
    config_version: int
    phase: Phase
    outcome: Literal["played", "void"] | None
    opened_at: Time
    ended_at: Time | None
    seq: int
    wagers: int
    wagered_cents: Cents


class WagerRow(ResponseModel):
    """A wager, and how its money was split."""

    chain: str
    table_id: str
    box: int
    wager_id: str
    round: int
    amount_cents: Cents
    jackpot_cents: Cents
    reserve_cents: Cents
    status: WagerStatus
    reason: str | None
    seq: int


class DeclaredHand(ResponseModel):
    """A box's cards as declared, or as a supervisor corrected them; null: it wins nothing."""

    seq: int
    at: Time
    by: str
    box: int
    cards: list[str] | None
    hand: str | None
    corrected: bool


class LedgerEntry(ResponseModel):
    """One transfer between two accounts."""

    chain: str
    seq: int
    n: int
    at: Time
    source: str
    target: str
    amount_cents: Cents
    kind: str


class RoundDetail(ResponseModel):
    """A round down to each wager, declaration, prize, transfer and event."""

    chain: str
    table_id: str
    round: int
    config_version: int
    phase: Phase
    outcome: Literal["played", "void"] | None
    opened_at: Time
    ended_at: Time | None
    seq: int
    wagers: list[WagerRow]
    declarations: list[DeclaredHand]
    payouts: list[WinRow]
    transfers: list[LedgerEntry]
    events: list[AuditEvent]


@router.get("/rounds")
async def rounds(  # noqa: PLR0913 - a page's options
    *,
    _caller: Auditor,
    services: Services,
    jackpot: JackpotQuery = None,
    table: TableQuery = None,
    outcome: Annotated[Literal["played", "void", "playing"] | None, Query(description="only these")] = None,
    before: Before = None,
    limit: Limit = 50,
) -> Paged[RoundRow]:
    """Show rounds, the newest first; a page that is not full may still have more after it: see `before`."""
    page = Page(services.resolve(jackpot), table, before, limit)
    found = await services.read(lambda connection: queries.rounds(connection, page, outcome))
    return Paged[RoundRow](rows=[RoundRow(**row) for row in found.rows], before=found.before)


@router.get("/rounds/{table}/{number}")
async def one_round(table: TablePath, number: RoundPath, _caller: Auditor, services: Services) -> RoundDetail:
    """Show a round down to each wager, declaration, prize, transfer and event."""
    jackpot = services.jackpot_of(table)
    found = await services.read(lambda connection: _round(connection, jackpot, table, number))
    if found is None:
        raise Problem(404, "unknown_round", f"table {table} has had no round {number}")
    return RoundDetail(**found)


def _round(connection: Connection, jackpot: str, table: str, number: int) -> dict[str, Any] | None:
    found = queries.round_detail(connection, jackpot, table, number)
    if found is None:
        return None
    events = queries.round_events(connection, jackpot, table, number)
    transfers = queries.transfers_of(connection, jackpot, [event["seq"] for event in events])
    hands = [hand for event in events for hand in _declarations(event)]
    return {**found, "events": events, "transfers": transfers, "declarations": hands}


def _declarations(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the hands that an event declares or corrects."""
    source = {"seq": event["seq"], "at": event["at"], "by": event["actor"]}
    data = json.loads(event["data"])
    if event["type"] == EventType.HAND_DECLARED:
        return [{**source, "box": data["box"], "cards": data["cards"], "hand": data["hand"], "corrected": False}]
    if event["type"] == EventType.ROUND_CORRECTED:
        hands = data["hands"].items()
        return [{**source, "box": int(b), "cards": cards, "hand": None, "corrected": True} for b, cards in hands]
    return []
