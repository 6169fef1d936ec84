"""Rows by the quickest way each driver has: executemany on SQLite, COPY on PostgreSQL; straight to the driver.

Every batch goes through here, and what SQLAlchemy would do around each statement costs more than the statement. What a
driver complains of is made a sentence by `explained`, as everything else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table

Rows = Sequence[tuple[Any, ...]]


def insert_many(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert rows given in the order of the table's columns."""
    if not rows:
        return
    cursor = connection.connection.cursor()
    try:
        if connection.dialect.name == "postgresql":
            with cursor.copy(_copy_statement(table)) as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            cursor.executemany(_insert_statement(table), rows)
    finally:
        cursor.close()


def run(connection: Connection, statement: str, rows: Rows) -> int:
    """Carry out a statement of ours, written with `?`, for each of these rows; says how many rows it changed."""
    cursor = connection.connection.cursor()
    try:
        written = _marked(statement, connection.dialect.name)
        if len(rows) == 1:
            cursor.execute(written, rows[0])
        else:
            cursor.executemany(written, rows)
        return int(cursor.rowcount)
    finally:
        cursor.close()


@cache
def _marked(statement: str, dialect: str) -> str:
    return statement.replace("?", "%s") if dialect == "postgresql" else statement


@cache
def _insert_statement(table: Table) -> str:
    marks = ", ".join("?" * len(table.columns))
    return f"INSERT INTO {table.name} ({_columns(table)}) VALUES ({marks})"  # noqa: S608 - our own names


@cache
def _copy_statement(table: Table) -> str:
    return f"COPY {table.name} ({_columns(table)}) FROM STDIN"


def _columns(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)
