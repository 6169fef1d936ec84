"""The devices page: pads, dealer terminals, displays compared with the meter, unreadable messages, and controllers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.web.api import controllers, tables
from jackpot.web.api import devices as api
from jackpot.web.console.layout import Context, PageContext
from jackpot.web.templates import page

router = APIRouter(include_in_schema=False)


@router.get("/devices")
async def devices(context: Context) -> HTMLResponse:
    """Show the page."""
    return context.render("console/devices.html", **await _values(context))


@router.get("/devices/now")
async def now(context: Context) -> HTMLResponse:
    """Return the part of the page that it polls."""
    return page(
        "console/devices_now.html", jackpot=context.jackpot, zone=context.services.zone, **await _values(context)
    )


async def _values(context: PageContext) -> dict[str, Any]:
    name, caller, services = context.jackpot, context.caller, context.services
    (devices,) = await api.devices(caller, services, name)
    quarantine = await api.quarantine(caller, services)
    return {
        "tables": [
            await tables.one_table(row.table, caller, services) for row in await tables.tables(caller, services, name)
        ],
        "displays": devices.displays,
        "meter_cents": context.view.jackpot.meter_cents,
        "quarantine": [message for message in quarantine if message.jackpot == name],
        "connected": context.view.connected,
        "owned": context.view.owned,
        "has_owner": context.view.has_owner,
        "controllers": await controllers.controllers(caller, services),
    }
