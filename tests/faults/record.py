"""The record that the floor keeps of its wagers: what it sent, what was answered, and when."""

import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise

ACCEPTED = "accepted"


@dataclass
class Wager:
    """One wager, as its pad sees it."""

    table: str
    box: int
    id: str
    round: int
    sent_at: float
    verdicts: list = field(default_factory=list)
    repeats: int = 0

    @property
    def key(self):
        return self.table, self.box, self.id


class Record:
    """All wagers of a floor; the floor's thread writes, other threads read."""

    def __init__(self):
        self._lock = threading.Lock()
        self.wagers = {}
        self.accepted_at = []
        self.shown_lit = set()
        self.refusals = {}
        self.stale_seconds = []
        self.unknown_answers = set()

    def sent(self, wager):
        with self._lock:
            self.wagers[wager.key] = wager

    def answered(self, key, verdict, reason):
        """Note an answer; a wager may be answered more than once because it may be sent more than once."""
        with self._lock:
            wager = self.wagers.get(key)
            if wager is None:
                self.unknown_answers.add(key)
                return
            if verdict == ACCEPTED and ACCEPTED not in wager.verdicts:
                self.accepted_at.append(time.monotonic())
            wager.verdicts.append(verdict)
            if reason is not None:
                self.refusals[reason] = self.refusals.get(reason, 0) + 1

    def lit(self, key):
        with self._lock:
            self.shown_lit.add(key)

    def unanswered(self):
        """Return the wagers that no lamp has answered."""
        with self._lock:
            return [wager for wager in self.wagers.values() if not wager.verdicts]

    def accepted(self):
        """Return the keys of all wagers that a lamp showed as accepted, by an answer or by its light."""
        with self._lock:
            answered = {key for key, wager in self.wagers.items() if ACCEPTED in wager.verdicts}
            return answered | self.shown_lit

    def keys(self):
        with self._lock:
            return set(self.wagers)

    def accepted_since(self, moment):
        """Return the number of wagers accepted since a moment, and the time of the first."""
        with self._lock:
            since = [at for at in self.accepted_at if at >= moment]
        return len(since), since[0] if since else None

    def outage_seconds(self, begin, until):
        """Return the time from the fault's begin to the end of the longest time without an accepted wager after it."""
        longest, end = self._longest_gap(begin, until)
        return end - begin if longest > QUIET_SECONDS else longest

    def gap_seconds(self, begin, until):
        """Return the longest time without an accepted wager."""
        return self._longest_gap(begin, until)[0]

    def _longest_gap(self, begin, until):
        with self._lock:
            times = [begin, *(at for at in self.accepted_at if begin <= at <= until), until]
        return max((after - before, after) for before, after in pairwise(times))


QUIET_SECONDS = 0.5
"""A shorter time without an accepted wager is ordinary play, not an outage."""
