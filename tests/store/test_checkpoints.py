"""Checkpoints are counted and chained, and a head is signed only if it extends the last one that was signed."""

import pytest
from sqlalchemy import insert, select, text, update

from jackpot.store import checkpoints, tables
from jackpot.store.checkpoints import ChainSigner, NotExtended, link_of, note_hash, write_checkpoint
from jackpot.store.errors import Fenced
from jackpot.store.marks import ChainMark
from jackpot.store.signed_notes import Checkpoint, NoteError
from jackpot.store.trail_export import export
from tests.support.stored_jackpot import KEY, SIGNER, StoredSite


@pytest.fixture
def stored(database, tmp_path):
    made = StoredSite(database, tmp_path)
    for _ in range(3):
        made.play()
        made.sign()
    return made


def notes(stored):
    with stored.database.reader() as connection:
        of_chain = select(tables.checkpoints).where(tables.checkpoints.c.chain == "main")
        return connection.execute(of_chain.order_by(tables.checkpoints.c.seq)).all()


def add_note(stored, *lines):
    """Sign the head with these lines, without the checks of a signer."""
    seq, digest, _ = stored.journal.lease.head
    note = SIGNER.sign(Checkpoint("casino/main", seq, digest, lines))
    with stored.database.transaction() as connection:
        connection.execute(insert(tables.checkpoints).values(chain="main", seq=seq, note=note))
        c = tables.chains.c
        connection.execute(update(tables.chains).where(c.chain == "main").values(signed=c.signed + 1))


def test_each_checkpoint_has_its_number_and_names_the_one_before(stored):
    before = None
    for number, row in enumerate(notes(stored), 1):
        link = link_of(KEY.open(row.note))
        assert (link.number, link.previous) == (number, note_hash(before))
        before = row.note
    assert notes(stored)[0].note.splitlines()[3:5] == ["1", "A" * 43 + "="]
    assert stored.verified().problem is None


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_deleted_checkpoint_is_found_even_if_the_count_is_lowered(stored, which):
    stored.tamper(
        f"DELETE FROM checkpoints WHERE chain = 'main' AND seq = {notes(stored)[which].seq}",
        "UPDATE chains SET signed = 2 WHERE chain = 'main'",
    )
    assert stored.verified().problem
    assert (stored.verified(marks=False).problem is None) == (which == 2), "only the marks know of the last one"


def test_deleting_all_checkpoints_is_found_by_the_marks(stored):
    stored.tamper("DELETE FROM checkpoints WHERE chain = 'main'", "UPDATE chains SET signed = 0 WHERE chain = 'main'")
    assert "the key signed main 3 times" in stored.verified().problem
    assert "the key signed main 3 times" in stored.started().problem
    with pytest.raises(NotExtended, match="there are 0 checkpoints"):
        stored.sign()


def test_two_swapped_checkpoints_are_found(stored):
    one, two, _ = notes(stored)
    stored.tamper(
        f"UPDATE checkpoints SET seq = -1 WHERE chain = 'main' AND seq = {one.seq}",
        f"UPDATE checkpoints SET seq = {one.seq} WHERE chain = 'main' AND seq = {two.seq}",
        f"UPDATE checkpoints SET seq = {two.seq} WHERE chain = 'main' AND seq = -1",
    )
    assert "another history" in stored.verified().problem


def test_a_replaced_checkpoint_is_found_by_the_next_one_and_the_last_by_the_marks(stored):
    """Even the site's own key cannot replace a note without a trace."""
    for index in (1, 2):
        row = notes(stored)[index]
        forged = SIGNER.sign(KEY.open(row.note)._replace(lines=(str(index + 1), "B" * 43 + "=")))
        note = forged.replace("\n", "' || char(10) || '" if stored.database.is_sqlite else "' || chr(10) || '")
        stored.tamper(f"UPDATE checkpoints SET note = '{note}' WHERE chain = 'main' AND seq = {row.seq}")
        assert stored.verified().problem


def test_notes_without_a_count_are_valid_only_before_the_first_with_one(database, tmp_path):
    stored = StoredSite(database, tmp_path)
    for _ in range(2):
        stored.play()
        add_note(stored)
    assert stored.verified().problem is None
    stored.play()
    stored.sign()
    assert [line.number for line in map(link_of, (KEY.open(notes(stored)[-1].note),))] == [3]
    assert stored.verified().problem is None
    stored.play()
    add_note(stored)
    assert "it has no count" in stored.verified(marks=False).problem


@pytest.mark.parametrize(
    "lines", [("x",), ("1", "x"), ("01", "A" * 43 + "="), ("1", "AA=="), ("1", "A" * 43 + "=", "")]
)
def test_other_lines_are_no_checkpoint(lines):
    with pytest.raises(NoteError):
        link_of(KEY.open(SIGNER.sign(Checkpoint("casino/main", 7, bytes(32), lines))))


def test_a_forged_history_is_neither_signed_nor_started(stored):
    """Finding 3: change an actor, hash to the end anew, delete the covering checkpoint and lower the count."""
    last = notes(stored)[-1].seq
    stored.tamper(
        f"UPDATE events SET actor = 'forger' WHERE chain = 'main' AND seq = {last - 1}",
        f"DELETE FROM checkpoints WHERE chain = 'main' AND seq = {last}",
        "UPDATE chains SET signed = signed - 1 WHERE chain = 'main'",
    )
    stored.rehash()
    assert stored.verified(marks=False).problem is None, "the store looks right by itself"
    says = f"event {last} of main is not the one that was signed"
    assert says in stored.verified().problem
    assert says in stored.started().problem
    for act in (
        stored.sign,
        lambda: export(stored.database, "main", stored.marks.path.with_name("x"), SIGNER, stored.marks),
    ):
        with pytest.raises(NotExtended, match="is not the one that was signed"):
            act()
    assert len(notes(stored)) == 2


def test_a_running_controller_does_not_sign_after_a_signed_event_was_changed(stored):
    last = notes(stored)[-1].seq
    stored.play()
    stored.tamper(f"UPDATE events SET actor = 'forger' WHERE chain = 'main' AND seq = {last}")
    stored.rehash()
    with pytest.raises(NotExtended):
        stored.snapshot()
    assert len(notes(stored)) == 3


def test_events_since_the_last_checkpoint_are_hashed_again_before_a_head_is_signed(stored):
    stored.play()
    stored.tamper(f"UPDATE events SET actor = 'forger' WHERE chain = 'main' AND seq = {stored.seq - 1}")
    for act in (
        stored.sign,
        lambda: export(stored.database, "main", stored.marks.path.with_name("x"), SIGNER, stored.marks),
    ):
        with pytest.raises(NotExtended, match=f"event {stored.seq - 1} of main"):
            act()
    stored.tamper("UPDATE chains SET head = hash FROM events WHERE chains.chain = 'main' AND events.seq = 1")
    with pytest.raises(NotExtended):
        stored.sign()
    assert len(notes(stored)) == 3


def test_a_head_that_is_signed_already_is_not_signed_again(stored):
    before = notes(stored)
    assert stored.sign() == before[-1].note
    stored.snapshot()
    assert notes(stored) == before


def test_a_note_that_the_marks_do_not_know_yet_is_added_to_them(stored):
    """A crash after the commit leaves the file one note behind."""
    stored.play()
    write_checkpoint(stored.database, "main", SIGNER)
    assert stored.marks.read().signed["main"].number == 3
    assert stored.verified().problem is None
    stored.sign()
    assert stored.marks.read().signed["main"].number == 4


def test_a_controller_that_was_taken_over_does_not_sign(stored):
    stored.play()
    seq, digest, epoch = stored.journal.lease.head
    stored.reopen()
    with pytest.raises(Fenced):
        ChainSigner(stored.database, "main", SIGNER, stored.marks).sign(ChainMark(epoch, seq, digest))
    assert len(notes(stored)) == 3


def test_two_processes_that_sign_at_the_same_moment_give_two_numbers(stored, monkeypatch):
    stored.play()
    read = checkpoints.last_checkpoint
    seq, digest, epoch = stored.journal.lease.head

    def read_and_be_overtaken(connection, chain):
        found = read(connection, chain)
        monkeypatch.setattr(checkpoints, "last_checkpoint", read)
        if not stored.database.is_sqlite:
            ChainSigner(stored.database, "main", SIGNER).sign(ChainMark(epoch, seq, digest))
            stored.play()
        return found

    monkeypatch.setattr(checkpoints, "last_checkpoint", read_and_be_overtaken)
    stored.sign()
    assert stored.verified().problem is None
    assert [link_of(KEY.open(row.note)).number for row in notes(stored)][:4] == [1, 2, 3, 4]


def test_an_epoch_that_was_lowered_is_found_by_the_marks(stored):
    stored.mark()
    assert stored.verified().problem is None
    stored.tamper("UPDATE chains SET epoch = 0 WHERE chain = 'main'")
    assert "the epoch of main is 0, but it was 1 already" in stored.verified().problem
    assert stored.verified(marks=False).problem is None


def test_an_empty_chain_is_not_signed(database, tmp_path):
    assert write_checkpoint(database, "nothing", SIGNER) is None
    with database.reader() as connection:
        assert connection.execute(text("SELECT count(*) FROM checkpoints")).scalar() == 0
