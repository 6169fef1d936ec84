"""A driver's connection, spoken to directly: every batch goes through here, and SQLAlchemy costs more than the batch.

SQLite: many rows in each statement, because Python lets other threads in at every statement and then waits for its
turn. PostgreSQL: a column is one array, written as text here, and all statements travel together. What a driver
complains of is made a sentence by `explained`, as everything else is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import BigInteger, Connection, Integer, LargeBinary, Table

MOST_ROWS: Final = 64
"""Rows of one statement in SQLite."""
MOST_STATEMENTS: Final = 512
"""How many statements a SQLite connection keeps prepared: every number of rows, for the tables that wagers fill."""

Rows = Sequence[tuple[Any, ...]]


class Line(NamedTuple):
    """One connection; a transaction at a time."""

    driver: Any
    is_sqlite: bool

    @classmethod
    def of(cls, connection: Connection) -> Line:
        """The driver's connection under SQLAlchemy's; its transaction is SQLAlchemy's business."""
        return cls(connection.connection, connection.dialect.name == "sqlite")

    def begin(self) -> None:
        """Begin a transaction that will write; psycopg begins it by itself."""
        if self.is_sqlite:
            self.driver.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """All of it, durably."""
        self.driver.commit()

    def rollback(self) -> None:
        """Nothing of it."""
        self.driver.rollback()

    def together(self) -> AbstractContextManager[Any]:
        """Statements within go out without waiting for each other's answers, which are there at the end."""
        return nullcontext() if self.is_sqlite else self.driver.pipeline()

    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Insert rows in the order of the table's columns; `on_conflict` tells what to do if one is there already."""
        if not rows:
            return
        cursor = self.driver.cursor()
        try:
            if self.is_sqlite:
                for statement, values in _statements(table, rows, on_conflict):
                    cursor.execute(statement, values)
            else:
                written = [
                    write(values) for write, values in zip(_writers(table), zip(*rows, strict=True), strict=True)
                ]
                cursor.execute(_insert_arrays(table, on_conflict), written)
        finally:
            cursor.close()

    def copy(self, table: Table, rows: Rows) -> None:
        """Insert very many rows: a whole table's."""
        if self.is_sqlite:
            self.insert(table, rows)
            return
        with self.driver.cursor() as cursor, cursor.copy(_copy_statement(table)) as copy:
            for row in rows:
                copy.write_row(row)

    def run(self, statement: str, values: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a driver's cursor
        """Carry out a statement of ours, written with `?`; the cursor knows how many rows it changed."""
        cursor = self.driver.cursor()
        return cursor.execute(statement if self.is_sqlite else _marked(statement), values)


@cache
def _marked(statement: str) -> str:
    return statement.replace("?", "%s")


def _statements(table: Table, rows: Rows, on_conflict: str) -> Iterator[tuple[str, list[Any]]]:
    """Inserts of many rows each; the driver keeps every size of them prepared."""
    for begin in range(0, len(rows), MOST_ROWS):
        some = rows[begin : begin + MOST_ROWS]
        yield _insert_values(table, len(some), on_conflict), [value for row in some for value in row]


@cache
def _insert_values(table: Table, size: int, on_conflict: str) -> str:
    marks = f"({', '.join('?' * len(table.columns))})"
    rows = ", ".join([marks] * size)
    return f"INSERT INTO {table.name} ({_columns(table)}) VALUES {rows} {on_conflict}"  # noqa: S608 - our own names


@cache
def _insert_arrays(table: Table, on_conflict: str) -> str:
    arrays = ", ".join(f"%s::{_array(column.type)}[]" for column in table.columns)
    return f"INSERT INTO {table.name} ({_columns(table)}) SELECT * FROM unnest({arrays}) {on_conflict}"  # noqa: S608 - our own names


@cache
def _writers(table: Table) -> list[Callable[[Sequence[Any]], str]]:
    """How each column's values are written as PostgreSQL's text of an array: the driver takes ten times as long."""
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


def _array(kind: Any) -> str:  # noqa: ANN401 - a column's type
    match kind:
        case BigInteger():
            return "bigint"
        case Integer():
            return "int"
        case LargeBinary():
            return "bytea"
    return "text"


@cache
def _copy_statement(table: Table) -> str:
    return f"COPY {table.name} ({_columns(table)}) FROM STDIN"


def _columns(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)
