"""A damaged file or index, rows of chains that do not exist, and a changed epoch or owner are found by verification."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from jackpot.engine.lease import acquire_lease
from jackpot.store.database import Database
from jackpot.store.lease_seals import seal_lease
from jackpot.store.marks import ChainMark, Marks
from jackpot.store.schema import migrate
from jackpot.store.trail_verification import verify
from tests.support.postgres import empty_database
from tests.support.stored_jackpot import KEY, SIGNER, StoredSite

GHOSTS = {
    "chains": "INSERT INTO chains VALUES ('ghost', 0, '', 1, '', 0)",
    "events": "INSERT INTO events SELECT 'ghost', seq, at, actor, type, table_id, round, data, transfers, hash"
    " FROM events WHERE chain = 'main' AND seq = 1",
    "transfers": "INSERT INTO transfers SELECT 'ghost', seq, n, at, source, target, amount_cents, kind"
    " FROM transfers WHERE seq = 1 AND n = 0",
    "balances": "INSERT INTO balances VALUES ('ghost', 'jackpot', 5)",
    "states": "INSERT INTO states VALUES ('ghost', 'jackpot', '{}')",
    "wagers": "INSERT INTO wagers VALUES ('ghost', 't1', 1, 'w', 1, 1, 1, 0, 'accepted', NULL, 1)",
    "commands": "INSERT INTO commands VALUES ('ghost', 't1', 'c', 'd', '{}', 1)",
    "rounds": "INSERT INTO rounds VALUES ('ghost', 't1', 1, 1, 'open', NULL, '', NULL, 1)",
    "payouts": "INSERT INTO payouts VALUES ('ghost', 1, 1, '', 't1', 1, 1, 'flush', 5, 'paid', '')",
    "checkpoints": "INSERT INTO checkpoints VALUES ('ghost', 1, '')",
    "snapshots": "INSERT INTO snapshots VALUES ('ghost', 1, '', '')",
    "leases": "INSERT INTO leases (chain, renewed_ms, wanted_by, seal) VALUES ('ghost', 0, '', '')",
}


@pytest.fixture
def stored(database, tmp_path):
    made = StoredSite(database, tmp_path)
    made.play()
    return made


def disabled(stored, statement):
    """Run a statement without foreign keys, as an attacker can."""
    database = stored.database
    if database.is_sqlite:
        connection = sqlite3.connect(database.url.removeprefix("sqlite:///"))
        connection.execute(statement)
        connection.commit()
        connection.close()
        return
    with database.transaction() as connection:
        connection.execute(text("SET session_replication_role = replica"))
        connection.execute(text(statement))


@pytest.mark.parametrize("table", GHOSTS)
def test_rows_of_a_chain_that_does_not_exist_are_found(stored, table):
    assert stored.verified("site").problem is None
    disabled(stored, GHOSTS[table])
    assert f"the table {table} has rows of 'ghost', a chain that does not exist" in stored.verified("site").problem


def seal(chain, epoch, owner):
    return seal_lease(SIGNER, chain, epoch, owner)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chains SET epoch = epoch + 1 WHERE chain = 'main'",
        "UPDATE chains SET epoch = epoch - 1 WHERE chain = 'main'",
        "UPDATE chains SET owner = 'another' WHERE chain = 'main'",
        "UPDATE chains SET owner = '' WHERE chain = 'main'",
    ],
)
@pytest.mark.parametrize("released", [False, True])
def test_a_changed_epoch_or_owner_is_found_by_the_seal(stored, change, released):
    lease = acquire_lease(stored.database, "main", "host:41", seal=seal)
    if released:
        lease.release()
    assert stored.verified().problem is None
    stored.tamper(change)
    if not (released and "owner = ''" in change):
        assert "was changed" in stored.verified().problem


def test_a_seal_of_another_key_is_found(stored):
    acquire_lease(stored.database, "main", "host:41", seal=lambda *_: "x")
    assert "the seal of the lease of main" in stored.verified().problem


def test_a_seal_that_was_removed_is_found_once_the_marks_know_of_one(stored):
    lease = acquire_lease(stored.database, "main", "host:41", seal=seal)
    seq, digest, epoch = lease.head
    stored.tamper("UPDATE leases SET seal = '' WHERE chain = 'main'")
    assert stored.verified().problem is None, "a store from before leases were sealed"
    stored.marks.raise_to(Marks({"main": ChainMark(epoch, seq, digest, sealed=True)}))
    assert "the lease of main by host:41 is not sealed" in stored.verified().problem
    stored.tamper("UPDATE chains SET owner = '' WHERE chain = 'main'")
    assert stored.verified().problem is None, "a restored store has no owner and no seal"


# Damaged files.


def flipped(tmp_path, database):
    """Return a copy of a SQLite file with a bit flipped in an entry of an index."""
    file = Path(database.url.removeprefix("sqlite:///"))
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events_by_time'").fetchone()
    connection.close()
    content = bytearray(file.read_bytes())
    start = (root - 1) * page_size
    page = content[start : start + page_size]
    at = page.index(b"2026-11-15T09:30")
    content[start + at] ^= 0x04
    copy = tmp_path / "flipped.db"
    copy.write_bytes(content)
    return copy


def test_a_flipped_byte_in_an_index_is_found_although_all_rows_read_the_same(tmp_path):
    """Finding 7: the trail is right, and yet a query by time reads from the damaged index."""
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(database)
    stored = StoredSite(database, tmp_path)
    stored.play()
    assert stored.verified("site").problem is None
    database.close()
    damaged = Database(f"sqlite:///{flipped(tmp_path, database)}")
    try:
        assert verify(damaged, "main", KEY).problem is None, "every row reads the same"
        assert "the file is damaged" in verify(damaged, "site", KEY).problem
    finally:
        damaged.close()


def test_an_index_that_amcheck_refuses_is_found(tmp_path, request):
    database = empty_database("postgresql", tmp_path, request)
    migrate(database)
    try:
        stored = StoredSite(database, tmp_path)
        stored.play()
        with database.transaction() as connection:
            connection.execute(text("CREATE EXTENSION amcheck"))
        assert stored.verified("site").problem is None
        reverse_order(database)
        assert "the index events_by_type is damaged" in stored.verified("site").problem
    finally:
        database.close()


def reverse_order(database):
    """Let an index sort the other way round, so that the order of its entries is wrong."""
    with database.transaction() as connection:
        reverse = "UPDATE pg_index SET indoption = '0 3 0' WHERE indexrelid = 'events_by_type'::regclass"
        connection.exec_driver_sql(reverse)
    database.close()  # new sessions read the definition anew
