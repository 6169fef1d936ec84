"""How often something may happen: counts for each key within a minute, in bounded memory. The time is told."""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

WINDOW_SECONDS: Final = 60.0
MAX_KEYS: Final = 1_000
OTHERS: Final = "others"
"""The one key of all that come when so many are counted already."""


class _Count(NamedTuple):
    """How often, in the window that began then."""

    began: float
    times: int


class RateLimiter:
    """Counts for each key; a count is forgotten a minute after it began."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[str, _Count] = OrderedDict()

    def wait_seconds(self, key: str, at: float) -> float:
        """How long until this may happen again; 0 where it may now."""
        count = self._counts.get(key, _Count(at, 0))
        over = count.times >= self._most and at - count.began < WINDOW_SECONDS
        return count.began + WINDOW_SECONDS - at if over else 0.0

    def add(self, key: str, at: float) -> None:
        """It happened."""
        self._forget(at)
        kept = self._kept(key)
        count = self._counts.get(kept, _Count(at, 0))
        self._counts[kept] = count._replace(times=count.times + 1)

    def _kept(self, key: str) -> str:
        return key if key in self._counts or len(self._counts) < MAX_KEYS else OTHERS

    def _forget(self, at: float) -> None:
        """Counts stand in the order in which they began."""
        while self._counts:
            key, count = next(iter(self._counts.items()))
            if at - count.began < WINDOW_SECONDS:
                return
            del self._counts[key]


class Refusal(NamedTuple):
    """How often sign-ins from an address were refused."""

    address: str
    attempts: int


class Refusals:
    """Refused sign-ins that the entry log must hear of: each address at most once a minute, all together bounded."""

    def __init__(self, most: int) -> None:
        self._recent = RateLimiter(most)
        self._told: dict[str, float] = {}
        self._untold: OrderedDict[str, int] = OrderedDict()

    def add(self, address: str) -> None:
        """A sign-in from this address was refused."""
        key = address if address in self._untold or len(self._untold) < MAX_KEYS else OTHERS
        self._untold[key] = self._untold.get(key, 0) + 1

    def due(self, at: float) -> Refusal | None:
        """The next to be told of now, with all attempts from there since the last time; it is due until it is told."""
        self._told = {key: when for key, when in self._told.items() if at - when < WINDOW_SECONDS}
        if self._recent.wait_seconds("", at):
            return None
        return next((Refusal(*one) for one in self._untold.items() if one[0] not in self._told), None)

    def tell(self, refusal: Refusal, at: float) -> None:
        """The entry log has heard of these; of others from there, since, it will."""
        self._recent.add("", at)
        self._told[refusal.address] = at
        self._untold[refusal.address] -= refusal.attempts
        if not self._untold[refusal.address]:
            del self._untold[refusal.address]


def network(address: str) -> str:
    """What of an address is counted: of IPv6 the part that one customer of a provider has."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Address(int(parsed) >> 64 << 64))
    return address
