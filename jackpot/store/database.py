"""Opening a database: SQLite or PostgreSQL, a line for the writer, a few connections beside it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from sqlite3 import Connection as SqliteConnection
from threading import Lock
from typing import Any, Final

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoneFreeError
from sqlalchemy.pool import PoolProxiedConnection

from jackpot.store.errors import Rejected, StoreError, Unreachable
from jackpot.store.postgres_connection import PostgresWriteConnection
from jackpot.store.write_connection import MAX_STATEMENTS, SqliteWriteConnection, WriteConnection

READERS: Final = 5
FREE_SECONDS: Final = 10
"""How long somebody waits for a connection that others have."""
BUSY_MS: Final = 10_000
WRITER_CACHE_KIB: Final = 6_144
READER_CACHE_KIB: Final = 4_096
PAGE_BYTES: Final = 2_048
"""Each pad's newest wager stands on a page of its own in the index of ids: small pages make a commit small."""
WAL_PAGES: Final = 16_000
"""How long the write-ahead log may become before a commit must fold it into the file by itself: see `fold`."""
FOLDS: Final = 3
"""How often the log is folded at once: what was written meanwhile is little, and then less."""


_DRIVERS: Final = (sqlite3.Error, psycopg.Error)
_REFUSALS: Final = (sqlite3.IntegrityError, sqlite3.DataError, psycopg.IntegrityError, psycopg.DataError)
"""What to ask again is of no use for: the row is wrong, not the moment."""


class Database:
    """One database, with an engine to write it and one to read it."""

    def __init__(self, url: str) -> None:
        self.url = _checked(url)
        self.is_sqlite = self.url.startswith("sqlite")
        self.writing = self._engine(2, "BEGIN IMMEDIATE", WRITER_CACHE_KIB)
        self._held: tuple[PoolProxiedConnection, WriteConnection] | None = None
        self._writes = Lock()
        self.reading = self._engine(READERS, "BEGIN", READER_CACHE_KIB)

    def _engine(self, pool_size: int, begin: str, cache_kib: int) -> Engine:
        options = {"cached_statements": MAX_STATEMENTS} if self.is_sqlite else {}
        engine = create_engine(
            self.url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=FREE_SECONDS,
            pool_pre_ping=not self.is_sqlite,
            connect_args=options,
        )
        if self.is_sqlite:
            event.listen(engine, "connect", lambda connection, _entry: _prepare_sqlite(connection, cache_kib))
            event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction of the writer; all of it, or nothing."""
        with explained(self.url), self.writing.begin() as connection:
            yield connection

    @contextmanager
    def write_connection(self) -> Iterator[WriteConnection]:
        """The writer's own connection, kept from batch to batch; on any error the transaction is undone."""
        with explained(self.url), self._writes:
            if self._held is None:
                held = self.writing.raw_connection()
                driver: Any = held.dbapi_connection
                self._held = held, SqliteWriteConnection(driver) if self.is_sqlite else PostgresWriteConnection(driver)
            try:
                yield self._held[1]
            except BaseException:
                self._undo(*self._held)
                raise

    def _undo(self, held: PoolProxiedConnection, line: WriteConnection) -> None:
        """Roll back; a connection that cannot even do that is let go."""
        try:
            line.rollback()
        except _DRIVERS:
            held.invalidate()
            self._held = None

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection for reading, all from one moment."""
        with explained(self.url), self.reading.connect() as connection:
            if not self.is_sqlite:
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
            yield connection

    def checkpoint_wal(self) -> None:
        """Fold SQLite's write-ahead log into its file, beside whoever writes: a commit that must do it is late.

        When all of it is folded the log begins anew, in place, which is also quicker than to make it longer.
        """
        if not self.is_sqlite:
            return
        with explained(self.url), closing(self.reading.raw_connection()) as connection:
            for _ in range(FOLDS):
                _, length, folded = connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                if folded == length:
                    return

    def close(self) -> None:
        """Let go of every connection."""
        if self._held is not None:
            self._held[0].close()
            self._held = None
        self.writing.dispose()
        self.reading.dispose()


@contextmanager
def explained(url: str) -> Iterator[None]:
    """A driver's complaint becomes one sentence that names the database and hides its password."""
    try:
        yield
    except (DBAPIError, *_DRIVERS) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        kind = Rejected if isinstance(cause, _REFUSALS) else Unreachable
        raise kind(f"{shown(url)}: {' '.join(str(cause).split())}") from error
    except NoneFreeError:
        raise Unreachable(f"{shown(url)}: every connection is busy for {FREE_SECONDS} s already: ask again") from None


def shown(url: str) -> str:
    """An address as it may be shown: without its password."""
    return re.sub(r"://([^:/@]+):[^@]*@", r"://\1:***@", url)


def _checked(url: str) -> str:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError("the database address is not understood: write sqlite:///file.db or postgresql://…") from None
    if parsed.get_backend_name() == "sqlite":
        if not parsed.database:
            raise StoreError("the database address names no file, so it is not there: write sqlite:///file.db")
        return url
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    raise StoreError(f"the store is SQLite or PostgreSQL, not {parsed.get_backend_name()}")


def _prepare_sqlite(connection: SqliteConnection, cache_kib: int) -> None:
    """Durable after every commit, readers beside the writer, constraints on, transactions begun by us alone."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")  # of a new file; one that is there keeps its own
    pragmas = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "recursive_triggers=ON")
    sizes = (f"busy_timeout={BUSY_MS}", f"cache_size=-{cache_kib}", f"wal_autocheckpoint={WAL_PAGES}")
    for pragma in (*pragmas, *sizes):
        connection.execute(f"PRAGMA {pragma}")
