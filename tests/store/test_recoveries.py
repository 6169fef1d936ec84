"""A store that was rolled back is noticed; only a signed recovery by two managers lowers the marks."""

import shutil
from pathlib import Path

import pytest

from jackpot.core.commands import Actor, RecoverHistory, Role
from jackpot.core.results import CommandError, Refused
from jackpot.store.checkpoints import NotExtended
from jackpot.store.database import Database
from jackpot.store.losses import losses_of
from jackpot.store.marks import ChainMark, Marks
from jackpot.store.recoveries import recoveries_of
from jackpot.store.schema import migrate
from tests.support.core_floor import AT, MANAGER, OTHER_MANAGER, SUPERVISOR
from tests.support.stored_jackpot import KEY, StoredSite


class RolledBack(StoredSite):
    """A site whose SQLite file can be replaced by an older copy of it."""

    def copy(self):
        """Return a copy of the file."""
        self.database.close()
        file = Path(self.database.url.removeprefix("sqlite:///"))
        return shutil.copy(file, file.with_suffix(f".{self.seq}"))

    def put_back(self, copy):
        self.database.close()
        file = Path(self.database.url.removeprefix("sqlite:///"))
        for part in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
            part.unlink(missing_ok=True)
        shutil.copy(copy, file)

    def losses(self):
        with self.database.reader() as connection:
            return losses_of(connection, KEY, self.marks.read())

    def recover(self, *, sign=True):
        """Record the loss, as `jackpot recover` does."""
        (loss,) = self.losses()
        self.reopen(loss.epoch)
        lost = (loss.from_seq, loss.to_seq, loss.head.hex(), loss.epoch)
        (outcome,) = self.journal.execute([RecoverHistory(AT, MANAGER, OTHER_MANAGER, *lost, "the disk broke")])
        assert outcome.events
        if sign:
            seq, digest, epoch = self.journal.lease.head
            self.marks.lower("main", ChainMark(epoch, seq, digest))
            self.sign()


@pytest.fixture
def stored(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(database)
    made = RolledBack(database, tmp_path)
    made.play()
    made.sign()
    yield made
    database.close()


@pytest.fixture
def rolled_back(stored):
    """A store that has lost its last round, which the marks know of."""
    copy = stored.copy()
    stored.play()
    stored.mark()
    stored.sign()
    stored.put_back(copy)
    return stored


def test_a_store_ahead_of_its_mark_is_right(stored):
    stored.mark()
    stored.play()
    assert stored.started().problem is None
    assert stored.verified().problem is None


def test_without_a_file_a_start_is_possible(rolled_back):
    rolled_back.marks.path.unlink()
    assert rolled_back.started().problem is None


def test_a_rollback_is_named_with_what_is_missing(rolled_back):
    says = "events 9 to 14 of main are missing: the store ends at 8, but event 14 was committed: restore the newest"
    assert says in rolled_back.started().problem
    assert says in rolled_back.verified().problem
    assert rolled_back.verified(marks=False).problem is None
    with pytest.raises(NotExtended, match="events 9 to 14"):
        rolled_back.sign()


def test_a_signed_retained_mark_is_enough_and_is_kept_in_the_file(stored):
    copy = stored.copy()
    stored.play()
    seq, digest, epoch = stored.journal.lease.head
    stored.put_back(copy)
    stored.marks.path.unlink()
    assert "events 9 to 14 of main are missing" in stored.started(ChainMark(epoch, seq, digest)).problem
    assert "events 9 to 14 of main are missing" in stored.started().problem


def test_another_history_at_the_mark_is_found(rolled_back):
    rolled_back.reopen()
    rolled_back.play((1, 2, 3, 4, 5))
    assert rolled_back.seq >= 14
    assert "event 14 of main is not the one that was committed" in rolled_back.started().problem


def test_a_recovery_names_the_lost_range_and_lowers_the_marks(rolled_back):
    (loss,) = rolled_back.losses()
    assert (loss.from_seq, loss.to_seq) == (9, 14)
    rolled_back.recover()
    assert rolled_back.started().problem is None
    assert rolled_back.verified().problem is None
    assert rolled_back.losses() == []
    found = rolled_back.marks.read()
    assert (found.marks["main"].seq, found.signed["main"].seq, found.signed["main"].number) == (9, 9, 2)
    assert rolled_back.journal.lease.head.epoch > loss.epoch


def test_a_recovery_is_found_by_another_controller_which_lowers_its_own_marks(rolled_back):
    known = rolled_back.marks.read()
    rolled_back.recover()
    newer = ChainMark(known.marks["main"].epoch, 20, bytes(32))  # it knows of more events that were lost
    rolled_back.marks.path.unlink()
    rolled_back.marks.raise_to(Marks({"main": newer}, known.signed))
    assert rolled_back.verified().problem is None
    assert rolled_back.started().problem is None
    assert (rolled_back.marks.read().marks["main"].seq, rolled_back.marks.read().signed) == (9, {})


def test_a_second_rollback_after_a_recovery_is_noticed(rolled_back):
    rolled_back.recover()
    copy = rolled_back.copy()
    rolled_back.play((1,))
    rolled_back.mark()
    assert 9 < rolled_back.seq <= 14, "within the range of the first loss"
    rolled_back.put_back(copy)
    assert f"events 10 to {rolled_back.seq} of main are missing" in rolled_back.started().problem


def test_a_recovery_that_is_not_signed_lowers_nothing(rolled_back):
    """An attacker can append an event, but cannot sign it."""
    rolled_back.recover(sign=False)
    with rolled_back.database.reader() as connection:
        assert recoveries_of(connection, "main", KEY) == []
    assert "event 14 was committed" in rolled_back.started().problem


def test_a_signed_event_that_was_changed_into_a_recovery_lowers_nothing(rolled_back):
    data = '{"from_seq"\\:1,"epoch"\\:99,"to_seq"\\:99}'
    rolled_back.tamper(
        f"UPDATE events SET type = 'history_recovered', data = '{data}' WHERE chain = 'main' AND seq = 8"
    )
    with rolled_back.database.reader() as connection:
        assert recoveries_of(connection, "main", KEY) == []


@pytest.mark.parametrize(
    ("first", "second", "reason", "code"),
    [
        (MANAGER, MANAGER, "lost", CommandError.SAME_PERSON),
        (MANAGER, SUPERVISOR, "lost", CommandError.FORBIDDEN),
        (SUPERVISOR, MANAGER, "lost", CommandError.FORBIDDEN),
        (Actor("ada", Role.AUDITOR), MANAGER, "lost", CommandError.FORBIDDEN),
        (MANAGER, OTHER_MANAGER, " ", CommandError.MALFORMED),
    ],
)
def test_a_recovery_needs_two_managers_and_a_reason(stored, first, second, reason, code):
    command = RecoverHistory(AT, first, second, 9, 14, "00", 1, reason)
    (outcome,) = stored.journal.execute([command])
    assert isinstance(outcome, Refused)
    assert outcome.code is code
    with pytest.raises(Refused):
        stored.site.execute(command)


def test_a_recovery_changes_nothing_but_the_trail(stored):
    before = stored.journal.jackpot
    (outcome,) = stored.journal.execute([RecoverHistory(AT, MANAGER, OTHER_MANAGER, 9, 14, "00", 1, "lost")])
    assert stored.journal.jackpot == before
    assert dict(outcome.events[0].data)["approved_by"] == "mia"
    site = stored.site.site
    stored.site.execute(RecoverHistory(AT, MANAGER, OTHER_MANAGER, 4, 5, "00", 1, "lost"))
    assert stored.site.site == site
    assert stored.verified("site").problem is None
