"""The writer's own connection: every batch goes through here, and SQLAlchemy costs more than the batch.

SQLite is here: many rows in each statement, because Python lets other threads in at every statement and then waits for
its turn. PostgreSQL is in `flight`. What a driver complains of is made a sentence by `explained`, as all else is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Table

MAX_ROWS: Final = 32
"""Rows of one statement in SQLite: each number of them is kept prepared, which takes memory for every row."""
MAX_STATEMENTS: Final = 512
"""How many statements a SQLite connection keeps prepared: every number of rows, for the tables that wagers fill."""

Rows = Sequence[tuple[Any, ...]]
_MOVE_HEAD: Final = "UPDATE chains SET seq = ?, head = ? WHERE chain = ? AND epoch = ? AND seq = ?"


class HeadMovedError(Exception):
    """The chain's head is not where the transaction expected it: another process has written or taken over."""


class HeadMove(NamedTuple):
    """The fence of a transaction: the head of a chain moves from `seq`, at `epoch`, to a new event."""

    chain: str
    epoch: int
    seq: int
    new_seq: int
    new_hash: bytes


class WriteConnection(ABC):
    """One connection, a transaction at a time; statements are ours, written with `?`."""

    def __init__(self, driver: Any) -> None:  # noqa: ANN401 - a driver's connection
        self.driver = driver

    @abstractmethod
    def begin(self, move: HeadMove) -> None:
        """Begin a transaction with the fence; `HeadMovedError` is raised, here or at the commit, if the head moved."""

    @abstractmethod
    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Insert rows in the order of the table's columns; `on_conflict` tells what to do if one is there already."""

    @abstractmethod
    def run(self, statement: str, values: tuple[Any, ...]) -> None:
        """Carry out a statement."""

    @abstractmethod
    def commit(self) -> None:
        """All of it, durably."""

    @abstractmethod
    def rollback(self) -> None:
        """Nothing of it; a driver's error where the connection is not fit for more."""


class SqliteWriteConnection(WriteConnection):
    """A connection to a SQLite file."""

    @classmethod
    def of(cls, connection: Connection) -> SqliteWriteConnection:
        """The driver's connection under SQLAlchemy's; its transaction is SQLAlchemy's business."""
        return cls(connection.connection)

    def begin(self, move: HeadMove) -> None:
        """Begin a transaction and move the head at once."""
        self.driver.execute("BEGIN IMMEDIATE")
        values = (move.new_seq, move.new_hash, move.chain, move.epoch, move.seq)
        if self.driver.execute(_MOVE_HEAD, values).rowcount != 1:
            raise HeadMovedError

    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Rows, in the order of the table's columns."""
        for statement, values in _statements(table, rows, on_conflict):
            self.driver.execute(statement, values)

    def run(self, statement: str, values: tuple[Any, ...]) -> None:
        """A statement."""
        self.driver.execute(statement, values)

    def commit(self) -> None:
        """All of it, durably."""
        self.driver.commit()

    def rollback(self) -> None:
        """Nothing of it."""
        self.driver.rollback()


def _statements(table: Table, rows: Rows, on_conflict: str) -> Iterator[tuple[str, list[Any]]]:
    """Inserts of many rows each; the driver keeps every size of them prepared."""
    for begin in range(0, len(rows), MAX_ROWS):
        some = rows[begin : begin + MAX_ROWS]
        yield _insert_values(table, len(some), on_conflict), [value for row in some for value in row]


@cache
def _insert_values(table: Table, size: int, on_conflict: str) -> str:
    marks = f"({', '.join('?' * len(table.columns))})"
    rows = ", ".join([marks] * size)
    return f"INSERT INTO {table.name} ({columns(table)}) VALUES {rows} {on_conflict}"  # noqa: S608 - our own names


def columns(table: Table) -> str:
    """A table's columns, as statements name them."""
    return ", ".join(f'"{column.name}"' for column in table.columns)
