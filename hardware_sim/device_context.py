"""The settings and shared objects that every device of a floor is given."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from hardware_sim.connection import Broker
from hardware_sim.faults import Faults
from hardware_sim.timing import Timing
from hardware_sim.topics import DeviceTopics
from hardware_sim.wager_log import WagerLog


class DeviceContext(NamedTuple):
    """The broker, topics, speed and faults of a floor, and the log of its wagers."""

    broker: Broker
    topics: DeviceTopics
    jackpot: str
    timing: Timing
    faults: Faults
    wager_log: WagerLog
    nonce: str

    def ids(self, prefix: str) -> Iterator[str]:
        """Return an iterator of ids that are unique across all runs."""
        return (f"{prefix}-{self.nonce}-{number:06d}" for number in count(1))


def new_nonce() -> str:
    """Return a text that differs for each run."""
    return f"{time.time_ns() // 1_000_000:x}"
