"""The writer thread: waiting commands in one batch, answers only when durable, a checkpoint at the stop."""

import threading

import pytest
from sqlalchemy import select

from jackpot.core.commands import Actor, CreateJackpot, LinkTable, OpenRound, PlaceWager, ReportMalfunction, Role
from jackpot.core.results import Refused
from jackpot.core.state import Config
from jackpot.engine import writer
from jackpot.engine.journal import Journal
from jackpot.engine.writer import Hooks, TooBusyError, Writer
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.errors import StoreError, TakenOver, Unreachable
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import verify
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
MANAGER, PAD = Actor("max", Role.MANAGER), Actor("pad")
CONFIG = Config(1, 200, 7_000, 3_000, 1_000_000, FixedFrom.RESERVE, ("royal_flush",))
SIGNER = Signer.new("casino")


@pytest.fixture
def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(opened)
    yield opened
    opened.close()


@pytest.fixture
def journal(database):
    opened = Journal.open(database, "main", "test")
    opened.execute(
        [
            CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000),
            *(LinkTable(AT, MANAGER, f"t{n}", 7) for n in range(20)),
            *(OpenRound(AT, PAD, f"t{n}") for n in range(20)),
        ]
    )
    return opened


@pytest.fixture
def wagers():
    return [
        PlaceWager(AT, PAD, f"t{n}", box, f"t{n}b{box}", 1, 200, ante=True) for n in range(20) for box in range(1, 8)
    ]


def sign(database):
    return lambda: write_checkpoint(database, "main", SIGNER)


def count(database, table):
    with database.reader() as connection:
        return len(connection.execute(select(table)).all())


def test_every_command_is_answered_once_it_is_durable(database, journal, wagers):
    working = Writer(journal, sign(database))
    answers = [working.submit(wager) for wager in wagers]
    assert [answer.result(timeout=30).answer["verdict"] for answer in answers] == ["accepted"] * len(wagers)
    assert count(database, tables.wagers) == len(wagers)
    working.stop()


def test_waiting_commands_are_committed_together_whatever_is_refused(database, journal, wagers, monkeypatch):
    batches, held = [], threading.Event()
    commit = journal.commit

    def watched(staged):
        held.wait(30)
        batches.append(len(staged.decided.outcomes))
        return commit(staged)

    monkeypatch.setattr(journal, "commit", watched)
    working = Writer(journal, sign(database))
    answers = [working.submit(wager) for wager in wagers]
    wrong = working.submit(wagers[0]._replace(wager_id="other", amount_cents=1))
    held.set()
    working.stop()
    assert all(answer.result(timeout=0).answer["verdict"] == "accepted" for answer in answers)
    with pytest.raises(Refused):
        wrong.result(timeout=0)
    assert sum(batches) == len(wagers) + 1
    assert len(batches) <= 2


def test_a_stop_finishes_what_waits_and_signs_the_head(database, journal, wagers):
    working = Writer(journal, sign(database))
    answers = [working.submit(wager) for wager in wagers]
    working.stop()
    assert all(answer.done() for answer in answers)
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints.c.seq)).scalars().all() == [journal.lease.head.seq]
    assert verify(database, "main", SIGNER.verifier).problem is None


def test_a_checkpoint_is_written_every_so_many_events(database, journal, wagers, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_EVERY_EVENTS", 10)
    working = Writer(journal, sign(database))
    for wager in wagers[:35]:
        working.submit(wager).result(timeout=30)
    working.stop()
    assert count(database, tables.checkpoints) >= 3


def test_a_command_is_refused_while_too_many_wait(database, journal, wagers, monkeypatch):
    monkeypatch.setattr(writer, "MAX_WAITING", 5)
    held, commit = threading.Event(), journal.commit
    monkeypatch.setattr(journal, "commit", lambda staged: commit(staged) if held.wait(30) else [])
    working = Writer(journal, sign(database))

    def flood():
        return [working.submit(wager) for wager in wagers]

    with pytest.raises(TooBusyError, match="wait for the jackpot main"):
        flood()
    held.set()
    working.stop()
    assert 5 <= count(database, tables.wagers) < len(wagers)


def test_a_writer_that_lost_its_lease_refuses_waiting_and_new_commands(database, journal, wagers):
    working = Writer(journal, sign(database))
    usurper = Journal.open(database, "main", "another")
    with pytest.raises(Exception, match="another controller has taken over"):
        working.submit(wagers[0]).result(timeout=30)
    with pytest.raises(StoreError):
        working.submit(wagers[1])
    assert usurper.execute([wagers[0]])[0].answer["verdict"] == "accepted"
    working.stop()


def test_a_writer_that_fails_refuses_waiting_and_new_commands(database, journal, wagers):
    ended = []
    hurt = Writer(journal, sign(database), Hooks(ended=ended.append))
    hurt.between_batches(lambda: 1 // 0)
    waiting = hurt.submit(wagers[0])
    with pytest.raises(StoreError, match="has failed: ZeroDivisionError"):
        waiting.result(timeout=10)
    hurt.stop()
    assert [type(error) for error in ended] == [StoreError]
    with pytest.raises(StoreError):
        hurt.enqueue(wagers[1], lambda _answer: None)


def test_a_failing_store_is_retried_and_its_failure_is_recorded_first(database, journal, wagers, monkeypatch):
    commit, tries, failures = journal.commit, [], []

    def failing(staged):
        tries.append(staged)
        if len(tries) <= 4:
            raise Unreachable("the disk is full")
        return commit(staged)

    monkeypatch.setattr(journal, "commit", failing)
    monkeypatch.setattr(writer, "FIRST_WAIT_SECONDS", 0.01)
    report = ReportMalfunction(AT, PAD, "t0", "store", "the store did not answer", "store")
    hooks = writer.Hooks(failed=lambda error: failures.append(str(error)), recovery=lambda _jackpot: [report])
    working = Writer(journal, sign(database), hooks)
    with pytest.raises(Refused) as refused:
        working.submit(wagers[0]).result(timeout=30)
    other = working.submit(wagers[-1]).result(timeout=30)
    working.stop()
    assert (refused.value.code, other.answer["verdict"]) == ("table_suspended", "accepted")
    assert failures == ["the disk is full"]
    with database.reader() as connection:
        kinds = connection.execute(select(tables.events.c.type).order_by(tables.events.c.seq)).scalars().all()
    assert kinds[-2:] == ["table_suspended", "wager_accepted"]


def test_a_stop_does_not_wait_for_a_failing_store(database, journal, wagers, monkeypatch):
    def failing(*_):
        raise Unreachable("the disk is full")

    monkeypatch.setattr(journal, "commit", failing)
    failed = threading.Event()
    working = Writer(journal, sign(database), writer.Hooks(failed=lambda _error: failed.set()))
    answer = working.submit(wagers[0])
    assert failed.wait(30)
    working.stop()
    with pytest.raises(Unreachable):
        answer.result(timeout=0)
    assert count(database, tables.wagers) == 0


# What the service learns from the writer.


def test_the_oldest_wait_is_that_of_the_oldest_command_however_long_the_writer_is_busy(journal, wagers, monkeypatch):
    """Collected by hand, at known times: a writer that is always busy is not one that makes no progress."""
    monkeypatch.setattr(writer.threading.Thread, "start", lambda _thread: None)
    monkeypatch.setattr(writer, "MAX_BATCH", 2)
    clock = iter(range(1_000))
    monkeypatch.setattr(writer.time, "monotonic", lambda: float(next(clock)))
    working = Writer(journal, lambda: None)
    for wager in wagers[:5]:
        working.enqueue(wager, writer.ignore_reply)
    waits = []
    for _ in range(3):
        requests, _, _ = working._collect()
        now = writer.time.monotonic()
        waits.append(working.oldest_wait_seconds() - (now + 1 - requests[0].since))
        working._in_hand_since = None
    assert waits == [0, 0, 0]
    assert working.oldest_wait_seconds() == 0


def test_a_writer_that_has_stopped_refuses_commands_instead_of_leaving_them_unanswered(journal, wagers):
    working = Writer(journal, lambda: None)
    assert working.stop()
    with pytest.raises(TakenOver, match="has stopped serving main"):
        working.submit(wagers[0])


@pytest.mark.parametrize(("error", "reported"), [(StoreError("changed"), True), (Unreachable("away"), False)])
def test_a_refusal_to_sign_is_reported_and_an_unreachable_store_is_tried_again(journal, error, reported):
    found = []

    def refuse():
        raise error

    working = Writer(journal, refuse, Hooks(unsigned=found.append))
    working.stop()
    assert found == ([error] if reported else [])
