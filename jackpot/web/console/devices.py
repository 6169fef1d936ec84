"""Devices: pads by table, dealer terminals, displays beside the meter, and messages that could not be read."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.web.api import devices as api
from jackpot.web.api import tables
from jackpot.web.console.layout import Visit, Visiting
from jackpot.web.templates import page

router = APIRouter(include_in_schema=False)


@router.get("/devices")
async def devices(visit: Visiting) -> HTMLResponse:
    """The page."""
    return visit.show("console/devices.html", **await _found(visit))


@router.get("/devices/now")
async def now(visit: Visiting) -> HTMLResponse:
    """What changes on it, for a page that is looked at."""
    return page("console/devices_now.html", jackpot=visit.jackpot, zone=visit.services.zone, **await _found(visit))


async def _found(visit: Visit) -> dict[str, Any]:
    name, caller, services = visit.jackpot, visit.caller, visit.services
    (heard,) = await api.devices(caller, services, name)
    kept = await api.quarantine(caller, services)
    return {
        "tables": [
            await tables.one_table(row.table, caller, services) for row in await tables.tables(caller, services, name)
        ],
        "displays": heard.displays,
        "meter_cents": visit.board.jackpot.meter_cents,
        "quarantine": [message for message in kept if message.jackpot == name],
        "connected": visit.board.connected,
    }
