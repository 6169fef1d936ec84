"""The hash chain: the canonical bytes of an event, hashed with the hash of the event before."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

GENESIS: Final = bytes(32)
SITE: Final = "site"
"""The name of the site's own chain; a jackpot's chain has the name of the jackpot."""

canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""Encode a value as canonical JSON: sorted keys, no spaces, UTF-8."""


class EventRow(NamedTuple):
    """An event as stored and hashed; `data` and `transfers` are canonical JSON."""

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
    """Return the hash of an event, from every field of its row but the hash, and the hash of the event before.

    Each field is written as its length, a colon, its text and a comma (a netstring), and None as a lone comma, so that
    no two different rows have the same bytes.
    """
    written = "".join([f"{len(text := str(field))}:{text}," if field is not None else "," for field in fields])
    return sha256(before + written.encode()).digest()
