"""The file of marks: durable, private, shared by processes, and never lowered but by a recovery."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jackpot.store import marks as marks_module
from jackpot.store.errors import StoreError
from jackpot.store.mark_notes import open_mark, sign_mark
from jackpot.store.marks import ChainMark, MarkFile, Marks, SignedHead
from jackpot.store.signed_notes import Checkpoint, Signer

SIGNER = Signer("casino", bytes(range(32)))
A, B, C = (bytes([n] * 32) for n in (1, 2, 3))


@pytest.fixture
def file(tmp_path):
    key = tmp_path / "jackpot.key"
    key.write_text("key")
    return MarkFile(key)


def test_without_a_file_there_are_no_marks(file):
    assert file.read() == Marks()


def test_marks_and_signed_heads_are_read_as_written_and_the_file_is_private(file):
    written = Marks({"main": ChainMark(3, 10, A, sealed=True)}, {"site": SignedHead(2, 7, B, 4, C)})
    file.raise_to(written)
    assert file.read() == written
    assert (file.path.name, stat.S_IMODE(file.path.stat().st_mode)) == ("jackpot.key.marks", 0o600)
    assert [path.name for path in sorted(file.path.parent.iterdir())] == ["jackpot.key", "jackpot.key.marks"]


@pytest.mark.parametrize(
    ("later", "kept"),
    [
        (ChainMark(4, 11, B), ChainMark(4, 11, B)),
        (ChainMark(2, 11, B), ChainMark(2, 11, B)),
        (ChainMark(4, 10, A), ChainMark(4, 10, A)),
        (ChainMark(3, 9, B), ChainMark(3, 10, A)),
        (ChainMark(5, 9, B), ChainMark(3, 10, A)),
        (ChainMark(3, 10, B), ChainMark(3, 10, A)),
        (ChainMark(3, 10, A, sealed=True), ChainMark(3, 10, A, sealed=True)),
    ],
)
def test_a_mark_is_never_lowered(file, later, kept):
    file.raise_to(Marks({"main": ChainMark(3, 10, A)}))
    file.raise_to(Marks({"main": later}))
    assert file.read().marks == {"main": kept}


def test_a_signed_head_is_never_lowered(file):
    file.raise_to(Marks(signed={"main": SignedHead(2, 7, A, 4, B)}))
    file.raise_to(Marks(signed={"main": SignedHead(2, 6, C, 3, C)}))
    assert file.read().signed["main"].seq == 7
    file.raise_to(Marks(signed={"main": SignedHead(2, 8, C, 5, C)}))
    assert file.read().signed["main"].seq == 8


def test_a_recovery_lowers_one_chain_and_forgets_its_signed_head(file):
    both = {"main": ChainMark(3, 10, A, sealed=True), "site": ChainMark(1, 4, B)}
    file.raise_to(Marks(both, {chain: SignedHead(3, 9, A, 4, B) for chain in both}))
    file.lower("main", ChainMark(4, 6, C))
    found = file.read()
    assert found.marks == {"main": ChainMark(4, 6, C, sealed=True), "site": ChainMark(1, 4, B)}
    assert set(found.signed) == {"site"}


def test_what_several_processes_write_is_merged(file):
    program = """
import sys
from pathlib import Path
from jackpot.store.marks import ChainMark, MarkFile, Marks
for seq in range(1, 51):
    MarkFile(Path(sys.argv[1])).raise_to(Marks({sys.argv[2]: ChainMark(1, seq, bytes(32))}))
"""
    key = str(file.path).removesuffix(".marks")
    started = [subprocess.Popen([sys.executable, "-c", program, key, name]) for name in ("one", "two", "three")]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert {chain: mark.seq for chain, mark in file.read().marks.items()} == {"one": 50, "two": 50, "three": 50}


def test_a_write_that_breaks_off_leaves_the_old_file(file, monkeypatch):
    file.raise_to(Marks({"main": ChainMark(3, 10, A)}))

    def broken(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StoreError, match="cannot be written: No space left"):
        file.raise_to(Marks({"main": ChainMark(3, 11, B)}))
    assert file.read().marks["main"].seq == 10


def test_the_file_and_its_folder_are_synced(file, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(str(Path(f"/proc/self/fd/{number}").readlink())))
    file.raise_to(Marks({"main": ChainMark(3, 10, A)}))
    assert synced == [f"{file.path}.new", str(file.path.parent)]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format":2,"marks":{},"signed":{}}', "\0", '{"format":1'])
def test_a_damaged_file_is_an_error_and_not_an_empty_one(file, content):
    file.path.write_text(content)
    with pytest.raises(StoreError, match="is damaged"):
        file.read()


def test_a_lock_that_is_not_given_back_is_not_waited_for_without_end(file, monkeypatch):
    monkeypatch.setattr(marks_module, "LOCK_SECONDS", 0.05)
    with file._locked(), pytest.raises(StoreError, match="locked"):
        file.raise_to(Marks({"main": ChainMark(3, 10, A)}))


def test_marks_that_did_not_change_are_not_written(file):
    file.raise_to(Marks({"main": ChainMark(3, 10, A)}))
    before = file.path.stat().st_ino
    file.raise_to(Marks({"main": ChainMark(3, 10, A)}))
    assert file.path.stat().st_ino == before
    assert json.loads(file.path.read_text())["format"] == 1


def test_a_signed_mark_is_of_one_site_and_chain_and_key():
    mark = ChainMark(7, 90_112, A)
    note = sign_mark(SIGNER, "main", mark)
    assert open_mark(SIGNER.verifier, "main", note) == mark
    assert open_mark(SIGNER.verifier, "other", note) is None
    assert open_mark(Signer.new("casino").verifier, "main", note) is None
    assert open_mark(SIGNER.verifier, "main", note.replace("90112", "90113")) is None
    assert open_mark(SIGNER.verifier, "main", SIGNER.sign(Checkpoint("casino/main", 5, A))) is None
    for content in ("", "x", "\n\n", SIGNER.sign(Checkpoint("casino/main/mark", 5, A, ("x",)))):
        assert open_mark(SIGNER.verifier, "main", content) is None
