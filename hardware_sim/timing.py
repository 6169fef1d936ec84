"""The speed of a floor: human delays are divided by it, network delays are not."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

MIN_RETRY_SECONDS: Final = 0.5
MAX_RETRY_SECONDS: Final = 8.0


class Timing(NamedTuple):
    """The speed of a floor; at 1 a round takes about as long as at a real table."""

    speed: float = 1.0

    def scaled(self, seconds: float) -> float:
        """Return the simulated duration of an act that takes so many seconds at a real table."""
        return seconds / self.speed

    @property
    def first_retry_seconds(self) -> float:
        """The time a device waits for an answer before its first retry."""
        return max(MIN_RETRY_SECONDS, self.scaled(1.0))


def next_retry_seconds(wait: float) -> float:
    """Return the wait after this one: twice as long, up to a limit."""
    return min(2 * wait, MAX_RETRY_SECONDS)


def jittered(wait: float) -> float:
    """Return the wait, varied at random so that devices do not retry at the same moment."""
    return random.uniform(0.75, 1.25) * wait  # noqa: S311 - spreads messages, keeps no secret
