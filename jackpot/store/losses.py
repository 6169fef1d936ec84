"""Find what a store has lost: the events that the marks know of and the store does not have."""

from __future__ import annotations

import json
from typing import NamedTuple

from sqlalchemy import Connection, select

from jackpot.core.site.events import SiteEventType
from jackpot.store import tables
from jackpot.store.event_lookup import IS_NOT_WAGER
from jackpot.store.hash_chain import SITE
from jackpot.store.marks import ChainMark, Marks, SignedHead
from jackpot.store.recoveries import hash_at, mark_problem, recoveries_of, signed_problem
from jackpot.store.signed_notes import Verifier


class Loss(NamedTuple):
    """The lost events of a chain: from the first to the last that is known, its hash, and the highest epoch."""

    chain: str
    from_seq: int
    to_seq: int
    head: bytes
    epoch: int


def losses_of(connection: Connection, verifier: Verifier, known: Marks) -> list[Loss]:
    """Return what each chain has lost; recoveries that are on record are not losses any more."""
    chains = sorted({*known.marks, *known.signed})
    return [loss for chain in chains if (loss := _loss_of(connection, chain, verifier, known)) is not None]


def _loss_of(connection: Connection, chain: str, verifier: Verifier, known: Marks) -> Loss | None:
    mark, signed = known.marks.get(chain), known.signed.get(chain)
    lost: list[ChainMark | SignedHead] = []
    if mark is not None and mark_problem(connection, chain, verifier, mark) is not None:
        lost.append(mark)
    if signed is not None and signed_problem(connection, chain, verifier, signed) is not None:
        lost.append(signed)
    if not lost:
        return None
    c = tables.chains.c
    row = connection.execute(select(c.seq, c.epoch).where(c.chain == chain)).one_or_none()
    seq, epoch = (row.seq, row.epoch) if row is not None else (0, 0)
    last = max(lost, key=lambda one: one.seq)
    digest = last.hash if isinstance(last, SignedHead) else last.head
    epoch = max(epoch, *(one.epoch for one in (mark, signed) if one is not None))
    restored = _restored_up_to(connection, chain, verifier)
    if restored is not None:
        first = restored + 1
    elif min(one.seq for one in lost) > seq:
        first = seq + 1
    else:
        first = _first_replaced(connection, chain, signed)
    return Loss(chain, first, last.seq, digest, epoch)


def _restored_up_to(connection: Connection, chain: str, verifier: Verifier) -> int | None:
    """Return the last event of a chain that the last restore brought back, unless a recovery is on record since."""
    e = tables.events.c
    restores = select(e.data).where(e.chain == SITE, e.type == SiteEventType.STORE_RESTORED.value, IS_NOT_WAGER)
    last = connection.execute(restores.order_by(e.seq.desc()).limit(1)).scalar_one_or_none()
    data = json.loads(last) if last is not None else {"behind": {}}
    if chain not in data["behind"] or chain not in data["heads"]:
        return None
    seq = int(data["heads"][chain]["seq"])
    return None if any(one.seq > seq for one in recoveries_of(connection, chain, verifier)) else seq


def _first_replaced(connection: Connection, chain: str, signed: SignedHead | None) -> int:
    """Return the first event that may have been replaced: the one after the last signed head that the store has."""
    has_signed = signed is not None and hash_at(connection, chain, signed.seq) == signed.hash
    return signed.seq + 1 if signed is not None and has_signed else 1
