"""Back up the whole store, SQLite or PostgreSQL, to one SQLite file, and restore it."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Table, select

from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database, url_without_password
from jackpot.store.errors import StoreError
from jackpot.store.marks import MarkFile
from jackpot.store.postgres_connection import copy_rows
from jackpot.store.schema import migrate, require_head
from jackpot.store.signed_notes import Signer, Verifier
from jackpot.store.trail_verification import verify
from jackpot.store.write_connection import Rows, SqliteWriteConnection

_ROWS_PER_BATCH: Final = 5_000
_TABLES: Final = (
    tables.chains,
    tables.events,
    tables.transfers,
    tables.balances,
    tables.states,
    tables.wagers,
    tables.commands,
    tables.rounds,
    tables.payouts,
    tables.checkpoints,
)


def backup(database: Database, path: Path, signer: Signer, marks: MarkFile | None = None) -> dict[str, int]:
    """Copy the store to a new file and verify the copy; return the number of events of each chain."""
    if path.exists():
        raise StoreError(f"{path} exists already: a backup never overwrites a file")
    if not path.absolute().parent.is_dir():
        raise StoreError(f"the folder {path.parent} does not exist: create it first")
    for chain in _chains(database):
        write_checkpoint(database, chain, signer, marks)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.absolute().parent) as folder:
        unfinished = Path(folder) / "copy.db"
        copy = Database(f"sqlite:///{unfinished}")
        try:
            migrate(copy)
            _copy(database, copy)
            found = _verify_all(copy, signer.verifier)
        finally:
            copy.close()
        _merge_wal(unfinished)
        unfinished.rename(path)
    return found


def restore(
    database: Database, path: Path, verifier: Verifier, epochs: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Restore a backup into an empty store and verify it; the epoch is raised above the copy's and the known ones."""
    if not path.is_file():
        raise StoreError(f"{path} does not exist")
    with tempfile.TemporaryDirectory() as folder:
        saved = Database(f"sqlite:///{shutil.copy(path, Path(folder) / 'saved.db')}")
        try:
            require_head(saved)
            _verify_all(saved, verifier)
            migrate(database)
            if _chains(database):
                raise StoreError(f"{url_without_password(database.url)} is not empty: restore into an empty database")
            _copy(saved, database)
        finally:
            saved.close()
    _raise_epochs(database, epochs or {})
    return _verify_all(database, verifier)


def _merge_wal(path: Path) -> None:
    """Merge SQLite's write-ahead log into the file, so that the copy is one file."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    finally:
        connection.close()


def _copy(source: Database, target: Database) -> None:
    insert = _insert_rows if target.is_sqlite else copy_rows
    with source.reader() as reading, target.transaction() as writing:
        for table in _TABLES:
            rows = reading.execution_options(yield_per=_ROWS_PER_BATCH).execute(select(table))
            for part in rows.partitions(_ROWS_PER_BATCH):
                insert(writing, table, [tuple(row) for row in part])
        writing.execute(tables.chains.update().values(epoch=tables.chains.c.epoch + 1, owner=""))


def _raise_epochs(database: Database, epochs: Mapping[str, int]) -> None:
    """Raise the epoch of each chain above one that is known of it."""
    c = tables.chains.c
    with database.transaction() as connection:
        for chain, epoch in epochs.items():
            lower = tables.chains.update().where(c.chain == chain, c.epoch <= epoch)
            connection.execute(lower.values(epoch=epoch + 1))


def _insert_rows(connection: Connection, table: Table, rows: Rows) -> None:
    SqliteWriteConnection.of(connection).insert(table, rows)


def _verify_all(database: Database, verifier: Verifier) -> dict[str, int]:
    found = {}
    for chain in _chains(database):
        checked = verify(database, chain, verifier)
        if checked.problem is not None:
            raise StoreError(
                f"{url_without_password(database.url)}: the chain {chain} is wrong"
                f" at event {checked.wrong_seq}: {checked.problem}"
            )
        found[chain] = checked.events
    return found


def _chains(database: Database) -> list[str]:
    with database.reader() as connection:
        return list(connection.execute(select(tables.chains.c.chain).order_by(tables.chains.c.chain)).scalars())
