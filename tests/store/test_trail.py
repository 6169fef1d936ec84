"""A trail that is verified again and again: what is new by itself, everything when it is told to or after trouble."""

from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import event, text

from jackpot.core.commands import CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Settle
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import Trail
from tests.support.core_floor import AT, DEALER, MANAGER, PAD, config

SIGNER = Signer("casino", bytes(range(32)))


class Kept:
    """A jackpot in a store, and its trail."""

    def __init__(self, database):
        self.database = database
        migrate(database)
        SiteJournal.open(database, "test")
        self.journal = Journal.open(database, "main", "test")
        created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", config(), "mia", 5_000_000, 2_000_000)
        self.journal.execute([created, LinkTable(AT, MANAGER, "t1", 7)])
        self.trail = Trail(database, "main", SIGNER.verifier)

    def play(self, boxes=(1, 2, 3)):
        """A round; says the number of its first event."""
        first = self.journal.lease.head.seq + 1
        number = self.journal.jackpot.tables["t1"].number + 1
        wagers = [PlaceWager(AT, PAD, "t1", box, f"w{number}", number, 100, ante=True) for box in boxes]
        ends = [CloseWagers(AT, DEALER, "t1", number), Settle(AT, DEALER, "t1", number)]
        self.journal.execute([OpenRound(AT, DEALER, "t1"), *wagers, *ends])
        return first

    def tamper(self, *statements):
        with self.database.transaction() as connection:
            for table in ("events", "transfers", "checkpoints"):
                if self.database.is_sqlite:
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_update"))
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_delete"))
                else:
                    connection.execute(text(f"DROP TRIGGER IF EXISTS {table}_stay ON {table}"))
            for statement in statements:
                assert connection.execute(text(statement)).rowcount > 0


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request, tmp_path):
    url = f"sqlite:///{tmp_path / 'store.db'}"
    if request.param == "postgresql":
        server, name = request.getfixturevalue("postgres_url"), f"trail_{uuid4().hex}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url = server.replace("/postgres", f"/{name}")
    database = Database(url)
    yield Kept(database)
    database.close()


def found(verified):
    return verified.events, verified.wrong_seq


def test_what_is_new_is_verified_and_nothing_else_is_read(kept):
    kept.play()
    assert found(kept.trail.verify_new()) == (kept.journal.lease.head.seq, None)
    kept.play()
    read = []
    event.listen(kept.database.reading, "before_cursor_execute", lambda *told: read.append((told[2], told[3])))
    assert found(kept.trail.verify_new()) == (kept.journal.lease.head.seq, None)
    bounds = [parameters for statement, parameters in read if "FROM events" in statement]
    assert len(bounds) == 1
    assert kept.journal.lease.head.seq - 6 in (bounds[0].values() if isinstance(bounds[0], dict) else bounds[0])
    assert not [statement for statement, _ in read if "FROM wagers" in statement]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET at = '2026-11-15T09:30:01.000Z' WHERE chain = 'main' AND seq = {}",
        "UPDATE transfers SET amount_cents = amount_cents + 1 WHERE chain = 'main' AND seq = {} + 1",
        "DELETE FROM events WHERE chain = 'main' AND seq = {} + 1",
    ],
)
def test_a_change_among_the_new_is_found_and_found_again_until_it_is_mended(kept, change):
    kept.play()
    kept.trail.verify_new()
    first = kept.play()
    kept.tamper(change.format(first))
    for look in (kept.trail.verify_new, kept.trail.verify_new, kept.trail.verify):
        assert look().wrong_seq in (first, first + 1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE balances SET balance_cents = balance_cents + 1 WHERE account = 'reserve'", "balance of reserve"),
        ("UPDATE states SET body = '{}' WHERE chain = 'main' AND part LIKE '%t1%'", "state table's part"),
        ("UPDATE chains SET head = hash FROM events WHERE chains.chain = 'main' AND events.seq = 1", "head"),
        ("UPDATE chains SET signed = 7 WHERE chain = 'main'", "signed 7 times"),
    ],
)
def test_what_stands_beside_the_events_is_compared_every_time(kept, change, problem):
    kept.play()
    kept.trail.verify_new()
    kept.tamper(change)
    assert problem in kept.trail.verify_new().problem


def test_a_change_of_what_was_verified_is_found_by_the_next_look_at_everything(kept):
    first = kept.play()
    kept.trail.verify_new()
    kept.tamper(f"UPDATE events SET actor = 'nobody' WHERE chain = 'main' AND seq = {first}")
    kept.tamper("UPDATE wagers SET amount_cents = 1 WHERE box = 2")
    assert kept.trail.verify_new().problem is None
    assert kept.trail.verify().wrong_seq == first
    assert kept.trail.verify_new().wrong_seq == first  # after trouble, everything is looked at


def test_checkpoints_over_the_new_are_verified(kept):
    kept.play()
    write_checkpoint(kept.database, "main", SIGNER)
    kept.trail.verify_new()
    kept.play()
    write_checkpoint(kept.database, "main", SIGNER)
    assert kept.trail.verify_new().checkpoints == 2
    kept.play()
    forger = Signer("casino", bytes(range(1, 33)))
    write_checkpoint(kept.database, "main", forger)
    assert "another key" in kept.trail.verify_new().problem
