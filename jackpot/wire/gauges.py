"""What is measured of a jackpot from time to time, and what is computed only when somebody looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from jackpot import metrics
from jackpot.core.changes import CAUSES
from jackpot.core.ledger import POOLS, Account
from jackpot.core.state import Jackpot, Phase
from jackpot.wire.devices import Displays, Pads
from jackpot.wire.topics import Heard
from jackpot.wire.views import Mark

PARTS: Final = ("store", "command")
"""Where failures are counted; a count that starts at zero is seen to grow."""


class Looked(NamedTuple):
    """What can be read at any moment, from any thread."""

    meter_at: Callable[[], float]
    waiting: Callable[[], int]
    connected: Callable[[], bool]
    failing: Callable[[], bool]


class Gauges:
    """The gauges of one jackpot."""

    def __init__(self, jackpot: str, pads: Pads, displays: Displays, looked: Looked) -> None:
        self._id = jackpot
        self._pads = pads
        self._displays = displays
        self._pending_since: dict[tuple[str, int], float] = {}
        metrics.METER_AGE.labels(jackpot).set_function(lambda: time.monotonic() - looked.meter_at())
        metrics.INTAKE.labels(jackpot).set_function(looked.waiting)
        metrics.CONNECTED.labels(jackpot).set_function(looked.connected)
        metrics.STORE_FAILING.labels(jackpot).set_function(looked.failing)
        metrics.CERTIFICATE.labels(jackpot).set(0)
        metrics.CONNECTIONS.labels(jackpot)
        metrics.UNTAKEN.labels(jackpot)
        self._begin_counts()

    def _begin_counts(self) -> None:
        """Counts begin at zero, so that the first of each is seen as an increase."""
        for part in PARTS:
            metrics.ERRORS.labels(self._id, part)
        for cause in CAUSES:
            metrics.MALFUNCTIONS.labels(self._id, cause)
        for kind in Heard:
            metrics.MALFORMED.labels(self._id, kind.value)
        for outcome in ("played", "void"):
            metrics.ROUNDS.labels(self._id, outcome)

    def pending_since(self, table: str, number: int, at: str) -> None:
        """A round's prizes have awaited confirmation since this moment, before this controller began."""
        self._pending_since[table, number] = datetime.fromisoformat(at).timestamp()

    def connected(self, certificate_ends: float | None) -> None:
        """The broker was connected, with a certificate that ends then."""
        metrics.CONNECTIONS.labels(self._id).inc()
        metrics.CERTIFICATE.labels(self._id).set(certificate_ends or 0)

    def measure(self, jackpot: Jackpot, mark: Mark) -> None:
        """Set what is not computed when it is looked at."""
        for pool in POOLS:
            metrics.POOL_CENTS.labels(self._id, pool.value).set(jackpot.balances[pool])
        metrics.ADVANCE_CENTS.labels(self._id).set(-jackpot.balances[Account.HOUSE_ADVANCE])
        metrics.AUDIT_SEQ.labels(self._id).set(mark.seq)
        metrics.EPOCH.labels(self._id).set(mark.epoch)
        self._measure_pending(jackpot)
        tables = [table for table in jackpot.tables.values() if not table.unlinked]
        metrics.TABLES.labels(self._id).set(len(tables))
        suspended = [table.suspended for table in tables if table.suspended]
        for cause in CAUSES:
            metrics.SUSPENDED.labels(self._id, cause).set(suspended.count(cause))
        metrics.ONLINE.labels(self._id, "pad").set(self._pads.count_online(jackpot.tables))
        metrics.ONLINE.labels(self._id, "dealer").set(self._pads.count_dealers(jackpot.tables))
        metrics.ONLINE.labels(self._id, "display").set(self._displays.count_online())

    def _measure_pending(self, jackpot: Jackpot) -> None:
        pending = [(table.id, table.number) for table in jackpot.tables.values() if table.phase is Phase.PENDING]
        at = time.time()
        self._pending_since = {key: self._pending_since.get(key, at) for key in pending}
        metrics.PENDING_CENTS.labels(self._id).set(jackpot.balances[Account.PAYABLE])
        metrics.PENDING_ROUNDS.labels(self._id).set(len(pending))
        metrics.PENDING_AGE.labels(self._id).set(max((at - since for since in self._pending_since.values()), default=0))
