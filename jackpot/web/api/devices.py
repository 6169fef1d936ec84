"""Devices: which are there, and messages of theirs that could not be read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from jackpot.web.api.permissions import At, Auditor
from jackpot.web.api.schemas import Cents, JackpotQuery, Time, Told
from jackpot.web.services import WebServices

router = APIRouter(prefix="/api/v1", tags=["devices"])


class Pad(Told):
    """A pad that has said whether it is there."""

    table: str
    box: int
    online: bool


class Dealer(Told):
    """A dealer terminal that has said whether it is there."""

    table: str
    online: bool


class Display(Told):
    """A display, and what it last said it shows."""

    display: str
    online: bool
    shows_cents: Cents | None
    right: Annotated[bool, Field(description="whether that was the meter")]


class Devices(Told):
    """The devices that one jackpot's controller has heard of."""

    jackpot: str
    pads: list[Pad]
    dealers: list[Dealer]
    displays: list[Display]


class Quarantined(Told):
    """A message that could not be read."""

    jackpot: str
    at: Time
    topic: str
    problem: str
    payload: Annotated[str, Field(description="what is not text is escaped")]


@router.get("/devices")
async def devices(_caller: Auditor, services: At, jackpot: JackpotQuery = None) -> list[Devices]:
    """Which pads, dealer terminals and displays are there."""
    names = [services.service(jackpot).id] if jackpot is not None else sorted(services.jackpots)
    return [_devices(services, name) for name in names]


@router.get("/quarantine")
async def quarantine(_caller: Auditor, services: At) -> list[Quarantined]:
    """The last messages that could not be read, the newest first."""
    found = [
        Quarantined(
            jackpot=name,
            at=kept.at,
            topic=kept.topic,
            problem=kept.problem,
            payload=kept.payload.decode(errors="backslashreplace"),
        )
        for name, service in services.jackpots.items()
        for kept in list(service.quarantine)
    ]
    return sorted(found, key=lambda kept: kept.at, reverse=True)


def _devices(services: WebServices, jackpot: str) -> Devices:
    service = services.service(jackpot)
    tables = service.committed.jackpot.tables
    return Devices(
        jackpot=jackpot,
        pads=[Pad(table=t, box=b, online=there) for (t, b), there in service.equipment.pads.all_pads() if t in tables],
        dealers=[Dealer(table=t, online=there) for t, there in service.equipment.pads.all_dealers() if t in tables],
        displays=[
            Display(display=name, online=there, shows_cents=shown, right=right)
            for name, there, shown, right in service.equipment.displays.all_displays()
        ],
    )
