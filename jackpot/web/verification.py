"""Verifying chains while the floor plays: one verification at a time, in a thread, and what the last ones found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from threading import Thread

from jackpot.clock import now
from jackpot.store.audit import Verified, every_chain, verify
from jackpot.store.database import Database
from jackpot.store.notes import Verifier
from jackpot.watch.trail import Found
from jackpot.web.problems import Problem


class Verification:
    """Verifies what it is told to, and knows the last result of each chain, with its time.

    `watched` is what the watch over the trail finds by itself.
    """

    def __init__(self, database: Database, verifier: Verifier, watched: Mapping[str, Found]) -> None:
        self._watched = watched
        self._database = database
        self.verifier = verifier
        self._running = False
        self._last: dict[str, tuple[str, Verified]] = {}

    @property
    def last(self) -> Mapping[str, tuple[str, Verified]]:
        """The last result of each chain."""
        watched = {chain: (found.at, found.verified) for chain, found in self._watched.items()}
        newest = {**watched, **self._last}
        return {chain: max(found, watched.get(chain, found), key=_when) for chain, found in newest.items()}

    async def run(self, chain: str | None = None) -> tuple[str, list[Verified]]:
        """Verify a chain, or all of them; says when it began, and what it found."""
        if self._running:
            raise Problem(409, "verification_running", "a verification is running: ask again later", wait_seconds=5)
        self._running = True
        at, work = now(), Future[list[Verified]]()
        Thread(target=self._work, args=(work, chain), name="verification", daemon=True).start()
        found = await asyncio.shield(asyncio.wrap_future(work))
        self._last.update({row.chain: (at, row) for row in found})
        return at, found

    def _work(self, work: Future[list[Verified]], chain: str | None) -> None:
        """In a thread that does not keep a controller from ending: nothing is lost with it."""
        try:
            work.set_result([verify(self._database, name, self.verifier) for name in self._chains(chain)])
        except BaseException as error:  # noqa: BLE001 - it is raised again where somebody waits for it
            work.set_exception(error)
        finally:
            self._running = False

    def _chains(self, chain: str | None) -> list[str]:
        if chain is not None:
            return [chain]
        with self._database.reader() as connection:
            return every_chain(connection)


def _when(found: tuple[str, Verified]) -> str:
    return found[0]
