"""Tables, rounds and wins: the present state, and history down to each wager and transfer."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from jackpot.core.events import EventType
from jackpot.core.state import PayoutStatus, Phase, Table, WagerStatus
from jackpot.engine import views
from jackpot.engine.view_models import TableStateMessage
from jackpot.store import queries
from jackpot.store.queries import Page
from jackpot.web.api.audit import ToldEvent
from jackpot.web.api.permissions import At, Auditor
from jackpot.web.api.schemas import (
    Before,
    Cents,
    JackpotQuery,
    Limit,
    Paged,
    RoundPath,
    TablePath,
    TableQuery,
    Time,
    Told,
    paged,
)
from jackpot.web.problems import Problem
from jackpot.web.services import WebServices

router = APIRouter(prefix="/api/v1", tags=["play"])


class TableRow(Told):
    """A table as it stands."""

    table: str
    jackpot: str
    boxes: int
    phase: Phase
    round: int
    lit: list[int]
    suspended: str | None
    mode: Literal["normal", "tournament"]
    restricted: bool


class PadAt(Told):
    """A box's pad: whether it is there (null: it never said), and whether its lamp should be lit."""

    box: int
    online: bool | None
    lit: bool


class OneTable(TableRow):
    """A table with its pads, and its state as the floor hears it."""

    dealer_online: bool | None
    pads: list[PadAt]
    state: TableStateMessage


class RoundRow(Told):
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


class WagerRow(Told):
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


class Win(Told):
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


class WinWithCards(Win):
    """A prize, with its cards where it is of the round that its table is at."""

    cards: list[str] | None


class DeclaredHand(Told):
    """A box's cards as they were stated, or as a supervisor corrected them; null: it wins nothing."""

    seq: int
    at: Time
    by: str
    box: int
    cards: list[str] | None
    hand: str | None
    corrected: bool


class LedgerEntry(Told):
    """Money that moved once."""

    chain: str
    seq: int
    n: int
    at: Time
    source: str
    target: str
    amount_cents: Cents
    kind: str


class OneRound(Told):
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
    payouts: list[Win]
    transfers: list[LedgerEntry]
    events: list[ToldEvent]


@router.get("/tables")
async def tables(_caller: Auditor, services: At, jackpot: JackpotQuery = None) -> list[TableRow]:
    """Show each table: its round and phase, its lit boxes, and whether it is suspended."""
    names = [services.service(jackpot).id] if jackpot is not None else sorted(services.jackpots)
    linked = [(name, table) for name in names for table in services.state(name).tables.values() if not table.unlinked]
    return [TableRow(**queries.table_row(name, table)) for name, table in linked]


@router.get("/tables/{table}")
async def one_table(table: TablePath, _caller: Auditor, services: At) -> OneTable:
    """Show one table, with its pads and all that its dealer terminal hears."""
    service = services.service_of(table)
    committed, pads = service.committed, service.equipment.pads
    found = committed.jackpot.tables[table]
    row = queries.table_row(service.id, found)
    return OneTable(
        **row,
        dealer_online=pads.dealer_online(table),
        pads=[PadAt(box=b, online=pads.online(table, b), lit=b in row["lit"]) for b in range(1, found.boxes + 1)],
        state=TableStateMessage(**views.table_state(committed, found)),
    )


@router.get("/rounds")
async def rounds(  # noqa: PLR0913 - a page's options
    *,
    _caller: Auditor,
    services: At,
    jackpot: JackpotQuery = None,
    table: TableQuery = None,
    outcome: Annotated[Literal["played", "void", "playing"] | None, Query(description="only these")] = None,
    before: Before = None,
    limit: Limit = 50,
) -> Paged[RoundRow]:
    """Show rounds, the newest first; a page that is not full may still have more behind it: see `before`."""
    page = Page(services.meant(jackpot), table, before, limit)
    found = await services.read(lambda connection: queries.rounds(connection, page, outcome))
    return Paged[RoundRow](rows=[RoundRow(**row) for row in found.rows], before=found.before)


@router.get("/rounds/{table}/{number}")
async def one_round(table: TablePath, number: RoundPath, _caller: Auditor, services: At) -> OneRound:
    """Show a round down to each wager, declaration, prize, transfer and event."""
    jackpot = services.jackpot_of(table)
    found = await services.read(lambda connection: _round(connection, jackpot, table, number))
    if found is None:
        raise Problem(404, "unknown_round", f"table {table} has had no round {number}")
    return OneRound(**found)


@router.get("/wins")
async def wins(  # noqa: PLR0913 - a page's options
    *,
    _caller: Auditor,
    services: At,
    jackpot: JackpotQuery = None,
    table: TableQuery = None,
    status: Annotated[PayoutStatus | None, Query(description="only these")] = None,
    before: Before = None,
    limit: Limit = 50,
) -> Paged[WinWithCards]:
    """Show prizes, the newest first."""
    page = Page(services.meant(jackpot), table, before, limit)
    found = await services.read(lambda connection: queries.wins(connection, page, status))
    return paged([WinWithCards(**row, cards=_cards(services, row)) for row in found], limit)


def _cards(services: WebServices, win: dict[str, Any]) -> list[str] | None:
    """A prize's cards, where its round is still in the state."""
    table: Table | None = services.state(win["chain"]).tables.get(win["table_id"])
    if table is None or table.round is None or table.round.number != win["round"]:
        return None
    declared = table.round.declared.get(win["box"])
    return None if declared is None else list(declared.cards)


def _round(connection: Connection, jackpot: str, table: str, number: int) -> dict[str, Any] | None:
    found = queries.round_detail(connection, jackpot, table, number)
    if found is None:
        return None
    events = queries.round_events(connection, jackpot, table, number)
    transfers = queries.transfers_of(connection, jackpot, [event["seq"] for event in events])
    hands = [hand for event in events for hand in _declarations(event)]
    return {**found, "events": events, "transfers": transfers, "declarations": hands}


def _declarations(event: dict[str, Any]) -> list[dict[str, Any]]:
    """What an event says of hands."""
    said = {"seq": event["seq"], "at": event["at"], "by": event["actor"]}
    data = json.loads(event["data"])
    if event["type"] == EventType.HAND_DECLARED:
        return [{**said, "box": data["box"], "cards": data["cards"], "hand": data["hand"], "corrected": False}]
    if event["type"] == EventType.ROUND_CORRECTED:
        hands = data["hands"].items()
        return [{**said, "box": int(b), "cards": cards, "hand": None, "corrected": True} for b, cards in hands]
    return []
