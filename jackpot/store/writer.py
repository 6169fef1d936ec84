"""The one thread that writes a jackpot: it takes whatever waits, commits it as one batch, then answers.

There is no timer: alone, a command is committed at once; under load, batches grow by themselves up to a limit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, Full, Queue
from typing import Final

from jackpot.core.answers import Decision, Refused
from jackpot.core.commands import Command, Identified
from jackpot.store.book import Book, Outcome
from jackpot.store.errors import StoreError

MOST_WAITING: Final = 10_000
MOST_IN_BATCH: Final = 500
CHECKPOINT_EVERY_EVENTS: Final = 10_000

Asked = tuple[Command | Identified, "Future[Decision]"]


class TooBusyError(StoreError):
    """More commands wait than the writer takes: slow down and ask again."""


class Writer:
    """Owns a book from its start to its stop; a checkpoint is written now and then, and at the stop."""

    def __init__(self, book: Book, checkpoint: Callable[[], object]) -> None:
        self.book = book
        self._checkpoint = checkpoint
        self._checkpoint_at = book.chain.head.seq + CHECKPOINT_EVERY_EVENTS
        self._waiting: Queue[Asked | None] = Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name=f"writer-{book.chain.name}")
        self._thread.start()

    def ask(self, command: Command | Identified) -> Future[Decision]:
        """The decision, once it is durable; the future raises `Refused`, or what went wrong with the store."""
        answer: Future[Decision] = Future()
        try:
            self._waiting.put_nowait((command, answer))
        except Full:
            raise TooBusyError(f"{MOST_WAITING} commands wait for the jackpot {self.book.chain.name} already") from None
        return answer

    def stop(self) -> None:
        """Finish what waits, sign the head, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        ended = False
        while not ended:
            first = self._waiting.get()
            batch = [] if first is None else [first]
            ended = first is None
            while not ended and len(batch) < MOST_IN_BATCH:
                try:
                    more = self._waiting.get_nowait()
                except Empty:
                    break
                ended = more is None
                if more is not None:
                    batch.append(more)
            self._carry_out(batch)
            if ended or self.book.chain.head.seq >= self._checkpoint_at:
                self._checkpoint()
                self._checkpoint_at = self.book.chain.head.seq + CHECKPOINT_EVERY_EVENTS

    def _carry_out(self, batch: list[Asked]) -> None:
        if not batch:
            return
        try:
            outcomes: list[Outcome] = self.book.ask([command for command, _ in batch])
        except StoreError as error:
            for _, answer in batch:
                answer.set_exception(error)
            return
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Refused):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)
