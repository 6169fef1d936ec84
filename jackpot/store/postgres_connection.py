"""The writer's connection to PostgreSQL: a whole transaction is sent and committed in one round trip.

Statements are queued until the commit. The fence comes first: the function `advance_head`, which raises an error if the
head has moved. Consecutive inserts are merged into one statement. All of them go through libpq's pipeline, which the
server runs as one transaction. Each column is sent as one array in text format: psycopg's own adaptation of values
costs more than the server's work on a wager, so libpq is used through psycopg's `pq`.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import pq
from sqlalchemy import BigInteger, Connection, Integer, LargeBinary, Table

from jackpot.store.postgres_session import unanswered
from jackpot.store.write_connection import (
    HeadMove,
    HeadMovedError,
    Renewal,
    Rows,
    StoredHead,
    WriteConnection,
    columns,
)

_ADVANCE_HEAD: Final = "SELECT advance_head(?, ?, ?, ?, ?, ?)"
_HEAD_MOVED: Final = "JP001"
"""The error code of `advance_head` (migrations 0005 and 0006)."""
_NOT_REPLICATED: Final = ("57014", "57P01")
"""The codes of the server's warning that a commit no longer waits for its standby: cancelled, or terminated."""
_RENEW: Final = """
UPDATE leases SET renewed_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM chains WHERE leases.chain = %s AND chains.chain = leases.chain AND chains.epoch = %s
RETURNING chains.epoch, chains.seq, chains.head, leases.wanted_by
"""
_READABLE: Final = select.POLLIN
_READABLE_OR_WRITABLE: Final = select.POLLIN | select.POLLOUT

Raw = list[bytes | None]


class _Statement(NamedTuple):
    """A statement queued for the commit; an insert names its table and may be merged with others."""

    text: str
    values: Raw
    table: str


class PostgresWriteConnection(WriteConnection):
    """A connection to a PostgreSQL server."""

    def __init__(self, driver: psycopg.Connection[Any], limit_seconds: float) -> None:
        super().__init__(driver)
        driver.autocommit = True
        driver.pgconn.notice_handler = self._note_warning
        self._limit_seconds = limit_seconds
        self._queued: list[_Statement] = []
        self._prepared: dict[str, bytes] = {}
        self._next_name = count()
        self._warning = ""

    def begin(self, move: HeadMove) -> None:
        """Send the fence first at the commit."""
        self._queued = [_Statement(_ADVANCE_HEAD, [_raw(value) for value in move], "")]

    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Insert rows in the order of the table's columns."""
        if rows:
            arrays = zip(_writers(table), zip(*rows, strict=True), strict=True)
            written: Raw = [_text_bytes(write(values)) for write, values in arrays]
            self._queued.append(_Statement(_insert_arrays(table, on_conflict), written, table.name))

    def run(self, statement: str, values: tuple[Any, ...]) -> None:
        """Queue a statement."""
        self._queued.append(_Statement(statement, [_raw(value) for value in values], ""))

    def commit(self) -> None:
        """Send everything in one pipeline, and wait until it is durable, but not longer than the limit.

        After the limit the outcome is not known; the connection is given up, never the commit cancelled.
        """
        statements = list(_merge_statements(self._queued))
        self._queued, self._warning = [], ""
        connection: pq.abc.PGconn = self.driver.pgconn
        connection.enter_pipeline_mode()
        prepared = self._prepare(connection, [text for text, _ in statements])
        for text, values in statements:
            connection.send_query_prepared(self._prepared.get(text) or prepared[text], values)
        connection.pipeline_sync()
        failed = _await_results(connection, self._limit_seconds)
        connection.exit_pipeline_mode()
        if failed is not None:
            raise HeadMovedError if _sqlstate(failed) == _HEAD_MOVED else _error(failed)
        self._prepared.update(prepared)
        self._require_replicated()

    def _prepare(self, connection: pq.abc.PGconn, texts: Sequence[str]) -> dict[str, bytes]:
        """Send the preparation of statements that are used for the first time; return their names."""
        new = {text: b"jackpot_%d" % next(self._next_name) for text in texts if text not in self._prepared}
        for text, name in new.items():
            connection.send_prepare(name, text.encode())
        return new

    def _note_warning(self, notice: pq.abc.PGresult) -> None:
        """Note a commit that no longer waits for its standby: it is visible here, and perhaps nowhere else."""
        if _sqlstate(notice) in _NOT_REPLICATED:
            self._warning = notice.error_message.decode(errors="replace").strip()

    def read_head(self, chain: str) -> StoredHead | None:
        """Return the head of a chain."""
        row = self.driver.execute("SELECT epoch, seq, head FROM chains WHERE chain = %s", (chain,)).fetchone()
        return None if row is None else StoredHead(row[0], row[1], bytes(row[2]))

    def renew(self, chain: str, epoch: int) -> Renewal | None:
        """Renew the lease; this is also a commit that the server acknowledges as durable and replicated."""
        self._warning = ""
        found = self.driver.execute(_RENEW, (chain, epoch)).fetchone()
        self._require_replicated()
        return None if found is None else Renewal(StoredHead(found[0], found[1], bytes(found[2])), found[3])

    def _require_replicated(self) -> None:
        if self._warning:
            self.driver.close()
            raise psycopg.OperationalError(f"not known to be replicated: {self._warning}")

    def rollback(self) -> None:
        """Drop the queued statements; close the connection if it broke off within a pipeline."""
        self._queued = []
        if self.driver.pgconn.pipeline_status != pq.PipelineStatus.OFF or self.driver.closed:
            self.driver.close()
            raise psycopg.OperationalError("the connection was lost")


def _await_results(connection: pq.abc.PGconn, limit_seconds: float) -> pq.abc.PGresult | None:
    """Wait for the results of a pipeline without holding the interpreter lock; return the first that failed."""
    ends = time.monotonic() + limit_seconds
    poll = select.poll()

    def wait() -> None:
        left_ms = (ends - time.monotonic()) * 1_000
        if left_ms <= 0 or not poll.poll(left_ms):
            raise unanswered(limit_seconds)
        connection.consume_input()

    poll.register(connection.socket, _READABLE_OR_WRITABLE)
    while connection.flush():
        wait()
    poll.modify(connection.socket, _READABLE)
    failed = None
    while True:
        while connection.is_busy():
            wait()
        result = connection.get_result()
        if result is None:
            if connection.status != pq.ConnStatus.OK:
                raise psycopg.OperationalError("the connection was lost")
        elif result.status == pq.ExecStatus.PIPELINE_SYNC:
            return failed
        elif result.status == pq.ExecStatus.FATAL_ERROR and failed is None:
            failed = result


def _sqlstate(result: pq.abc.PGresult) -> str:
    return (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()


def _error(result: pq.abc.PGresult) -> psycopg.Error:
    """Return a failed result as the exception that psycopg would raise."""
    try:
        kind = psycopg.errors.lookup(_sqlstate(result))
    except KeyError:
        kind = psycopg.OperationalError
    return kind(result.error_message.decode(errors="replace").strip())


def _merge_statements(queued: Sequence[_Statement]) -> Iterator[tuple[str, Raw]]:
    """Yield the fewest statements that do the same: inserts into different tables are merged into one."""
    at = 0
    while at < len(queued):
        tables: set[str] = set()
        end = at
        while end < len(queued) and queued[end].table and queued[end].table not in tables:
            tables.add(queued[end].table)
            end += 1
        end = max(end, at + 1)
        group = queued[at:end]
        yield _one_statement(tuple(each.text for each in group)), [value for each in group for value in each.values]
        at = end


@cache
def _one_statement(texts: tuple[str, ...]) -> str:
    """Return several statements as one, with numbered values."""
    *others, last = texts
    parts = [f"part_{n} AS ({text})" for n, text in enumerate(others)]
    return _numbered(f"WITH {', '.join(parts)} {last}" if parts else last)


def _numbered(text: str) -> str:
    first, *others = text.split("?")
    return "".join([first, *(f"${n}{other}" for n, other in zip(count(1), others))])


def copy_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert many rows by COPY, within SQLAlchemy's transaction."""
    driver: Any = connection.connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({columns(table)}) FROM STDIN") as copying:
        for row in rows:
            copying.write_row(row)


@cache
def _insert_arrays(table: Table, on_conflict: str) -> str:
    arrays = ", ".join(f"?::{_array_type(column.type)}[]" for column in table.columns)
    return f"INSERT INTO {table.name} ({columns(table)}) SELECT * FROM unnest({arrays}) {on_conflict}"  # noqa: S608 - our own names


@cache
def _writers(table: Table) -> list[Callable[[Sequence[Any]], str]]:
    """Return for each column the function that writes its values as a PostgreSQL array in text format."""
    by_type: dict[str, Callable[[Sequence[Any]], str]] = {"bytea": _bytes_array, "text": _text_array}
    return [by_type.get(_array_type(column.type), _number_array) for column in table.columns]


def _number_array(values: Sequence[int | None]) -> str:
    return f"{{{','.join(['NULL' if value is None else str(value) for value in values])}}}"


def _bytes_array(values: Sequence[bytes]) -> str:
    return "{" + ",".join(['"\\\\x' + value.hex() + '"' for value in values]) + "}"


def _text_array(values: Sequence[str | None]) -> str:
    return f"{{{','.join(['NULL' if value is None else _quoted(value) for value in values])}}}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'


def _raw(value: str | int | bytes | None) -> bytes | None:
    """Return a value in libpq's text format."""
    if value is None:
        return None
    return _text_bytes("\\x" + value.hex() if isinstance(value, bytes) else str(value))


def _text_bytes(text: str) -> bytes:
    """Return the bytes of a text; refuse a NUL, at which libpq would silently cut the text."""
    if "\0" in text:
        raise psycopg.DataError("PostgreSQL cannot store a text that contains a NUL (0x00)")
    return text.encode()


def _array_type(kind: Any) -> str:  # noqa: ANN401 - a column's type
    match kind:
        case BigInteger():
            return "bigint"
        case Integer():
            return "int"
        case LargeBinary():
            return "bytea"
    return "text"
