"""The schema's version: bringing a database to head, and refusing one that is behind or ahead of this program."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

import migrations
from jackpot.store.database import Database, shown
from jackpot.store.errors import WrongSchema


def migrate(database: Database) -> tuple[str | None, str]:
    """Bring the schema to head; says (version before, version after). A schema that is ahead is refused."""
    with database.transaction() as connection:
        before = version(connection)
        _refuse_ahead(database, before)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return before, head()


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
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _refuse_ahead(database: Database, at: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if at is not None and at not in known:
        raise WrongSchema(
            f"{shown(database.url)}: the schema is at {at}, which is ahead of this program: install a newer one"
        )


def version(connection: Connection) -> str | None:
    """The version of a database's schema; None where it has none."""
    return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config
