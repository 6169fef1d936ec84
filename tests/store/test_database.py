"""A database's connections: SQLite's log folded beside the writer, and nobody kept waiting for ever."""

from contextlib import ExitStack

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackpot.store import database as module
from jackpot.store import flight
from jackpot.store.database import READERS, Database
from jackpot.store.errors import Unreachable


def filled(database, rows):
    with database.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS t (x)")
        for n in range(rows):
            connection.exec_driver_sql("INSERT INTO t VALUES (?)", (str(n) * 500,))


def test_what_is_folded_is_in_the_file_and_the_log_begins_anew(tmp_path):
    file = tmp_path / "a.db"
    log = tmp_path / "a.db-wal"
    database = Database(f"sqlite:///{file}")
    filled(database, 300)
    small, long = file.stat().st_size, log.stat().st_size
    database.fold()
    assert file.stat().st_size > small + 100_000
    for _ in range(5):
        filled(database, 300)
        database.fold()
    assert log.stat().st_size <= 2 * long
    database.close()


def test_a_reader_of_an_older_moment_is_not_disturbed_and_nothing_is_lost(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    filled(database, 10)
    with database.reader() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one() == 10
        filled(database, 10)
        database.fold()
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one() == 10
    database.fold()
    with database.reader() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar_one() == 20
    database.close()


def test_whoever_finds_every_connection_taken_is_told_to_ask_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FREE_SECONDS", 0.05)
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with ExitStack() as taken:
        for _ in range(READERS):
            taken.enter_context(database.reader())
        with pytest.raises(Unreachable, match="every connection is busy"), database.reader():
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
def test_any_texts_are_written_so_that_postgresql_reads_the_same(server, texts):
    assert server.execute("SELECT %s::text[]", [flight._written_texts(texts)]).fetchone()[0] == texts


@given(st.lists(st.binary(), min_size=1))
def test_any_bytes_are_written_so_that_postgresql_reads_the_same(server, values):
    assert server.execute("SELECT %s::bytea[]", [flight._written_bytes(values)]).fetchone()[0] == values


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_any_numbers_are_written_so_that_postgresql_reads_the_same(server, values):
    assert server.execute("SELECT %s::bigint[]", [flight._written_numbers(values)]).fetchone()[0] == values
