"""The writer's own connection: it uses the driver directly, because SQLAlchemy would cost more than a whole batch.

SQLite is here: each statement inserts many rows, because Python releases the GIL at every statement and then waits for
it. PostgreSQL is in `postgres_connection`. `Database` translates the driver's errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Table

MAX_ROWS: Final = 32
"""The limit of rows per statement in SQLite: a statement is kept prepared for each number of rows."""
MAX_STATEMENTS: Final = 512
"""The prepared statements of a SQLite connection: one per number of rows, for the tables that wagers fill."""

Rows = Sequence[tuple[Any, ...]]
_MOVE_HEAD: Final = "UPDATE chains SET seq = ?, head = ? WHERE chain = ? AND epoch = ? AND seq = ? AND head = ?"


class HeadMovedError(Exception):
    """The chain's head is not where the transaction expected it: another process has written or taken over."""


class HeadMove(NamedTuple):
    """The fence of a transaction: the head of a chain moves from `seq`, at `epoch`, to a new event."""

    chain: str
    epoch: int
    seq: int
    hash: bytes
    new_seq: int
    new_hash: bytes


class StoredHead(NamedTuple):
    """The head of a chain as the store has it."""

    epoch: int
    seq: int
    hash: bytes


class Renewal(NamedTuple):
    """A lease that was renewed: the head of its chain, and the controller that asks for it ("" if none)."""

    head: StoredHead
    wanted_by: str


class WriteConnection(ABC):
    """One connection with one transaction at a time; statements have `?` as placeholders."""

    def __init__(self, driver: Any) -> None:  # noqa: ANN401 - a driver's connection
        self.driver = driver

    @abstractmethod
    def begin(self, move: HeadMove) -> None:
        """Begin a transaction with the fence; `HeadMovedError` is raised, here or at the commit, if the head moved."""

    @abstractmethod
    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Insert rows in the order of the table's columns; `on_conflict` is a SQL clause for existing rows."""

    @abstractmethod
    def run(self, statement: str, values: tuple[Any, ...]) -> None:
        """Execute a statement."""

    @abstractmethod
    def commit(self) -> None:
        """Commit durably."""

    @abstractmethod
    def read_head(self, chain: str) -> StoredHead | None:
        """Return the head of a chain; None if there is no such chain."""

    @abstractmethod
    def renew(self, chain: str, epoch: int) -> Renewal | None:
        """Renew the lease on a chain durably; return None if it is lost."""

    @abstractmethod
    def rollback(self) -> None:
        """Roll back; raise a driver's error if the connection cannot be used any more."""


class SqliteWriteConnection(WriteConnection):
    """A connection to a SQLite file."""

    @classmethod
    def of(cls, connection: Connection) -> SqliteWriteConnection:
        """Wrap the driver's connection under a SQLAlchemy connection, which controls the transaction."""
        return cls(connection.connection)

    def begin(self, move: HeadMove) -> None:
        """Begin a transaction and move the head at once."""
        self.driver.execute("BEGIN IMMEDIATE")
        values = (move.new_seq, move.new_hash, move.chain, move.epoch, move.seq, move.hash)
        if self.driver.execute(_MOVE_HEAD, values).rowcount != 1:
            raise HeadMovedError

    def insert(self, table: Table, rows: Rows, on_conflict: str = "") -> None:
        """Insert rows in the order of the table's columns."""
        for statement, values in _statements(table, rows, on_conflict):
            self.driver.execute(statement, values)

    def run(self, statement: str, values: tuple[Any, ...]) -> None:
        """Execute a statement."""
        self.driver.execute(statement, values)

    def commit(self) -> None:
        """Commit durably."""
        self.driver.commit()

    def read_head(self, chain: str) -> StoredHead | None:
        """Return the head of a chain."""
        row = self.driver.execute("SELECT epoch, seq, head FROM chains WHERE chain = ?", (chain,)).fetchone()
        return None if row is None else StoredHead(*row)

    def renew(self, chain: str, epoch: int) -> Renewal | None:
        """Read the lease, without a write: a SQLite file has no other controllers that could stand by."""
        found = self.read_head(chain)
        return Renewal(found, "") if found is not None and found.epoch == epoch else None

    def rollback(self) -> None:
        """Roll back."""
        self.driver.rollback()


def _statements(table: Table, rows: Rows, on_conflict: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield inserts of many rows each; the driver keeps a statement prepared for each number of rows."""
    for begin in range(0, len(rows), MAX_ROWS):
        chunk = rows[begin : begin + MAX_ROWS]
        yield _insert_values(table, len(chunk), on_conflict), [value for row in chunk for value in row]


@cache
def _insert_values(table: Table, size: int, on_conflict: str) -> str:
    row = f"({', '.join('?' * len(table.columns))})"
    rows = ", ".join([row] * size)
    return f"INSERT INTO {table.name} ({columns(table)}) VALUES {rows} {on_conflict}"  # noqa: S608 - our own names


def columns(table: Table) -> str:
    """Return the quoted names of a table's columns, for a statement."""
    return ", ".join(f'"{column.name}"' for column in table.columns)
