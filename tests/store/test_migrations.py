"""A store of any earlier version is migrated to head with all its rows, on both databases."""

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import MetaData, select

import migrations
from jackpot.core.commands import Actor, CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role, Settle
from jackpot.core.notices import NoticeTarget
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.store import schema, tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.errors import StoreError
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import verify
from rules.jackpot_prizes import FixedFrom
from tests.support.postgres import empty_database

AT = "2026-11-15T09:30:00.000Z"
MANAGER, DEALER, PAD = Actor("max", Role.MANAGER), Actor("dealer"), Actor("pad")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
SIGNER = Signer.new("casino")
FOLDER = Path(migrations.__file__).parent
EARLIER = sorted(file.name[:4] for file in (FOLDER / "versions").glob("0*.py"))[:-1]


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request, tmp_path):
    """Make empty databases of one kind, and close them."""
    made = []

    def make():
        made.append(empty_database(request.param, tmp_path, request))
        return made[-1]

    yield make
    for database in made:
        database.close()


def migrate_to(database, version):
    config = AlembicConfig()
    config.set_main_option("script_location", str(FOLDER))
    with database.transaction() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


def copy_rows(source, target):
    """Copy every row into a store of an earlier version, as far as it has the tables and columns."""
    with source.reader() as reading, target.transaction() as writing:
        old = MetaData()
        old.reflect(writing)
        for table in tables.metadata.sorted_tables:
            if table.name in old.tables:
                known = old.tables[table.name]
                columns = [column for column in table.columns if column.name in known.columns]
                for row in reading.execute(select(*columns)):
                    writing.execute(known.insert().values(**row._asdict()))


def play(journal, number):
    journal.execute([OpenRound(AT, DEALER, "t1")])
    journal.execute([PlaceWager(AT, PAD, "t1", box, f"w{number}", number, 200, ante=True) for box in range(1, 8)])
    journal.execute([CloseWagers(AT, DEALER, "t1", number), Settle(AT, DEALER, "t1", number)])


def indexes(database):
    """Return the definition of every index."""
    query = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    if database.is_sqlite:
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    with database.reader() as connection:
        return {name: " ".join(sql.split()) for name, sql in connection.exec_driver_sql(query)}


def trail(database):
    with database.reader() as connection:
        return connection.execute(select(tables.events).order_by(tables.events.c.seq)).all()


@pytest.mark.parametrize("version", EARLIER)
def test_a_store_of_an_earlier_version_is_migrated_to_head_with_all_its_rows(new_database, version):
    old, new = new_database(), new_database()
    schema.migrate(new)
    migrate_to(old, version)
    journal = Journal.open(new, "main", "first")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    journal.execute([created, LinkTable(AT, MANAGER, "t1", 7)])
    play(journal, 1)
    write_checkpoint(new, "main", SIGNER)
    copy_rows(new, old)
    before = trail(old)
    assert len(before) == 12
    with pytest.raises(StoreError, match="run jackpot migrate"):
        schema.require_head(old)
    assert schema.migrate(old) == (version, schema.head())
    assert (trail(old), indexes(old)) == (before, indexes(new))
    play(Journal.open(old, "main", "second", notice_target=NoticeTarget("casino")), 2)
    found = verify(old, "main", SIGNER.verifier)
    assert (found.problem, found.events) == (None, 22)
