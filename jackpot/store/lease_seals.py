"""The seal of a lease: the site's signature over the epoch and the owner of a chain, so that a change of them shows."""

from __future__ import annotations

from hashlib import sha256

from sqlalchemy import select

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.signed_notes import Checkpoint, NoteError, Signer, Verifier, origin_of


def seal_lease(signer: Signer, chain: str, epoch: int, owner: str) -> str:
    """Return the seal of a chain's lease; a released lease has the owner ""."""
    return signer.sign(_content(signer.verifier.name, chain, epoch, owner))


def seal_problem(verifier: Verifier, chain: str, epoch: int, owner: str, seal: str) -> str | None:
    """Return what is wrong with the seal of a lease; None if it was made for this epoch and owner."""
    try:
        sealed = verifier.open(seal)
    except NoteError as error:
        return f"the seal of the lease of {chain}: {error}"
    if sealed != _content(verifier.name, chain, epoch, owner):
        return f"the epoch {epoch} or the owner {owner!r} of {chain} was changed: its lease was sealed for another"
    return None


def has_seal(database: Database, chain: str) -> bool:
    """Return True if the lease of a chain has a seal."""
    seals = select(tables.leases.c.seal).where(tables.leases.c.chain == chain)
    with database.reader() as connection:
        return bool(connection.execute(seals).scalar_one_or_none())


def _content(site: str, chain: str, epoch: int, owner: str) -> Checkpoint:
    return Checkpoint(origin_of(site, chain, "lease"), epoch, sha256(owner.encode()).digest())
