"""One jackpot on the wire: its session, its writer, and everything between them, from start to a clean stop."""

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
from jackpot.core.commands import CONTROLLER, ReportMalfunction
from jackpot.core.events import Event, EventType
from jackpot.core.state import Jackpot
from jackpot.store import queries
from jackpot.store.book import Book
from jackpot.store.errors import Fenced, Rejected, StoreError, Unreachable
from jackpot.store.writer import MOST_WAITING, Answer, Batch, Hooks, Reply, TooBusyError, Writer, nobody_waits
from jackpot.wire import messages
from jackpot.wire.announcer import Announcer, encoded
from jackpot.wire.devices import MISMATCH_SECONDS, Displays, Pads
from jackpot.wire.gauges import Gauges, Looked
from jackpot.wire.intake import Intake
from jackpot.wire.left import Left
from jackpot.wire.messages import Malformed
from jackpot.wire.meter import MeterPacer
from jackpot.wire.session import Address, Session, Will
from jackpot.wire.stream import Letter
from jackpot.wire.topics import Heard, Topics
from jackpot.wire.views import ROUND_ENDS, Mark

WATCH_SECONDS: Final = 1.0
LEASE_SECONDS: Final = 30.0
NEW_SECONDS: Final = 60.0
STALE_SECONDS: Final = 3_600.0
FEW_WAITING: Final = MOST_WAITING // 2
_OF_DEVICES: Final = (Heard.PAD_STATUS, Heard.PAD_SHOWN, Heard.DEALER_STATUS)

log = structlog.get_logger()
T = TypeVar("T")


class Watcher(NamedTuple):
    """Who wants to know what happens at a desk, told in the loop's thread; cheap, or lamps light late.

    `events` takes what a batch made durable; `status` hears that something else is not what it was: the store failed or
    is back, the broker is lost or found, or, with a table's name, a device of that table came, went or said what it
    shows.
    """

    events: Callable[[list[tuple[int, Event]]], None]
    status: Callable[[str | None], None]


class Desk:
    """Owns a jackpot's book while it runs; ends by itself only when another controller has taken over."""

    def __init__(
        self,
        address: Address,
        topics: Topics,
        book: Book,
        checkpoint: Callable[[], object],
        noticed: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._topics = topics
        self._book = book
        self._noticed, self._notices = noticed, book.noticed
        self.id = book.jackpot.id
        self._closing = False
        self._watchers: list[Watcher] = []
        self.listening = asyncio.Event()
        self._ended: asyncio.Future[StoreError] = self._loop.create_future()
        self.pads, self.displays = Pads(), Displays()
        self.announcer = Announcer(topics, book.jackpot, _mark(book), self.displays, self._loop.call_later)
        self._pacer = MeterPacer(self.announcer.meter)
        self.writer = Writer(book, checkpoint, self._hooks())
        self.intake = Intake(
            writer=self.writer,
            announcer=self.announcer,
            pads=self.pads,
            displays=self.displays,
            acknowledge=self._acknowledge,
        )
        self.session = self._new_session()
        self._gauges = self._new_gauges()
        self._remember_wins()
        self._batches, self._commits = metrics.BATCH.labels(self.id), metrics.COMMIT.labels(self.id)
        self._gauges.measure(self.announcer.jackpot, self.announcer.mark)

    def watch(self, watcher: Watcher) -> None:
        """Tell this one, too, from now on."""
        self._watchers.append(watcher)

    def _tell_status(self, table: str | None = None) -> None:
        for watcher in self._watchers:
            watcher.status(table)

    def _hooks(self) -> Hooks:
        """The writer speaks from its own thread; everything here happens in the loop's."""
        return Hooks(
            deliver=partial(self._in_loop, self._delivered),
            failed=partial(self._in_loop, self._store_failed),
            recovery=_store_malfunctions,
            ended=partial(self._in_loop, self._end),
            where=self._wait_for_loop,
        )

    def _wait_for_loop(self, prepare: Callable[[], T]) -> T:
        """Have something computed in the loop's thread, so that the two threads do not fight over the interpreter."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(prepare())
            except BaseException as error:  # noqa: BLE001 - it is raised again in the writer's thread
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result()

    def _in_loop(self, act: Callable[[T], None], told: T) -> None:
        self._loop.call_soon_threadsafe(act, told)

    def _new_session(self) -> Session:
        will = Will(self._topics.controller(self.id), self._status("offline").encode())
        session = Session(
            self._address,
            self._topics.client_id(self.id),
            will=will,
            on_letter=self._heard,
            on_connect=self._connected,
            before_connect=self._require_lease,
            on_lost=self._tell_status,
        )
        self.announcer.speak_through(session.publish)
        return session

    def _new_gauges(self) -> Gauges:
        looked = Looked(
            meter_at=lambda: self.announcer.meter_at,
            waiting=lambda: self.writer.waiting,
            connected=lambda: self.session.connected,
            failing=lambda: self.announcer.store_failed,
        )
        return Gauges(self.id, self.pads, self.displays, looked)

    def _status(self, state: str) -> str:
        return encoded({"state": state, "epoch": self._book.chain.head.epoch})

    def _remember_wins(self) -> None:
        """Prizes that are pending, or changed so shortly before the end of whoever served that it may not have told.

        Not what is older than anybody would still celebrate.
        """
        with self._book.chain.database.reader() as connection:
            rows = [row for row in queries.pending_wins(connection) if row["chain"] == self.id]
            last = queries.last_moment(connection, self.id) or now()
            since = max(earlier(last, NEW_SECONDS), in_seconds(-STALE_SECONDS))
            new = queries.changed_wins(connection, self.id, since)
        for table in {row["table_id"] for row in rows}:
            told = [_win(self.id, row) for row in rows if row["table_id"] == table]
            self.announcer.remember_wins(table, told)
        self.announcer.say_later([_win(self.id, row) for row in new if row not in rows])
        for row in rows:
            self._gauges.pending_since(row["table_id"], row["round"], row["at"])

    def take_on(self, left: Left) -> None:
        """What an earlier controller left; that a store failed to its end, and suspended tables, is on record now."""
        self.announcer.remember_lamps(left.lamps)
        for report in _store_malfunctions(self.announcer.jackpot):
            seq = left.failed.get(report.table)
            if seq is not None and not self._is_resumed(report.table, seq):
                self.writer.put(report, nobody_waits)

    def _is_resumed(self, table: str, seq: int) -> bool:
        """Whether a supervisor has resumed a table after this event."""
        with self._book.chain.database.reader() as connection:
            return queries.is_resumed_since(connection, self.id, table, seq)

    async def run(self) -> None:
        """Serve until cancelled; raises what ended the right to write."""
        tasks = [
            asyncio.create_task(self.session.run(), name=f"session-{self.id}"),
            asyncio.create_task(self._pacer.run(), name=f"meter-{self.id}"),
            asyncio.create_task(self._watch(), name=f"watch-{self.id}"),
        ]
        try:
            watched: list[asyncio.Future[Any]] = [*tasks, self._ended]
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if self._ended.done():
                raise self._ended.result()
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            await self._stop(tasks)

    async def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        """Finish the batch in hand, sign the head, say goodbye; whoever took over is not contradicted."""
        self._closing = True
        for task in tasks[1:]:
            task.cancel()
        await asyncio.to_thread(self.writer.stop)
        await asyncio.sleep(0)  # the last batch's answers go out before the goodbye
        if not (self._ended.done() and isinstance(self._ended.result(), Fenced)):
            self.announcer.whatever_waits()
            await self._say_goodbye()
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _say_goodbye(self) -> None:
        try:
            async with asyncio.timeout(5):
                await self.session.publish_now(self._topics.controller(self.id), self._status("offline"), retain=True)
        except Exception as error:  # noqa: BLE001 - the broker's will says it then
            log.warning("no goodbye", jackpot=self.id, problem=str(error))
        try:
            await asyncio.to_thread(self._book.chain.release)
        except StoreError as error:
            log.warning("lease not released", jackpot=self.id, problem=str(error))

    # From the broker.

    async def _require_lease(self) -> None:
        """Whoever displaced us may own the jackpot now: then it is theirs, and we end.

        A store that does not answer is asked for a while before we connect all the same, and say that it fails.
        """
        until = time.monotonic() + (LEASE_SECONDS if self.listening.is_set() else 0)
        while True:
            try:
                await asyncio.to_thread(self._book.chain.require_mine)
            except Fenced as fenced:
                self._end(fenced)
                await asyncio.Event().wait()
            except StoreError as error:
                log.warning("lease not read", jackpot=self.id, problem=str(error))
                if time.monotonic() < until:
                    await asyncio.sleep(WATCH_SECONDS)
                    continue
            return

    async def _connected(self) -> None:
        self._gauges.connected(self.session.certificate_ends())
        self.announcer.everything()
        await self.session.subscribe(self._topics.heard_by(self.id))
        self.listening.set()
        self._tell_status()

    def _heard(self, letter: Letter) -> None:
        if self._closing:
            return  # left with the broker for whoever comes next
        source = self._topics.source(letter.topic)
        if source is None:
            self._acknowledge(letter)
        elif source.kind is Heard.CONTROLLER:
            self._heard_controller(letter)
        else:
            self.intake.take(letter, source)
            if source.kind in _OF_DEVICES:
                self._tell_status(source.name)

    def _acknowledge(self, letter: Letter) -> None:
        self.session.acknowledge(letter)

    def _heard_controller(self, letter: Letter) -> None:
        """Our own topic: a late will is contradicted; a higher epoch means that this one must be raised."""
        self._acknowledge(letter)
        if letter.payload in (b"", self._status("online").encode()):
            return
        try:
            said = messages.read(messages.ControllerMessage, letter.payload)
        except Malformed:
            said = messages.ControllerMessage(state="offline", epoch=0)
        epoch = self._book.chain.head.epoch
        if said.epoch > epoch:
            log.error("a higher epoch was seen", jackpot=self.id, mine=epoch, seen=said.epoch)
            self.writer.between_batches(partial(self._raise_epoch, said.epoch))
        elif said.epoch < epoch or said.state == "offline":
            self.announcer.online()

    def _raise_epoch(self, seen: int) -> None:
        """In the writer's thread: go on above what was seen, or end where the lease is another's."""
        if self._book.chain.head.epoch > seen:
            return
        try:
            self._book.chain.raise_epoch(seen)
        except Unreachable:
            again = partial(self.writer.between_batches, partial(self._raise_epoch, seen))
            self._loop.call_soon_threadsafe(self._loop.call_later, WATCH_SECONDS, again)
        else:
            self._loop.call_soon_threadsafe(self._epoch_raised, self._book.chain.head.epoch)

    def _epoch_raised(self, epoch: int) -> None:
        """What is told from now on is of the new epoch; it was told up to the seq that it was."""
        self.announcer.mark = Mark(epoch, self.announcer.mark.seq)
        will = Will(self._topics.controller(self.id), self._status("offline").encode())
        self.session.reconnect(will)
        self._tell_status()

    # From the writer.

    def _delivered(self, batch: Batch) -> None:
        """A batch is durable: answers first, then what it changed."""
        was_failing = self.announcer.store_failed
        self.announcer.jackpot = batch.jackpot
        self.announcer.mark = Mark(batch.head.epoch, batch.head.seq)
        self.announcer.store_failed = was_failing and any(map(_is_unwritten, batch.answers))
        is_back = was_failing and not self.announcer.store_failed
        for reply, answer in batch.answers:
            if isinstance(answer, StoreError):
                log.error("not carried out", jackpot=self.id, problem=str(answer))
                metrics.ERRORS.labels(self.id, "command").inc()
            reply(answer)
        self.announcer.changed(batch.events)
        if is_back:
            self.announcer.everything()
        if batch.events:
            self._pacer.change()
            self._look_after(batch.events)
        if self._book.noticed != self._notices:
            self._notices = self._book.noticed
            self._noticed()
        self._batches.observe(len(batch.answers))
        self._commits.observe(batch.seconds)
        if is_back:
            self._tell_status()
        if batch.events:
            for watcher in self._watchers:
                watcher.events(batch.events)

    def _look_after(self, events: list[tuple[int, Event]]) -> None:
        """What a batch obliges the shell to do and to count."""
        for _, event in events:
            if event.type is EventType.WAGER_ACCEPTED:
                if self.pads.is_offline(event.table or "", event.data["box"]):
                    self.intake.look_for_silent_pads()
            elif event.type is EventType.TABLE_SUSPENDED:
                metrics.MALFUNCTIONS.labels(self.id, event.data["cause"]).inc()
                log.warning("table suspended", jackpot=self.id, table=event.table, **event.data)
            elif event.type in ROUND_ENDS and event.data.get("ends", True):
                outcome = "void" if event.type is EventType.ROUND_VOIDED else "played"
                metrics.ROUNDS.labels(self.id, outcome).inc()

    def _store_failed(self, error: StoreError) -> None:
        log.error("store failed", jackpot=self.id, problem=str(error))
        metrics.ERRORS.labels(self.id, "store").inc()
        self.announcer.store_failed = True
        self.announcer.everything()
        self._pacer.change()
        self._tell_status()

    def _end(self, error: StoreError) -> None:
        log.error("no longer the owner", jackpot=self.id, problem=str(error))
        if not self._ended.done():
            self._ended.set_result(error)

    # By itself.

    async def _watch(self) -> None:
        """Displays that contradict the meter for too long, pads that are away, letters left behind; gauges."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            for display, said in self.displays.overdue(time.monotonic()):
                self._report_display(display, said)
            self.intake.look_for_silent_pads()
            if self.intake.left_behind and self.writer.waiting < FEW_WAITING:
                self.intake.left_behind = False
                self.session.reconnect()  # the broker brings again what was not taken
            self._gauges.measure(self.announcer.jackpot, self.announcer.mark)

    def _report_display(self, display: str, said: messages.DisplayShownMessage) -> None:
        note = f"shows {said.amount_cents} cents at {said.epoch}/{said.seq}, wrong for {MISMATCH_SECONDS:.0f} s"
        try:
            for table in self.announcer.jackpot.tables.values():
                if not table.unlinked and not table.suspended:
                    report = ReportMalfunction(now(), CONTROLLER, table.id, f"display {display}", note, "display")
                    self.writer.put(report, nobody_waits)
        except TooBusyError:
            self.displays.tell_again(display)


def _is_unwritten(answered: tuple[Reply, Answer]) -> bool:
    """Whether something was not carried out because of the store, not because of itself."""
    return isinstance(answered[1], StoreError) and not isinstance(answered[1], Rejected)


def _mark(book: Book) -> Mark:
    return Mark(book.chain.head.epoch, book.chain.head.seq)


def _store_malfunctions(jackpot: Jackpot) -> list[ReportMalfunction]:
    """What is written first thing when the store is back: it had failed, at every table."""
    return [
        ReportMalfunction(now(), CONTROLLER, table.id, "store", "the store did not answer", "store")
        for table in jackpot.tables.values()
        if not table.unlinked and not table.suspended
    ]


def _win(jackpot: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "win_id": f"{jackpot}-{row['seq']}-{row['box']}",
        "table": row["table_id"],
        "round": row["round"],
        "box": row["box"],
        "hand": row["hand"],
        "amount_cents": row["amount_cents"],
        "status": row["status"],
    }
