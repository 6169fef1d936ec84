"""The writer thread: everything that waits in one batch, answers only when durable, a checkpoint at the stop."""

import threading

import pytest
from sqlalchemy import select

from jackpot.core.answers import Refused
from jackpot.core.commands import Actor, CreateJackpot, LinkTable, OpenRound, PlaceWager, ReportMalfunction, Role
from jackpot.core.state import Config
from jackpot.store import tables, writer
from jackpot.store.audit import verify, write_checkpoint
from jackpot.store.book import Book
from jackpot.store.database import Database
from jackpot.store.errors import StoreError, Unreachable
from jackpot.store.notes import Signer
from jackpot.store.schema import migrate
from jackpot.store.writer import Hooks, TooBusyError, Writer
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
def book(database):
    opened = Book.open(database, "main", "test")
    opened.ask(
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


def test_every_command_is_answered_once_it_is_durable(database, book, wagers):
    working = Writer(book, sign(database))
    answers = [working.ask(wager) for wager in wagers]
    assert [answer.result(timeout=30).answer["verdict"] for answer in answers] == ["accepted"] * len(wagers)
    assert count(database, tables.wagers) == len(wagers)
    working.stop()


def test_what_waits_is_committed_together_and_a_refusal_disturbs_nobody(database, book, wagers, monkeypatch):
    batches, held = [], threading.Event()
    carried_out = book.ask

    def watched(commands, *where):
        held.wait(30)
        batches.append(len(commands))
        return carried_out(commands, *where)

    monkeypatch.setattr(book, "ask", watched)
    working = Writer(book, sign(database))
    answers = [working.ask(wager) for wager in wagers]
    wrong = working.ask(wagers[0]._replace(wager_id="other", amount_cents=1))
    held.set()
    working.stop()
    assert all(answer.result(timeout=0).answer["verdict"] == "accepted" for answer in answers)
    with pytest.raises(Refused):
        wrong.result(timeout=0)
    assert sum(batches) == len(wagers) + 1
    assert len(batches) <= 2


def test_a_stop_finishes_what_waits_and_signs_the_head(database, book, wagers):
    working = Writer(book, sign(database))
    answers = [working.ask(wager) for wager in wagers]
    working.stop()
    assert all(answer.done() for answer in answers)
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints.c.seq)).scalars().all() == [book.chain.head.seq]
    assert verify(database, "main", SIGNER.verifier).problem is None


def test_a_checkpoint_is_written_now_and_then(database, book, wagers, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_EVERY_EVENTS", 10)
    working = Writer(book, sign(database))
    for wager in wagers[:35]:
        working.ask(wager).result(timeout=30)
    working.stop()
    assert count(database, tables.checkpoints) >= 3


def test_too_many_waiting_commands_are_refused_at_the_door(database, book, wagers, monkeypatch):
    monkeypatch.setattr(writer, "MOST_WAITING", 5)
    held, carried_out = threading.Event(), book.ask
    monkeypatch.setattr(book, "ask", lambda commands, *_: carried_out(commands) if held.wait(30) else [])
    working = Writer(book, sign(database))

    def flood():
        return [working.ask(wager) for wager in wagers]

    with pytest.raises(TooBusyError, match="wait for the jackpot main"):
        flood()
    held.set()
    working.stop()
    assert 5 <= count(database, tables.wagers) < len(wagers)


def test_a_writer_whose_chain_was_taken_over_says_so_to_everyone_who_waits_and_takes_no_more(database, book, wagers):
    working = Writer(book, sign(database))
    usurper = Book.open(database, "main", "another")
    with pytest.raises(Exception, match="another controller has taken over"):
        working.ask(wagers[0]).result(timeout=30)
    with pytest.raises(StoreError):
        working.ask(wagers[1])
    assert usurper.ask([wagers[0]])[0].answer["verdict"] == "accepted"
    working.stop()


def test_a_writer_that_breaks_says_so_and_takes_no_more(database, book, wagers):
    ended = []
    hurt = Writer(book, sign(database), Hooks(ended=ended.append))
    hurt.between_batches(lambda: 1 // 0)
    waiting = hurt.ask(wagers[0])
    with pytest.raises(StoreError, match="has failed: ZeroDivisionError"):
        waiting.result(timeout=10)
    hurt.stop()
    assert [type(error) for error in ended] == [StoreError]
    with pytest.raises(StoreError):
        hurt.put(wagers[1], lambda _answer: None)


def test_a_store_that_fails_is_waited_for_and_what_was_recorded_first_is_the_failure(
    database, book, wagers, monkeypatch
):
    carried_out, tries, told = book.ask, [], []

    def failing(commands, *where):
        tries.append(len(commands))
        if len(tries) <= 4:
            raise Unreachable("the disk is full")
        return carried_out(commands, *where)

    monkeypatch.setattr(book, "ask", failing)
    monkeypatch.setattr(writer, "FIRST_WAIT_SECONDS", 0.01)
    report = ReportMalfunction(AT, PAD, "t0", "store", "the store did not answer", "store")
    hooks = writer.Hooks(failed=lambda error: told.append(str(error)), recovery=lambda _jackpot: [report])
    working = Writer(book, sign(database), hooks)
    with pytest.raises(Refused) as refused:
        working.ask(wagers[0]).result(timeout=30)
    other = working.ask(wagers[-1]).result(timeout=30)
    working.stop()
    assert (refused.value.code, other.answer["verdict"]) == ("table_suspended", "accepted")
    assert told == ["the disk is full"]
    with database.reader() as connection:
        kinds = connection.execute(select(tables.events.c.type).order_by(tables.events.c.seq)).scalars().all()
    assert kinds[-2:] == ["table_suspended", "wager_accepted"]


def test_a_stop_does_not_wait_for_a_store_that_fails(database, book, wagers, monkeypatch):
    def failing(*_):
        raise Unreachable("the disk is full")

    monkeypatch.setattr(book, "ask", failing)
    failed = threading.Event()
    working = Writer(book, sign(database), writer.Hooks(failed=lambda _error: failed.set()))
    answer = working.ask(wagers[0])
    assert failed.wait(30)
    working.stop()
    with pytest.raises(Unreachable):
        answer.result(timeout=0)
    assert count(database, tables.wagers) == 0
