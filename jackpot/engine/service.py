"""One running jackpot: its journal and writer, the committed state, and the equipment of its tables.

The writer calls back from its own thread; `_in_loop` is the one place where that crosses over to the event loop's
thread, in which everything else here happens. `enqueue` and `submit` are the way back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from jackpot import metrics
from jackpot.clock import earlier, in_seconds, now
from jackpot.core.commands import Command, Identified, ReportMalfunction
from jackpot.core.events import EventType
from jackpot.core.results import Decision
from jackpot.core.state import Jackpot
from jackpot.engine.alarms import AlarmCode, Alarms
from jackpot.engine.committed_state import CommittedState, NumberedEvents, Position
from jackpot.engine.equipment import EquipmentMonitor, malfunctions_at_every_table
from jackpot.engine.jackpot_metrics import JackpotMetrics
from jackpot.engine.journal import Journal
from jackpot.engine.quarantine import new_quarantine
from jackpot.engine.round_ends import is_round_end
from jackpot.engine.writer import RENEW_SECONDS, Answer, CommittedBatch, Hooks, Reply, Writer, ignore_reply
from jackpot.store import queries
from jackpot.store.errors import Rejected, StoreError, Unreachable

CHECK_SECONDS: Final = 1.0
PROGRESS_SECONDS: Final = 0.5
LEASE_SECONDS: Final = 3.0
"""How long a lease lasts after its last renewal; then another controller may take over."""
STALL_SECONDS: Final = 3.0
"""Without progress for this long, with work waiting, the store has failed."""
RECENT_SECONDS: Final = 60.0
"""Prizes changed this shortly before the last event may not have been published."""
STALE_SECONDS: Final = 3_600.0
"""Prizes older than this are not published again: no display would still celebrate them."""

log = structlog.get_logger()
T = TypeVar("T")


class RecentWins(NamedTuple):
    """Rows of prizes from before this controller began: pending ones, and others that may not have been published."""

    pending: list[dict[str, Any]]
    changed: list[dict[str, Any]]


class JackpotService:
    """Owns a jackpot's journal while it runs; ends by itself only when another controller has taken over."""

    owned: Final = True
    has_owner: Final = True

    def __init__(  # noqa: PLR0913 - the parts of a running jackpot
        self,
        journal: Journal,
        checkpoint: Callable[[], object],
        wake_notices: Callable[[], None] = lambda: None,
        alarms: Alarms | None = None,
        *,
        stall_seconds: float = STALL_SECONDS,
        recent_wins: RecentWins | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._journal = journal
        self._wake_notices, self._notices_seen = wake_notices, journal.notices_written
        self.alarms = alarms or Alarms()
        self._stall_seconds, self._checked_at = stall_seconds, time.monotonic()
        self._resumed_at = self._checked_at
        self._wanted_by = ""
        self.id = journal.jackpot.id
        self.ended: asyncio.Future[StoreError] = self._loop.create_future()
        self.committed = CommittedState(journal.jackpot, _position(journal))
        self.committed.head_hash = journal.lease.head.hash
        self.quarantine = new_quarantine()
        self.listening = asyncio.Event()
        """Set once the jackpot's devices are listened to."""
        self.on_reload: Callable[[], None] = lambda: None
        self._writer = Writer(journal, checkpoint, self._hooks())
        self.equipment = EquipmentMonitor(self.committed, self._writer.enqueue)
        self._metrics = JackpotMetrics(self.committed, self.equipment, self._writer)
        self.recent_wins = recent_wins if recent_wins is not None else read_recent_wins(journal)
        for row in self.recent_wins.pending:
            self._metrics.set_pending_since(row["table_id"], row["round"], row["at"])
        self._metrics.measure()

    # Commands in.

    def enqueue(self, command: Command | Identified, reply: Reply) -> None:
        """Carry out a command; `reply` is called in the loop's thread once it is durable."""
        self._writer.enqueue(command, reply)

    def submit(self, command: Command | Identified) -> Future[Decision]:
        """Carry out a command; the future gives its decision once durable, or raises its refusal."""
        return self._writer.submit(command)

    @property
    def waiting(self) -> int:
        """How many commands wait for the writer."""
        return self._writer.waiting

    # From the writer's thread to the loop's.

    def _hooks(self) -> Hooks:
        return Hooks(
            deliver=partial(self._in_loop, self._deliver),
            failed=partial(self._in_loop, self._store_failed),
            recovery=_store_malfunctions,
            ended=partial(self._in_loop, self.end),
            compute=self._compute_in_loop,
            wanted=partial(self._in_loop, self._wanted),
            unsigned=partial(self._in_loop, self._unsigned),
        )

    def _in_loop(self, act: Callable[[T], None], value: T) -> None:
        """Call something in the loop's thread, without waiting for it."""
        self._loop.call_soon_threadsafe(act, value)

    def _compute_in_loop(self, work: Callable[[], T]) -> T:
        """Compute something in the loop's thread, and wait for the result (see `BIG_BATCH`)."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is raised again in the writer's thread
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result()

    def _deliver(self, batch: CommittedBatch) -> None:
        """Take in a durable batch: answers first, then what it changed."""
        committed = self.committed
        was_failing = committed.store_failed
        committed.jackpot = batch.jackpot
        committed.position = Position(batch.head.epoch, batch.head.seq)
        committed.head_hash = batch.head.hash
        committed.store_failed = was_failing and any(_is_unwritten(answer) for _, answer in batch.answers)
        for reply, answer in batch.answers:
            if isinstance(answer, StoreError):
                log.error("command not carried out", jackpot=self.id, problem=str(answer))
                metrics.ERRORS.labels(self.id, "command").inc()
            reply(answer)
        if batch.events:
            self._follow_up(batch.events)
            committed.notify_commit(batch.events)
        if was_failing and not committed.store_failed:
            self.alarms.end_alarm(self.id, AlarmCode.STORE_FAILED)
            committed.notify_status()
        if self._journal.notices_written != self._notices_seen:
            self._notices_seen = self._journal.notices_written
            self._wake_notices()
        self._metrics.count_batch(len(batch.answers), batch.seconds)

    def _follow_up(self, events: NumberedEvents) -> None:
        """Check the pads of new wagers, and count what ended."""
        for _, event in events:
            if event.type is EventType.WAGER_ACCEPTED:
                if self.equipment.pads.is_offline(event.table or "", event.data["box"]):
                    self.equipment.check_pads()
            elif event.type is EventType.TABLE_SUSPENDED:
                metrics.MALFUNCTIONS.labels(self.id, event.data["cause"]).inc()
                log.warning("table suspended", jackpot=self.id, table=event.table, **event.data)
            elif is_round_end(event):
                outcome = "void" if event.type is EventType.ROUND_VOIDED else "played"
                metrics.ROUNDS.labels(self.id, outcome).inc()

    def _store_failed(self, error: StoreError) -> None:
        log.error("store failed", jackpot=self.id, problem=str(error))
        metrics.ERRORS.labels(self.id, "store").inc()
        self.alarms.raise_alarm(
            self.id, AlarmCode.STORE_FAILED, f"{error}: tables are suspended; check the database, then resume them"
        )
        self.committed.store_failed = True
        self.committed.notify_status()

    # The lease.

    def check_progress(self) -> None:
        """Report a store failure when the writer makes no progress, with commands waiting or the lease not renewed.

        A controller that was stopped for a while itself first gives its writer the time to renew the lease.
        """
        at = time.monotonic()
        if at - self._checked_at > LEASE_SECONDS - PROGRESS_SECONDS:
            self._resumed_at = at
        self._checked_at = at
        waited = min(self._writer.oldest_wait_seconds(), at - self._resumed_at)
        unrenewed = min(at - self._writer.renewed_at, at - self._resumed_at)
        if self.committed.store_failed or self.ended.done():
            return
        if waited > self._stall_seconds:
            self._writer.report_failure(Unreachable(f"no progress for {waited:.1f} s, with commands waiting"))
        elif unrenewed > self._stall_seconds + RENEW_SECONDS:
            self._writer.report_failure(Unreachable(f"the lease could not be renewed for {unrenewed:.1f} s"))

    @property
    def has_rivals(self) -> bool:
        """True if other controllers may stand by for the jackpot."""
        return not self._journal.lease.database.is_sqlite

    def may_publish(self) -> bool:
        """Return False while another controller may have taken over, unless the failure itself is to be published."""
        return self.committed.store_failed or time.monotonic() - self._writer.renewed_at < LEASE_SECONDS

    def _wanted(self, controller: str) -> None:
        self._wanted_by = controller

    def _unsigned(self, error: StoreError | None) -> None:
        """Raise an alarm while the head is refused by the signer, and end it once it is signed."""
        if error is None:
            self.alarms.end_alarm(self.id, AlarmCode.NOT_SIGNED)
            return
        metrics.ERRORS.labels(self.id, "sign").inc()
        sentence = f"the trail is not signed: {error}: run jackpot audit verify"
        self.alarms.raise_alarm(self.id, AlarmCode.NOT_SIGNED, sentence)

    def take_wanted_by(self) -> str:
        """Return the name of the controller that has asked for a hand-over since the last call, "" if none."""
        wanted_by, self._wanted_by = self._wanted_by, ""
        return wanted_by

    def require_lease(self) -> None:
        """Raise `Fenced` if another controller has taken over; this reads the store."""
        self._journal.lease.require_held()

    def release_lease(self) -> None:
        """Clear the owner of the jackpot; this writes to the store."""
        self._journal.lease.release()

    def raise_epoch(self, seen_epoch: int, raised: Callable[[], None]) -> None:
        """Continue above an epoch that was seen elsewhere; `raised` is called in the loop's thread afterwards."""
        self._writer.between_batches(partial(self._raise_epoch, seen_epoch, raised))

    def _raise_epoch(self, seen_epoch: int, raised: Callable[[], None]) -> None:
        """In the writer's thread: raise the epoch, or end where another controller has the lease."""
        lease = self._journal.lease
        if lease.head.epoch > seen_epoch:
            return
        try:
            lease.raise_epoch(seen_epoch)
        except Unreachable:
            again = partial(self.raise_epoch, seen_epoch, raised)
            self._loop.call_soon_threadsafe(self._loop.call_later, CHECK_SECONDS, again)
        else:
            self._loop.call_soon_threadsafe(self._epoch_raised, lease.head.epoch, raised)

    def _epoch_raised(self, epoch: int, raised: Callable[[], None]) -> None:
        """Publish under the new epoch; the sequence number stays."""
        self.committed.position = Position(epoch, self.committed.position.seq)
        raised()
        self.committed.notify_status()

    # What the store knows from before.

    def record_store_failures(self, failed_at: dict[str, int]) -> None:
        """Record that the store failed to the end of an earlier controller, by table and seq of its retained state.

        A table that a supervisor has resumed since stays resumed.
        """
        for report in _store_malfunctions(self.committed.jackpot):
            seq = failed_at.get(report.table)
            if seq is not None and not self._is_resumed(report.table, seq):
                self._writer.enqueue(report, ignore_reply)

    def _is_resumed(self, table: str, seq: int) -> bool:
        with self._journal.lease.database.reader() as connection:
            return queries.is_resumed_since(connection, self.id, table, seq)

    # From start to stop.

    async def run(self) -> None:
        """Check the writer's progress and the equipment, and measure, until cancelled."""
        while True:
            for _ in range(round(CHECK_SECONDS / PROGRESS_SECONDS)):
                await asyncio.sleep(PROGRESS_SECONDS)
                self.check_progress()
            self.equipment.check_displays()
            self.equipment.check_pads()
            self._metrics.measure()

    def end(self, error: StoreError) -> None:
        """End the service: the right to write is gone."""
        log.error("no longer the owner", jackpot=self.id, problem=str(error))
        if not self.ended.done():
            self.ended.set_result(error)

    def stop(self) -> None:
        """Finish what waits and sign the head; this blocks until the writer's thread has ended, or is left behind."""
        if not self._writer.stop():
            log.error("the writer does not end", jackpot=self.id)
        self._metrics.close()
        self.alarms.end_alarm(self.id, AlarmCode.STORE_FAILED)


def _position(journal: Journal) -> Position:
    return Position(journal.lease.head.epoch, journal.lease.head.seq)


def _is_unwritten(answer: Answer) -> bool:
    """Return True if a command was not carried out because of the store, not because of itself."""
    return isinstance(answer, StoreError) and not isinstance(answer, Rejected)


def _store_malfunctions(jackpot: Jackpot) -> list[ReportMalfunction]:
    """Return what is written first when the store is back: it failed, at every table."""
    return malfunctions_at_every_table(jackpot, "store", "the store did not answer", "store")


def read_recent_wins(journal: Journal) -> RecentWins:
    """Read pending wins and those that may not have been published."""
    name = journal.lease.chain
    with journal.lease.database.reader() as connection:
        pending = [row for row in queries.pending_wins(connection) if row["chain"] == name]
        last = queries.last_event_time(connection, name) or now()
        since = max(earlier(last, RECENT_SECONDS), in_seconds(-STALE_SECONDS))
        changed = queries.changed_wins(connection, name, since)
    return RecentWins(pending, [row for row in changed if row not in pending])
