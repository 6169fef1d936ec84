"""The lease on a chain: the right to append to it at an epoch, checked by a fence in every transaction.

A fence that does not hold has one of four reasons, told apart by the head that the store has: another controller has
taken over, a commit of our own took place after all, the store was rolled back, or another process wrote at our epoch.
Only after the second does the owner go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert_postgres
from sqlalchemy.dialects.sqlite import insert as upsert_sqlite

from jackpot.core.events import Event
from jackpot.core.site.events import SiteEvent
from jackpot.engine.epoch_limit import is_believable
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.database_clock import clock_ms
from jackpot.store.errors import Forked, Rejected, RolledBack, StoreError, TakenOver
from jackpot.store.event_rows import chained_row
from jackpot.store.hash_chain import GENESIS, EventRow
from jackpot.store.write_connection import HeadMove, HeadMovedError, StoredHead, WriteConnection

MAX_ATTEMPTS: Final = 16
"""Commits of unknown outcome that are remembered; each is resolved before the next, so there are never many."""

Seal = Callable[[str, int, str], str]
"""Returns the signature over a chain's epoch and owner."""


class Head(NamedTuple):
    """The last event of a chain, and the epoch at which the chain may be written."""

    seq: int
    hash: bytes
    epoch: int


class OwnCommitLanded(StoreError):  # noqa: N818 - a state rather than an error
    """A commit of unknown outcome took place after all: take in what it wrote, then decide again."""


def unsealed(_chain: str, _epoch: int, _owner: str) -> str:
    """Return no signature: for tests, and for stores without a key."""
    return ""


class Lease:
    """The right to append to one chain; the fence is the first statement of every transaction."""

    def __init__(self, database: Database, chain: str, head: Head, seal: Seal = unsealed) -> None:
        self.database = database
        self.chain = chain
        self.head = head
        self._seal = seal
        self._attempts: list[Head] = []

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
        failed. Raises `OwnCommitLanded` if an earlier commit of unknown outcome turns out to have taken place.
        """
        after = Head(rows[-1].seq, rows[-1].hash, self.head.epoch)
        move = HeadMove(self.chain, self.head.epoch, self.head.seq, self.head.hash, after.seq, after.hash)
        try:
            with self.database.write_connection() as connection:
                connection.begin(move)
                connection.insert(tables.events, rows)
                write(connection)
                self._attempts = [*self._attempts[1 - MAX_ATTEMPTS :], after]
                connection.commit()
        except HeadMovedError:
            self._forget(after)
            if self.find_landed() is not None:
                raise OwnCommitLanded(f"an earlier commit of {self.chain} took place after all") from None
            raise self._unexpected(self._read()) from None
        except Rejected:
            self._forget(after)
            raise
        except StoreError:
            if self.find_landed() != after:
                raise
        self.head, self._attempts = after, []

    def _forget(self, after: Head) -> None:
        """Forget an attempt that is known to have had no effect."""
        self._attempts = [head for head in self._attempts if head != after]

    def find_landed(self) -> Head | None:
        """Return the head of our own commit of unknown outcome if it took place, else None.

        The session of that commit has ended before this reads. A commit that is found is reported only after a later
        one was acknowledged on the present connection: its own wait for the standby may have been cut off. Raises
        `Fenced` if the head is none of ours, and `StoreError` while the store does not answer.
        """
        if not self._attempts:
            return None
        with self.database.write_connection() as connection:
            found = connection.read_head(self.chain)
            if found == self._stored(self.head):
                return None
            landed = next((head for head in self._attempts if self._stored(head) == found), None)
            if landed is None:
                raise self._unexpected(found)
            if connection.renew(self.chain, self.head.epoch) is None:
                raise self._taken_over()
        self.head, self._attempts = landed, []
        return landed

    def renew(self) -> str:
        """Renew the lease; return the name of the controller that asks for it, "" if none; raise `Fenced` if lost."""
        with self.database.write_connection() as connection:
            renewed = connection.renew(self.chain, self.head.epoch)
            if renewed is None:
                raise self._unexpected(connection.read_head(self.chain))
            if renewed.head != self._stored(self.head) and not self._attempts:
                raise self._unexpected(renewed.head)
        return renewed.wanted_by

    def require_held(self) -> None:
        """Raise `Fenced` if another controller has taken over; write nothing."""
        with self.database.reader() as connection:
            epochs = select(tables.chains.c.epoch).where(tables.chains.c.chain == self.chain)
            if connection.execute(epochs).scalar_one_or_none() != self.head.epoch:
                raise self._taken_over()

    def raise_epoch(self, seen_epoch: int) -> None:
        """Continue at an epoch above one seen elsewhere: after a restore the broker may retain a higher one."""
        with self.database.transaction() as connection:
            owner = self._update(connection, epoch=seen_epoch + 1)
            if owner is None:
                raise self._taken_over()
            write_lease(connection, self.chain, self._seal(self.chain, seen_epoch + 1, owner))
        self.head = self.head._replace(epoch=seen_epoch + 1)

    def release(self) -> None:
        """Clear the owner of the chain, unless another controller has taken over."""
        with self.database.transaction() as connection:
            if self._update(connection, owner="") is not None:
                write_lease(connection, self.chain, self._seal(self.chain, self.head.epoch, ""))

    def _update(self, connection: Connection, **values: Any) -> str | None:  # noqa: ANN401 - columns of a chain
        """Change the row of the chain while it is ours; return its owner, None if it is not ours."""
        mine = (tables.chains.c.chain == self.chain) & (tables.chains.c.epoch == self.head.epoch)
        changed = update(tables.chains).where(mine).values(**values).returning(tables.chains.c.owner)
        found: str | None = connection.execute(changed).scalar_one_or_none()
        return found

    def _read(self) -> StoredHead | None:
        with self.database.write_connection() as connection:
            return connection.read_head(self.chain)

    @staticmethod
    def _stored(head: Head) -> StoredHead:
        return StoredHead(head.epoch, head.seq, head.hash)

    def _unexpected(self, found: StoredHead | None) -> StoreError:
        """Return the reason why a head is none of ours."""
        if found is None or found.epoch != self.head.epoch:
            return self._taken_over()
        if found.seq < self.head.seq:
            return RolledBack(
                f"the store has gone back: the chain {self.chain} ends at event {found.seq}, but event {self.head.seq}"
                f" was committed. Stop all controllers, and restore the newest copy, or run jackpot recover"
            )
        return Forked(
            f"the chain {self.chain} was changed at event {min(found.seq, self.head.seq)} by another program at"
            f" epoch {self.head.epoch}. Stop all controllers, and run jackpot audit verify"
        )

    def _taken_over(self) -> TakenOver:
        return TakenOver(f"another controller has taken over {self.chain}: epoch {self.head.epoch} has ended")


def acquire_lease(  # noqa: PLR0913 - the terms of the lease
    database: Database,
    chain: str,
    owner: str,
    *,
    seen_epoch: int = 0,
    mark_epoch: int = 0,
    seal: Seal = unsealed,
    at: int | None = None,
) -> Lease:
    """Own a chain at a new epoch, above its last one and `seen_epoch` if believable; a new chain begins empty.

    With `at`, the chain is acquired only if its epoch is still this one: another controller may be faster.
    """
    with database.transaction() as connection:
        row = connection.execute(select(tables.chains).where(tables.chains.c.chain == chain)).one_or_none()
        if not is_believable(seen_epoch, lease_epoch=row.epoch if row else 0, mark_epoch=mark_epoch):
            seen_epoch = 0
        seen_epoch = max(seen_epoch, mark_epoch)
        if row is None:
            first = {"chain": chain, "seq": 0, "head": GENESIS, "epoch": seen_epoch + 1, "owner": owner}
            connection.execute(insert(tables.chains).values(**first, signed=0))
            write_lease(connection, chain, seal(chain, seen_epoch + 1, owner))
            return Lease(database, chain, Head(0, GENESIS, seen_epoch + 1), seal)
        epoch = max(row.epoch, seen_epoch) + 1
        moved = connection.execute(
            update(tables.chains)
            .where(tables.chains.c.chain == chain, tables.chains.c.epoch == (row.epoch if at is None else at))
            .values(epoch=epoch, owner=owner)
            .returning(tables.chains.c.seq, tables.chains.c.head)
        ).one_or_none()
        if moved is None:
            raise TakenOver(f"the chain {chain} was taken over by another controller at the same moment: try again")
        write_lease(connection, chain, seal(chain, epoch, owner))
    return Lease(database, chain, Head(moved.seq, bytes(moved.head), epoch), seal)


def write_lease(connection: Connection, chain: str, seal: str) -> None:
    """Write the row of a lease: renewed now, asked for by no controller."""
    values = {"renewed_ms": clock_ms(connection), "wanted_by": "", "seal": seal}
    upsert = upsert_sqlite if connection.dialect.name == "sqlite" else upsert_postgres
    statement = upsert(tables.leases).values(chain=chain, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=[tables.leases.c.chain], set_=values))
