"""The limit of epochs that are taken over from the broker, where anybody may have published them."""

from __future__ import annotations

from typing import Final

MAX_EPOCHS_AHEAD: Final = 1_000
"""Restarts and takeovers that a restored store may have missed; a higher epoch is not taken over but overwritten."""


def is_believable(seen_epoch: int, *, lease_epoch: int, mark_epoch: int) -> bool:
    """Return True if a controller of this jackpot may have had this epoch."""
    return seen_epoch <= max(lease_epoch, mark_epoch) + MAX_EPOCHS_AHEAD
