"""The metrics of one jackpot: set once a second, or computed when they are read."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime
from typing import Final, Protocol

from jackpot import metrics
from jackpot.core.administration import CAUSES
from jackpot.core.ledger import POOLS, Account
from jackpot.core.state import Phase
from jackpot.engine.committed_state import CommittedState
from jackpot.engine.equipment import EquipmentMonitor

PARTS: Final = ("store", "command", "sign")
"""Where failures are counted."""

_OF_THE_OWNER: Final = (
    metrics.METER_AGE,
    metrics.INTAKE,
    metrics.OLDEST_WAIT,
    metrics.CONNECTED,
    metrics.STORE_FAILING,
    metrics.PENDING_AGE,
    metrics.PENDING_CENTS,
    metrics.PENDING_ROUNDS,
)
"""Gauges on which alerts depend, and which only the owner can set."""


class Queue(Protocol):
    """The commands that wait for the writer."""

    @property
    def waiting(self) -> int:
        """How many commands wait."""

    def oldest_wait_seconds(self) -> float:
        """Return how long the oldest one has waited; 0 if there is none."""


class JackpotMetrics:
    """The gauges and histograms of one jackpot."""

    def __init__(self, committed: CommittedState, equipment: EquipmentMonitor, queue: Queue) -> None:
        self._committed = committed
        self._equipment = equipment
        self._id = jackpot = committed.jackpot.id
        self._pending_since: dict[tuple[str, int], float] = {}
        metrics.METER_AGE.labels(jackpot).set_function(lambda: time.monotonic() - committed.meter_published_at)
        metrics.INTAKE.labels(jackpot).set_function(lambda: queue.waiting)
        metrics.OLDEST_WAIT.labels(jackpot).set_function(queue.oldest_wait_seconds)
        metrics.CONNECTED.labels(jackpot).set_function(lambda: committed.broker_connected)
        metrics.STORE_FAILING.labels(jackpot).set_function(lambda: committed.store_failed)
        metrics.UNTAKEN.labels(jackpot)
        self._batches, self._commits = metrics.BATCH.labels(jackpot), metrics.COMMIT.labels(jackpot)
        self._start_counters()

    def _start_counters(self) -> None:
        """Start counters at zero, so that the first increase is seen."""
        for part in PARTS:
            metrics.ERRORS.labels(self._id, part)
        for cause in CAUSES:
            metrics.MALFUNCTIONS.labels(self._id, cause)
        for outcome in ("played", "void"):
            metrics.ROUNDS.labels(self._id, outcome)

    def close(self) -> None:
        """Remove the gauges of a jackpot that this controller no longer serves: its new owner reports them."""
        for gauge in _OF_THE_OWNER:
            with suppress(KeyError):
                gauge.remove(self._id)

    def set_pending_since(self, table: str, number: int, at: str) -> None:
        """Set since when a round's prizes await confirmation, from before this controller began."""
        self._pending_since[table, number] = datetime.fromisoformat(at).timestamp()

    def count_batch(self, commands: int, seconds: float) -> None:
        """Count a batch that was delivered."""
        self._batches.observe(commands)
        self._commits.observe(seconds)

    def measure(self) -> None:
        """Set the gauges that are not computed when they are read."""
        jackpot, position = self._committed.jackpot, self._committed.position
        for pool in POOLS:
            metrics.POOL_CENTS.labels(self._id, pool.value).set(jackpot.balances[pool])
        metrics.ADVANCE_CENTS.labels(self._id).set(-jackpot.balances[Account.HOUSE_ADVANCE])
        metrics.AUDIT_SEQ.labels(self._id).set(position.seq)
        metrics.EPOCH.labels(self._id).set(position.epoch)
        self._measure_pending()
        tables = [table for table in jackpot.tables.values() if not table.unlinked]
        metrics.TABLES.labels(self._id).set(len(tables))
        suspended = [table.suspended for table in tables if table.suspended]
        for cause in CAUSES:
            metrics.SUSPENDED.labels(self._id, cause).set(suspended.count(cause))
        pads, displays = self._equipment.pads, self._equipment.displays
        metrics.ONLINE.labels(self._id, "pad").set(pads.count_online(jackpot.tables))
        metrics.ONLINE.labels(self._id, "dealer").set(pads.count_dealers(jackpot.tables))
        metrics.ONLINE.labels(self._id, "display").set(displays.count_online())

    def _measure_pending(self) -> None:
        jackpot = self._committed.jackpot
        pending = [(table.id, table.number) for table in jackpot.tables.values() if table.phase is Phase.PENDING]
        at = time.time()
        self._pending_since = {key: self._pending_since.get(key, at) for key in pending}
        metrics.PENDING_CENTS.labels(self._id).set(jackpot.balances[Account.PAYABLE])
        metrics.PENDING_ROUNDS.labels(self._id).set(len(pending))
        metrics.PENDING_AGE.labels(self._id).set(max((at - since for since in self._pending_since.values()), default=0))
