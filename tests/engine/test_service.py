"""The service of one jackpot: it delivers in the loop's thread, notifies subscribers, reports a failing store."""

import asyncio
import threading

import pytest

from jackpot.core.commands import CreateJackpot, LinkTable, OpenRound
from jackpot.core.results import Decision
from jackpot.engine import writer
from jackpot.engine.committed_state import Position
from jackpot.engine.journal import Journal
from jackpot.engine.service import JackpotService
from jackpot.store.database import Database
from jackpot.store.errors import Fenced, Unreachable
from jackpot.store.schema import migrate
from tests.support.core_floor import AT, DEALER, MANAGER, PAD, PlaceWager, config

LIMIT_SECONDS = 60


class Recorder:
    """A subscriber that records what it was notified of, and in which thread."""

    def __init__(self, committed):
        self._committed = committed
        self.notified = asyncio.Event()
        self.events, self.statuses, self.threads = [], [], set()

    def on_commit(self, events):
        self.threads.add(threading.get_ident())
        assert events[-1][0] == self._committed.position.seq
        self.events += events
        self.notified.set()

    def on_status(self, table):
        self.threads.add(threading.get_ident())
        self.statuses.append((table, self._committed.store_failed))
        self.notified.set()


@pytest.fixture
def journal(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'jackpot.db'}")
    migrate(database)
    opened = Journal.open(database, "main", "test")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", config(), "mia", 1_000_000, 2_000_000)
    opened.execute([created, *(LinkTable(AT, MANAGER, table, 7) for table in ("t1", "t2"))])
    yield opened
    database.close()


def run(journal, scene):
    """Play a scene with a running service, then stop it."""

    async def whole():
        service = JackpotService(journal, lambda: None)
        recorder = Recorder(service.committed)
        service.committed.subscribe(recorder)
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                await scene(service, recorder)
        finally:
            await asyncio.to_thread(service.stop)

    asyncio.run(whole())


def wagers(count):
    return [PlaceWager(AT, PAD, "t1", box, f"w{box}", 1, 100, ante=True) for box in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, writer.BIG_BATCH + 2])
def test_a_batch_is_answered_and_notified_in_the_loops_thread_after_it_is_committed(journal, count):
    async def scene(service, recorder):
        await asyncio.wrap_future(service.submit(OpenRound(AT, DEALER, "t1")))
        answers, done = [], asyncio.Event()

        def reply(answer):
            recorder.threads.add(threading.get_ident())
            assert service.committed.jackpot.tables["t1"].round.lit, "the state is committed before the answer"
            answers.append(answer)
            if len(answers) == count:
                done.set()

        for wager in wagers(count):
            service.enqueue(wager, reply)
        await done.wait()
        assert all(isinstance(answer, Decision) for answer in answers)
        assert recorder.threads == {threading.get_ident()}
        assert [seq for seq, _ in recorder.events] == list(range(4, 5 + count))
        assert service.committed.position == Position(1, 4 + count)

    run(journal, scene)


def test_a_store_that_fails_is_shown_until_it_is_back_and_recorded_first(journal, monkeypatch):
    monkeypatch.setattr(writer, "FIRST_WAIT_SECONDS", 0.01)
    commit, is_down = journal.commit, True

    def failing(staged):
        if is_down:
            raise Unreachable("the disk is full")
        return commit(staged)

    monkeypatch.setattr(journal, "commit", failing)

    async def scene(service, recorder):
        nonlocal is_down
        answer = asyncio.wrap_future(service.submit(OpenRound(AT, DEALER, "t1")))
        await recorder.notified.wait()
        assert recorder.statuses == [(None, True)]
        is_down = False
        await asyncio.wait([answer])
        assert recorder.statuses[-1] == (None, False)
        assert [event.type for _, event in recorder.events[:2]] == ["table_suspended", "table_suspended"]
        assert {table.suspended for table in service.committed.jackpot.tables.values()} == {"store"}

    run(journal, scene)


def test_a_takeover_ends_the_service_and_nothing_is_carried_out(journal):
    async def scene(service, recorder):
        database = journal.lease.database
        await asyncio.to_thread(Journal.open, database, "main", "another")
        with pytest.raises(Fenced):
            await asyncio.to_thread(service.require_lease)
        with pytest.raises(Fenced):
            await asyncio.wrap_future(service.submit(OpenRound(AT, DEALER, "t1")))
        assert isinstance(await service.ended, Fenced)
        assert recorder.events == []

    run(journal, scene)


def test_a_raised_epoch_is_above_the_seen_one_and_keeps_the_sequence_number(journal):
    async def scene(service, recorder):
        raised = asyncio.Event()
        seq = service.committed.position.seq
        service.raise_epoch(40, raised.set)
        await raised.wait()
        assert service.committed.position == Position(41, seq)
        assert recorder.statuses == [(None, False)]
        service.raise_epoch(7, pytest.fail)  # an epoch below ours changes nothing
        await asyncio.wrap_future(service.submit(OpenRound(AT, DEALER, "t1")))
        assert service.committed.position == Position(41, seq + 1)

    run(journal, scene)


def test_a_failure_of_the_store_that_an_earlier_controller_left_is_recorded_unless_resumed(journal):
    async def scene(service, recorder):
        service.record_store_failures({"t2": service.committed.position.seq, "t9": 1})
        await recorder.notified.wait()
        assert [(event.type, event.table) for _, event in recorder.events] == [("table_suspended", "t2")]

    run(journal, scene)


def test_a_writer_that_is_stuck_in_a_call_with_work_waiting_is_a_store_failure_until_it_goes_on(journal):
    """A call that gives no error, such as a write to a disk that does not return, is seen from outside only."""
    released = threading.Event()

    async def scene(service, recorder):
        service._stall_seconds = 0.1
        service._writer.between_batches(released.wait)
        submitted = asyncio.wrap_future(service.submit(OpenRound(AT, DEALER, "t1")))
        while not service.committed.store_failed:
            await asyncio.sleep(0.01)
            service.check_progress()
        assert not submitted.done()
        released.set()
        await submitted
        while service.committed.jackpot.tables["t1"].suspended != "store":  # noqa: ASYNC110 - a state has no event
            await asyncio.sleep(0.01)
        assert not service.committed.store_failed
        assert (None, True) in recorder.statuses

    try:
        run(journal, scene)
    finally:
        released.set()
