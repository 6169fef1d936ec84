"""Many rows at once, by the quickest way each driver has: executemany on SQLite, COPY on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table


def insert_many(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows given in the order of the table's columns."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        _copy(connection, table, rows)
    else:
        connection.exec_driver_sql(_insert(table), list(rows))


def run(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Carry out a statement of ours, written with `?`, for each of these rows; says how many rows the last one changed.

    Straight to the driver: every batch begins and ends with such statements, and they need no building.
    """
    written = statement.replace("?", "%s") if connection.dialect.name == "postgresql" else statement
    done = connection.exec_driver_sql(written, rows[0] if len(rows) == 1 else list(rows))
    return int(done.rowcount)


def _copy(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    cursor = connection.connection.cursor()
    try:
        with cursor.copy(_copy_statement(table)) as copy:
            for row in rows:
                copy.write_row(row)
    finally:
        cursor.close()


@cache
def _insert(table: Table) -> str:
    marks = ", ".join("?" * len(table.columns))
    return f"INSERT INTO {table.name} ({_columns(table)}) VALUES ({marks})"  # noqa: S608 - our own names


@cache
def _copy_statement(table: Table) -> str:
    return f"COPY {table.name} ({_columns(table)}) FROM STDIN"


def _columns(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)
