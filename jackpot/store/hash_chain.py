"""The hash chain: canonical bytes of an event, and the hash of all of it with the hash before."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

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


def event_hash(before: bytes, fields: Iterable[str | int | None]) -> bytes:
    """The hash of an event: every field of its row but the hash itself, and the hash of the event before.

    Each field is written as its length, a colon, its text and a comma (a netstring); nothing at all is a lone comma. So
    no two different rows can be written alike.
    """
    written = "".join([f"{len(text := str(field))}:{text}," if field is not None else "," for field in fields])
    return sha256(before + written.encode()).digest()
