"""Sign the heads of a running controller: a jackpot's from its journal, the site's after verifying its new events."""

from __future__ import annotations

from jackpot.engine.journal import Journal
from jackpot.store.checkpoints import ANY_EPOCH, ChainSigner
from jackpot.store.marks import ChainMark
from jackpot.store.snapshots import snapshot_body
from jackpot.store.trail_verification import Trail


class JackpotSigner:
    """Signs the head of a jackpot's journal; called in the writer's thread, where head and state do not change.

    The journal's head extends what was verified at its start, so no event is read again. With `is_stopping`, a
    snapshot is written at the next call.
    """

    def __init__(self, journal: Journal, signer: ChainSigner) -> None:
        self._journal = journal
        self._signer = signer
        self.is_stopping = False

    def __call__(self) -> None:
        """Sign the journal's head."""
        seq, digest, epoch = self._journal.lease.head
        jackpot = self._journal.jackpot
        self._signer.sign(ChainMark(epoch, seq, digest), lambda: snapshot_body(jackpot), last=self.is_stopping)


class SiteSigner:
    """Signs the head of the site's chain, which has many writers: the events since the last call are verified first."""

    def __init__(self, trail: Trail, signer: ChainSigner) -> None:
        self._trail = trail
        self._signer = signer
        self.is_stopping = False

    def __call__(self) -> None:
        """Verify the new events and sign the chain's head."""
        found = self._trail.require_new()
        mark = ChainMark(ANY_EPOCH, found.events, bytes.fromhex(found.head))
        self._signer.sign(mark, lambda: snapshot_body(self._trail.state), last=self.is_stopping)
