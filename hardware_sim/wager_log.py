"""The log of all wagers that pads sent, with their answers; not affected by a pad's loss of power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from hardware_sim.messages import JsonObject

KEPT_ROUNDS: Final = 50
"""Answered wagers of older rounds are no longer checked; only the standing ones are kept."""


class SentWager(NamedTuple):
    """A wager as a pad sends and repeats it."""

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
    """One wager and its verdict, None before the first answer."""

    wager: SentWager
    verdict: str | None = None


class WagerTotal(NamedTuple):
    """A number of wagers and the sum of their amounts."""

    wagers: int = 0
    cents: int = 0

    def plus(self, other: WagerTotal) -> WagerTotal:
        """Return the sum of both."""
        return WagerTotal(self.wagers + other.wagers, self.cents + other.cents)


class StandingWager(NamedTuple):
    """A wager that was accepted and not returned."""

    box: int
    wager_id: str
    cents: int


def total_of(wagers: Collection[StandingWager]) -> WagerTotal:
    """Return the number of wagers and the sum of their amounts."""
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
        """The standing wagers by the pads' answers, of every round in which one was answered."""
        self.sent = 0
        self.repeated = 0
        self.verdicts: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.contradictions: list[str] = []

    def add(self, wager: SentWager) -> None:
        """Add a wager that a pad sends for the first time."""
        key = wager.table, wager.round
        self._entries.setdefault(key, {})[wager.wager_id] = LogEntry(wager)
        self._round_of[wager.wager_id] = key
        self._open.add(wager.wager_id)
        self.sent += 1

    def record_answer(self, wager_id: str, verdict: str, reason: str | None) -> bool:
        """Record a lamp's answer to a wager; return False if the wager is not one of this floor's."""
        key = self._round_of.get(wager_id)
        if key is None:
            return False
        entry = self._entries[key][wager_id]
        self._open.discard(wager_id)
        if verdict != entry.verdict:
            self._change(key, entry, verdict, reason)
        return True

    def end_round(self, table: str, box: int, number: int, *, standing: bool | None) -> None:
        """Mark a box's wagers of an ended round as unanswered again, if their result is in doubt.

        `standing` is True if the box held a wager when the round was settled, None if that is unknown. If it is
        unknown, or does not agree with the pad's answers, the pad sends its wagers again to get the final answers.
        """
        self._forget(table, number - KEPT_ROUNDS)
        mine = [entry for entry in self._entries.get((table, number), {}).values() if entry.wager.box == box]
        accepted = [entry for entry in mine if entry.verdict == "accepted"]
        is_certain = standing is not None and len(accepted) == standing
        if not is_certain:
            self._open.update(entry.wager.wager_id for entry in mine)

    def wager(self, wager_id: str) -> SentWager | None:
        """Return the wager with this id; None if it is not one of this floor's."""
        key = self._round_of.get(wager_id)
        return None if key is None else self._entries[key][wager_id].wager

    @property
    def totals(self) -> dict[RoundKey, WagerTotal]:
        """The total of the standing wagers of every round in which a wager was answered."""
        return {key: total_of(wagers) for key, wagers in self.standing.items()}

    @property
    def unanswered(self) -> list[SentWager]:
        """The wagers without an answer, or in doubt."""
        return [self._entries[self._round_of[wager_id]][wager_id].wager for wager_id in sorted(self._open)]

    def unanswered_of(self, table: str, box: int) -> list[SentWager]:
        """Return a box's wagers without an answer, or in doubt."""
        return [wager for wager in self.unanswered if (wager.table, wager.box) == (table, box)]

    @property
    def all_answered(self) -> bool:
        """True if every wager has its answer."""
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
        changed = StandingWager(wager.box, wager.wager_id, wager.amount_cents)
        if verdict == "accepted":
            standing.add(changed)
        else:
            standing.discard(changed)

    def _forget(self, table: str, number: int) -> None:
        """Remove the answered wagers of an old round."""
        entries = self._entries.get((table, number), {})
        for wager_id in [wager_id for wager_id in entries if wager_id not in self._open]:
            del entries[wager_id], self._round_of[wager_id]
        if not entries:
            self._entries.pop((table, number), None)


_IMPOSSIBLE: Final = {("accepted", "rejected"), ("returned", "rejected"), ("returned", "accepted")}
"""Changes of a verdict that a correct controller never publishes."""
