"""A database's connections: SQLite's log folded beside the writer, and nobody kept waiting for ever."""

from contextlib import ExitStack

import pytest

from jackpot.store import database as module
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
