"""The file of marks beside the key: how far each chain has come, kept outside of the store.

A store that was rolled back, cut or replaced looks right by itself; this file knows more. For each chain it holds the
high-water mark (the last event known to be committed) and the last head that the site's key has signed. Several
processes share it: each takes a lock, reads, merges and writes; nothing is lowered but by a recovery.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from jackpot.store.errors import StoreError, Unreachable
from jackpot.store.hash_chain import canonical

SUFFIX: Final = ".marks"
FORMAT: Final = 1
LOCK_SECONDS: Final = 5.0
"""The time to wait for another process that writes the file."""
RETRY_SECONDS: Final = 0.01
_MAY_PASS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of a disk that is full or failing: the write is tried again."""
_MODE: Final = 0o600


class ChainMark(NamedTuple):
    """The last event of a chain that is known to be committed, and the epoch at which it was known.

    `sealed` is True once the chain's lease was seen with a seal: from then on one without a seal is wrong.
    """

    epoch: int
    seq: int
    head: bytes
    sealed: bool = False


class SignedHead(NamedTuple):
    """The last head of a chain that the key has signed: the number of its checkpoint and the SHA-256 of its note."""

    epoch: int
    seq: int
    hash: bytes
    number: int
    note: bytes


class Marks(NamedTuple):
    """The content of the file, by chain."""

    marks: Mapping[str, ChainMark] = {}
    signed: Mapping[str, SignedHead] = {}

    def merged(self, other: Marks) -> Marks:
        """Return the higher of both for each chain."""
        marks, signed = dict(self.marks), dict(self.signed)
        for chain, mark in other.marks.items():
            marks[chain] = _higher(marks.get(chain, mark), mark)
        for chain, head in other.signed.items():
            known = signed.get(chain, head)
            signed[chain] = head if head.seq > known.seq else known
        return Marks(marks, signed)


class MarkFile:
    """The file of marks of one key."""

    def __init__(self, key_file: Path) -> None:
        self._key_file = key_file
        self.path = key_file.with_name(key_file.name + SUFFIX)

    def read(self) -> Marks:
        """Return the marks; none if there is no file."""
        try:
            return _parse(json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Marks()
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from None
        except (ValueError, TypeError, LookupError, AttributeError):
            raise StoreError(
                f"{self.path} is damaged: restore it from a copy; without it a lost history goes unnoticed"
            ) from None

    def raise_to(self, marks: Marks) -> None:
        """Raise the marks to these, durably; what is higher already stays."""
        with self._locked():
            known = self.read()
            merged = known.merged(marks)
            if merged != known:
                self._write(merged)

    def lower(self, chain: str, mark: ChainMark) -> None:
        """Replace a chain's mark and forget its last signed head: a recorded recovery has given up what is above."""
        with self._locked():
            known = self.read()
            kept = mark._replace(sealed=chain in known.marks and known.marks[chain].sealed)
            signed = {other: head for other, head in known.signed.items() if other != chain}
            self._write(Marks({**known.marks, chain: kept}, signed))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold a lock on the key's file, which is never replaced."""
        try:
            key = os.open(self._key_file, os.O_RDONLY)
        except OSError as error:
            raise StoreError(f"{self._key_file}: {error.strerror}") from None
        try:
            self._lock(key)
            yield
        finally:
            os.close(key)

    def _lock(self, key: int) -> None:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(key, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Unreachable(
                        f"{self.path}: another process has kept it locked for {LOCK_SECONDS:.0f} s"
                    ) from None
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _write(self, marks: Marks) -> None:
        """Write the file so that a crash leaves the old one or the new one, whole."""
        unfinished = self.path.with_name(self.path.name + ".new")
        try:
            file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
            with os.fdopen(file, "w", encoding="utf-8") as writing:
                writing.write(canonical(_plain(marks)) + "\n")
                writing.flush()
                os.fsync(writing.fileno())
            unfinished.rename(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            kind = Unreachable if error.errno in _MAY_PASS else StoreError
            raise kind(
                f"{self.path} cannot be written: {error.strerror}: let the controller write beside its key"
            ) from None


def _higher(known: ChainMark, mark: ChainMark) -> ChainMark:
    """Return the mark of the later event, with its own epoch: a recovery covers marks by their epochs."""
    is_same = (mark.seq, mark.head) == (known.seq, known.head)
    higher = mark if mark.seq > known.seq or (is_same and mark.epoch > known.epoch) else known
    return higher._replace(sealed=known.sealed or mark.sealed)


def _plain(marks: Marks) -> dict[str, Any]:
    plain_marks = {chain: mark._asdict() | {"head": mark.head.hex()} for chain, mark in marks.marks.items()}
    plain_signed = {
        chain: head._asdict() | {"hash": head.hash.hex(), "note": head.note.hex()}
        for chain, head in marks.signed.items()
    }
    return {"format": FORMAT, "marks": plain_marks, "signed": plain_signed}


def _parse(plain: dict[str, Any]) -> Marks:
    if plain["format"] != FORMAT:
        raise ValueError
    marks = {chain: ChainMark(**{**m, "head": bytes.fromhex(m["head"])}) for chain, m in plain["marks"].items()}
    signed = {
        chain: SignedHead(**{**h, "hash": bytes.fromhex(h["hash"]), "note": bytes.fromhex(h["note"])})
        for chain, h in plain["signed"].items()
    }
    return Marks(marks, signed)
