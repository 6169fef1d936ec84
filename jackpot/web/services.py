"""The running floor as the web sees it: its jackpots and tables, the way to their writers, and the store to read."""

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
from jackpot.engine.service import JackpotService
from jackpot.engine.site_writer import SiteWriter
from jackpot.store.database import Database
from jackpot.store.pool_history import History
from jackpot.web.problems import Problem
from jackpot.web.verification import Verification

READING_THREADS: Final = 3
"""Fewer than the store's readers: the site's site_writer and health read, too."""
MAX_READING: Final = 100
ACT_SECONDS: Final = 10.0

T = TypeVar("T")


class SiteInfo(NamedTuple):
    """What the site is called, and by which clock it lives."""

    site: str
    timezone: str


class WebServices:
    """Every jackpot that this process serves, and the site they belong to."""

    def __init__(
        self,
        database: Database,
        jackpots: Mapping[str, JackpotService],
        site_writer: SiteWriter,
        verification: Verification,
        place: SiteInfo,
    ) -> None:
        self.name = place.site
        self.database = database
        self.jackpots = jackpots
        self.site_writer = site_writer
        self.zone = place.timezone
        self.history = History()
        self.verification = verification
        self._readers = ThreadPoolExecutor(READING_THREADS, "reader")
        self._reading = 0

    @property
    def site(self) -> Site:
        """The site as it is now."""
        return self.site_writer.site

    def service(self, jackpot: str) -> JackpotService:
        """The service of a jackpot."""
        if jackpot not in self.jackpots:
            raise Problem(404, "unknown_jackpot", f"the site has no jackpot {jackpot!r}")
        return self.jackpots[jackpot]

    def state(self, jackpot: str) -> Jackpot:
        """A jackpot as it was last committed."""
        return self.service(jackpot).committed.jackpot

    def meant(self, jackpot: str | None) -> str:
        """The jackpot that is meant; where there is one only, it need not be named."""
        if jackpot is not None:
            return self.service(jackpot).id
        if len(self.jackpots) != 1:
            raise Problem(
                404, "unknown_jackpot", f"name one of the site's jackpots: {', '.join(sorted(self.jackpots))}"
            )
        return next(iter(self.jackpots))

    def service_of(self, table: str) -> JackpotService:
        """The service of the jackpot that a table is linked to."""
        for service in self.jackpots.values():
            known = service.committed.jackpot.tables.get(table)
            if known is not None and not known.unlinked:
                return service
        raise Refused(CommandError.UNKNOWN_TABLE, f"the site has no table {table!r}")

    def jackpot_of(self, table: str) -> str:
        """The jackpot a table belongs to, even one that was unlinked since."""
        jackpot = self.site.tables.get(table)
        if jackpot is None or jackpot not in self.jackpots:
            raise Refused(CommandError.UNKNOWN_TABLE, f"the site has no table {table!r}")
        return jackpot

    async def ask(self, service: JackpotService, command: Command | Identified) -> dict[str, Any]:
        """Carry out an act on a jackpot, durably, or raise its refusal."""
        if service.committed.store_failed:
            raise Problem(503, "store", "the store does not answer: try again", wait_seconds=1)
        return dict((await _answer(service.submit(command))).answer)

    async def ask_site(self, command: SiteCommand | IdentifiedSite) -> SiteDecision:
        """Carry out an act on the site, durably, or raise its refusal."""
        return await _answer(self.site_writer.submit(command))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """What the store answers, asked in a thread."""
        return await self.compute(lambda: self._read(query))

    async def compute(self, work: Callable[[], T]) -> T:
        """Have something done in a reading thread; so many may wait for one."""
        if self._reading >= MAX_READING:
            raise Problem(503, "busy", f"{MAX_READING} questions wait already: try again", wait_seconds=1)
        self._reading += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._readers, work)
        finally:
            self._reading -= 1

    def _read(self, query: Callable[[Connection], T]) -> T:
        with self.database.reader() as connection:
            return query(connection)


async def _answer(asked: Future[T]) -> T:
    """What a writer answers, never cancelled; where that takes too long, nobody can say what became of the act."""
    answer = asyncio.wrap_future(asked)
    done, _ = await asyncio.wait([answer], timeout=ACT_SECONDS)
    if not done:
        answer.add_done_callback(_nobody_waits)
        sentence = "not known yet whether this was carried out: ask again with the same Idempotency-Key"
        raise Problem(503, "unknown", sentence, wait_seconds=1)
    return answer.result()


def _nobody_waits(answer: asyncio.Future[Any]) -> None:
    """An outcome that came too late is looked at, so that it is not complained of."""
    if not answer.cancelled():
        answer.exception()


def services_of(request: Request) -> WebServices:
    """The floor that this application serves."""
    services: WebServices = request.app.state.services
    return services
