"""The last messages that could not be read, kept in memory for support."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

MAX_QUARANTINED: Final = 100


class QuarantinedMessage(NamedTuple):
    """A message that could not be read."""

    at: str
    topic: str
    problem: str
    payload: bytes


Quarantine = deque[QuarantinedMessage]


def new_quarantine() -> Quarantine:
    """Return an empty quarantine; over its limit the oldest message goes."""
    return deque(maxlen=MAX_QUARANTINED)
