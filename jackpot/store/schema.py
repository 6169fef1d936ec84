"""The version of the schema: migrate a database to head, refuse one that is behind or ahead of this program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, column, inspect, select, table

import migrations
from jackpot.store.database import Database, url_without_password
from jackpot.store.errors import WrongSchema

_FOLDER: Final = Path(migrations.__file__).parent
_VERSIONS: Final = table("alembic_version", column("version_num"))


def migrate(database: Database) -> tuple[str | None, str]:
    """Migrate the schema to head and return (version before, version after); refuse a schema that is ahead."""
    with database.transaction() as connection:
        before = version(connection)
        _refuse_ahead(database, before)
        _upgrade(connection)
    return before, head()


def _upgrade(connection: Connection) -> None:
    """Run Alembic, imported here because every other command starts faster without it."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def require_head(database: Database) -> None:
    """Raise `WrongSchema` unless the schema is this program's."""
    with database.reader() as connection:
        at = version(connection)
    _refuse_ahead(database, at)
    if at != head():
        found = f"at {at}" if at else "empty"
        raise WrongSchema(
            f"{url_without_password(database.url)}: the schema is {found} and must be at {head()}: run jackpot migrate"
        )


def head() -> str:
    """Return the newest version that this program knows."""
    return _known()[-1]


def version(connection: Connection) -> str | None:
    """Return the version of a database's schema, None if it has none."""
    if not inspect(connection).has_table(_VERSIONS.name):
        return None
    return connection.execute(select(_VERSIONS.c.version_num)).scalar_one_or_none()


def _known() -> list[str]:
    """Return every version: each migration is in a file that begins with its number."""
    matches = [re.match(r"\d{4}(?=_)", path.name) for path in (_FOLDER / "versions").glob("*.py")]
    return sorted(match.group() for match in matches if match is not None)


def _refuse_ahead(database: Database, at: str | None) -> None:
    if at is not None and at not in _known():
        raise WrongSchema(
            f"{url_without_password(database.url)}: the schema is at {at},"
            " which is ahead of this program: install a newer one"
        )
