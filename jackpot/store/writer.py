"""The one thread that writes a jackpot: it takes whatever waits, commits it as one batch, then delivers the answers.

There is no timer: alone, a command is committed at once; under load, batches grow by themselves up to a limit. When the
store fails, the batch in hand is kept and tried again for ever; nothing of it is answered before it is durable.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from jackpot.core.answers import Decision, Refused
from jackpot.core.commands import Command, Identified
from jackpot.core.events import Event
from jackpot.core.state import Jackpot
from jackpot.store.book import Book, Head, Outcome, Where, here
from jackpot.store.errors import Fenced, Rejected, StoreError

MOST_WAITING: Final = 10_000
MOST_IN_BATCH: Final = 500
MANY: Final = 5
"""From here on a batch is decided where the shell wants it: two threads that both compute hinder each other."""
CHECKPOINT_EVERY_EVENTS: Final = 10_000
FIRST_WAIT_SECONDS: Final = 0.1
LONGEST_WAIT_SECONDS: Final = 5.0

Answer = Outcome | StoreError
Reply = Callable[[Answer], None]
Asked = tuple[Command | Identified, Reply]


class TooBusyError(StoreError):
    """More commands wait than the writer takes: slow down and ask again."""


class Batch(NamedTuple):
    """What one commit did: the state and the head after it, its events with their numbers, and who waits for what."""

    jackpot: Jackpot
    head: Head
    events: list[tuple[int, Event]]
    answers: list[tuple[Reply, Answer]]
    seconds: float


def deliver_here(batch: Batch) -> None:
    """Answer everyone from the writer's own thread."""
    for reply, answer in batch.answers:
        reply(answer)


class Hooks(NamedTuple):
    """What the shell around the writer wants to know, each told from the writer's thread.

    `deliver` takes a batch that is durable; `failed` hears that the store does not answer; `recovery` says what is
    written first when it does again; `ended` hears why the writer stopped by itself: another has taken over; `where` is
    the thread in which a batch of many is decided.
    """

    deliver: Callable[[Batch], None] = deliver_here
    failed: Callable[[StoreError], None] = lambda _error: None
    recovery: Callable[[Jackpot], Sequence[Command]] = lambda _jackpot: ()
    ended: Callable[[StoreError], None] = lambda _error: None
    where: Where = here


class Writer:
    """Owns a book from its start to its stop; a checkpoint is written now and then, and at the stop."""

    def __init__(self, book: Book, checkpoint: Callable[[], object], hooks: Hooks | None = None) -> None:
        self.book = book
        self._checkpoint = checkpoint
        self._hooks = hooks or Hooks()
        self._checkpoint_at = book.chain.head.seq + CHECKPOINT_EVERY_EVENTS
        self._waiting: SimpleQueue[Asked | Callable[[], None] | None] = SimpleQueue()
        self._held_over: list[Asked | Callable[[], None] | None] = []
        self._stopping = threading.Event()
        self._ended: StoreError | None = None
        self._began = 0.0
        self._thread = threading.Thread(target=self._run, name=f"writer-{book.chain.name}")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return self._waiting.qsize()

    def put(self, command: Command | Identified, reply: Reply) -> None:
        """Have a command carried out; `reply` hears the outcome once it is durable."""
        if self._ended is not None:
            raise self._ended
        if self._waiting.qsize() >= MOST_WAITING:
            raise TooBusyError(f"{MOST_WAITING} commands wait for the jackpot {self.book.chain.name} already")
        self._waiting.put((command, reply))

    def ask(self, command: Command | Identified) -> Future[Decision]:
        """The decision, once it is durable; the future raises `Refused`, or what went wrong with the store."""
        answer: Future[Decision] = Future()
        self.put(command, lambda outcome: _answer(answer, outcome))
        return answer

    def between_batches(self, act: Callable[[], None]) -> None:
        """Have something done by the writer's thread while nothing is being written."""
        self._waiting.put(act)

    def stop(self) -> None:
        """Finish what waits, sign the head, and end; while the store fails, what waits is left unanswered."""
        self._stopping.set()
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._work()
        except StoreError as error:
            self._end(error)
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would leave a floor without answers
            self._end(StoreError(f"the writer of {self.book.chain.name} has failed: {error!r}"))

    def _end(self, error: StoreError) -> None:
        self._ended = error
        self._refuse_waiting(error)
        self._hooks.ended(error)

    def _work(self) -> None:
        ended = False
        while not ended:
            batch, acts, ended = self._take()
            self._carry_out(batch)
            for act in acts:
                act()
            if ended or self.book.chain.head.seq >= self._checkpoint_at:
                self._sign(last=ended)

    def _take(self) -> tuple[list[Asked], list[Callable[[], None]], bool]:
        """Whatever waits, up to a batch; waits for the first."""
        taken: list[Asked] = []
        more = self._next()
        while True:
            if more is None:
                return taken, [], True
            if callable(more):
                return taken, [more], False
            taken.append(more)
            if len(taken) >= MOST_IN_BATCH:
                return taken, [], False
            try:
                more = self._waiting.get_nowait()
            except Empty:
                return taken, [], False

    def _next(self) -> Asked | Callable[[], None] | None:
        """The next thing to do."""
        return self._held_over.pop() if self._held_over else self._waiting.get()

    def _top_up(self, batch: list[Asked], asked: list[Command | Identified]) -> None:
        """Take in the wagers that came since the batch was taken; what is not one is held over for the next."""
        while len(batch) < MOST_IN_BATCH and not self._held_over:
            try:
                more = self._waiting.get_nowait()
            except Empty:
                return
            if isinstance(more, tuple) and self.book.is_fresh(more[0]):
                batch.append(more)
                asked.append(more[0])
            else:
                self._held_over.append(more)

    def _sign(self, *, last: bool) -> None:
        """A checkpoint that cannot be written now is written later; a stop does not wait for it."""
        try:
            self._checkpoint()
        except StoreError:
            if last:
                return
        self._checkpoint_at = self.book.chain.head.seq + CHECKPOINT_EVERY_EVENTS

    def _carry_out(self, batch: list[Asked]) -> None:
        if not batch:
            return
        asked = [command for command, _ in batch]
        before = self.book.chain.head.seq
        self._began = time.perf_counter()
        try:
            answers: list[Answer] = list(self._asked(batch, asked))
        except Fenced:
            self._deliver(before, batch, [Fenced("another controller has taken over")] * len(batch))
            raise
        except Rejected as error:
            answers = [error] if len(batch) == 1 else []
        except StoreError as error:
            self._try_again(batch, asked, before, error)
            return
        except Exception as error:  # noqa: BLE001 - a command that breaks the core must not stop the others
            answers = [Rejected(f"{type(asked[0]).__name__}: {error!r}")] if len(batch) == 1 else []
        if not answers:
            for one in batch:
                self._carry_out([one])  # so that one bad row does not take the others with it
            return
        self._deliver(before, batch, answers)

    def _asked(self, batch: list[Asked], asked: list[Command | Identified]) -> list[Outcome]:
        """Alone, a command is decided here and at once; many are decided where the shell wants it."""
        if len(asked) < MANY:
            return self.book.ask(asked)
        return self.book.ask(asked, self._hooks.where, partial(self._top_up, batch, asked))

    def _try_again(self, batch: list[Asked], asked: list[Command | Identified], before: int, error: StoreError) -> None:
        """Wait for the store, for ever; first thing then is what the shell wants on record."""
        wait = FIRST_WAIT_SECONDS
        told = False
        landed: list[Outcome] | None = None
        while True:
            try:
                landed = landed or self.book.resolve()
                if told:
                    self._record_recovery()
                if landed is None:
                    before = self.book.chain.head.seq
                    landed = self.book.ask(asked)
                self._deliver(before, batch, landed)
            except Fenced:
                raise
            except Rejected:
                self._carry_out(batch)
                return
            except StoreError as again:
                if not told:
                    self._hooks.failed(again)
                told = True
                if self._stopping.wait(random.uniform(wait / 2, wait)):  # noqa: S311 - spreads attempts only
                    self._deliver(before, batch, [error] * len(batch))
                    return
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
            else:
                return

    def _record_recovery(self) -> None:
        before = self.book.chain.head.seq
        commands = list(self._hooks.recovery(self.book.jackpot))
        if commands:
            outcomes = self.book.ask(commands)
            self._deliver(before, [(command, nobody_waits) for command in commands], list(outcomes))

    def _deliver(self, before: int, batch: list[Asked], answers: Sequence[Answer]) -> None:
        seconds = time.perf_counter() - self._began
        decided = [event for answer in answers if isinstance(answer, Decision) for event in answer.events]
        events = list(enumerate(decided, before + 1))
        paired = [(reply, answer) for (_, reply), answer in zip(batch, answers, strict=True)]
        self._hooks.deliver(Batch(self.book.jackpot, self.book.chain.head, events, paired, seconds))

    def _refuse_waiting(self, error: StoreError) -> None:
        while True:
            try:
                waiting = self._held_over.pop() if self._held_over else self._waiting.get_nowait()
            except Empty:
                return
            if waiting is not None and not callable(waiting):
                self._deliver(self.book.chain.head.seq, [waiting], [error])


def _answer(future: Future[Decision], outcome: Answer) -> None:
    if isinstance(outcome, Decision):
        future.set_result(outcome)
    elif isinstance(outcome, Refused | StoreError):
        future.set_exception(outcome)


def nobody_waits(_outcome: Answer) -> None:
    """The reply to what the controller asks by itself."""
