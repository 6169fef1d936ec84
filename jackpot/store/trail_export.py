"""Export the audit trail to one file that can be verified with the public key alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TextIO

from sqlalchemy import Connection

from jackpot.store.checkpoints import NotExtended, require_signed
from jackpot.store.database import Database
from jackpot.store.event_rows import plain_row, rows_of_chain
from jackpot.store.hash_chain import GENESIS, EventRow, canonical, event_hash
from jackpot.store.marks import MarkFile
from jackpot.store.signed_notes import Checkpoint, NoteError, Signer, Verifier, origin_of
from jackpot.store.trail_verification import Replay, TrailError, Verified

FORMAT: Final = "jackpot-audit-1"


def export(database: Database, chain: str, path: Path, signer: Signer, marks: MarkFile | None = None) -> int:
    """Write a chain to a file that ends with a checkpoint over its last event; return the number of events."""
    known = marks.read().signed.get(chain) if marks is not None else None
    with database.reader() as connection, path.open("x", encoding="utf-8", newline="\n") as file:
        try:
            require_signed(connection, chain, signer.verifier, known)
            return _write_export(connection, chain, file, signer)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _write_export(connection: Connection, chain: str, file: TextIO, signer: Signer) -> int:
    origin = origin_of(signer.verifier.name, chain)
    file.write(canonical({"format": FORMAT, "origin": origin}) + "\n")
    seq, head = 0, GENESIS
    for row in rows_of_chain(connection, chain):
        if row.seq != seq + 1 or event_hash(head, row[:-1]) != bytes(row.hash):
            raise NotExtended(f"event {seq + 1:,} of {chain} is missing, or was changed since it was written")
        file.write(canonical(plain_row(row)) + "\n")
        seq, head = row.seq, row.hash
    file.write(canonical({"checkpoint": signer.sign(Checkpoint(origin, seq, head))}) + "\n")
    return seq


def verify_file(path: Path, verifier: Verifier) -> Verified:
    """Verify an exported trail with the public key alone; every byte of the file is checked."""
    replay = Replay("")
    with path.open("rb") as file:
        try:
            _verify_lines(_Lines(file), replay, verifier)
        except TrailError as error:
            return Verified(replay.chain, replay.seq, replay.head.hex(), 0, error.seq, error.problem)
    return Verified(replay.chain, replay.seq, replay.head.hex(), 1)


def _verify_lines(lines: _Lines, replay: Replay, verifier: Verifier) -> None:
    header = lines.next()
    origin = str(header.get("origin"))
    replay.chain = origin.removeprefix(f"{verifier.name}/")
    if header != {"format": FORMAT, "origin": origin_of(verifier.name, replay.chain)}:
        raise TrailError(0, f"the file does not start like an audit trail of {verifier.name}")
    while True:
        plain = lines.next()
        if set(plain) == {"checkpoint"}:
            break
        replay.follow(_parse_row(plain, replay.seq + 1))
    try:
        covered = verifier.open(str(plain["checkpoint"]))
    except NoteError as error:
        raise TrailError(replay.seq, f"the checkpoint at the end: {error}") from None
    if covered != Checkpoint(origin_of(verifier.name, replay.chain), replay.seq, replay.head):
        raise TrailError(replay.seq, "the checkpoint at the end was signed for another history")
    if not lines.ended:
        raise TrailError(replay.seq, "there is more after the checkpoint at the end")


def _parse_row(plain: dict[str, Any], seq: int) -> EventRow:
    try:
        row = EventRow(**{**plain, "hash": bytes.fromhex(plain["hash"])})
    except (KeyError, TypeError, ValueError):
        raise TrailError(seq, f"the line of event {seq} is not an event") from None
    texts = (row.chain, row.at, row.actor, row.type, row.data, row.transfers, row.table_id or "")
    has_types = all(type(text) is str for text in texts) and type(row.seq) is int and type(row.round or 0) is int
    if not has_types or row.hash.hex() != plain["hash"]:
        raise TrailError(seq, f"the line of event {seq} is not in the format of an event")
    return row


class _Lines:
    """The lines of a file, each of which must be canonical JSON to the byte."""

    def __init__(self, file: Iterable[bytes]) -> None:
        self._lines = iter(file)
        self._count = 0

    def next(self) -> dict[str, Any]:
        """Return the object of the next line."""
        line = next(self._lines, b"")
        self._count += 1
        seq = max(0, self._count - 1)
        try:
            plain = json.loads(line)
            exact = (canonical(plain) + "\n").encode() == line and isinstance(plain, dict)
        except (ValueError, RecursionError):
            exact = False
        if not exact:
            raise TrailError(seq, f"line {self._count} was changed, truncated, or is missing")
        return dict(plain)

    @property
    def ended(self) -> bool:
        """Return True if no line is left."""
        return next(self._lines, None) is None
