"""A fence that does not hold has one of four reasons, and only after a commit of our own does the owner go on."""

import os
import socket
import threading

import psycopg
import pytest
from sqlalchemy import select, text, update

from jackpot.core.commands import Actor, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.store import tables
from jackpot.store.database import Database, Limits
from jackpot.store.errors import Forked, RolledBack, StoreError, TakenOver
from jackpot.store.schema import migrate
from rules.jackpot_prizes import FixedFrom
from tests.support.daemon import wait_until
from tests.support.postgres import empty_database, new_postgres_database

AT = "2026-11-15T09:30:00.000Z"
MANAGER, DEALER, PAD = Actor("max", Role.MANAGER), Actor("dealer"), Actor("pad")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    database = empty_database(request.param, tmp_path, request)
    migrate(database)
    yield database
    database.close()


@pytest.fixture
def on_postgres(postgres_url):
    """A database whose writer waits half a minute for a lock, as a slow server would make it."""
    database = Database(new_postgres_database(postgres_url), Limits(write_seconds=40))
    migrate(database)
    yield database
    database.close()


def opened(database):
    journal = Journal.open(database, "main", "first")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    journal.execute([created, LinkTable(AT, MANAGER, "t1", 7), OpenRound(AT, DEALER, "t1")])
    return journal


def wager(box):
    return PlaceWager(AT, PAD, "t1", box, f"w{box}", 1, 200, ante=True)


def staged(journal, command):
    return journal.stage(journal.decide([command], journal.look_up_ids([command])))


def accepted(database):
    e = tables.events.c
    with database.reader() as connection:
        return connection.execute(select(e.seq).where(e.chain == "main", e.type == "wager_accepted")).all()


def set_head(database, **values):
    with database.transaction() as connection:
        connection.execute(update(tables.chains).where(tables.chains.c.chain == "main").values(**values))


def test_a_controller_that_was_taken_over_learns_it_from_a_commit_and_from_an_idle_renewal(store):
    journal = opened(store)
    other = Database(store.url)
    Journal.open(other, "main", "second")
    other.close()
    with pytest.raises(TakenOver, match="another controller has taken over main"):
        journal.lease.renew()
    with pytest.raises(TakenOver):
        journal.execute([wager(1)])
    assert not accepted(store)


def test_a_store_that_went_back_is_noticed_by_a_commit_and_by_an_idle_renewal(store):
    journal = opened(store)
    head = journal.lease.head
    journal.execute([wager(1)])
    set_head(store, seq=head.seq, head=head.hash)
    with pytest.raises(RolledBack, match=rf"ends at event {head.seq}, but event {head.seq + 1} was committed"):
        journal.lease.renew()
    with pytest.raises(RolledBack):
        journal.execute([wager(2)])


@pytest.mark.parametrize("further", [0, 1])
def test_other_events_at_our_own_epoch_are_a_fork(store, further):
    journal = opened(store)
    set_head(store, seq=journal.lease.head.seq + further, head=b"another history")
    with pytest.raises(Forked, match="was changed at event"):
        journal.lease.renew()
    with pytest.raises(Forked):
        journal.execute([wager(1)])
    assert not accepted(store)


def waits_for_lock(database):
    """Return True if a writer of this database waits for a lock."""
    query = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'jackpot-writer' AND wait_event_type = 'Lock'"
    with database.reader() as connection:
        return connection.execute(text(f"{query} AND datname = current_database()")).first() is not None


def test_a_commit_whose_connection_is_cut_is_ended_on_the_server_before_it_is_tried_again(on_postgres):
    """The server would finish the cut commit later, and the controller would take it for another's (0.1.0 did)."""
    journal = opened(on_postgres)
    with on_postgres.write_connection() as connection:
        wire = connection.driver.pgconn.socket
    outcomes = []

    def commit():
        try:
            journal.execute([wager(1)])
        except StoreError as error:
            outcomes.append(error)

    with psycopg.connect(on_postgres.url.replace("+psycopg", "")) as locking:
        locking.execute("LOCK TABLE transfers")
        working = threading.Thread(target=commit)
        working.start()
        wait_until(lambda: waits_for_lock(on_postgres), "the commit")
        with socket.socket(fileno=os.dup(wire)) as cut:
            cut.shutdown(socket.SHUT_RDWR)
        working.join()
    assert len(outcomes) == 1
    assert journal.resolve_unconfirmed() is None
    journal.execute([wager(1), wager(2)])
    assert len(accepted(on_postgres)) == 2


def test_our_own_commit_that_took_place_is_found_and_only_reported_after_a_later_commit(on_postgres, monkeypatch):
    journal = opened(on_postgres)
    renewals = []
    with on_postgres.write_connection() as connection:
        kind = type(connection)
    real_commit, real_renew = kind.commit, kind.renew

    def renew(connection, chain, epoch):
        renewals.append(chain)
        return real_renew(connection, chain, epoch)

    def commit(connection):
        real_commit(connection)
        connection.driver.close()
        raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(kind, "renew", renew)
    monkeypatch.setattr(kind, "commit", commit)
    outcomes = journal.execute([wager(1)])
    assert [outcome.answer["verdict"] for outcome in outcomes] == ["accepted"]
    assert renewals == ["main"]
    monkeypatch.setattr(kind, "commit", real_commit)
    journal.execute([wager(2)])
    assert len(accepted(on_postgres)) == 2


def test_an_own_commit_that_takes_place_late_is_taken_in_although_another_was_tried_meanwhile(store, monkeypatch):
    """Nothing relies on the server alone: a late commit of our own is known by its hash."""
    journal = opened(store)
    late, second = staged(journal, wager(1)), staged(journal, wager(2))
    with store.write_connection() as connection:
        kind = type(connection)
    real = kind.commit

    def lose(connection):
        connection.rollback()
        raise psycopg.OperationalError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(kind, "commit", lose)
        with pytest.raises(StoreError):
            journal.commit(late)
    assert journal.resolve_unconfirmed() is None
    other = Database(store.url)
    twin = Journal(type(journal.lease)(other, "main", journal.lease.head), journal.jackpot)
    monkeypatch.setattr(kind, "commit", real)
    twin.commit(late)
    other.close()
    with pytest.raises(StoreError, match="took place after all"):
        journal.commit(second)
    landed = journal.resolve_unconfirmed()
    assert list(landed.commands) == [wager(1)]
    journal.execute([wager(2)])
    assert len(accepted(store)) == 2
