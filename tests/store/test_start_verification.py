"""What a start verifies: the marks, the events since the signed snapshot, and the tables it reads the state from."""

import pytest
from sqlalchemy import event, select, text

from jackpot.core.commands import CloseWagers, Settle
from jackpot.core.state import Jackpot
from jackpot.engine.signing import JackpotSigner, SiteSigner
from jackpot.store import checkpoints, tables
from jackpot.store.checkpoints import ChainSigner
from jackpot.store.marks import ChainMark
from jackpot.store.signed_notes import Signer
from jackpot.store.snapshots import read_snapshot, snapshot_body
from jackpot.store.trail_verification import Trail, WrongTrail
from tests.support.core_floor import AT, DEALER
from tests.support.stored_jackpot import KEY, SIGNER, StoredSite

LAST = "chain = 'main' AND seq = (SELECT max(seq) FROM {} WHERE chain = 'main')"


@pytest.fixture
def stored(database, tmp_path):
    """A jackpot with a snapshot, rounds after it, and a round in play."""
    made = StoredSite(database, tmp_path)
    made.play()
    made.open((4, 5))
    made.snapshot()
    return made


def played_on(stored):
    """End the round in play, play another, and leave a third one open."""
    number = stored.journal.jackpot.tables["t1"].number
    stored.journal.execute([CloseWagers(AT, DEALER, "t1", number), Settle(AT, DEALER, "t1", number)])
    stored.play()
    stored.open((1, 6))


def test_a_snapshot_holds_the_whole_state(stored):
    with stored.database.reader() as connection:
        found = read_snapshot(connection, "main", KEY)
    assert (found.seq, found.head) == (stored.seq, stored.journal.lease.head.hash)
    assert found.state == stored.journal.jackpot
    assert len(found.state.tables["t1"].round.wagers) == 2


def test_a_start_reads_only_the_events_since_the_snapshot(stored):
    before = stored.seq
    played_on(stored)
    read = []
    event.listen(stored.database.reading, "before_cursor_execute", lambda *given: read.append((given[2], given[3])))
    found = stored.started()
    assert (found.problem, found.events) == (None, stored.seq)
    ranges = [values for statement, values in read if "FROM events" in statement and "ORDER BY" in statement]
    assert len(ranges) == 1
    assert before in (ranges[0].values() if isinstance(ranges[0], dict) else ranges[0])


def test_without_a_snapshot_everything_is_replayed(stored):
    played_on(stored)
    stored.tamper("DELETE FROM snapshots WHERE chain = 'main'")
    assert stored.started().problem is None
    stored.tamper("UPDATE balances SET balance_cents = balance_cents + 1 WHERE account = 'reserve'")
    assert "the balance of reserve" in stored.started().problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE balances SET balance_cents = balance_cents + 1 WHERE account = 'jackpot'", "balance of jackpot"),
        ("DELETE FROM balances WHERE account = 'house'", "balance of house is None"),
        ("UPDATE states SET body = replace(body, 't1', 't2') WHERE part = 'table:t1'", "table:t1"),
        ("UPDATE wagers SET amount_cents = 1 WHERE box = 6", "the table wagers does not match the events of round 4"),
        ("DELETE FROM wagers WHERE box = 6", "the table wagers"),
        ("UPDATE wagers SET status = 'returned' WHERE box = 6", "the table wagers"),
        (f"UPDATE events SET actor = 'forger' WHERE {LAST.format('events')}", "does not match its hash"),
        (f"UPDATE transfers SET amount_cents = 1 WHERE {LAST.format('transfers')}", "do not match the ledger"),
        ("UPDATE snapshots SET body = replace(body, 't1', 't2')", "the snapshot of main"),
        ("UPDATE snapshots SET seq = seq - 1", "the snapshot of main"),
        ("UPDATE snapshots SET note = 'x'", "the snapshot of main"),
        ("UPDATE chains SET seq = seq - 1 WHERE chain = 'main'", "was added after the chain's head"),
    ],
)  # fmt: skip
def test_a_change_of_what_a_start_relies_on_is_found(stored, change, problem):
    played_on(stored)
    stored.tamper(change)
    assert problem in stored.started().problem
    with pytest.raises(WrongTrail, match="the chain main is wrong"):
        Trail(stored.database, "main", KEY, stored.marks).require_start()


def test_a_million_in_balances_and_state_is_found(stored):
    """Finding 8: both tables are changed alike."""
    stored.tamper(
        "UPDATE balances SET balance_cents = balance_cents + 100000000 WHERE account = 'jackpot'",
        "UPDATE balances SET balance_cents = balance_cents - 100000000 WHERE account = 'house'",
    )
    assert "the balance of house" in stored.started().problem


def test_a_snapshot_by_another_key_or_of_another_chain_is_refused(stored):
    forger = Signer("casino", bytes(range(1, 33)))
    seq, digest, _ = stored.journal.lease.head
    richer = stored.journal.jackpot._replace(balances={**stored.journal.jackpot.balances, "jackpot": 1})
    with stored.database.transaction() as connection:
        checkpoints.write_snapshot(connection, "main", seq, digest, (forger, snapshot_body(richer)))
    assert "another key" in stored.started().problem


def test_a_checkpoint_deleted_before_the_snapshot_is_found(stored):
    played_on(stored)
    stored.sign()
    stored.tamper(
        "DELETE FROM checkpoints WHERE chain = 'main' AND seq = (SELECT min(seq) FROM checkpoints WHERE chain = 'main')"
    )
    assert "checkpoint" in stored.started().problem


def test_what_was_written_between_the_verification_and_the_lease_is_verified(stored):
    trail = Trail(stored.database, "main", KEY, stored.marks)
    trail.require_start()
    played_on(stored)
    assert trail.require_new().events == stored.seq
    assert trail.state == stored.journal.jackpot
    played = stored.seq
    stored.tamper("UPDATE balances SET balance_cents = 1 WHERE account = 'reserve'")
    with pytest.raises(WrongTrail, match=f"wrong at event {played:,}"):
        trail.require_new()


def snapshot_seq(stored):
    with stored.database.reader() as connection:
        return connection.execute(select(tables.snapshots.c.seq).where(tables.snapshots.c.chain == "main")).scalar()


def test_a_snapshot_is_due_after_many_events_or_a_long_time_or_at_the_stop(stored, monkeypatch):
    first = stored.seq
    signer = JackpotSigner(stored.journal, ChainSigner(stored.database, "main", SIGNER, stored.marks))
    played_on(stored)
    signer()
    assert snapshot_seq(stored) == first, "neither many events nor a long time"
    monkeypatch.setattr(checkpoints, "SNAPSHOT_EVENTS", 3)
    signer()
    assert snapshot_seq(stored) == stored.seq, "many events, though the head is signed already"
    monkeypatch.setattr(checkpoints, "SNAPSHOT_EVENTS", 5_000)
    monkeypatch.setattr(checkpoints, "SNAPSHOT_SECONDS", 0.0)
    before = stored.seq
    signer()
    assert snapshot_seq(stored) == before, "nothing new"
    assert stored.started().problem is None


def test_the_sites_chain_is_verified_signed_and_has_snapshots_too(stored):
    trail = Trail(stored.database, "site", KEY, stored.marks)
    assert trail.require_start().events == 3
    signer = SiteSigner(trail, ChainSigner(stored.database, "site", SIGNER, stored.marks))
    signer.is_stopping = True
    signer()
    assert stored.verified("site").checkpoints == 1
    with stored.database.reader() as connection:
        assert read_snapshot(connection, "site", KEY).state == stored.site.site
    stored.tamper("UPDATE states SET body = replace(body, 'hash of max', 'hash of me') WHERE chain = 'site'")
    assert "the part site" in stored.started(chain="site").problem
    with pytest.raises(WrongTrail):
        signer()


def test_a_chain_that_does_not_exist_yet_may_be_opened(database, tmp_path):
    stored = StoredSite(database, tmp_path)
    assert stored.started(chain="new").problem is None
    mark = ChainMark(1, 5, bytes(32))
    assert "events 1 to 5 of new are missing" in stored.started(mark, "new").problem


def test_a_state_goes_through_a_snapshot_unchanged(stored):
    played_on(stored)
    stored.snapshot()
    with stored.database.reader() as connection:
        state = read_snapshot(connection, "main", KEY).state
        assert connection.execute(text("SELECT count(*) FROM snapshots WHERE chain = 'main'")).scalar() == 1
    assert isinstance(state, Jackpot)
    assert snapshot_body(state) == snapshot_body(stored.journal.jackpot)
