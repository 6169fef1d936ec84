"""The writer thread of one jackpot: collect → look up ids → decide → stage → commit → deliver.

No command waits for a timer: alone, it is committed at once; under load, batches grow by themselves up to a limit. When
the store fails, the batch in hand is kept and tried again; nothing of it is answered before it is durable.

The lease is renewed by this thread and no other, so that it proves the writer's progress: a writer that is stuck loses
the lease to a controller that stands by.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from jackpot.core.commands import Command, Identified
from jackpot.core.events import Event
from jackpot.core.results import Decision, Refused
from jackpot.core.state import Jackpot
from jackpot.engine.journal import DecidedBatch, IdNotLookedUpError, Journal, Outcome, StagedBatch
from jackpot.engine.lease import Head
from jackpot.store.errors import Fenced, Rejected, StoreError, TakenOver, Unreachable

MAX_WAITING: Final = 10_000
MAX_BATCH: Final = 500
BIG_BATCH: Final = 5
"""From this size on, a batch is decided and staged on the event loop's thread: two threads that both compute fight over
the interpreter lock. With this, `bench/wire.py` had 111% of the throughput on SQLite and 101% on PostgreSQL."""
CHECKPOINT_EVERY_EVENTS: Final = 5_000
CHECKPOINT_EVERY_SECONDS: Final = 60.0
RENEW_SECONDS: Final = 1.0
STOP_SECONDS: Final = 6.0
"""The time that a stop gives to the writer; a thread that is stuck in a call is left behind."""
FIRST_WAIT_SECONDS: Final = 0.1
MAX_WAIT_SECONDS: Final = 5.0

Answer = Outcome | StoreError
Reply = Callable[[Answer], None]


class TooBusyError(StoreError):
    """More commands wait than the writer takes: slow down and try again."""


class Request(NamedTuple):
    """A command that waits, and the callback that takes its answer."""

    command: Command | Identified
    reply: Reply
    since: float = 0.0
    """When it began to wait, by the monotonic clock."""


Action = Callable[[], None]
"""Work for the writer's thread between two batches."""


class CommittedBatch(NamedTuple):
    """A durable batch: the state and the head after it, its numbered events, and the answers to deliver."""

    jackpot: Jackpot
    head: Head
    events: list[tuple[int, Event]]
    answers: list[tuple[Reply, Answer]]
    seconds: float


def deliver_here(batch: CommittedBatch) -> None:
    """Call every reply in the writer's own thread."""
    for reply, answer in batch.answers:
        reply(answer)


class Hooks(NamedTuple):
    """Callbacks of the writer, all called in its thread.

    `deliver` takes a durable batch; `failed` takes the error of a store that does not answer; `recovery` returns the
    commands to write first when it answers again; `ended` takes the error that ended the writer, such as a takeover;
    `compute` runs the decide and stage phases of a big batch, on the thread of its choice, and returns the result;
    `wanted` takes the name of a controller that asks for a hand-over; `unsigned` takes the reason why the head is not
    signed, or None once it is.
    """

    deliver: Callable[[CommittedBatch], None] = deliver_here
    failed: Callable[[StoreError], None] = lambda _error: None
    recovery: Callable[[Jackpot], Sequence[Command]] = lambda _jackpot: ()
    ended: Callable[[StoreError], None] = lambda _error: None
    compute: Callable[[Callable[[], StagedBatch]], StagedBatch] = lambda work: work()
    wanted: Callable[[str], None] = lambda _controller: None
    unsigned: Callable[[StoreError | None], None] = lambda _error: None


class Writer:
    """The one thread that writes a jackpot's journal; a checkpoint is written from time to time, and at the stop."""

    def __init__(self, journal: Journal, checkpoint: Callable[[], object], hooks: Hooks | None = None) -> None:
        self.journal = journal
        self._checkpoint = checkpoint
        self._hooks = hooks or Hooks()
        self._signed_seq = self._sign_tried_seq = journal.lease.head.seq
        self._sign_tried_at = time.monotonic()
        self._queue: SimpleQueue[Request | Action | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._ended: StoreError | None = None
        self._failed = False
        self._batch_began = 0.0
        self._waiting_since = self._renewal_tried_at = time.monotonic()
        self._in_hand_since: float | None = None
        self.renewed_at = time.monotonic()
        """When the lease was last known to be held: a renewal began, or a commit has ended."""
        self._thread = threading.Thread(target=self._run, name=f"writer-{journal.lease.chain}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return self._queue.qsize()

    def oldest_wait_seconds(self) -> float:
        """Return how long the oldest command that is not answered has waited; 0 if there is none."""
        since = self._in_hand_since
        if since is None and self._queue.qsize():
            since = self._waiting_since
        return 0.0 if since is None else time.monotonic() - since

    def enqueue(self, command: Command | Identified, reply: Reply) -> None:
        """Carry out a command; `reply` is called with the outcome once it is durable."""
        if self._ended is not None:
            raise self._ended
        at, waiting = time.monotonic(), self._queue.qsize()
        if waiting >= MAX_WAITING:
            raise TooBusyError(f"{MAX_WAITING} commands wait for the jackpot {self.journal.lease.chain} already")
        if not waiting:
            self._waiting_since = at
        self._queue.put(Request(command, reply, at))

    def report_failure(self, error: StoreError) -> None:
        """Report, from another thread, that the store does not answer; the recovery is recorded as after an error."""
        if not self._failed:
            self._failed = True
            self._hooks.failed(error)

    def submit(self, command: Command | Identified) -> Future[Decision]:
        """Carry out a command; the future gives its decision once durable, or raises `Refused` or `StoreError`."""
        future: Future[Decision] = Future()
        self.enqueue(command, lambda answer: _resolve(future, answer))
        return future

    def between_batches(self, action: Action) -> None:
        """Run something in the writer's thread while nothing is being written."""
        self._queue.put(action)

    def stop(self) -> bool:
        """Finish what waits, sign the head, and end; while the store fails, what waits is left unanswered.

        Return False if the thread is stuck in a call and is left behind.
        """
        self._stopping.set()
        self._queue.put(None)
        self._thread.join(STOP_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._work()
            self._ended = TakenOver(f"the controller has stopped serving {self.journal.lease.chain}")
            self._refuse_waiting(self._ended)
        except StoreError as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would leave a floor without answers
            self._end(StoreError(f"the writer of {self.journal.lease.chain} has failed: {error!r}"))

    def _work(self) -> None:
        stopping = False
        while not stopping:
            requests, action, stopping = self._collect()
            if requests:
                self._batch_began = time.perf_counter()
                self._process(requests)
                self._in_hand_since = None
            if action is not None:
                action()
            if not stopping:
                self._renew_if_due()
            self._sign_if_due(last=stopping)

    # The phases of a batch, in order.

    def _collect(self) -> tuple[list[Request], Action | None, bool]:
        """Take all requests that wait, up to a batch; without any, return when the lease is to be renewed.

        Return True when the writer is to stop.
        """
        requests: list[Request] = []
        try:
            item = self._queue.get(timeout=RENEW_SECONDS)
        except Empty:
            return requests, None, False
        while True:
            if item is None:
                return requests, None, True
            if not isinstance(item, Request):
                return requests, item, False
            if not requests:
                self._in_hand_since = item.since
            requests.append(item)
            if len(requests) >= MAX_BATCH:
                self._waiting_since = item.since  # those that are left began to wait later
                return requests, None, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return requests, None, False

    def _process(self, requests: list[Request], *, every_id: bool = False) -> None:
        """Run a batch through the phases; errors are handled in `_recover`."""
        journal, before = self.journal, self.journal.lease.head.seq
        commands = [request.command for request in requests]
        try:
            known_ids = journal.look_up_ids(commands, every_id=every_id)

            def decide_and_stage() -> StagedBatch:
                decided = journal.decide(commands, known_ids)
                return journal.stage(decided)

            is_big = len(commands) >= BIG_BATCH
            staged = self._hooks.compute(decide_and_stage) if is_big else decide_and_stage()
            outcomes = journal.commit(staged)
        except Exception as error:  # noqa: BLE001 - a command that breaks the core must not stop the others
            self._recover(requests, before, error, every_id=every_id)
        else:
            self._deliver(requests, before, outcomes)
            if self._failed:
                self._renewal_tried_at = 0.0  # it was only slow: record the failure at once

    def _deliver(self, requests: list[Request], before: int, answers: Sequence[Answer]) -> None:
        """Hand over the durable batch with the answer to each request."""
        seconds = time.perf_counter() - self._batch_began
        events = [event for answer in answers if isinstance(answer, Decision) for event in answer.events]
        if events:
            self.renewed_at = time.monotonic()  # the fence has shown that the lease is held
        replies = [(request.reply, answer) for request, answer in zip(requests, answers, strict=True)]
        jackpot, head = self.journal.jackpot, self.journal.lease.head
        self._hooks.deliver(CommittedBatch(jackpot, head, list(enumerate(events, before + 1)), replies, seconds))

    # When a phase fails.

    def _recover(self, requests: list[Request], before: int, error: Exception, *, every_id: bool) -> None:
        """Handle the error of a batch: taken over, store away, or one bad command among good ones."""
        if isinstance(error, Fenced):
            self._deliver(requests, before, [error] * len(requests))
            raise error
        if isinstance(error, StoreError) and not isinstance(error, Rejected):
            self._retry(requests, before, error)
        elif isinstance(error, Rejected | IdNotLookedUpError) and not every_id:
            self._process(requests, every_id=True)  # a wager is refused, or its key is that of an earlier round's
        elif len(requests) > 1:
            for request in requests:
                self._process([request], every_id=True)  # so that one bad row does not take the others with it
        else:
            rejected = error if isinstance(error, Rejected) else _broken(requests[0], error)
            self._deliver(requests, before, [rejected])

    def _retry(self, requests: list[Request], before: int, error: StoreError) -> None:
        """Try a batch again until the store answers; first, what the service wants on record is written."""
        commands = [request.command for request in requests]
        wait = FIRST_WAIT_SECONDS
        outcomes: list[Outcome] | None = None
        while True:
            try:
                landed = self.journal.resolve_unconfirmed()
                if landed is not None and landed.commands == commands:
                    before, outcomes = self.journal.lease.head.seq - len(landed.events), landed.outcomes
                elif landed is not None:
                    self._deliver_recovery(landed)
                self._record_recovery()
                if outcomes is None:
                    before = self.journal.lease.head.seq
                    outcomes = self.journal.execute(commands)
                self._deliver(requests, before, outcomes)
            except Fenced as fenced:
                self._deliver(requests, before, [fenced] * len(requests))
                raise
            except Rejected:
                self._process(requests, every_id=True)
                return
            except StoreError as again:
                self.report_failure(again)
                if self._stopping.wait(random.uniform(wait / 2, wait)):  # noqa: S311 - spreads attempts only
                    self._deliver(requests, before, [error] * len(requests))
                    return
                wait = min(2 * wait, MAX_WAIT_SECONDS)
            else:
                return

    def _record_recovery(self) -> None:
        """Write what the service wants on record after a failure; without one, do nothing."""
        if not self._failed:
            return
        landed = self.journal.resolve_unconfirmed()
        if landed is not None:
            self._deliver_recovery(landed)
            return
        before = self.journal.lease.head.seq
        commands = list(self._hooks.recovery(self.journal.jackpot))
        outcomes = self.journal.execute(commands)
        self._failed = False
        self._deliver([Request(command, ignore_reply) for command in commands], before, outcomes)

    def _deliver_recovery(self, landed: DecidedBatch) -> None:
        """Deliver what was written for the record, and whose commit broke off and yet took place."""
        before = self.journal.lease.head.seq - len(landed.events)
        self._failed = False
        self._deliver([Request(command, ignore_reply) for command in landed.commands], before, landed.outcomes)

    # Between batches.

    def _renew_if_due(self) -> None:
        """Renew the lease once a second; while the store does not answer, it lapses by itself."""
        began = time.monotonic()
        if began - self._renewal_tried_at < RENEW_SECONDS:
            return
        self._renewal_tried_at = began
        try:
            wanted_by = self.journal.lease.renew()
            self._record_recovery()
        except Fenced:
            raise
        except StoreError:
            return  # the service sees that the lease is old, and reports it
        self.renewed_at = began
        if wanted_by:
            self._hooks.wanted(wanted_by)

    def _sign_if_due(self, *, last: bool) -> None:
        """Write a checkpoint by time and by number of events; at the stop the store has one attempt, if it answers."""
        seq = self.journal.lease.head.seq
        overdue = seq > self._signed_seq and time.monotonic() - self._sign_tried_at >= CHECKPOINT_EVERY_SECONDS
        if self._failed or not (last or overdue or seq - self._sign_tried_seq >= CHECKPOINT_EVERY_EVENTS):
            return
        self._sign_tried_seq, self._sign_tried_at = seq, time.monotonic()
        try:
            self._checkpoint()
        except Fenced:
            raise
        except StoreError as error:
            if not isinstance(error, Unreachable):
                self._hooks.unsigned(error)  # an unreachable store is signed later, with what comes until then
            return
        self._hooks.unsigned(None)
        self._signed_seq = seq

    def _end(self, error: StoreError) -> None:
        self._ended = error
        self._refuse_waiting(error)
        self._hooks.ended(error)

    def _refuse_waiting(self, error: StoreError) -> None:
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return
            if isinstance(item, Request):
                self._deliver([item], self.journal.lease.head.seq, [error])


def _broken(request: Request, error: Exception) -> Rejected:
    return Rejected(f"{type(request.command).__name__}: {error!r}")


def _resolve(future: Future[Decision], answer: Answer) -> None:
    if isinstance(answer, Decision):
        future.set_result(answer)
    elif isinstance(answer, Refused | StoreError):
        future.set_exception(answer)


def ignore_reply(_answer: Answer) -> None:
    """Ignore the answer to a command of the controller itself."""
