"""Durability is required, not assumed: sessions commit durably, and a server that may lose commits is refused."""

import pytest
from sqlalchemy import event, text

from jackpot.store.database import Database
from jackpot.store.durability import require_durable
from jackpot.store.errors import NotDurable
from tests.support import postgres


def test_a_store_with_the_settings_of_this_program_is_durable(database):
    require_durable(database)


@pytest.fixture(scope="module")
def server():
    with postgres.restartable() as made:
        yield made


def restart(server, **settings):
    server.stop()
    server.start(**settings)
    return Database(server.url)


def committed_by(database):
    """The setting of `synchronous_commit` in a reading, a writing and the writer's own session."""
    shown = text("SELECT current_setting('synchronous_commit')")
    with database.reader() as connection:
        reading = connection.execute(shown).scalar_one()
    with database.transaction() as connection:
        writing = connection.execute(shown).scalar_one()
    with database.write_connection() as connection:
        own = connection.driver.execute("SELECT current_setting('synchronous_commit')").fetchone()[0]
    return reading, writing, own


@pytest.mark.parametrize(
    ("default", "expected"), [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")]
)
def test_every_session_waits_for_durable_commits_whatever_the_server_says(server, default, expected):
    database = restart(server, synchronous_commit=default)
    assert committed_by(database) == (expected, expected, expected)
    require_durable(database)
    database.close()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_commits_is_refused_with_the_setting_to_change(server, setting):
    database = restart(server, **{setting: "off"})
    with pytest.raises(NotDurable, match=f"{setting} is off on the server.*set {setting} = on"):
        require_durable(database)
    database.close()


@pytest.mark.parametrize(
    ("pragma", "problem"), [("synchronous=NORMAL", "synchronous is not FULL"), ("journal_mode=DELETE", "must be wal")]
)
def test_a_sqlite_file_that_may_lose_commits_is_refused(tmp_path, pragma, problem):
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    event.listen(database.reading, "connect", lambda connection, _entry: connection.execute(f"PRAGMA {pragma}"))
    with pytest.raises(NotDurable, match=problem):
        require_durable(database)
    database.close()
