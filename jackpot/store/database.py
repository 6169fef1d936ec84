"""A database, SQLite or PostgreSQL: one connection for the writer and a pool of connections for readers."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from sqlite3 import Connection as SqliteConnection
from threading import Lock
from typing import Any, Final, NamedTuple

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection

from jackpot.store.errors import Rejected, StoreError, Unreachable
from jackpot.store.postgres_connection import PostgresWriteConnection
from jackpot.store.postgres_session import (
    NETWORK_OPTIONS,
    Backend,
    TimedConnection,
    backend_of,
    end_abandoned,
    prepare_session,
)
from jackpot.store.write_connection import MAX_STATEMENTS, SqliteWriteConnection, WriteConnection

READERS: Final = 5
POOL_TIMEOUT_SECONDS: Final = 10
"""The time to wait for a free connection of the pool."""
MAX_BUSY_MS: Final = 10_000
LOCK_SHARE: Final = 2 / 3
"""A lock is waited for a part of the limit, so that the error of the database comes before the end of our patience."""
WRITER_CACHE_KIB: Final = 6_144
READER_CACHE_KIB: Final = 4_096
PAGE_BYTES: Final = 2_048
"""Small pages make commits small: in the index of ids each pad's newest wager is on a page of its own."""
WAL_PAGES: Final = 16_000
"""The length of the write-ahead log at which a commit checkpoints it by itself: see `checkpoint_wal`."""
CHECKPOINT_ATTEMPTS: Final = 3
"""Repeats of a checkpoint: each one finds less that was written during the one before."""

_DRIVERS: Final = (sqlite3.Error, psycopg.Error)
_REJECTIONS: Final = (sqlite3.IntegrityError, sqlite3.DataError, psycopg.IntegrityError, psycopg.DataError)
"""Errors of the row itself, which a retry cannot solve."""

_PASSING: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""Errors of SQLite that may pass: a full disk, a failing disk, a lock of another process."""
_PRIMARY_CODE: Final = 0xFF
"""The part of SQLite's extended error codes that is the kind of error."""


class Limits(NamedTuple):
    """How long one answer of the database may take, for writing and for reading; a controller sets short ones."""

    write_seconds: float = 60.0
    read_seconds: float = 60.0


class Database:
    """One database, with an engine to write it and one to read it."""

    def __init__(self, url: str, limits: Limits | None = None) -> None:
        self.url = _normalize_url(url)
        self.limits = limits or Limits()
        self.is_sqlite = self.url.startswith("sqlite")
        self.writing = self._engine(2, "BEGIN IMMEDIATE", WRITER_CACHE_KIB, self.limits.write_seconds)
        self._writer: tuple[PoolProxiedConnection, WriteConnection] | None = None
        self._write_lock = Lock()
        self._backend: Backend | None = None
        self._abandoned: list[Backend] = []
        self.reading = self._engine(READERS, "BEGIN", READER_CACHE_KIB, self.limits.read_seconds)

    def _engine(self, pool_size: int, begin: str, cache_kib: int, seconds: float) -> Engine:
        options: dict[str, Any] = {"cached_statements": MAX_STATEMENTS}
        if not self.is_sqlite:
            name = "jackpot-reader" if begin == "BEGIN" else "jackpot-writer"
            options = {"application_name": name, **_network_options(make_url(self.url))}
        engine = create_engine(
            self.url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=min(POOL_TIMEOUT_SECONDS, seconds),
            pool_pre_ping=not self.is_sqlite,
            connect_args=options,
        )
        lock_ms = int(seconds * LOCK_SHARE * 1_000)
        if self.is_sqlite:
            busy_ms = min(lock_ms, MAX_BUSY_MS)
            event.listen(engine, "connect", lambda connection, _: _prepare_sqlite(connection, cache_kib, busy_ms))
            event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        else:
            statement_ms = 0 if begin != "BEGIN" else int(seconds * 1_000)
            event.listen(engine, "do_connect", lambda _dialect, _record, _args, named: _connect(named, seconds))
            event.listen(
                engine,
                "connect",
                lambda connection, _: prepare_session(
                    connection, lock_ms=lock_ms, statement_ms=statement_ms, idle_ms=int(seconds * 1_000)
                ),
            )
        return engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a write transaction, committed at the end or rolled back on an error."""
        with translate_errors(self.url), self.writing.begin() as connection:
            yield connection

    @contextmanager
    def write_connection(self) -> Iterator[WriteConnection]:
        """Yield the writer's own connection, kept from batch to batch; roll back on any error."""
        with translate_errors(self.url), self._write_lock:
            if self._writer is None:
                self._writer = self._open_writer()
            try:
                yield self._writer[1]
            except BaseException:
                self._roll_back(*self._writer)
                raise

    def _open_writer(self) -> tuple[PoolProxiedConnection, WriteConnection]:
        """Open the writer's connection once its earlier sessions have ended on the server."""
        pooled = self.writing.raw_connection()
        driver: Any = pooled.dbapi_connection
        if self.is_sqlite:
            return pooled, SqliteWriteConnection(driver)
        try:
            while self._abandoned:
                end_abandoned(driver, self._abandoned[0])
                del self._abandoned[0]
            self._backend = backend_of(driver)
            driver.commit()
            return pooled, PostgresWriteConnection(driver, self.limits.write_seconds)
        except BaseException:
            pooled.invalidate()
            raise

    def _roll_back(self, pooled: PoolProxiedConnection, connection: WriteConnection) -> None:
        """Roll back; drop the connection if even that fails."""
        try:
            connection.rollback()
        except _DRIVERS:
            pooled.invalidate()
            self._writer = None
            if self._backend is not None:
                self._abandoned.append(self._backend)
                self._backend = None

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """Yield a connection for reading, on which all statements see one snapshot."""
        with translate_errors(self.url), self.reading.connect() as connection:
            if not self.is_sqlite:
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
            yield connection

    def checkpoint_wal(self) -> None:
        """Copy SQLite's write-ahead log into its file, in parallel with the writer, so that no commit has to do it.

        After a complete checkpoint the log is reused from its beginning, which is also faster than extending it.
        """
        if not self.is_sqlite:
            return
        with translate_errors(self.url), closing(self.reading.raw_connection()) as connection:
            for _ in range(CHECKPOINT_ATTEMPTS):
                _, length, copied = connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                if copied == length:
                    return

    def close(self) -> None:
        """Close every connection."""
        if self._writer is not None:
            self._writer[0].close()
            self._writer = None
        self.writing.dispose()
        self.reading.dispose()


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn a driver's errors into a `StoreError` whose message names the database without its password."""
    try:
        yield
    except (DBAPIError, *_DRIVERS) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        kind = Rejected if isinstance(cause, _REJECTIONS) else Unreachable
        raise kind(f"{url_without_password(url)}: {' '.join(str(cause).split())}") from error
    except PoolTimeoutError:
        raise Unreachable(
            f"{url_without_password(url)}: no connection was free for {POOL_TIMEOUT_SECONDS} s: try again"
        ) from None


def may_pass(error: Unreachable) -> bool:
    """Return True if waiting may help; not for a SQLite file that cannot be opened or is no database."""
    cause = error.__cause__
    driver = cause.orig if isinstance(cause, DBAPIError) else cause
    if not isinstance(driver, sqlite3.Error):
        return True
    return getattr(driver, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY_CODE in _PASSING


def url_without_password(url: str) -> str:
    """Return a database address with its password masked."""
    return re.sub(r"://([^:/@]+):[^@]*@", r"://\1:***@", url)


def _normalize_url(url: str) -> str:
    try:
        parsed = make_url(_separate_hosts(url))
    except (ArgumentError, ValueError):
        raise StoreError("invalid database address: write sqlite:///file.db or postgresql://…") from None
    if parsed.get_backend_name() == "sqlite":
        if not parsed.database:
            raise StoreError("the database address names no file: write sqlite:///file.db")
        return url
    if parsed.get_backend_name() == "postgresql":
        if isinstance(parsed.query.get("host"), tuple) and "target_session_attrs" not in parsed.query:
            parsed = parsed.update_query_dict({"target_session_attrs": "read-write"})
        return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    raise StoreError(f"the store must be SQLite or PostgreSQL, not {parsed.get_backend_name()}")


def _separate_hosts(url: str) -> str:
    """Return an address with several hosts (postgresql://a:5432,b:5432/name) in the form that SQLAlchemy reads."""
    match = re.fullmatch(r"(postgresql[^:/]*://)([^/?]*@)?([^/?@]*,[^/?@]*)(/[^?]*)?(?:\?(.*))?", url)
    if match is None:
        return url
    scheme, user, hosts, name, query = match.groups("")
    each = "&".join(f"host={host}" for host in hosts.split(","))
    return f"{scheme}{user}{name or '/'}?{each}{f'&{query}' if query else ''}"


def _network_options(url: URL) -> dict[str, Any]:
    """Return the options that notice a lost network, unless the address sets them."""
    return {name: value for name, value in NETWORK_OPTIONS.items() if name not in url.query}


def _connect(named: dict[str, Any], seconds: float) -> TimedConnection:
    connection = TimedConnection.connect(**named)
    connection.limit_seconds = seconds
    return connection


def _prepare_sqlite(connection: SqliteConnection, cache_kib: int, busy_ms: int) -> None:
    """Set durable commits, readers in parallel with the writer, constraints, and explicit transactions."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")  # for a new file; an existing one keeps its size
    pragmas = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "recursive_triggers=ON")
    sizes = (f"busy_timeout={busy_ms}", f"cache_size=-{cache_kib}", f"wal_autocheckpoint={WAL_PAGES}")
    for pragma in (*pragmas, *sizes):
        connection.execute(f"PRAGMA {pragma}")
