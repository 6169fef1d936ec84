"""The controllers that run on one database: each reports every second, and every one can read who owns what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import structlog
from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.postgresql import insert as upsert_postgres
from sqlalchemy.dialects.sqlite import insert as upsert_sqlite

from jackpot.engine.committed_state import Position
from jackpot.engine.jackpots import Jackpots
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.database_clock import clock_ms
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE

REPORT_SECONDS: Final = 1.0
LIVE_SECONDS: Final = 10.0
"""A controller that has not reported for this long is not listed."""
ANY: Final = "*"
"""The request for a hand-over to any controller that stands by."""
KEEP_SECONDS: Final = 86_400.0
"""Reports older than this are deleted."""

log = structlog.get_logger()


class ControllerReport(NamedTuple):
    """What a controller reports of itself: its HTTP address, whether it has the broker, and its jackpots.

    `positions` are those of all jackpots that it serves, `standby` are the ids of those that it does not own.
    """

    name: str
    address: str
    broker: bool
    version: str
    started_at: str
    positions: Mapping[str, Position]
    standby: tuple[str, ...]
    prefers: tuple[str, ...] = ()
    """The ids of the jackpots that it should own while it runs."""
    age_seconds: float = 0.0
    """How long ago it was reported, by the database's clock."""


class Ownership(NamedTuple):
    """The owner of a jackpot by its lease, "" if it has none, and the jackpot's head."""

    jackpot: str
    owner: str = ""
    epoch: int = 0
    seq: int = 0
    renewed_seconds_ago: float | None = None
    wanted_by: str = ""
    """The controller that asks for a hand-over, "" if none."""


def report(database: Database, own: ControllerReport) -> None:
    """Write the report of a controller, and delete those of controllers that ended long ago."""
    body = {
        "version": own.version,
        "started_at": own.started_at,
        "jackpots": {name: position._asdict() for name, position in own.positions.items()},
        "standby": list(own.standby),
        "prefers": list(own.prefers),
    }
    with database.transaction() as connection:
        seen_ms = clock_ms(connection)
        values: dict[str, Any] = {
            "address": own.address, "seen_ms": seen_ms, "broker": int(own.broker), "body": json.dumps(body)
        }  # fmt: skip
        upsert = upsert_sqlite if database.is_sqlite else upsert_postgres
        statement = upsert(tables.controllers).values(name=own.name, **values)
        connection.execute(statement.on_conflict_do_update(index_elements=[tables.controllers.c.name], set_=values))
        old = tables.controllers.c.seen_ms < seen_ms - KEEP_SECONDS * 1_000
        connection.execute(delete(tables.controllers).where(old))


def withdraw(database: Database, name: str) -> None:
    """Delete the report of a controller that ends, so that no other counts on it."""
    with database.transaction() as connection:
        connection.execute(delete(tables.controllers).where(tables.controllers.c.name == name))


def live_controllers(connection: Connection) -> dict[str, ControllerReport]:
    """Read the controllers that run, by name; a report that cannot be read is left out."""
    at_ms = clock_ms(connection)
    recent = tables.controllers.c.seen_ms > at_ms - LIVE_SECONDS * 1_000
    rows = connection.execute(select(tables.controllers).where(recent).order_by(tables.controllers.c.name)).all()
    found = [_report_of(row, max(0.0, (at_ms - row.seen_ms) / 1_000)) for row in rows]
    return {each.name: each for each in found if each is not None}


def ownerships(connection: Connection) -> dict[str, Ownership]:
    """Read the owner and the head of every jackpot."""
    at_ms = clock_ms(connection)
    c, leases = tables.chains.c, tables.leases
    query = select(c.chain, c.owner, c.epoch, c.seq, leases.c.renewed_ms, leases.c.wanted_by)
    joined = query.join_from(tables.chains, leases, leases.c.chain == c.chain, isouter=True)
    rows = connection.execute(joined.where(c.chain != SITE).order_by(c.chain)).all()
    return {row.chain: _ownership(row, at_ms) for row in rows}


def live_owner(connection: Connection, jackpot: str) -> ControllerReport | None:
    """Read the controller that owns a jackpot; None if it has no owner, or one that does not run."""
    owned = ownerships(connection).get(jackpot)
    return live_controllers(connection).get(owned.owner) if owned is not None else None


class ControllerReporter:
    """Reports this controller every second; on SQLite nothing is written, because no other can read it."""

    def __init__(
        self, database: Database, own: ControllerReport, jackpots: Jackpots, broker: Callable[[], bool]
    ) -> None:
        self._database = database
        self._own = own
        self._jackpots = jackpots
        self._broker = broker

    @property
    def name(self) -> str:
        """The name of this controller."""
        return self._own.name

    def current(self) -> ControllerReport:
        """Return the present report; call it in the event loop's thread."""
        return self._own._replace(
            broker=self._broker(),
            positions={name: source.committed.position for name, source in self._jackpots.items()},
            standby=tuple(sorted(name for name, source in self._jackpots.items() if not source.owned)),
        )

    async def run(self) -> None:
        """Report until cancelled; a report that cannot be written is followed by the next one."""
        failed = False
        while not self._database.is_sqlite:
            try:
                await asyncio.to_thread(report, self._database, self.current())
                failed = False
            except StoreError as error:
                if not failed:
                    log.warning("controller not reported", problem=str(error))
                failed = True
            await asyncio.sleep(REPORT_SECONDS)


def ask_for(database: Database, jackpot: str, controller: str) -> None:
    """Ask the owner of a jackpot to hand it over to a controller; "" withdraws the request."""
    with database.transaction() as connection:
        asked = update(tables.leases).where(tables.leases.c.chain == jackpot).values(wanted_by=controller)
        connection.execute(asked)


def _ownership(row: Any, at_ms: int) -> Ownership:  # noqa: ANN401 - a row
    age = _age(row.renewed_ms, at_ms)
    return Ownership(row.chain, row.owner, row.epoch, row.seq, age, row.wanted_by or "")


def _age(seen_ms: int | None, at_ms: int) -> float | None:
    return None if seen_ms is None else max(0.0, (at_ms - seen_ms) / 1_000)


def _report_of(row: Any, age_seconds: float) -> ControllerReport | None:  # noqa: ANN401 - a row
    try:
        body = json.loads(row.body)
        positions = {name: Position(at["epoch"], at["seq"]) for name, at in body["jackpots"].items()}
        known = body["version"], body["started_at"], positions, tuple(body["standby"]), tuple(body.get("prefers", ()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return ControllerReport(row.name, row.address, bool(row.broker), *known, age_seconds)
