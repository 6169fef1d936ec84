"""Checkpoints: signed notes over the head of a chain."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.event_rows import ordered_rows
from jackpot.store.signed_notes import Checkpoint, Signer, origin_of


def write_checkpoint(database: Database, chain: str, signer: Signer) -> str | None:
    """Sign the chain's head and store the note, unless it is signed already; return None for an empty chain."""
    with database.transaction() as connection:
        head = connection.execute(select(tables.chains).where(tables.chains.c.chain == chain)).one_or_none()
        if head is None or not head.seq:
            return None
        note = signer.sign(Checkpoint(origin_of(signer.verifier.name, chain), head.seq, bytes(head.head)))
        at_head = (tables.checkpoints.c.chain == chain) & (tables.checkpoints.c.seq == head.seq)
        if connection.execute(select(tables.checkpoints).where(at_head)).one_or_none() is None:
            connection.execute(insert(tables.checkpoints).values(chain=chain, seq=head.seq, note=note))
            count = update(tables.chains).where(tables.chains.c.chain == chain).values(signed=head.signed + 1)
            connection.execute(count)
    return note


def checkpoints_of(connection: Connection, chain: str) -> dict[int, str]:
    """Return the signed notes of a chain by sequence number."""
    found = connection.execute(ordered_rows(tables.checkpoints, chain))
    return {row.seq: row.note for row in found}
