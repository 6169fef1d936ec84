"""The lease on a chain: the right to append to it at an epoch, checked by a fence in every transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import insert, select, update

from jackpot.core.events import Event
from jackpot.core.site.events import SiteEvent
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import Fenced, StoreError
from jackpot.store.event_rows import chained_row
from jackpot.store.hash_chain import GENESIS, EventRow
from jackpot.store.write_connection import HeadMove, HeadMovedError, WriteConnection


class Head(NamedTuple):
    """The last event of a chain, and the epoch at which the chain may be written."""

    seq: int
    hash: bytes
    epoch: int


class Lease:
    """The right to append to one chain; the fence is the first statement of every transaction."""

    def __init__(self, database: Database, chain: str, head: Head) -> None:
        self.database = database
        self.chain = chain
        self.head = head
        self._unconfirmed: Head | None = None

    def next_rows(self, events: Iterable[Event | SiteEvent]) -> list[EventRow]:
        """Return the rows of these events, each hashed with the one before."""
        rows, before, seq = [], self.head.hash, self.head.seq
        for event in events:
            seq += 1
            row = chained_row(self.chain, seq, before, event)
            before = row.hash
            rows.append(row)
        return rows

    def append(self, rows: Sequence[EventRow], write: Callable[[WriteConnection], None]) -> None:
        """Commit these rows, and what `write` adds, in one transaction that begins with the fence.

        If the connection breaks during COMMIT, the outcome is read back before anything is reported: unknown is not
        failed.
        """
        after = Head(rows[-1].seq, rows[-1].hash, self.head.epoch)
        try:
            with self.database.write_connection() as connection:
                connection.begin(HeadMove(self.chain, self.head.epoch, self.head.seq, after.seq, after.hash))
                connection.insert(tables.events, rows)
                write(connection)
                self._unconfirmed = after
                connection.commit()
        except HeadMovedError:
            self._unconfirmed = None
            raise self._fenced() from None
        except StoreError:
            if not self.commit_landed():
                raise
        self._unconfirmed = None
        self.head = after

    def commit_landed(self) -> bool:
        """Return True if a commit of unknown outcome took place; raise `StoreError` while the store cannot say."""
        after = self._unconfirmed
        if after is None:
            return False
        with self.database.reader() as connection:
            row = connection.execute(select(tables.chains).where(tables.chains.c.chain == self.chain)).one()
        self._unconfirmed = None
        landed = (row.seq, bytes(row.head), row.epoch) == (after.seq, after.hash, after.epoch)
        if landed:
            self.head = after
        return landed

    def require_held(self) -> None:
        """Raise `Fenced` if another controller has taken over; write nothing."""
        with self.database.reader() as connection:
            epochs = select(tables.chains.c.epoch).where(tables.chains.c.chain == self.chain)
            if connection.execute(epochs).scalar_one_or_none() != self.head.epoch:
                raise self._fenced()

    def raise_epoch(self, seen_epoch: int) -> None:
        """Continue at an epoch above one seen elsewhere: after a restore the broker may retain a higher one."""
        mine = (tables.chains.c.chain == self.chain) & (tables.chains.c.epoch == self.head.epoch)
        with self.database.transaction() as connection:
            raised = connection.execute(update(tables.chains).where(mine).values(epoch=seen_epoch + 1)).rowcount
        if raised != 1:
            raise self._fenced()
        self.head = self.head._replace(epoch=seen_epoch + 1)

    def release(self) -> None:
        """Clear the owner of the chain, unless another controller has taken over."""
        mine = (tables.chains.c.chain == self.chain) & (tables.chains.c.epoch == self.head.epoch)
        with self.database.transaction() as connection:
            connection.execute(update(tables.chains).where(mine).values(owner=""))

    def _fenced(self) -> Fenced:
        return Fenced(f"the chain {self.chain} is no longer written at epoch {self.head.epoch}: another took over")


def acquire_lease(database: Database, chain: str, owner: str, *, seen_epoch: int = 0) -> Lease:
    """Own a chain at a new epoch, above its last one and `seen_epoch`; a new chain begins empty."""
    with database.transaction() as connection:
        row = connection.execute(select(tables.chains).where(tables.chains.c.chain == chain)).one_or_none()
        if row is None:
            first = {"chain": chain, "seq": 0, "head": GENESIS, "epoch": seen_epoch + 1, "owner": owner}
            connection.execute(insert(tables.chains).values(**first, signed=0))
            return Lease(database, chain, Head(0, GENESIS, seen_epoch + 1))
        epoch = max(row.epoch, seen_epoch) + 1
        moved = connection.execute(
            update(tables.chains)
            .where(tables.chains.c.chain == chain, tables.chains.c.epoch == row.epoch)
            .values(epoch=epoch, owner=owner)
            .returning(tables.chains.c.seq, tables.chains.c.head)
        ).one_or_none()
        if moved is None:
            raise Fenced(f"the chain {chain} was taken over by another controller at the same moment: try again")
    return Lease(database, chain, Head(moved.seq, bytes(moved.head), epoch))
