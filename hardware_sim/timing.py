"""How fast a floor lives: people's times divided by the speed, a network's times never."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

MIN_RETRY_SECONDS: Final = 0.5
MAX_RETRY_SECONDS: Final = 8.0


class Timing(NamedTuple):
    """The speed of a floor; at 1 a round takes about as long as at a real table."""

    speed: float = 1.0

    def seconds(self, at_a_table: float) -> float:
        """How long here what takes so many seconds at a real table."""
        return at_a_table / self.speed

    @property
    def first_retry_seconds(self) -> float:
        """How long a device waits for its first answer before it says the same again."""
        return max(MIN_RETRY_SECONDS, self.seconds(1.0))


def next_retry_seconds(wait: float) -> float:
    """The wait after this one."""
    return min(2 * wait, MAX_RETRY_SECONDS)


def jittered(wait: float) -> float:
    """A wait that differs from device to device, so that they do not all speak at once."""
    return random.uniform(0.75, 1.25) * wait  # noqa: S311 - spreads messages, keeps no secret
