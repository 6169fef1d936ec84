"""Connections: SQLite's checkpoints, PostgreSQL's pipelined transactions, and the timeout of the pool."""

import sqlite3
from contextlib import ExitStack, closing

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from jackpot.store import database as module
from jackpot.store import postgres_connection, tables
from jackpot.store.database import READERS, Database, Limits, may_pass
from jackpot.store.errors import Rejected, StoreError, Unreachable
from jackpot.store.schema import migrate
from jackpot.store.write_connection import HeadMove, HeadMovedError
from tests.support.postgres import new_postgres_database


def filled(database, rows):
    with database.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS t (x)")
        for n in range(rows):
            connection.exec_driver_sql("INSERT INTO t VALUES (?)", (str(n) * 500,))


def test_a_checkpoint_moves_the_log_into_the_file_and_the_log_is_reused(tmp_path):
    file = tmp_path / "a.db"
    log = tmp_path / "a.db-wal"
    database = Database(f"sqlite:///{file}")
    filled(database, 300)
    small, long = file.stat().st_size, log.stat().st_size
    database.checkpoint_wal()
    assert file.stat().st_size > small + 100_000
    for _ in range(5):
        filled(database, 300)
        database.checkpoint_wal()
    assert log.stat().st_size <= 2 * long
    database.close()


def test_a_checkpoint_keeps_the_snapshot_of_an_older_reader(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    filled(database, 10)
    with database.reader() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one() == 10
        filled(database, 10)
        database.checkpoint_wal()
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one() == 10
    database.checkpoint_wal()
    with database.reader() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one() == 20
    database.close()


def test_a_reader_without_a_free_connection_gets_unreachable(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "POOL_TIMEOUT_SECONDS", 0.05)
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with ExitStack() as taken:
        for _ in range(READERS):
            taken.enter_context(database.reader())
        with pytest.raises(Unreachable, match="no connection was free"), database.reader():
            pass
    with database.reader() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    database.close()


@pytest.fixture(scope="module")
def server(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        yield connection


TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(TEXTS, min_size=1))
def test_postgresql_reads_any_text_array_unchanged(server, texts):
    assert server.execute("SELECT %s::text[]", [postgres_connection._text_array(texts)]).fetchone()[0] == texts


@given(st.lists(st.binary(), min_size=1))
def test_postgresql_reads_any_bytes_array_unchanged(server, values):
    assert server.execute("SELECT %s::bytea[]", [postgres_connection._bytes_array(values)]).fetchone()[0] == values


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_postgresql_reads_any_number_array_unchanged(server, values):
    assert server.execute("SELECT %s::bigint[]", [postgres_connection._number_array(values)]).fetchone()[0] == values


@pytest.fixture
def on_postgres(postgres_url):
    """A PostgreSQL database with the schema and one chain."""
    database = Database(new_postgres_database(postgres_url))
    migrate(database)
    with database.transaction() as connection:
        connection.execute(tables.chains.insert().values(("main", 0, b"x", 1, "o", 0)))
    yield database
    database.close()


def states(database):
    with database.reader() as connection:
        return sorted(connection.execute(select(tables.states.c.part, tables.states.c.body)).all())


def write(database, seq, *inserts, changes=(), chain="main"):
    """Write one transaction whose fence moves the chain on from this number."""
    with database.write_connection() as connection:
        connection.begin(HeadMove(chain, 1, seq, b"x", seq + 1, b"x"))
        for table, row, *on_conflict in inserts:
            connection.insert(table, [row], *on_conflict)
        for part, body in changes:
            connection.run("UPDATE states SET body = ? WHERE part = ?", (body, part))
        connection.commit()


def test_a_text_with_a_nul_is_refused_and_not_truncated(on_postgres):
    with pytest.raises(Rejected, match="NUL"):
        write(on_postgres, 0, (tables.states, ("main", "part", "before\0after")))
    with pytest.raises(Rejected, match="NUL"):
        write(on_postgres, 0, chain="ma\0in")
    assert states(on_postgres) == []


def test_a_transaction_keeps_its_order_within_a_table_and_does_nothing_if_its_fence_fails(on_postgres):
    notice = tables.outbox, ("n0", "now", "main", "type", "{}")
    replaced = "ON CONFLICT (chain, part) DO UPDATE SET body = '3'"
    first = [(tables.states, ("main", part, "1")) for part in ("a", "b")]
    write(on_postgres, 0, *first, (tables.states, ("main", "b", "2"), replaced), notice, changes=[("a", "4")])
    assert states(on_postgres) == [("a", "4"), ("b", "3")]
    another = tables.states, ("main", "c", "1")
    with pytest.raises(HeadMovedError):
        write(on_postgres, 7, another, notice)
    with pytest.raises(Rejected):
        write(on_postgres, 1, another, notice)  # the notice exists already
    assert states(on_postgres) == [("a", "4"), ("b", "3")]
    write(on_postgres, 1, another)
    assert states(on_postgres) == [("a", "4"), ("b", "3"), ("c", "1")]


REFUSE_AT_COMMIT = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not at the commit, either'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON states DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION refuse()
"""


def test_an_error_raised_only_by_the_commit_is_reported(on_postgres):
    with on_postgres.transaction() as connection:
        connection.exec_driver_sql(REFUSE_AT_COMMIT)
    for _ in range(2):
        with pytest.raises(StoreError, match="not at the commit, either"):
            write(on_postgres, 0, (tables.states, ("main", "a", "1")))
    assert states(on_postgres) == []
    write(on_postgres, 0, (tables.outbox, ("n0", "now", "main", "type", "{}")))


def failure(url):
    """Return the error of writing to a database without waiting long for it."""
    database = Database(url, Limits(0.1, 0.1))
    try:
        with pytest.raises(Unreachable) as caught, database.transaction() as connection:
            connection.exec_driver_sql("CREATE TABLE other (n)")
    finally:
        database.close()
    return caught.value


def test_a_locked_file_may_pass_and_one_that_is_no_database_or_cannot_be_opened_does_not(tmp_path):
    with closing(sqlite3.connect(tmp_path / "locked.db", isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode=WAL")
        holder.execute("BEGIN IMMEDIATE")
        assert may_pass(failure(f"sqlite:///{tmp_path / 'locked.db'}"))
    (tmp_path / "text.db").write_text("this is no database at all")
    assert not may_pass(failure(f"sqlite:///{tmp_path / 'text.db'}"))
    assert not may_pass(failure(f"sqlite:///{tmp_path / 'missing' / 'store.db'}"))


def test_a_server_that_is_down_may_pass():
    assert may_pass(failure("postgresql://nobody@127.0.0.1:1/nothing"))
