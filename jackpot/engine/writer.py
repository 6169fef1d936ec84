"""The writer thread of one jackpot: collect → look up ids → decide → stage → commit → deliver.

There is no timer: alone, a command is committed at once; under load, batches grow by themselves up to a limit. When the
store fails, the batch in hand is kept and tried again; nothing of it is answered before it is durable.
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
from jackpot.engine.journal import IdNotLookedUpError, Journal, Outcome, StagedBatch
from jackpot.engine.lease import Head
from jackpot.store.errors import Fenced, Rejected, StoreError

MAX_WAITING: Final = 10_000
MAX_BATCH: Final = 500
BIG_BATCH: Final = 5
"""From this size on, a batch is decided and staged on the event loop's thread: two threads that both compute fight over
the interpreter lock. With this, `bench/wire.py` had 111% of the throughput on SQLite and 101% on PostgreSQL."""
CHECKPOINT_EVERY_EVENTS: Final = 10_000
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
    `compute` runs the decide and stage phases of a big batch, on the thread of its choice, and returns the result.
    """

    deliver: Callable[[CommittedBatch], None] = deliver_here
    failed: Callable[[StoreError], None] = lambda _error: None
    recovery: Callable[[Jackpot], Sequence[Command]] = lambda _jackpot: ()
    ended: Callable[[StoreError], None] = lambda _error: None
    compute: Callable[[Callable[[], StagedBatch]], StagedBatch] = lambda work: work()


class Writer:
    """The one thread that writes a jackpot's journal; a checkpoint is written from time to time, and at the stop."""

    def __init__(self, journal: Journal, checkpoint: Callable[[], object], hooks: Hooks | None = None) -> None:
        self.journal = journal
        self._checkpoint = checkpoint
        self._hooks = hooks or Hooks()
        self._checkpoint_at = journal.lease.head.seq + CHECKPOINT_EVERY_EVENTS
        self._queue: SimpleQueue[Request | Action | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._ended: StoreError | None = None
        self._batch_began = 0.0
        self._thread = threading.Thread(target=self._run, name=f"writer-{journal.lease.chain}")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return self._queue.qsize()

    def enqueue(self, command: Command | Identified, reply: Reply) -> None:
        """Carry out a command; `reply` is called with the outcome once it is durable."""
        if self._ended is not None:
            raise self._ended
        if self._queue.qsize() >= MAX_WAITING:
            raise TooBusyError(f"{MAX_WAITING} commands wait for the jackpot {self.journal.lease.chain} already")
        self._queue.put(Request(command, reply))

    def submit(self, command: Command | Identified) -> Future[Decision]:
        """Carry out a command; the future gives its decision once durable, or raises `Refused` or `StoreError`."""
        future: Future[Decision] = Future()
        self.enqueue(command, lambda answer: _resolve(future, answer))
        return future

    def between_batches(self, action: Action) -> None:
        """Run something in the writer's thread while nothing is being written."""
        self._queue.put(action)

    def stop(self) -> None:
        """Finish what waits, sign the head, and end; while the store fails, what waits is left unanswered."""
        self._stopping.set()
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._work()
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
            if action is not None:
                action()
            if stopping or self.journal.lease.head.seq >= self._checkpoint_at:
                self._sign(last=stopping)

    # The phases of a batch, in order.

    def _collect(self) -> tuple[list[Request], Action | None, bool]:
        """Wait for a request and take all that wait with it, up to a batch; return True when the writer is to stop."""
        requests: list[Request] = []
        item = self._queue.get()
        while True:
            if item is None:
                return requests, None, True
            if not isinstance(item, Request):
                return requests, item, False
            requests.append(item)
            if len(requests) >= MAX_BATCH:
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

    def _deliver(self, requests: list[Request], before: int, answers: Sequence[Answer]) -> None:
        """Hand over the durable batch with the answer to each request."""
        seconds = time.perf_counter() - self._batch_began
        events = [event for answer in answers if isinstance(answer, Decision) for event in answer.events]
        replies = [(request.reply, answer) for request, answer in zip(requests, answers, strict=True)]
        jackpot, head = self.journal.jackpot, self.journal.lease.head
        self._hooks.deliver(CommittedBatch(jackpot, head, list(enumerate(events, before + 1)), replies, seconds))

    # When a phase fails.

    def _recover(self, requests: list[Request], before: int, error: Exception, *, every_id: bool) -> None:
        """Handle the error of a batch: taken over, store away, or one bad command among good ones."""
        if isinstance(error, Fenced):
            self._deliver(requests, before, [Fenced("another controller has taken over")] * len(requests))
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
        failure_reported = False
        outcomes: list[Outcome] | None = None
        while True:
            try:
                outcomes = outcomes or self.journal.resolve_unconfirmed()
                if failure_reported:
                    self._record_recovery()
                if outcomes is None:
                    before = self.journal.lease.head.seq
                    outcomes = self.journal.execute(commands)
                self._deliver(requests, before, outcomes)
            except Fenced:
                raise
            except Rejected:
                self._process(requests, every_id=True)
                return
            except StoreError as again:
                if not failure_reported:
                    self._hooks.failed(again)
                failure_reported = True
                if self._stopping.wait(random.uniform(wait / 2, wait)):  # noqa: S311 - spreads attempts only
                    self._deliver(requests, before, [error] * len(requests))
                    return
                wait = min(2 * wait, MAX_WAIT_SECONDS)
            else:
                return

    def _record_recovery(self) -> None:
        before = self.journal.lease.head.seq
        commands = list(self._hooks.recovery(self.journal.jackpot))
        if commands:
            outcomes = self.journal.execute(commands)
            self._deliver([Request(command, ignore_reply) for command in commands], before, outcomes)

    def _sign(self, *, last: bool) -> None:
        """Write a checkpoint; one that cannot be written now is written later, and a stop does not wait for it."""
        try:
            self._checkpoint()
        except StoreError:
            if last:
                return
        self._checkpoint_at = self.journal.lease.head.seq + CHECKPOINT_EVERY_EVENTS

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
