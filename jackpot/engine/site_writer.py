"""The site while a controller runs: its commands carried out one after another, and its present state.

The site's chain has no owner for long: the command line may write it too, beside a running controller. So each command
first checks whether the chain has moved; if it has, the new events are read and the command is decided again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final

import structlog
from sqlalchemy import select

from jackpot import metrics
from jackpot.core.site.commands import IdentifiedSite, SiteCommand
from jackpot.core.site.decide import SiteDecision
from jackpot.core.site.state import Site
from jackpot.engine.lease import Seal, unsealed
from jackpot.engine.site_journal import SiteJournal
from jackpot.engine.writer import TooBusyError
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError, TakenOver, Unreachable
from jackpot.store.hash_chain import SITE
from jackpot.store.marks import ChainMark
from jackpot.store.state_tables import read_site

MAX_WAITING: Final = 100
MAX_ATTEMPTS: Final = 8
FIRST_WAIT_SECONDS: Final = 0.005
"""The longest wait after the first lost attempt; it doubles with each, so that two writers do not block each other."""

log = structlog.get_logger()


class SiteWriter:
    """Writes the site's chain in a thread of its own, and keeps the site's state in memory."""

    def __init__(self, database: Database, owner: str, checkpoint: Callable[[], object], seal: Seal = unsealed) -> None:
        self._database = database
        self._owner = owner
        self._seal = seal
        self._checkpoint = checkpoint
        self._journal: SiteJournal | None = None
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "site")
        self._lock = Lock()
        self._seq = -1
        self._unsigned = False
        self.site = Site()
        self.mark: ChainMark | None = None
        """The last event that this process has written to the site's chain."""
        self.refresh()

    @property
    def seq(self) -> int:
        """The number of the last event of the site's chain that is known here."""
        return self._seq

    def submit(self, command: SiteCommand | IdentifiedSite, *, sign: bool = True) -> Future[SiteDecision]:
        """Carry out a command durably; the future raises `Refused`, or `StoreError`.

        With `sign` the head is signed afterwards; sign-ins and the like are signed at the stop.
        """
        if self._waiting >= MAX_WAITING:
            raise TooBusyError(f"{MAX_WAITING} commands wait for the site already")
        with self._lock:
            self._waiting += 1
        future = self._thread.submit(self._carry_out, command, sign=sign)
        future.add_done_callback(self._done)
        return future

    def refresh(self) -> None:
        """Read the site's state if another process has written its chain."""
        with self._database.reader() as connection:
            head = select(tables.chains.c.seq).where(tables.chains.c.chain == SITE)
            seq = connection.execute(head).scalar_one_or_none()
            if seq is not None and seq > self._seq:
                self._keep_newest(read_site(connection), seq)

    def sign_waiting(self) -> None:
        """Sign the head in the writer's thread, if events of this process wait for it."""
        if self._unsigned:
            self._thread.submit(self._sign)

    def close(self) -> None:
        """Finish what waits, and sign the head."""
        self._thread.shutdown()
        if self._unsigned:
            self._sign()

    def _done(self, _future: Future[SiteDecision]) -> None:
        with self._lock:
            self._waiting -= 1

    def _keep_newest(self, site: Site, seq: int) -> None:
        """Keep the newest state: a command of our own may end while another thread reads."""
        with self._lock:
            if seq > self._seq:
                self.site, self._seq = site, seq

    def _carry_out(self, command: SiteCommand | IdentifiedSite, *, sign: bool) -> SiteDecision:
        decision = self._execute(command)
        self._unsigned = True
        if sign:
            self._sign()
        return decision

    def _execute(self, command: SiteCommand | IdentifiedSite) -> SiteDecision:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                journal = self._current_journal()
                decision = journal.execute(command)
            except TakenOver:
                self._journal = None  # another process wrote at the same moment: decide again on what it wrote
                if attempt == MAX_ATTEMPTS:
                    raise
                time.sleep(random.uniform(0, FIRST_WAIT_SECONDS * 2**attempt))  # noqa: S311 - spreads attempts only
            except StoreError:
                self._journal = None  # the next command reads from the store what became of this one
                raise
            else:
                seq, digest, epoch = journal.lease.head
                self._keep_newest(journal.site, seq)
                self.mark = ChainMark(epoch, seq, digest)
                return decision
        raise AssertionError("the last attempt returns or raises")

    def _current_journal(self) -> SiteJournal:
        """Return the journal at the chain's head, opened again if another process has moved it."""
        if self._journal is not None:
            try:
                self._journal.lease.require_held()
            except TakenOver:
                self._journal = None
        if self._journal is None:
            self._journal = SiteJournal.open(self._database, self._owner, seal=self._seal)
            self._journal.lease.release()
        return self._journal

    def _sign(self) -> None:
        """Sign the head; one that cannot be signed now is signed with the next command, or at the stop."""
        try:
            self._checkpoint()
        except StoreError as error:
            if not isinstance(error, Unreachable):
                log.warning("the site's trail is not signed", problem=str(error))
                metrics.ERRORS.labels(SITE, "sign").inc()
            return
        self._unsigned = False
