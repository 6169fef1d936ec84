"""The time that a start needs to verify a big store: python bench/start.py [--wagers 200000]

A store on SQLite is filled with events in bulk, in place of old wagers, and gets a signed snapshot. Then wagers are
played after the snapshot, as many as a controller may leave when it is killed, and the verification of a start is
timed: its work depends only on the events since the snapshot. With --wagers 10000000 the file has some gigabytes.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from jackpot.core.commands import Actor, CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role, Settle
from jackpot.core.events import Event, EventType
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.engine.signing import JackpotSigner
from jackpot.store.checkpoints import ChainSigner
from jackpot.store.database import Database
from jackpot.store.event_rows import chained_row
from jackpot.store.hash_chain import EventRow
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import Trail
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
PAD, DEALER, MANAGER = Actor("pad"), Actor("dealer"), Actor("max", Role.MANAGER)
CONFIG = Config(1, 200, 7_000, 3_000, 1_000_000, FixedFrom.RESERVE, ("royal_flush",))
TABLES, BOXES, ROUNDS = 100, 7, 15
LIMIT_SECONDS = 2.0
PER_INSERT = 50_000


def played(journal: Journal, rounds: int) -> None:
    """Play rounds at every table, all boxes wagering."""
    for _ in range(rounds):
        for table in journal.jackpot.tables.values():
            number = table.number + 1
            wagers = [
                PlaceWager(AT, PAD, table.id, box, f"w{number}", number, 200, ante=True) for box in range(1, BOXES + 1)
            ]
            ends = [CloseWagers(AT, DEALER, table.id, number), Settle(AT, DEALER, table.id, number)]
            journal.execute([OpenRound(AT, DEALER, table.id), *wagers, *ends])


def fill(file: Path, journal: Journal, wagers: int) -> None:
    """Add events of old wagers to the store in bulk; the state is that of a jackpot that has taken them all."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA synchronous=OFF")
    rows = _rows(journal, wagers)
    while chunk := [row for _, row in zip(range(PER_INSERT), rows, strict=False)]:
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", chunk)
        last = chunk[-1]
        connection.execute("UPDATE chains SET seq = ?, head = ? WHERE chain = 'main'", (last.seq, last.hash))
        connection.commit()
    connection.close()


def _rows(journal: Journal, wagers: int) -> Iterator[EventRow]:
    """Yield rows of an event that changes no state, a display's report, so that no ledger has to be made."""
    data = {"display": "d1", "amount_cents": 1, "epoch": 1, "seq": 1, "right": True}
    event = Event(EventType.METER_SHOWN, AT, "display", None, None, data)
    seq, head = journal.lease.head.seq, journal.lease.head.hash
    for _ in range(wagers):
        seq += 1
        row = chained_row("main", seq, head, event)
        head = row.hash
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wagers", type=int, default=200_000)
    wagers = parser.parse_args().wagers
    signer = Signer("casino", bytes(32))
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "store.db"
        database = Database(f"sqlite:///{file}")
        migrate(database)
        journal = Journal.open(database, "main", "bench")
        created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 5_000_000, 2_000_000)
        journal.execute([created, *(LinkTable(AT, MANAGER, f"t{n}", BOXES) for n in range(1, TABLES + 1))])
        played(journal, 1)
        fill(file, journal, wagers)
        journal = Journal.open(database, "main", "bench")
        sign = JackpotSigner(journal, ChainSigner(database, "main", signer))
        sign.is_stopping = True
        sign()
        before = journal.lease.head.seq
        played(journal, ROUNDS)
        database.close()
        began, computed = time.perf_counter(), time.process_time()
        found = Trail(database, "main", signer.verifier).verify_start()
        seconds, computed = time.perf_counter() - began, time.process_time() - computed
        database.close()
    if found.problem is not None:
        raise SystemExit(found.problem)
    after = found.events - before
    sys.stdout.write(
        f"{found.events:,} events, {after:,} since the snapshot: verified in {seconds:.2f} s ({computed:.2f} s CPU)\n"
    )
    if seconds > LIMIT_SECONDS:
        raise SystemExit(f"a start must be verified within {LIMIT_SECONDS:.0f} s")


if __name__ == "__main__":
    main()
