"""The hash chain: canonical bytes of an event, and the hash of all of it with the hash before."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Final, NamedTuple

GENESIS: Final = bytes(32)
SITE: Final = "site"
"""The chain of what belongs to no jackpot; a jackpot's chain is named after it."""

canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""The one way a value is written: sorted keys, no spaces, UTF-8."""


class EventRow(NamedTuple):
    """An event as it is stored and hashed; `data` and `transfers` are canonical JSON."""

    chain: str
    seq: int
    at: str
    actor: str
    type: str
    table_id: str | None
    round: int | None
    data: str
    transfers: str
    hash: bytes


def event_hash(before: bytes, fields: tuple[Any, ...]) -> bytes:
    """The hash of an event: every field of its row but the hash itself, and the hash of the event before."""
    return sha256(before + canonical(fields).encode()).digest()
