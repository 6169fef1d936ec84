"""The durability that a store must promise: a committed wager survives a crash of the server and of the machine."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

from jackpot.store.database import Database, url_without_password
from jackpot.store.errors import NotDurable

_REQUIRED_OF_POSTGRES: Final = ("fsync", "full_page_writes")
_DURABLE_COMMITS: Final = ("on", "remote_write", "remote_apply")
_SQLITE_FULL: Final = 2


def require_durable(database: Database) -> None:
    """Raise `NotDurable` if the server or the file may lose what it has committed."""
    with database.reader() as connection:
        problem = _sqlite_problem(connection) if database.is_sqlite else _postgres_problem(connection)
    if problem is not None:
        raise NotDurable(f"{url_without_password(database.url)}: {problem}")


def _postgres_problem(connection: Connection) -> str | None:
    for name in _REQUIRED_OF_POSTGRES:
        if _setting(connection, name) != "on":
            return f"{name} is off on the server, so a crash may lose committed wagers: set {name} = on"
    commits = _setting(connection, "synchronous_commit")
    if commits not in _DURABLE_COMMITS:
        return f"synchronous_commit is {commits} for this session, so a crash may lose committed wagers: allow on"
    return None


def _setting(connection: Connection, name: str) -> str:
    found = connection.execute(text("SELECT current_setting(:name)"), {"name": name}).scalar_one()
    return str(found)


def _sqlite_problem(connection: Connection) -> str | None:
    mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    if mode != "wal":
        return f"the journal mode is {mode} and must be wal: the file system may not support shared memory"
    if int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one()) < _SQLITE_FULL:
        return "synchronous is not FULL, so a power loss may lose committed wagers"
    return None
