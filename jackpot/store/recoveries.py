"""Compare a store with the heads that are known outside of it, and find the recoveries that gave some of them up."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from jackpot.core.events import EventType
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.event_lookup import IS_NOT_WAGER
from jackpot.store.hash_chain import GENESIS, EventRow, event_hash
from jackpot.store.marks import ChainMark, MarkFile, Marks, SignedHead
from jackpot.store.signed_notes import NoteError, Verifier, origin_of


class LostHistory(StoreError):  # noqa: N818
    """The store does not have what is known to be committed or signed."""


class HeadProblem(NamedTuple):
    """A head that is known outside of the store and that the store does not have."""

    seq: int
    says: str


class Recovery(NamedTuple):
    """A recorded recovery: two managers gave up the events from `from_seq` on of epochs up to `epoch`."""

    seq: int
    from_seq: int
    epoch: int

    def covers(self, known: ChainMark | SignedHead) -> bool:
        """Return True if a known head belongs to the history that was given up.

        Its epoch counts, not the last number named in the event: another controller may know of more events that were
        lost, and a head of a later epoch was lost after this recovery.
        """
        return known.seq >= self.from_seq and known.epoch <= self.epoch


def require_known(database: Database, verifier: Verifier, file: MarkFile) -> None:
    """Raise `LostHistory`, which names what every chain lacks, if the store does not have what the marks know."""
    known = file.read()
    with database.reader() as connection:
        chains = sorted({*known.marks, *known.signed})
        found = [problem.says for chain in chains if (problem := known_problem(connection, chain, verifier, known))]
    if found:
        raise LostHistory("; ".join(found))


def known_problem(connection: Connection, chain: str, verifier: Verifier, known: Marks) -> HeadProblem | None:
    """Return what the store lacks of a chain's mark, or else of its last signed head."""
    mark, signed = known.marks.get(chain), known.signed.get(chain)
    problem = mark_problem(connection, chain, verifier, mark) if mark is not None else None
    if problem is None and signed is not None:
        problem = signed_problem(connection, chain, verifier, signed)
    return problem


def mark_problem(connection: Connection, chain: str, verifier: Verifier, mark: ChainMark) -> HeadProblem | None:
    """Return what the store lacks of a high-water mark; None if it has it, or if a recovery covers it."""
    return _missing(connection, chain, verifier, mark)


def signed_problem(connection: Connection, chain: str, verifier: Verifier, signed: SignedHead) -> HeadProblem | None:
    """Return what the store lacks of the last signed head; None if it has it, or if a recovery covers it."""
    problem = _missing(connection, chain, verifier, signed)
    if problem is not None or hash_at(connection, chain, signed.seq) != signed.hash:
        return problem
    c = tables.checkpoints.c
    count = connection.execute(select(func.count()).where(c.chain == chain, c.seq <= signed.seq)).scalar_one()
    if count < signed.number:
        return HeadProblem(
            signed.seq,
            f"the key signed {chain} {signed.number} times up to event {signed.seq:,},"
            f" but there are {count} checkpoints",
        )
    note = connection.execute(select(c.note).where(c.chain == chain, c.seq == signed.seq)).scalar_one_or_none()
    if note is None or sha256(note.encode()).digest() != signed.note:
        return HeadProblem(signed.seq, f"the checkpoint of {chain} at {signed.seq:,} is not the one that was signed")
    return None


def is_given_up(connection: Connection, chain: str, known: Marks) -> bool:
    """Return True if the store does not have a known head of this chain, though nothing is wrong: it was given up."""
    mark, signed = known.marks.get(chain), known.signed.get(chain)
    is_lost = mark is not None and hash_at(connection, chain, mark.seq) != mark.head
    return is_lost or (signed is not None and hash_at(connection, chain, signed.seq) != signed.hash)


def _missing(
    connection: Connection, chain: str, verifier: Verifier, known: ChainMark | SignedHead
) -> HeadProblem | None:
    digest, word = (known.hash, "signed") if isinstance(known, SignedHead) else (known.head, "committed")
    if hash_at(connection, chain, known.seq) == digest:
        return None
    if any(recovery.covers(known) for recovery in recoveries_of(connection, chain, verifier)):
        return None
    last = connection.execute(select(tables.chains.c.seq).where(tables.chains.c.chain == chain)).scalar_one_or_none()
    at, do = last or 0, "restore the newest copy, or run jackpot recover"
    if known.seq > at:
        lost = f"events {at + 1:,} to {known.seq:,} of {chain} are missing"
        if known.seq == at + 1:
            lost = f"event {known.seq:,} of {chain} is missing"
        says = f"{lost}: the store ends at {at:,}, but event {known.seq:,} was {word}: {do}"
        return HeadProblem(at + 1, says)
    says = f"event {known.seq:,} of {chain} is not the one that was {word}: the history was replaced: {do}"
    return HeadProblem(known.seq, says)


def hash_at(connection: Connection, chain: str, seq: int) -> bytes | None:
    """Return the hash of an event; of number 0, the hash before the first."""
    if seq == 0:
        return GENESIS
    e = tables.events.c
    found = connection.execute(select(e.hash).where(e.chain == chain, e.seq == seq)).scalar_one_or_none()
    return None if found is None else bytes(found)


def recoveries_of(connection: Connection, chain: str, verifier: Verifier) -> list[Recovery]:
    """Return the recoveries of a chain, each signed by a checkpoint of its own: an unsigned one may be forged."""
    e = tables.events.c
    kind = EventType.HISTORY_RECOVERED.value
    rows = connection.execute(select(tables.events).where(e.chain == chain, e.type == kind, IS_NOT_WAGER)).all()
    return [
        Recovery(row.seq, data["from_seq"], data["epoch"])
        for row in map(EventRow._make, rows)
        if _is_signed(connection, row, verifier)
        for data in [json.loads(row.data)]
    ]


def _is_signed(connection: Connection, row: EventRow, verifier: Verifier) -> bool:
    c = tables.checkpoints.c
    note = connection.execute(select(c.note).where(c.chain == row.chain, c.seq == row.seq)).scalar_one_or_none()
    before = hash_at(connection, row.chain, row.seq - 1)
    if note is None or before is None or event_hash(before, row[:-1]) != bytes(row.hash):
        return False
    try:
        covered = verifier.open(note)
    except NoteError:
        return False
    return covered[:3] == (origin_of(verifier.name, row.chain), row.seq, bytes(row.hash))
