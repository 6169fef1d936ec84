"""Checkpoints: signed notes over the head of a chain, counted, each with the SHA-256 of the note before it.

A signer never signs a head that does not extend the last one it signed: a history that was changed and hashed anew
would otherwise get a valid signature.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select, update

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError, TakenOver
from jackpot.store.event_rows import ordered_rows, rows_of_chain
from jackpot.store.hash_chain import GENESIS, event_hash
from jackpot.store.marks import ChainMark, MarkFile, Marks, SignedHead
from jackpot.store.recoveries import hash_at, signed_problem
from jackpot.store.signed_notes import HASH_BYTES, Checkpoint, NoteError, Signer, Verifier, decoded, encoded, origin_of
from jackpot.store.snapshots import snapshot_seq, write_snapshot

ANY_EPOCH: Final = 0
"""The epoch of a head that may be signed by any process: its chain has many writers."""
MAX_ATTEMPTS: Final = 8
SNAPSHOT_EVENTS: Final = 5_000
SNAPSHOT_SECONDS: Final = 3_600.0
"""A snapshot is written with the first checkpoint after this many events, or this long, since the last one."""

Body = Callable[[], str]
"""Returns the body of a snapshot at the head that is signed."""


class NotExtended(StoreError):  # noqa: N818
    """The head of a chain does not extend the last one that was signed."""


class _SignedByAnotherError(Exception):
    """Another process has signed the chain at the same moment."""


class Link(NamedTuple):
    """The place of a checkpoint in its chain: its number, and the SHA-256 of the note before it."""

    number: int
    previous: bytes

    @property
    def lines(self) -> tuple[str, str]:
        """The lines of a note that hold this."""
        return str(self.number), encoded(self.previous)


NO_NOTE: Final = bytes(HASH_BYTES)


def link_of(checkpoint: Checkpoint) -> Link | None:
    """Return the place of a checkpoint in its chain; None for one from before checkpoints were counted."""
    if not checkpoint.lines:
        return None
    try:
        number, previous = checkpoint.lines
        link = Link(int(number), decoded(previous))
    except ValueError:
        raise NoteError("this note does not contain a checkpoint") from None
    if link.lines != checkpoint.lines or len(link.previous) != HASH_BYTES:
        raise NoteError("this note does not contain a checkpoint")
    return link


def note_hash(note: str | None) -> bytes:
    """Return the SHA-256 of a note; zeros for None."""
    return NO_NOTE if note is None else sha256(note.encode()).digest()


class ChainSigner:
    """Signs the heads of one chain, and writes a snapshot with a checkpoint from time to time."""

    def __init__(self, database: Database, chain: str, signer: Signer, marks: MarkFile | None = None) -> None:
        self._database = database
        self._chain = chain
        self._signer = signer
        self._marks = marks
        self._snapshot_at = time.monotonic()

    def sign(self, head: ChainMark | None = None, body: Body | None = None, *, last: bool = False) -> str | None:
        """Sign a head and store the note, unless it is signed already; return None for an empty chain.

        Without `head`, the chain's own head is signed, after the events since the last checkpoint were hashed again.
        The caller vouches for a `head`, and holds the lease at its epoch. With `last`, a snapshot is due.
        """
        for _ in range(MAX_ATTEMPTS):
            try:
                return self._sign(head, body, last=last)
            except _SignedByAnotherError:
                continue
        raise StoreError(f"{self._chain} is being signed by another process: try again")

    def _sign(self, head: ChainMark | None, body: Body | None, *, last: bool) -> str | None:
        known = self._marks.read().signed.get(self._chain) if self._marks is not None else None
        with self._database.reader() as connection:
            row = connection.execute(select(tables.chains).where(tables.chains.c.chain == self._chain)).one_or_none()
            if row is None or not row.seq:
                return None
            if head is not None and head.epoch not in (ANY_EPOCH, row.epoch):
                raise TakenOver(f"another controller has taken over {self._chain}: epoch {head.epoch} has ended")
            before = last_checkpoint(connection, self._chain)
            to_sign = head or ChainMark(row.epoch, row.seq, bytes(row.head))
            self._require_extended(connection, known, to_sign, is_vouched_for=head is not None)
            is_due = body is not None and self._is_due(connection, to_sign.seq, last=last)
        content = body() if body is not None and is_due else None
        if before is not None and before.seq >= to_sign.seq:
            note, count, seq = str(before.note), row.signed, before.seq
            if content is not None and seq == to_sign.seq:
                self._write(to_sign, None, content)
        else:
            count, seq = row.signed + 1, to_sign.seq
            link = Link(count, note_hash(before.note if before is not None else None))
            origin = origin_of(self._signer.verifier.name, self._chain)
            note = self._signer.sign(Checkpoint(origin, seq, to_sign.head, link.lines))
            self._write(to_sign, (note, count), content)
        if self._marks is not None:
            covered = self._signer.verifier.open(note)
            signed = SignedHead(row.epoch, seq, covered.hash, count, note_hash(note))
            self._marks.raise_to(Marks(signed={self._chain: signed}))
        return note

    def _write(self, head: ChainMark, checkpoint: tuple[str, int] | None, body: str | None) -> None:
        """Write a checkpoint with its count, and a snapshot, in one transaction that another signer would break."""
        c = tables.chains.c
        with self._database.transaction() as connection:
            if checkpoint is not None:
                note, count = checkpoint
                counted = update(tables.chains).where(c.chain == self._chain, c.signed == count - 1)
                if head.epoch != ANY_EPOCH:
                    counted = counted.where(c.epoch == head.epoch)
                if connection.execute(counted.values(signed=count)).rowcount != 1:
                    raise _SignedByAnotherError
                connection.execute(insert(tables.checkpoints).values(chain=self._chain, seq=head.seq, note=note))
            if body is not None:
                write_snapshot(connection, self._chain, head.seq, head.head, (self._signer, body))
        if body is not None:
            self._snapshot_at = time.monotonic()

    def _is_due(self, connection: Connection, seq: int, *, last: bool) -> bool:
        """Return True if a snapshot is to be written at this event."""
        events = seq - snapshot_seq(connection, self._chain)
        is_late = time.monotonic() - self._snapshot_at >= SNAPSHOT_SECONDS
        return events >= SNAPSHOT_EVENTS or (events > 0 and (last or is_late))

    def _require_extended(
        self,
        connection: Connection,
        known: SignedHead | None,
        head: ChainMark,
        *,
        is_vouched_for: bool,
    ) -> None:
        """Raise `NotExtended` unless a head extends the last checkpoint and the last head that the key has signed."""
        covered = require_signed(connection, self._chain, self._signer.verifier, known)
        seq, digest = (covered.seq, covered.hash) if covered is not None else (0, GENESIS)
        if head.seq == seq and head.head != digest:
            raise NotExtended(f"the head of {self._chain} at {seq:,} is not the one that was signed")
        if not is_vouched_for and head.seq > seq:
            require_linked(connection, self._chain, (seq, digest), head)


def write_checkpoint(database: Database, chain: str, signer: Signer, marks: MarkFile | None = None) -> str | None:
    """Sign the chain's head and store the note, unless it is signed already; return None for an empty chain."""
    return ChainSigner(database, chain, signer, marks).sign()


def adopt_signed(database: Database, chain: str, verifier: Verifier, marks: MarkFile) -> None:
    """Raise the marks to the last checkpoint of a chain, which another controller has signed with the same key.

    A standby on another machine then notices a loss by itself, also if the broker has kept nothing.
    """
    with database.reader() as connection:
        epoch = connection.execute(select(tables.chains.c.epoch).where(tables.chains.c.chain == chain)).scalar()
        last = last_checkpoint(connection, chain)
    if epoch is None or last is None:
        return
    try:
        covered = verifier.open(str(last.note))
        link = link_of(covered)
    except NoteError:
        return  # the verification reports it
    if link is None or (covered.origin, covered.seq) != (origin_of(verifier.name, chain), last.seq):
        return
    signed = SignedHead(epoch, covered.seq, covered.hash, link.number, note_hash(str(last.note)))
    marks.raise_to(Marks({chain: ChainMark(epoch, covered.seq, covered.hash)}, {chain: signed}))


def require_signed(
    connection: Connection, chain: str, verifier: Verifier, known: SignedHead | None
) -> Checkpoint | None:
    """Return the last checkpoint of a chain, None if it has none; raise `NotExtended` if the history is another.

    `known` is the last head that the key has signed, as far as this machine knows.
    """
    problem = None if known is None else signed_problem(connection, chain, verifier, known)
    if problem is not None:
        raise NotExtended(problem.says)
    before = last_checkpoint(connection, chain)
    if before is None:
        return None
    at = f"the checkpoint of {chain} at {before.seq:,}"
    try:
        covered = verifier.open(str(before.note))
        link = link_of(covered)
    except NoteError as error:
        raise NotExtended(f"{at}: {error}") from None
    if covered[:3] != (origin_of(verifier.name, chain), before.seq, hash_at(connection, chain, before.seq)):
        raise NotExtended(f"{at} was signed for another history")
    number = link.number if link is not None else _count(connection, chain)
    times = connection.execute(select(tables.chains.c.signed).where(tables.chains.c.chain == chain)).scalar()
    if number != times:
        raise NotExtended(f"{at} is number {number}, but the chain was signed {times} times")
    return covered


def require_linked(connection: Connection, chain: str, start: tuple[int, bytes], head: ChainMark) -> None:
    """Raise `NotExtended` unless the events after a signed one link by hash up to a head."""
    seq, digest = start
    for row in rows_of_chain(connection, chain, seq):
        if row.seq > head.seq:
            break
        if row.seq != seq + 1 or event_hash(digest, row[:-1]) != bytes(row.hash):
            raise NotExtended(f"event {seq + 1:,} of {chain} is missing, or was changed since it was written")
        seq, digest = row.seq, bytes(row.hash)
    if (seq, digest) != (head.seq, head.head):
        raise NotExtended(f"the head of {chain} is not the hash of its last event, {seq:,}")


def last_checkpoint(connection: Connection, chain: str) -> Row[Any, Any] | None:
    """Return the row of a chain's last checkpoint."""
    c = tables.checkpoints.c
    return connection.execute(select(c.seq, c.note).where(c.chain == chain).order_by(c.seq.desc()).limit(1)).first()


def _count(connection: Connection, chain: str) -> int:
    of_chain = tables.checkpoints.c.chain == chain
    return int(connection.execute(select(func.count()).select_from(tables.checkpoints).where(of_chain)).scalar_one())


def checkpoints_of(connection: Connection, chain: str, after: int = 0) -> dict[int, str]:
    """Return the signed notes of a chain after a sequence number, by sequence number."""
    found = connection.execute(ordered_rows(tables.checkpoints, chain, after))
    return {row.seq: row.note for row in found}


class CheckpointChain:
    """The checkpoints of a chain in order: each has its number and names the note before it.

    Those from before checkpoints were counted come first; none of them may follow a counted one.
    """

    def __init__(self, chain: str, verifier: Verifier) -> None:
        self._chain = chain
        self._verifier = verifier
        self.count = 0
        self._before: str | None = None
        self._is_counted = False

    @classmethod
    def up_to(cls, connection: Connection, chain: str, verifier: Verifier, seq: int) -> CheckpointChain:
        """Return the checkpoints up to an event, of which only the last is read."""
        made = cls(chain, verifier)
        c = tables.checkpoints.c
        earlier = (c.chain == chain) & (c.seq <= seq)
        made.count = int(connection.execute(select(func.count()).where(earlier)).scalar_one())
        made._before = connection.execute(select(c.note).where(earlier).order_by(c.seq.desc()).limit(1)).scalar()
        if made._before is not None:
            link = link_of(verifier.open(made._before))
            made._is_counted = link is not None
            if link is not None and link.number != made.count:
                raise NoteError(f"the last checkpoint up to {seq} is number {link.number}, but {made.count} are there")
        return made

    def follow(self, seq: int, digest: bytes, note: str) -> None:
        """Add the checkpoint at an event with this hash, or raise `NoteError`."""
        covered = self._verifier.open(note)
        if covered[:3] != (origin_of(self._verifier.name, self._chain), seq, digest):
            raise NoteError("it was signed for another history")
        link = link_of(covered)
        self.count += 1
        if link is None and self._is_counted:
            raise NoteError("it has no count, but an earlier one has")
        if link is not None and link != Link(self.count, note_hash(self._before)):
            raise NoteError(f"it is number {link.number} and names another note than the one before it")
        self._is_counted = link is not None
        self._before = note
