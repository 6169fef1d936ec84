"""The schema's version: bringing a database to head, and refusing one that is behind or ahead of this program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, column, inspect, select, table

import migrations
from jackpot.store.database import Database, shown
from jackpot.store.errors import WrongSchema

_STEPS: Final = Path(migrations.__file__).parent
_VERSIONS: Final = table("alembic_version", column("version_num"))


def migrate(database: Database) -> tuple[str | None, str]:
    """Bring the schema to head; says (version before, version after). A schema that is ahead is refused."""
    with database.transaction() as connection:
        before = version(connection)
        _refuse_ahead(database, before)
        _upgrade(connection)
    return before, head()


def _upgrade(connection: Connection) -> None:
    """Alembic is asked only where there may be something to do: every other command starts quicker without it."""
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_STEPS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def require_head(database: Database) -> None:
    """Refuse to work on any other schema than this program's."""
    with database.reader() as connection:
        at = version(connection)
    _refuse_ahead(database, at)
    if at != head():
        found = f"at {at}" if at else "empty"
        raise WrongSchema(f"{shown(database.url)}: the schema is {found} and must be at {head()}: run jackpot migrate")


def head() -> str:
    """The newest version this program knows."""
    return _known()[-1]


def version(connection: Connection) -> str | None:
    """The version of a database's schema; None where it has none."""
    if not inspect(connection).has_table(_VERSIONS.name):
        return None
    return connection.execute(select(_VERSIONS.c.version_num)).scalar_one_or_none()


def _known() -> list[str]:
    """Every version: each step of the schema is in a file that begins with its number."""
    steps = [re.match(r"\d{4}(?=_)", path.name) for path in (_STEPS / "versions").glob("*.py")]
    return sorted(step.group() for step in steps if step is not None)


def _refuse_ahead(database: Database, at: str | None) -> None:
    if at is not None and at not in _known():
        raise WrongSchema(
            f"{shown(database.url)}: the schema is at {at}, which is ahead of this program: install a newer one"
        )
