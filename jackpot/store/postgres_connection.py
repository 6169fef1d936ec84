"""PostgreSQL's side of the writer: a whole transaction travels at once, and is committed where it arrives.

Statements wait for the commit. Inserts that follow each other become one statement, the fence with them; what else is
there goes behind them in libpq's pipeline, which the server takes for one transaction where none was begun. A column is
one array, written as text here: psycopg's own way with values and cursors costs more than the server's work on a wager,
so libpq is spoken to through psycopg's `pq`.
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

from jackpot.store.write_connection import HeadMovedError, Rows, WriteConnection, columns

_OVERTAKEN: Final = psycopg.errors.DivisionByZero
"""How the one statement that moves the head says that there is nothing to move: no other of ours divides."""
_READABLE: Final = select.POLLIN
_BOTH: Final = select.POLLIN | select.POLLOUT

Raw = list[bytes | None]


class _Waiting(NamedTuple):
    """A statement that waits for the commit; what inserts names its table, and may travel within another's."""

    text: str
    values: Raw
    table: str


class PostgresWriteConnection(WriteConnection):
    """A connection to a PostgreSQL server."""

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        super().__init__(driver)
        driver.autocommit = True
        self._waiting: list[_Waiting] = []
        self._prepared: dict[str, bytes] = {}

    def begin(self, statement: str, values: tuple[Any, ...]) -> None:
        """With the statement that the rest depends on."""
        self._waiting = [_Waiting(statement, [_raw(value) for value in values], "chains")]

    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Rows, in the order of the table's columns."""
        if rows:
            arrays = zip(_writers(table), zip(*rows, strict=True), strict=True)
            written: Raw = [_sound(write(values)) for write, values in arrays]
            self._waiting.append(_Waiting(_insert_arrays(table, on_conflict), written, table.name))

    def run(self, statement: str, values: tuple[Any, ...]) -> None:
        """A statement."""
        self._waiting.append(_Waiting(statement, [_raw(value) for value in values], ""))

    def commit(self) -> None:
        """All of it, durably."""
        fly = [(self._name(text), values) for text, values in _together(self._waiting)]
        self._waiting = []
        connection: pq.abc.PGconn = self.driver.pgconn
        connection.enter_pipeline_mode()
        for name, values in fly:
            connection.send_query_prepared(name, values)
        connection.pipeline_sync()
        problem = _await_landing(connection)
        connection.exit_pipeline_mode()
        if problem is not None:
            raise HeadMovedError if isinstance(problem, _OVERTAKEN) else problem

    def rollback(self) -> None:
        """Nothing of it was sent, or the server has undone it; a flight that broke off takes its connection along."""
        self._waiting = []
        if self.driver.pgconn.pipeline_status != pq.PipelineStatus.OFF or self.driver.closed:
            self.driver.close()
            raise psycopg.OperationalError("the connection was lost")

    def _name(self, text: str) -> bytes:
        """What the server knows a statement by; it is told a new one first."""
        name = self._prepared.get(text)
        if name is None:
            name = b"jackpot_%d" % len(self._prepared)
            told = self.driver.pgconn.prepare(name, text.encode())
            if told.status != pq.ExecStatus.COMMAND_OK:
                raise _error(told)
            self._prepared[text] = name
        return name


def _await_landing(connection: pq.abc.PGconn) -> psycopg.Error | None:
    """Wait until the server has answered all of it, letting others compute meanwhile; what went wrong, if anything."""
    poll = select.poll()
    poll.register(connection.socket, _BOTH)
    while connection.flush():
        poll.poll()
        connection.consume_input()
    poll.modify(connection.socket, _READABLE)
    problem = None
    while True:
        while connection.is_busy():
            poll.poll()
            connection.consume_input()
        result = connection.get_result()
        if result is None:
            if connection.status != pq.ConnStatus.OK:
                raise psycopg.OperationalError("the connection was lost")
        elif result.status == pq.ExecStatus.PIPELINE_SYNC:
            return problem
        elif result.status == pq.ExecStatus.FATAL_ERROR and problem is None:
            problem = _error(result)


def _error(result: pq.abc.PGresult) -> psycopg.Error:
    """A server's complaint as psycopg would raise it."""
    state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
    try:
        kind = psycopg.errors.lookup(state)
    except KeyError:
        kind = psycopg.OperationalError
    return kind(result.error_message.decode(errors="replace").strip())


def _together(waiting: Sequence[_Waiting]) -> Iterator[tuple[str, Raw]]:
    """The fewest statements that do the same: what inserts into different tables may happen at once."""
    at = 0
    while at < len(waiting):
        tables: set[str] = set()
        end = at
        while end < len(waiting) and waiting[end].table and waiting[end].table not in tables:
            tables.add(waiting[end].table)
            end += 1
        end = max(end, at + 1)
        some = waiting[at:end]
        yield _one(tuple(each.text for each in some), is_first=at == 0), [v for each in some for v in each.values]
        at = end


@cache
def _one(texts: tuple[str, ...], *, is_first: bool) -> str:
    """Several statements as one, with numbered values; the first of all must change a row, or nothing holds."""
    if is_first:
        fence, *others = texts
        parts = [f"fence AS ({fence} RETURNING 1)", *(f"part_{n} AS ({text})" for n, text in enumerate(others))]
        return _numbered(f"WITH {', '.join(parts)} SELECT 1 / count(*) FROM fence")  # noqa: S608 - our own statements
    *others, last = texts
    parts = [f"part_{n} AS ({text})" for n, text in enumerate(others)]
    return _numbered(f"WITH {', '.join(parts)} {last}" if parts else last)


def _numbered(text: str) -> str:
    first, *others = text.split("?")
    return "".join([first, *(f"${n}{other}" for n, other in zip(count(1), others))])


def copy_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert very many rows, a whole table's, within SQLAlchemy's transaction."""
    driver: Any = connection.connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({columns(table)}) FROM STDIN") as copying:
        for row in rows:
            copying.write_row(row)


@cache
def _insert_arrays(table: Table, on_conflict: str) -> str:
    arrays = ", ".join(f"?::{_array(column.type)}[]" for column in table.columns)
    return f"INSERT INTO {table.name} ({columns(table)}) SELECT * FROM unnest({arrays}) {on_conflict}"  # noqa: S608 - our own names


@cache
def _writers(table: Table) -> list[Callable[[Sequence[Any]], str]]:
    """How each column's values are written as PostgreSQL's text of an array."""
    by_type: dict[str, Callable[[Sequence[Any]], str]] = {"bytea": _written_bytes, "text": _written_texts}
    return [by_type.get(_array(column.type), _written_numbers) for column in table.columns]


def _written_numbers(values: Sequence[int | None]) -> str:
    return f"{{{','.join(['NULL' if value is None else str(value) for value in values])}}}"


def _written_bytes(values: Sequence[bytes]) -> str:
    return "{" + ",".join(['"\\\\x' + value.hex() + '"' for value in values]) + "}"


def _written_texts(values: Sequence[str | None]) -> str:
    return f"{{{','.join(['NULL' if value is None else _quoted(value) for value in values])}}}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'


def _raw(value: str | int | bytes | None) -> bytes | None:
    """A value as libpq takes it: as text."""
    if value is None:
        return None
    return _sound("\\x" + value.hex() if isinstance(value, bytes) else str(value))


def _sound(text: str) -> bytes:
    """As bytes that end where they seem to: libpq would cut a text at a zero, silently."""
    if "\0" in text:
        raise psycopg.DataError("PostgreSQL cannot hold a text with a NUL (0x00) in it")
    return text.encode()


def _array(kind: Any) -> str:  # noqa: ANN401 - a column's type
    match kind:
        case BigInteger():
            return "bigint"
        case Integer():
            return "int"
        case LargeBinary():
            return "bytea"
    return "text"
