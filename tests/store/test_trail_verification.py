"""Repeated verification of a trail: new events only, or everything on request or after a problem."""

import pytest
from sqlalchemy import event, insert, text, update

from jackpot.core.commands import CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Settle
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.signed_notes import Checkpoint, Signer
from jackpot.store.trail_verification import Trail
from tests.support.core_floor import AT, DEALER, MANAGER, PAD, config

SIGNER = Signer("casino", bytes(range(32)))


class StoredJackpot:
    """A jackpot in a store, and its trail."""

    def __init__(self, database):
        self.database = database
        SiteJournal.open(database, "test")
        self.journal = Journal.open(database, "main", "test")
        created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", config(), "mia", 5_000_000, 2_000_000)
        self.journal.execute([created, LinkTable(AT, MANAGER, "t1", 7)])
        self.trail = Trail(database, "main", SIGNER.verifier)

    def play(self, boxes=(1, 2, 3)):
        """Play a round and return the number of its first event."""
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


@pytest.fixture
def stored(database):
    return StoredJackpot(database)


def found(verified):
    return verified.events, verified.wrong_seq


def test_only_new_events_are_read_and_verified(stored):
    stored.play()
    assert found(stored.trail.verify_new()) == (stored.journal.lease.head.seq, None)
    stored.play()
    read = []
    event.listen(
        stored.database.reading, "before_cursor_execute", lambda *arguments: read.append((arguments[2], arguments[3]))
    )
    assert found(stored.trail.verify_new()) == (stored.journal.lease.head.seq, None)
    bounds = [parameters for statement, parameters in read if "FROM events" in statement]
    assert len(bounds) == 1
    assert stored.journal.lease.head.seq - 6 in (bounds[0].values() if isinstance(bounds[0], dict) else bounds[0])
    assert not [statement for statement, _ in read if "FROM wagers" in statement]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET at = '2026-11-15T09:30:01.000Z' WHERE chain = 'main' AND seq = {}",
        "UPDATE transfers SET amount_cents = amount_cents + 1 WHERE chain = 'main' AND seq = {} + 1",
        "DELETE FROM events WHERE chain = 'main' AND seq = {} + 1",
    ],
)
def test_a_changed_new_event_is_found_until_it_is_restored(stored, change):
    stored.play()
    stored.trail.verify_new()
    first = stored.play()
    stored.tamper(change.format(first))
    for look in (stored.trail.verify_new, stored.trail.verify_new, stored.trail.verify):
        assert look().wrong_seq in (first, first + 1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE balances SET balance_cents = balance_cents + 1 WHERE account = 'reserve'", "balance of reserve"),
        ("UPDATE states SET body = '{}' WHERE chain = 'main' AND part LIKE '%t1%'", "of the state table"),
        ("UPDATE chains SET head = hash FROM events WHERE chains.chain = 'main' AND events.seq = 1", "head"),
        ("UPDATE chains SET signed = 7 WHERE chain = 'main'", "signed 7 times"),
    ],
)
def test_the_state_is_compared_at_every_verification(stored, change, problem):
    stored.play()
    stored.trail.verify_new()
    stored.tamper(change)
    assert problem in stored.trail.verify_new().problem


def test_a_change_of_a_verified_event_is_found_by_the_next_full_verification(stored):
    first = stored.play()
    stored.trail.verify_new()
    stored.tamper(f"UPDATE events SET actor = 'nobody' WHERE chain = 'main' AND seq = {first}")
    stored.tamper("UPDATE wagers SET amount_cents = 1 WHERE box = 2")
    assert stored.trail.verify_new().problem is None
    assert stored.trail.verify().wrong_seq == first
    assert stored.trail.verify_new().wrong_seq == first  # after a problem, everything is verified


def test_checkpoints_over_new_events_are_verified(stored):
    stored.play()
    write_checkpoint(stored.database, "main", SIGNER)
    stored.trail.verify_new()
    stored.play()
    write_checkpoint(stored.database, "main", SIGNER)
    assert stored.trail.verify_new().checkpoints == 2
    stored.play()
    forger = Signer("casino", bytes(range(1, 33)))
    head = stored.journal.lease.head
    with stored.database.transaction() as connection:
        note = forger.sign(Checkpoint("casino/main", head.seq, head.hash))
        connection.execute(insert(tables.checkpoints).values(chain="main", seq=head.seq, note=note))
        connection.execute(update(tables.chains).where(tables.chains.c.chain == "main").values(signed=3))
    assert "another key" in stored.trail.verify_new().problem
