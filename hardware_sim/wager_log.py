"""The wager_log: what the pads believe of every wager they sent, kept where no power cycle reaches it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from hardware_sim.messages import JsonObject

KEPT_ROUNDS: Final = 50
"""Answered wagers of older rounds are asked about no more; of them only what stands is kept."""


class SentWager(NamedTuple):
    """A wager as a pad sends it, and sends it again."""

    wager_id: str
    table: str
    box: int
    round: int
    amount_cents: int
    ante: bool
    sent_at: str

    @property
    def message(self) -> JsonObject:
        """The message on the wire."""
        return {
            "wager_id": self.wager_id,
            "round": self.round,
            "amount_cents": self.amount_cents,
            "ante": self.ante,
            "sent_at": self.sent_at,
        }


@dataclass(slots=True)
class LogEntry:
    """One wager and what is believed of it, None before the first answer."""

    wager: SentWager
    verdict: str | None = None


class WagerTotal(NamedTuple):
    """How many wagers, and of how much."""

    wagers: int = 0
    cents: int = 0

    def plus(self, wagers: int, cents: int) -> WagerTotal:
        """So much more."""
        return WagerTotal(self.wagers + wagers, self.cents + cents)


class StandingWager(NamedTuple):
    """A wager that stands on a box."""

    box: int
    wager_id: str
    cents: int


def total_of(wagers: Collection[StandingWager]) -> WagerTotal:
    """How many wagers stand, and of how much."""
    return WagerTotal(len(wagers), sum(wager.cents for wager in wagers))


RoundKey = tuple[str, int]
"""A table and its round."""


class WagerLog:
    """All wagers of a floor."""

    def __init__(self) -> None:
        self._entries: dict[RoundKey, dict[str, LogEntry]] = {}
        self._round_of: dict[str, RoundKey] = {}
        self._open: set[str] = set()
        self.standing: dict[RoundKey, set[StandingWager]] = {}
        """The wagers that the pads believe to stand, of every round in which one was answered."""
        self.sent = 0
        self.repeated = 0
        self.verdicts: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.contradictions: list[str] = []

    def write(self, wager: SentWager) -> None:
        """A pad sends a wager for the first time."""
        key = wager.table, wager.round
        self._entries.setdefault(key, {})[wager.wager_id] = LogEntry(wager)
        self._round_of[wager.wager_id] = key
        self._open.add(wager.wager_id)
        self.sent += 1

    def hear(self, wager_id: str, verdict: str, reason: str | None) -> bool:
        """A lamp tells of a wager; whether it is one of this floor's."""
        key = self._round_of.get(wager_id)
        if key is None:
            return False
        entry = self._entries[key][wager_id]
        self._open.discard(wager_id)
        if verdict != entry.verdict:
            self._change(key, entry, verdict, reason)
        return True

    def doubt(self, table: str, box: int, number: int, *, standing: bool | None) -> None:
        """A round is over: doubt a box's wagers of it where needed.

        `standing` says whether the box held a wager when the round was settled; None where nobody knows, and then, or
        where that is not what the pad believes, it asks again.
        """
        self._forget(table, number - KEPT_ROUNDS)
        mine = [entry for entry in self._entries.get((table, number), {}).values() if entry.wager.box == box]
        accepted = [entry for entry in mine if entry.verdict == "accepted"]
        sure = standing is not None and len(accepted) == standing
        if not sure:
            self._open.update(entry.wager.wager_id for entry in mine)

    def wager(self, wager_id: str) -> SentWager | None:
        """The wager of this id, if it is one of this floor's."""
        key = self._round_of.get(wager_id)
        return None if key is None else self._entries[key][wager_id].wager

    @property
    def believed(self) -> dict[RoundKey, WagerTotal]:
        """What the pads believe of every round in which a wager was answered."""
        return {key: total_of(wagers) for key, wagers in self.standing.items()}

    @property
    def unanswered(self) -> list[SentWager]:
        """The wagers without an answer, or in doubt."""
        return [self._entries[self._round_of[wager_id]][wager_id].wager for wager_id in sorted(self._open)]

    def unanswered_of(self, table: str, box: int) -> list[SentWager]:
        """A box's wagers without an answer, or in doubt."""
        return [wager for wager in self.unanswered if (wager.table, wager.box) == (table, box)]

    @property
    def is_quiet(self) -> bool:
        """Whether every wager has its answer."""
        return not self._open

    def _change(self, key: RoundKey, entry: LogEntry, verdict: str, reason: str | None) -> None:
        before, wager = entry.verdict, entry.wager
        if (before, verdict) in _IMPOSSIBLE:
            self.contradictions.append(f"{wager.wager_id} was {before} and is now {verdict} ({reason})")
            return
        entry.verdict = verdict
        if before is not None:
            self.verdicts[before] -= 1
        self.verdicts[verdict] += 1
        if verdict == "rejected":
            self.rejected[reason or "without a reason"] += 1
        standing = self.standing.setdefault(key, set())
        mine = StandingWager(wager.box, wager.wager_id, wager.amount_cents)
        if verdict == "accepted":
            standing.add(mine)
        else:
            standing.discard(mine)

    def _forget(self, table: str, number: int) -> None:
        """Let answered wagers of an old round go."""
        entries = self._entries.get((table, number), {})
        for wager_id in [wager_id for wager_id in entries if wager_id not in self._open]:
            del entries[wager_id], self._round_of[wager_id]
        if not entries:
            self._entries.pop((table, number), None)


_IMPOSSIBLE: Final = {("accepted", "rejected"), ("returned", "rejected"), ("returned", "accepted")}
"""What no controller may say after what it said before."""
