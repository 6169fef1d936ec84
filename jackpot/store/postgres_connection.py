"""The writer's connection to PostgreSQL: a whole transaction is sent and committed in one round trip.

Statements are queued until the commit. The fence comes first: the function `advance_head`, which raises an error if the
head has moved. Consecutive inserts are merged into one statement. All of them go through libpq's pipeline, which the
server runs as one transaction. Each column is sent as one array in text format: psycopg's own adaptation of values
costs more than the server's work on a wager, so libpq is used through psycopg's `pq`.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import pq
from sqlalchemy import BigInteger, Connection, Integer, LargeBinary, Table

from jackpot.store.write_connection import HeadMove, HeadMovedError, Rows, WriteConnection, columns

_ADVANCE_HEAD: Final = "SELECT advance_head(?, ?, ?, ?, ?)"
_HEAD_MOVED: Final = "JP001"
"""The error code of `advance_head` (migration 0005)."""
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

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        super().__init__(driver)
        driver.autocommit = True
        self._queued: list[_Statement] = []
        self._prepared: dict[str, bytes] = {}

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
        """Send everything in one pipeline, and wait until it is durable."""
        statements = [(self._prepared_name(text), values) for text, values in _merge_statements(self._queued)]
        self._queued = []
        connection: pq.abc.PGconn = self.driver.pgconn
        connection.enter_pipeline_mode()
        for name, values in statements:
            connection.send_query_prepared(name, values)
        connection.pipeline_sync()
        failed = _await_results(connection)
        connection.exit_pipeline_mode()
        if failed is not None:
            raise HeadMovedError if _sqlstate(failed) == _HEAD_MOVED else _error(failed)

    def rollback(self) -> None:
        """Drop the queued statements; close the connection if it broke off within a pipeline."""
        self._queued = []
        if self.driver.pgconn.pipeline_status != pq.PipelineStatus.OFF or self.driver.closed:
            self.driver.close()
            raise psycopg.OperationalError("the connection was lost")

    def _prepared_name(self, text: str) -> bytes:
        """Return the name of a prepared statement, prepared at its first use."""
        name = self._prepared.get(text)
        if name is None:
            name = b"jackpot_%d" % len(self._prepared)
            result = self.driver.pgconn.prepare(name, text.encode())
            if result.status != pq.ExecStatus.COMMAND_OK:
                raise _error(result)
            self._prepared[text] = name
        return name


def _await_results(connection: pq.abc.PGconn) -> pq.abc.PGresult | None:
    """Wait for the results of a pipeline without holding the interpreter lock; return the first that failed."""
    poll = select.poll()
    poll.register(connection.socket, _READABLE_OR_WRITABLE)
    while connection.flush():
        poll.poll()
        connection.consume_input()
    poll.modify(connection.socket, _READABLE)
    failed = None
    while True:
        while connection.is_busy():
            poll.poll()
            connection.consume_input()
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
