"""Rate limits: counts per key within a minute, in bounded memory; the time is passed in."""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

WINDOW_SECONDS: Final = 60.0
MAX_KEYS: Final = 1_000
OTHERS: Final = "others"
"""The common key of all further keys once `MAX_KEYS` are counted."""


class _Count(NamedTuple):
    """A number of occurrences within the window that began at `began`."""

    began: float
    times: int


class RateLimiter:
    """Counts per key; a count is dropped a minute after it began."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: OrderedDict[str, _Count] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def wait_seconds(self, key: str, at: float) -> float:
        """Return the seconds until this key is allowed again; 0 if it is allowed now."""
        count = self._counts.get(key, _Count(at, 0))
        over = count.times >= self._limit and at - count.began < WINDOW_SECONDS
        return count.began + WINDOW_SECONDS - at if over else 0.0

    def add(self, key: str, at: float) -> None:
        """Count one occurrence."""
        self._drop_expired(at)
        counted = key if key in self._counts or len(self._counts) < MAX_KEYS else OTHERS
        count = self._counts.get(counted, _Count(at, 0))
        self._counts[counted] = count._replace(times=count.times + 1)

    def _drop_expired(self, at: float) -> None:
        """Drop counts from the front: they are in the order in which they began."""
        while self._counts:
            key, count = next(iter(self._counts.items()))
            if at - count.began < WINDOW_SECONDS:
                return
            del self._counts[key]


class Refusal(NamedTuple):
    """The number of refused sign-ins from an address."""

    address: str
    attempts: int


class Refusals:
    """Refused sign-ins that the audit trail must record: each address at most once a minute, all together limited."""

    def __init__(self, limit: int) -> None:
        self._entries = RateLimiter(limit)
        self._recorded_at: dict[str, float] = {}
        self._unrecorded: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of addresses with attempts that are not recorded yet."""
        return len(self._unrecorded)

    def add(self, address: str) -> None:
        """Count a refused sign-in from this address."""
        key = address if address in self._unrecorded or len(self._unrecorded) < MAX_KEYS else OTHERS
        self._unrecorded[key] = self._unrecorded.get(key, 0) + 1

    def due(self, at: float) -> Refusal | None:
        """Return the next address to record with all its attempts so far; it stays due until it is recorded."""
        self._recorded_at = {key: when for key, when in self._recorded_at.items() if at - when < WINDOW_SECONDS}
        if self._entries.wait_seconds("", at):
            return None
        return next((Refusal(*one) for one in self._unrecorded.items() if one[0] not in self._recorded_at), None)

    def mark_recorded(self, refusal: Refusal, at: float) -> None:
        """Note that these attempts are recorded; later ones from the same address stay to be recorded."""
        self._entries.add("", at)
        self._recorded_at[refusal.address] = at
        self._unrecorded[refusal.address] -= refusal.attempts
        if not self._unrecorded[refusal.address]:
            del self._unrecorded[refusal.address]


def network(address: str) -> str:
    """Return the part of an address that is counted: an IPv6 customer usually has a whole /64 network."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))
    return address
