"""The site while a controller runs: its commands carried out one after another, and the site as it is now.

The site's chain has no owner for long: the command line may write it, too, beside a running controller. So each act
first looks whether the chain has moved; and what was written on it meanwhile is fenced off, read, and decided anew.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Final

from sqlalchemy import select

from jackpot.core.site import Site, SiteCommand
from jackpot.core.site_once import IdentifiedSite, SiteDecision
from jackpot.store import tables
from jackpot.store.book import SiteBook, read_site
from jackpot.store.chain import SITE
from jackpot.store.database import Database
from jackpot.store.errors import Fenced, StoreError
from jackpot.store.writer import TooBusyError

MOST_WAITING: Final = 100
ATTEMPTS: Final = 5


class SiteKeeper:
    """Writes the site's chain from a thread of its own, and remembers the site, so that a token is checked at once."""

    def __init__(self, database: Database, owner: str, checkpoint: Callable[[], object]) -> None:
        self._database = database
        self._owner = owner
        self._checkpoint = checkpoint
        self._book: SiteBook | None = None
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "site")
        self._changing = Lock()
        self._seen = -1
        self._unsigned = False
        self.site = Site()
        self.refresh()

    @property
    def seq(self) -> int:
        """The number of the last event of the site's chain that is known here."""
        return self._seen

    def ask(self, asked: SiteCommand | IdentifiedSite, *, sign: bool = True) -> Future[SiteDecision]:
        """Carry out a command, durably; the future raises `Refused`, or what went wrong with the store.

        The head is signed afterwards, but for what is recorded only to be recorded: that is signed at the stop.
        """
        if self._waiting >= MOST_WAITING:
            raise TooBusyError(f"{MOST_WAITING} commands wait for the site already")
        with self._changing:
            self._waiting += 1
        future = self._thread.submit(self._carry_out, asked, sign=sign)
        future.add_done_callback(self._done)
        return future

    def refresh(self) -> None:
        """Notice what others have written."""
        with self._database.reader() as connection:
            head = select(tables.chains.c.seq).where(tables.chains.c.chain == SITE)
            seq = connection.execute(head).scalar_one_or_none()
            if seq is not None and seq > self._seen:
                self._remember(read_site(connection), seq)

    def close(self) -> None:
        """Finish what waits, and sign the head."""
        self._thread.shutdown()
        if self._unsigned:
            self._sign()

    def _done(self, _future: Future[SiteDecision]) -> None:
        with self._changing:
            self._waiting -= 1

    def _remember(self, site: Site, seq: int) -> None:
        """Keep the newest: an act of our own may come between another's reading and its end."""
        with self._changing:
            if seq > self._seen:
                self.site, self._seen = site, seq

    def _carry_out(self, asked: SiteCommand | IdentifiedSite, *, sign: bool) -> SiteDecision:
        decision = self._decided(asked)
        self._unsigned = True
        if sign:
            self._sign()
        return decision

    def _decided(self, asked: SiteCommand | IdentifiedSite) -> SiteDecision:
        for left in reversed(range(ATTEMPTS)):
            try:
                book = self._current_book()
                decision = book.ask(asked)
            except Fenced:
                self._book = None  # another wrote at the same moment: decide anew on what it wrote
                if not left:
                    raise
            except StoreError:
                self._book = None  # whether it was written is read from the store next time
                raise
            else:
                self._remember(book.site, book.chain.head.seq)
                return decision
        raise AssertionError("the last attempt returns or raises")

    def _current_book(self) -> SiteBook:
        """The book at the chain's head, taken over anew where somebody else has moved it."""
        if self._book is not None:
            try:
                self._book.chain.require_mine()
            except Fenced:
                self._book = None
        if self._book is None:
            self._book = SiteBook.open(self._database, self._owner)
            self._book.chain.release()
        return self._book

    def _sign(self) -> None:
        """A head that cannot be signed now is signed with the next act, or at the stop."""
        try:
            self._checkpoint()
        except StoreError:
            return
        self._unsigned = False
