"""A store of any earlier version is brought to head with all it holds; on both databases."""

import importlib
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import select, text

import migrations
from jackpot.core.commands import Actor, CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role, Settle
from jackpot.core.notices import NoticeTarget
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.store import schema, tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import verify
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
MANAGER, DEALER, PAD = Actor("max", Role.MANAGER), Actor("dealer"), Actor("pad")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
SIGNER = Signer.new("casino")
STEPS = Path(migrations.__file__).parent
EARLIER = sorted(step.name[:4] for step in (STEPS / "versions").glob("0*.py"))[:-1]


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request, tmp_path):
    """Makes empty databases of one kind."""
    made = []

    def make():
        name = f"migrations_{uuid4().hex}"
        url = f"sqlite:///{tmp_path / name}"
        if request.param == "postgresql":
            server = request.getfixturevalue("postgres_url")
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
            url = server.replace("/postgres", f"/{name}")
        made.append(Database(url))
        return made[-1]

    yield make
    for database in made:
        database.close()


def bring_to(database, version):
    config = AlembicConfig()
    config.set_main_option("script_location", str(STEPS))
    with database.transaction() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


@contextmanager
def with_fence(database):
    """The function that this program's fence needs, in a store of an earlier version."""
    if database.is_sqlite:
        yield
        return
    fence = importlib.import_module("migrations.versions.0005_advance_head")
    with database.transaction() as connection:
        connection.execute(text(fence.ADVANCE_HEAD))
    yield
    with database.transaction() as connection:
        connection.exec_driver_sql("DROP FUNCTION advance_head")


def play(journal, number):
    journal.execute([OpenRound(AT, DEALER, "t1")])
    journal.execute([PlaceWager(AT, PAD, "t1", box, f"w{number}", number, 200, ante=True) for box in range(1, 8)])
    journal.execute([CloseWagers(AT, DEALER, "t1", number), Settle(AT, DEALER, "t1", number)])


def indexes(database):
    """Every index as its database would make it again."""
    asked = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    if database.is_sqlite:
        asked = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    with database.reader() as connection:
        return {name: " ".join(sql.split()) for name, sql in connection.exec_driver_sql(asked)}


def trail(database):
    with database.reader() as connection:
        return connection.execute(select(tables.events).order_by(tables.events.c.seq)).all()


@pytest.mark.parametrize("version", EARLIER)
def test_a_store_of_an_earlier_version_is_brought_to_head_with_all_it_holds(new_database, version):
    old, new = new_database(), new_database()
    schema.migrate(new)
    bring_to(old, version)
    journal = Journal.open(old, "main", "first")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    with with_fence(old):
        journal.execute([created, LinkTable(AT, MANAGER, "t1", 7)])
        play(journal, 1)
    write_checkpoint(old, "main", SIGNER)
    before = trail(old)
    assert len(before) == 12
    with pytest.raises(StoreError, match="run jackpot migrate"):
        schema.require_head(old)
    assert schema.migrate(old) == (version, schema.head())
    assert (trail(old), indexes(old)) == (before, indexes(new))
    play(Journal.open(old, "main", "second", notice_target=NoticeTarget("casino")), 2)
    found = verify(old, "main", SIGNER.verifier)
    assert (found.problem, found.events) == (None, 22)
