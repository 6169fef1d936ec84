"""A controller that stands by keeps marks of what others have signed, so that it notices a loss by itself."""

import pytest
from sqlalchemy import delete

from jackpot.core.commands import Actor, CreateJackpot, LinkTable, OpenRound, Role
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.store import tables
from jackpot.store.checkpoints import adopt_signed, write_checkpoint
from jackpot.store.database import Database
from jackpot.store.marks import MarkFile, Marks
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
MANAGER, DEALER = Actor("max", Role.MANAGER), Actor("dealer")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
SIGNER = Signer("casino", bytes(range(32)))


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(made)
    yield made
    made.close()


@pytest.fixture
def journal(database):
    opened = Journal.open(database, "main", "another controller")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    opened.execute([created, LinkTable(AT, MANAGER, "t1", 7)])
    return opened


@pytest.fixture
def own_marks(tmp_path):
    folder = tmp_path / "standby"
    folder.mkdir()
    (folder / "jackpot.key").write_text("key")
    return MarkFile(folder / "jackpot.key")


def test_a_standby_keeps_the_last_signed_head_of_the_owner(database, journal, own_marks):
    adopt_signed(database, "main", SIGNER.verifier, own_marks)
    assert own_marks.read() == Marks()  # nothing is signed yet
    write_checkpoint(database, "main", SIGNER)
    journal.execute([OpenRound(AT, DEALER, "t1")])
    adopt_signed(database, "main", SIGNER.verifier, own_marks)
    found = own_marks.read()
    head = journal.lease.head
    assert (found.marks["main"].seq, found.marks["main"].epoch) == (head.seq - 1, head.epoch)
    assert (found.signed["main"].seq, found.signed["main"].number) == (head.seq - 1, 1)
    write_checkpoint(database, "main", SIGNER)
    adopt_signed(database, "main", SIGNER.verifier, own_marks)
    assert own_marks.read().marks["main"].head == head.hash
    assert own_marks.read().signed["main"].number == 2


def test_notes_of_another_key_and_missing_ones_are_not_adopted(database, journal, own_marks):
    write_checkpoint(database, "main", Signer("casino", bytes(32)))
    adopt_signed(database, "main", SIGNER.verifier, own_marks)
    adopt_signed(database, "side", SIGNER.verifier, own_marks)
    assert own_marks.read() == Marks()
    assert journal.lease.head.seq == 2


def test_a_mark_stays_when_the_checkpoint_is_deleted(database, journal, own_marks):
    write_checkpoint(database, "main", SIGNER)
    adopt_signed(database, "main", SIGNER.verifier, own_marks)
    kept = own_marks.read()
    with database.transaction() as connection:
        connection.exec_driver_sql("DROP TRIGGER checkpoints_no_delete")
        connection.execute(delete(tables.checkpoints))
    adopt_signed(database, "main", SIGNER.verifier, own_marks)
    assert own_marks.read() == kept
    assert kept.marks["main"].seq == journal.lease.head.seq
