"""SQLite's write-ahead log is folded into its file beside the writer, so that no commit has to."""

from jackpot.store.database import Database


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
