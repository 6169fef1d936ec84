"""Who uses the processors while something is measured, by the kernel's own account, and so what bounds it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
COUNT = len(os.sched_getaffinity(0))
FULL = 0.75
"""From this share on a processor is what one waits for: on a shared machine it never comes to all of it."""


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    every = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [one for one in every if parent(one) == pid]


def parent(pid: int) -> int:
    """Who started a process; 0 where it has ended."""
    return int(_account(pid)[1])


def seconds(pids: Iterable[int]) -> float:
    """What these processes, with all their threads, have used of the processors so far."""
    return sum(int(account[11]) + int(account[12]) for account in map(_account, pids)) / TICKS


def _account(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended
        return ["0"] * 13
    return text.rpartition(")")[2].split()


class Usage:
    """What each of some parties, a few processes each, used over all stretches that were watched."""

    def __init__(self, parties: dict[str, list[int]]) -> None:
        self.parties = parties
        self._used: Counter[str] = Counter()
        self._seconds = 0.0

    def read(self) -> dict[str, float]:
        """What each has used so far."""
        return {name: seconds(pids) for name, pids in self.parties.items()}

    def add(self, before: dict[str, float], after: dict[str, float], took: float) -> None:
        """A stretch between two readings."""
        self._seconds += took
        for name, used in after.items():
            self._used[name] += used - before[name]

    def told(self) -> str:
        """What bounds it, and each one's part of what was used."""
        total = sum(self._used.values())
        parts = ", ".join(f"{name} {used / total:.0%}" for name, used in self._used.most_common() if used)
        return f"{self._bound(total)}: {parts}"

    def _bound(self, total: float) -> str:
        busy = total / self._seconds / COUNT
        busiest, most = self._used.most_common(1)[0]
        if busy >= FULL:
            return f"all {COUNT} processors, {busy:.0%} busy"
        if most / self._seconds >= FULL:
            return f"the {busiest}, one processor {most / self._seconds:.0%} busy"
        return f"waiting, {COUNT} processors {busy:.0%} busy"


UNWATCHED = Usage({})
