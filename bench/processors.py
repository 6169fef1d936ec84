"""Processor use by group of processes during a measurement, from /proc; it shows what limits the result."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
COUNT = len(os.sched_getaffinity(0))
FULL = 0.75
"""A processor this busy is the limit; on a shared machine it never reaches 100%."""


def children(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    every = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [one for one in every if parent(one) == pid]


def parent(pid: int) -> int:
    """Return the parent of a process; 0 if the process has ended."""
    return int(_account(pid)[1])


def seconds(pids: Iterable[int]) -> float:
    """Return the processor time that these processes have used so far."""
    return sum(int(account[11]) + int(account[12]) for account in map(_account, pids)) / TICKS


def _account(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended
        return ["0"] * 13
    return text.rpartition(")")[2].split()


class Usage:
    """The processor time of some groups of processes over all measured periods."""

    def __init__(self, groups: dict[str, list[int]]) -> None:
        self.groups = groups
        self._used: Counter[str] = Counter()
        self._seconds = 0.0

    def read(self) -> dict[str, float]:
        """Return the processor time of each group so far."""
        return {name: seconds(pids) for name, pids in self.groups.items()}

    def add(self, before: dict[str, float], after: dict[str, float], took: float) -> None:
        """Add the period between two readings."""
        self._seconds += took
        for name, used in after.items():
            self._used[name] += used - before[name]

    def summary(self) -> str:
        """Return the limit, and the share of each group."""
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


NOT_MEASURED = Usage({})
