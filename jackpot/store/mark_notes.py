"""Signed marks: a chain's high-water mark as a note, which a broker can keep without being trusted."""

from __future__ import annotations

from jackpot.store.marks import ChainMark
from jackpot.store.signed_notes import Checkpoint, NoteError, Signer, Verifier, origin_of


def sign_mark(signer: Signer, chain: str, mark: ChainMark) -> str:
    """Return a signed note over a mark."""
    origin = origin_of(signer.verifier.name, chain, "mark")
    return signer.sign(Checkpoint(origin, mark.seq, mark.head, (str(mark.epoch),)))


def open_mark(verifier: Verifier, chain: str, note: str) -> ChainMark | None:
    """Return the mark of a note; None if it is not one that the site has signed for this chain."""
    try:
        found = verifier.open(note)
        (epoch,) = found.lines
        mark = ChainMark(int(epoch), found.seq, found.hash)
    except (NoteError, ValueError):
        return None
    return mark if found.origin == origin_of(verifier.name, chain, "mark") else None
