"""Tables: their present state, pads and dealer terminals."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter

from jackpot.core.state import Phase
from jackpot.engine import views
from jackpot.engine.view_models import TableStateMessage
from jackpot.store import queries
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import JackpotQuery, ResponseModel, TablePath

router = APIRouter(prefix="/api/v1", tags=["play"])


class TableRow(ResponseModel):
    """The present state of a table."""

    table: str
    jackpot: str
    boxes: int
    phase: Phase
    round: int
    lit: list[int]
    suspended: str | None
    mode: Literal["normal", "tournament"]
    restricted: bool


class BoxPad(ResponseModel):
    """A box's pad: whether it is online (null: it has sent no status yet), and whether its lamp should be lit."""

    box: int
    online: bool | None
    lit: bool


class TableDetail(TableRow):
    """A table with its pads, and its state as published over MQTT."""

    dealer_online: bool | None
    pads: list[BoxPad]
    state: TableStateMessage


@router.get("/tables")
async def tables(_caller: Auditor, services: Services, jackpot: JackpotQuery = None) -> list[TableRow]:
    """Show each table: its round and phase, its lit boxes, and whether it is suspended."""
    names = [services.service(jackpot).id] if jackpot is not None else sorted(services.jackpots)
    linked = [(name, table) for name in names for table in services.state(name).tables.values() if not table.unlinked]
    return [TableRow(**queries.table_row(name, table)) for name, table in linked]


@router.get("/tables/{table}")
async def one_table(table: TablePath, _caller: Auditor, services: Services) -> TableDetail:
    """Show one table with its pads, and the state that its dealer terminal receives."""
    service = services.service_of(table)
    committed, pads = service.committed, service.equipment.pads
    found = committed.jackpot.tables[table]
    row = queries.table_row(service.id, found)
    return TableDetail(
        **row,
        dealer_online=pads.dealer_online(table),
        pads=[BoxPad(box=b, online=pads.online(table, b), lit=b in row["lit"]) for b in range(1, found.boxes + 1)],
        state=TableStateMessage(**views.table_state(committed, found)),
    )
