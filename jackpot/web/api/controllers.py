"""Controllers: which run on this database, which jackpot each owns, and how far the standbys are behind."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection

from jackpot.engine.controllers import ControllerReport, Ownership, live_controllers, ownerships
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import ResponseModel, Time

router = APIRouter(prefix="/api/v1", tags=["controllers"])


class RunningController(ResponseModel):
    """A controller that has reported within the last ten seconds."""

    name: str
    address: Annotated[str, Field(description="at which other controllers reach it")]
    version: str
    started_at: Time
    broker: Annotated[bool, Field(description="whether the broker is connected")]
    reported_seconds_ago: float
    owns: list[str]
    stands_by_for: list[str]
    answers_here: Annotated[bool, Field(description="whether this is the controller that answers")]


class Standby(ResponseModel):
    """A controller that follows a jackpot, and how many events it was behind when it last reported."""

    controller: str
    lag_events: int


class JackpotOwner(ResponseModel):
    """The owner of a jackpot, its epoch, and the controllers that stand by."""

    jackpot: str
    owner: Annotated[str | None, Field(description="null if no controller that runs owns it")]
    epoch: int
    seq: int
    renewed_seconds_ago: Annotated[float | None, Field(description="the last renewal of the lease, null if unknown")]
    standbys: list[Standby]


class Controllers(ResponseModel):
    """All controllers that run, and the owner of each jackpot."""

    controllers: list[RunningController]
    jackpots: list[JackpotOwner]


@router.get("/controllers")
async def controllers(_caller: Auditor, services: Services) -> Controllers:
    """Show the controllers that run, the owner of each jackpot, and its standbys."""
    live, owned = await services.read(_read)
    reporter = services.reporter
    name = reporter.name if reporter is not None else ""
    if reporter is not None and name not in live:  # on SQLite no controller reports: there is one only
        live = {**live, name: reporter.current()}
    return Controllers(
        controllers=[_running(each, owned, name) for each in live.values()],
        jackpots=[_owner(each, live) for each in owned.values()],
    )


def _read(connection: Connection) -> tuple[dict[str, ControllerReport], dict[str, Ownership]]:
    return live_controllers(connection), ownerships(connection)


def _running(each: ControllerReport, owned: dict[str, Ownership], name: str) -> RunningController:
    return RunningController(
        name=each.name,
        address=each.address,
        version=each.version,
        started_at=each.started_at,
        broker=each.broker,
        reported_seconds_ago=round(each.age_seconds, 3),
        owns=[jackpot for jackpot, of in owned.items() if of.owner == each.name],
        stands_by_for=list(each.standby),
        answers_here=each.name == name,
    )


def _owner(of: Ownership, live: dict[str, ControllerReport]) -> JackpotOwner:
    standbys = [
        Standby(controller=each.name, lag_events=max(0, of.seq - each.positions[of.jackpot].seq))
        for each in live.values()
        if of.jackpot in each.standby and of.jackpot in each.positions and each.name != of.owner
    ]
    return JackpotOwner(
        jackpot=of.jackpot,
        owner=of.owner if of.owner in live else None,
        epoch=of.epoch,
        seq=of.seq,
        renewed_seconds_ago=of.renewed_seconds_ago,
        standbys=standbys,
    )
