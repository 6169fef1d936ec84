"""Devices: their status, and messages that could not be read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import Cents, JackpotQuery, ResponseModel, Time
from jackpot.web.services import WebServices

router = APIRouter(prefix="/api/v1", tags=["devices"])


class PadStatus(ResponseModel):
    """The last status that a pad sent."""

    table: str
    box: int
    online: bool


class DealerStatus(ResponseModel):
    """The last status that a dealer terminal sent."""

    table: str
    online: bool


class DisplayStatus(ResponseModel):
    """The last status that a display sent, and the amount it last reported."""

    display: str
    online: bool
    shows_cents: Cents | None
    right: Annotated[bool, Field(description="whether that amount was the meter")]


class JackpotDevices(ResponseModel):
    """The devices of one jackpot that have sent a status."""

    jackpot: str
    pads: list[PadStatus]
    dealers: list[DealerStatus]
    displays: list[DisplayStatus]


class UnreadableMessage(ResponseModel):
    """A message that could not be read."""

    jackpot: str
    at: Time
    topic: str
    problem: str
    payload: Annotated[str, Field(description="bytes that are not text are escaped")]


@router.get("/devices")
async def devices(_caller: Auditor, services: Services, jackpot: JackpotQuery = None) -> list[JackpotDevices]:
    """Show which pads, dealer terminals and displays are online."""
    names = [services.service(jackpot).id] if jackpot is not None else sorted(services.jackpots)
    return [_devices(services, name) for name in names]


@router.get("/quarantine")
async def quarantine(_caller: Auditor, services: Services) -> list[UnreadableMessage]:
    """Show the last messages that could not be read, the newest first."""
    found = [
        UnreadableMessage(
            jackpot=name,
            at=message.at,
            topic=message.topic,
            problem=message.problem,
            payload=message.payload.decode(errors="backslashreplace"),
        )
        for name, service in services.jackpots.items()
        for message in list(service.quarantine)
    ]
    return sorted(found, key=lambda message: message.at, reverse=True)


def _devices(services: WebServices, jackpot: str) -> JackpotDevices:
    service = services.service(jackpot)
    tables = service.committed.jackpot.tables
    return JackpotDevices(
        jackpot=jackpot,
        pads=[
            PadStatus(table=t, box=b, online=online)
            for (t, b), online in service.equipment.pads.all_pads()
            if t in tables
        ],
        dealers=[
            DealerStatus(table=t, online=online) for t, online in service.equipment.pads.all_dealers() if t in tables
        ],
        displays=[
            DisplayStatus(display=name, online=online, shows_cents=shown, right=right)
            for name, online, shown, right in service.equipment.displays.all_displays()
        ],
    )
