"""The clock of the database, by which leases are judged: the clocks of two controllers may differ."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

_POSTGRES: Final = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
_SQLITE: Final = text("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)")


def clock_ms(connection: Connection) -> int:
    """Return the database's time, in milliseconds since 1970."""
    return int(connection.execute(_SQLITE if connection.dialect.name == "sqlite" else _POSTGRES).scalar_one())
