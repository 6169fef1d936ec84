"""Checks of a whole store: damaged files and indexes, rows of chains that do not exist, and leases."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import psycopg
from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import DBAPIError

from jackpot.store import tables
from jackpot.store.lease_seals import seal_problem
from jackpot.store.marks import ChainMark
from jackpot.store.signed_notes import Verifier

TABLES_OF_CHAINS: Final = (
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
    tables.snapshots,
    tables.leases,
)
_AMCHECK: Final = (
    "SELECT has_function_privilege(p.oid, 'execute') FROM pg_extension x JOIN pg_depend d"
    " ON d.refobjid = x.oid JOIN pg_proc p ON p.oid = d.objid"
    " WHERE x.extname = 'amcheck' AND p.proname = 'bt_index_check' AND p.pronargs = 1"
)
_INDEXES: Final = (
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
    " WHERE a.amname = 'btree'"
    " AND i.indrelid IN (SELECT to_regclass(name) FROM unnest(CAST(:names AS text[])) AS name)"
)


def damage(connection: Connection) -> str | None:
    """Return the first damage of the database's file or indexes that its own check finds."""
    return _sqlite_damage(connection) if connection.dialect.name == "sqlite" else _postgres_damage(connection)


def unknown_chain(connection: Connection, known: Collection[str]) -> str | None:
    """Return the first chain that a table has rows of and that is not one of these."""
    for table in TABLES_OF_CHAINS:
        for chain in chains_in(connection, table):
            if chain not in known:
                return f"the table {table.name} has rows of {chain[:64]!r}, a chain that does not exist"
    return None


def chains_in(connection: Connection, table: Table) -> Iterator[str]:
    """Yield the chains of a table's rows: one look into its key for each, and not a scan of all rows."""
    smallest = select(func.min(table.c.chain))
    found = connection.execute(smallest).scalar()
    while found is not None:
        yield str(found)
        found = connection.execute(smallest.where(table.c.chain > found)).scalar()


def lease_problem(connection: Connection, chain: str, verifier: Verifier, mark: ChainMark | None) -> str | None:
    """Return what is wrong with the epoch and the owner of a chain: lowered, changed, or not sealed any more."""
    c, leases = tables.chains.c, tables.leases.c
    row = connection.execute(select(c.epoch, c.owner).where(c.chain == chain)).one_or_none()
    if row is None:
        return None
    if mark is not None and row.epoch < mark.epoch:
        return f"the epoch of {chain} is {row.epoch}, but it was {mark.epoch} already"
    seal = connection.execute(select(leases.seal).where(leases.chain == chain)).scalar_one_or_none()
    if seal:
        return seal_problem(verifier, chain, row.epoch, row.owner, seal)
    if mark is not None and mark.sealed and row.owner:
        return f"the lease of {chain} by {row.owner} is not sealed"
    return None


def _sqlite_damage(connection: Connection) -> str | None:
    found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars().all()
    return None if found == ["ok"] else f"the file is damaged: {' '.join(' '.join(map(str, found)).split())}"


def _postgres_damage(connection: Connection) -> str | None:
    """Check the indexes where the extension amcheck is installed and allowed; else nothing."""
    if not connection.execute(text(_AMCHECK)).scalar():
        return None
    names = [table.name for table in tables.metadata.tables.values()]
    for index in connection.execute(text(_INDEXES), {"names": names}).scalars().all():
        try:
            connection.execute(text("SELECT bt_index_check(CAST(:name AS regclass))"), {"name": index}).all()
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg.errors.IndexCorrupted | psycopg.errors.DataCorrupted):
                raise
            return f"the index {index} is damaged: {' '.join(str(error.orig).split())}"
    return None
