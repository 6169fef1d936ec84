"""The services behind HTTP requests: the running jackpots, their writers, and reads from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

from fastapi import Request
from sqlalchemy import Connection

from jackpot.core.commands import Command, Identified
from jackpot.core.results import CommandError, Refused
from jackpot.core.site.commands import IdentifiedSite, SiteCommand
from jackpot.core.site.decide import SiteDecision
from jackpot.core.site.state import Site
from jackpot.core.state import Jackpot
from jackpot.engine.controllers import ControllerReporter
from jackpot.engine.jackpots import JackpotSource
from jackpot.engine.site_writer import SiteWriter
from jackpot.store.database import Database
from jackpot.store.errors import TakenOver
from jackpot.store.pool_history import PoolHistory
from jackpot.web.problems import Problem
from jackpot.web.verification import VerificationService

READING_THREADS: Final = 3
"""Fewer than the store's reading connections: the site writer and the health check read, too."""
MAX_WAITING_READS: Final = 100
ACT_SECONDS: Final = 10.0

T = TypeVar("T")


class SiteInfo(NamedTuple):
    """The site's name and time zone."""

    site: str
    timezone: str


class OwnedElsewhere(Exception):  # noqa: N818 - leads to the owner, not a failure
    """An act on a jackpot that another controller owns: it is forwarded there."""

    def __init__(self, jackpot: str) -> None:
        super().__init__(f"another controller owns {jackpot}")
        self.jackpot = jackpot


class WebServices:
    """All jackpots that this process serves, and the site they belong to."""

    def __init__(  # noqa: PLR0913 - the parts of a controller
        self,
        database: Database,
        jackpots: Mapping[str, JackpotSource],
        site_writer: SiteWriter,
        verification: VerificationService,
        info: SiteInfo,
        *,
        reporter: ControllerReporter | None = None,
    ) -> None:
        self.name = info.site
        self.database = database
        self.jackpots = jackpots
        self.site_writer = site_writer
        self.zone = info.timezone
        self.history = PoolHistory()
        self.reporter = reporter
        self.verification = verification
        self._readers = ThreadPoolExecutor(READING_THREADS, "reader")
        self._reading = 0

    @property
    def site(self) -> Site:
        """The present state of the site."""
        return self.site_writer.site

    def service(self, jackpot: str) -> JackpotSource:
        """Return the service of a jackpot."""
        if jackpot not in self.jackpots:
            raise Problem(404, "unknown_jackpot", f"the site has no jackpot {jackpot!r}")
        return self.jackpots[jackpot]

    def owned(self, jackpot: str) -> JackpotSource:
        """Return the service of a jackpot that this controller owns; raise `OwnedElsewhere` for any other."""
        service = self.service(jackpot)
        if not service.owned:
            raise OwnedElsewhere(jackpot)
        return service

    def state(self, jackpot: str) -> Jackpot:
        """Return a jackpot's state as last committed."""
        return self.service(jackpot).committed.jackpot

    def resolve(self, jackpot: str | None) -> str:
        """Return the id of the named jackpot, or of the only one if none is named."""
        if jackpot is not None:
            return self.service(jackpot).id
        if len(self.jackpots) != 1:
            raise Problem(
                404, "unknown_jackpot", f"name one of the site's jackpots: {', '.join(sorted(self.jackpots))}"
            )
        return next(iter(self.jackpots))

    def service_of(self, table: str) -> JackpotSource:
        """Return the service of the jackpot that a table is linked to."""
        for service in self.jackpots.values():
            known = service.committed.jackpot.tables.get(table)
            if known is not None and not known.unlinked:
                return service
        raise Refused(CommandError.UNKNOWN_TABLE, f"the site has no table {table!r}")

    def jackpot_of(self, table: str) -> str:
        """Return the jackpot of a table, also of one that was unlinked since."""
        jackpot = self.site.tables.get(table)
        if jackpot is None or jackpot not in self.jackpots:
            raise Refused(CommandError.UNKNOWN_TABLE, f"the site has no table {table!r}")
        return jackpot

    async def execute(self, service: JackpotSource, command: Command | Identified) -> dict[str, Any]:
        """Execute a command of a jackpot; return its answer once durable, or raise its refusal."""
        if service.committed.store_failed:
            raise Problem(503, "store", "the store does not answer: try again", wait_seconds=1)
        try:
            submitted = service.submit(command)
        except TakenOver:
            raise OwnedElsewhere(service.id) from None  # it was handed over at this moment
        return dict((await _result(submitted)).answer)

    async def execute_site(self, command: SiteCommand | IdentifiedSite) -> SiteDecision:
        """Execute a command of the site; return its decision once durable, or raise its refusal."""
        return await _result(self.site_writer.submit(command))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query in a reading thread."""
        return await self.compute(lambda: self._read(query))

    async def compute(self, work: Callable[[], T]) -> T:
        """Run work in a reading thread; a limited number may wait."""
        if self._reading >= MAX_WAITING_READS:
            raise Problem(503, "busy", f"{MAX_WAITING_READS} requests are waiting already: try again", wait_seconds=1)
        self._reading += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, work)
        finally:
            self._reading -= 1

    def _read(self, query: Callable[[Connection], T]) -> T:
        with self.database.reader() as connection:
            return query(connection)


async def _result(submitted: Future[T]) -> T:
    """Wait for a writer's result without ever cancelling the command; after a timeout its outcome is unknown."""
    result = asyncio.wrap_future(submitted)
    done, _ = await asyncio.wait([result], timeout=ACT_SECONDS)
    if not done:
        result.add_done_callback(_ignore_result)
        sentence = "not known yet whether this was carried out: repeat it with the same Idempotency-Key"
        raise Problem(503, "unknown", sentence, wait_seconds=1)
    return result.result()


def _ignore_result(result: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a late result, so that asyncio does not log it."""
    if not result.cancelled():
        result.exception()


def services_of(request: Request) -> WebServices:
    """Return the services of this application."""
    services: WebServices = request.app.state.services
    return services
