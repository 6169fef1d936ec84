"""Signed snapshots: a chain's whole state at an event, from which a start replays only the later events."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from jackpot.core.site.state import Site, plain_site, site_from_plain
from jackpot.core.snapshot import jackpot_of, parts_of
from jackpot.core.state import Jackpot, Wager, WagerStatus
from jackpot.store import tables
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE, canonical
from jackpot.store.recoveries import hash_at
from jackpot.store.signed_notes import Checkpoint, NoteError, Signer, Verifier, origin_of


class StateSnapshot(NamedTuple):
    """The state of a chain after an event, and that event's hash."""

    seq: int
    head: bytes
    state: Jackpot | Site


def snapshot_body(state: Jackpot | Site) -> str:
    """Return a whole state as canonical JSON: what the state tables hold, balances, and wagers of current rounds."""
    if isinstance(state, Site):
        return canonical({"site": plain_site(state)})
    rounds = {table.id: table.round for table in state.tables.values() if table.round is not None}
    wagers = {table: list(played.wagers.values()) for table, played in rounds.items()}
    return canonical({"parts": parts_of(state), "balances": dict(state.balances), "wagers": wagers})


def write_snapshot(connection: Connection, chain: str, seq: int, head: bytes, signed: tuple[Signer, str]) -> None:
    """Replace the snapshot of a chain by a newer one."""
    signer, body = signed
    note = signer.sign(_content(signer.verifier.name, chain, seq, head, body))
    connection.execute(delete(tables.snapshots).where(tables.snapshots.c.chain == chain))
    connection.execute(insert(tables.snapshots).values(chain=chain, seq=seq, body=body, note=note))


def snapshot_seq(connection: Connection, chain: str) -> int:
    """Return the sequence number of a chain's snapshot, 0 if it has none."""
    seqs = select(tables.snapshots.c.seq).where(tables.snapshots.c.chain == chain)
    return int(connection.execute(seqs).scalar_one_or_none() or 0)


def read_snapshot(connection: Connection, chain: str, verifier: Verifier) -> StateSnapshot | None:
    """Return a chain's snapshot, None if it has none; raise `StoreError` if it is not the one that was signed."""
    row = connection.execute(select(tables.snapshots).where(tables.snapshots.c.chain == chain)).one_or_none()
    if row is None:
        return None
    head = hash_at(connection, chain, row.seq)
    try:
        signed = verifier.open(row.note)
    except NoteError as error:
        raise StoreError(f"the snapshot of {chain} at {row.seq:,}: {error}") from None
    if head is None or signed != _content(verifier.name, chain, row.seq, head, row.body):
        raise StoreError(f"the snapshot of {chain} at {row.seq:,} was signed for another history or content")
    return StateSnapshot(row.seq, head, _state(chain, json.loads(row.body)))


def _content(site: str, chain: str, seq: int, head: bytes, body: str) -> Checkpoint:
    return Checkpoint(origin_of(site, chain, "snapshot"), seq, sha256(head + body.encode()).digest())


def _state(chain: str, plain: dict[str, Any]) -> Jackpot | Site:
    if chain == SITE:
        return site_from_plain(plain["site"])
    wagers = {table: [_wager(values) for values in of_round] for table, of_round in plain["wagers"].items()}
    return jackpot_of(plain["parts"], plain["balances"], wagers)


def _wager(values: list[Any]) -> Wager:
    wager = Wager._make(values)
    return wager._replace(status=WagerStatus(wager.status))
