"""Each fast path of a wager beside the plain way it replaces, in one run: python bench/hot_path.py [--no-postgres]

A fast path stays only while it gains at least a tenth here: posting wagers to one copy of the state, formatting lamps
and event rows by hand, and looking up only the ids that the state does not know.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import psycopg
from rich.console import Console
from rich.table import Table
from store import BATCH, Floor, postgres, warm_up

from jackpot.core.commands import Command, Identified, PlaceWager
from jackpot.core.decide import decide
from jackpot.core.evolve import evolve
from jackpot.core.state import Jackpot
from jackpot.core.wager_batch import WagerBatch
from jackpot.engine.committed_state import Position
from jackpot.engine.journal import Journal
from jackpot.store.database import Database
from jackpot.store.event_rows import linked
from jackpot.store.hash_chain import GENESIS, EventRow, canonical, event_hash
from jackpot.store.schema import migrate
from jackpot.wire.payloads import WagerAnswer, lamp

TURNS = 15
SINGLES = 40
LEAST_GAIN = 1.1


class Compared(NamedTuple):
    """A fast path and the plain way, in microseconds a wager."""

    what: str
    fast_us: float
    plain_us: float

    @property
    def gain(self) -> float:
        return self.plain_us / self.fast_us


def compared(what: str, fast: Callable[[], int], plain: Callable[[], int]) -> Compared:
    """Time both in turns; each returns how many wagers it handled."""
    took: dict[Callable[[], int], list[float]] = {fast: [], plain: []}
    for _ in range(TURNS):
        for way, times in took.items():
            start = time.perf_counter()
            wagers = way()
            times.append((time.perf_counter() - start) / wagers * 1e6)
    return Compared(what, statistics.median(took[fast]), statistics.median(took[plain]))


def posting(jackpot: Jackpot, wagers: list[PlaceWager]) -> Compared:
    """Decide and post a batch: on one copy of the state, or by `evolve` for each wager."""

    def in_one_batch() -> int:
        batch = WagerBatch(jackpot)
        for wager in wagers:
            for event in decide(batch.jackpot, wager).events:
                batch.post(event)
        batch.finish()
        return len(wagers)

    def one_by_one() -> int:
        state = jackpot
        for wager in wagers:
            for event in decide(state, wager).events:
                state = evolve(state, event)
        return len(wagers)

    return compared("decide and post wagers on one copy of the state", in_one_batch, one_by_one)


def lamps(jackpot: Jackpot) -> Compared:
    """Write lamp messages: formatted by hand, or by `json`."""
    table, position = jackpot.tables["t0"], Position(7, 90_112)
    answer = WagerAnswer("t0b3-000451", "accepted", None)
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

    def by_hand() -> int:
        for box in range(1, BATCH + 1):
            lamp(table, box % 7 + 1, answer, position)
        return BATCH

    def by_json() -> int:
        for box in range(1, BATCH + 1):
            standing = table.round.standing(box % 7 + 1) if table.round else None
            encode(
                {
                    "round": table.number,
                    "lit": standing is not None,
                    "wager_id": standing.wager_id if standing else None,
                    "answer": answer._asdict(),
                    "epoch": position.epoch,
                    "seq": position.seq,
                }
            )
        return BATCH

    return compared("format a lamp message by hand", by_hand, by_json)


def rows(jackpot: Jackpot, wagers: list[PlaceWager]) -> Compared:
    """Write an event's data and transfers as canonical JSON: formatted by hand within its row, or by `json`."""
    events = [event for wager in wagers for event in decide(jackpot, wager).events]

    def by_hand() -> int:
        for event in events:
            linked("main", 1, GENESIS, event)
        return len(events)

    def by_json() -> int:
        for event in events:
            moved = [[t.source.value, t.target.value, t.amount_cents, t.kind.value] for t in event.transfers]
            fields = ("main", 1, event.at, event.actor, event.type.value, event.table, event.round)
            written = (*fields, canonical(event.data), canonical(moved))
            EventRow._make((*written, event_hash(GENESIS, written)))
        return len(events)

    return compared("format an event row by hand", by_hand, by_json)


class LooksUpEveryId(Journal):
    """A journal that looks every id up, also of wagers on current rounds."""

    def targets_current_round(self, _command: Command | Identified) -> bool:
        return False


def look_up(url: str, name: str) -> list[Compared]:
    """Carry out wagers, alone and in a batch: looking up only unknown ids, or every id."""
    database = Database(url)
    migrate(database)
    floor = Floor(database)
    warm_up(floor)
    quick = floor.journal
    thorough = LooksUpEveryId(quick.lease, quick.jackpot)

    found = []
    for size in (1, BATCH):
        took: dict[Journal, list[float]] = {quick: [], thorough: []}
        for _ in range(TURNS):
            for journal, times in took.items():
                times.append(_timed(floor, journal, size))
        fast, plain = (statistics.median(times) for times in took.values())
        found.append(Compared(f"{name}, batch of {size}: look up only unknown ids", fast, plain))
    database.close()
    return found


def _timed(floor: Floor, journal: Journal, size: int) -> float:
    """Microseconds a wager of one journal, which takes over the state of the floor's own."""
    own = floor.journal
    wagers = floor.open()
    journal.jackpot = own.jackpot
    batches = [[wager] for wager in wagers[:SINGLES]] if size == 1 else [wagers]
    start = time.perf_counter()
    for batch in batches:
        journal.execute(batch)
    took = time.perf_counter() - start
    own.jackpot = journal.jackpot
    floor.end()
    return took / sum(map(len, batches)) * 1e6


def main() -> int:
    arguments = argparse.ArgumentParser(description="Fast paths beside the plain way.")
    arguments.add_argument("--no-postgres", action="store_true")
    chosen = arguments.parse_args()
    found: list[Compared] = []
    with tempfile.TemporaryDirectory() as folder, nullcontext(None) if chosen.no_postgres else postgres() as server:
        database = Database(f"sqlite:///{Path(folder) / 'core.db'}")
        migrate(database)
        floor = Floor(database)
        wagers = floor.open()
        jackpot = floor.journal.jackpot
        found += [posting(jackpot, wagers), rows(jackpot, wagers)]
        floor.journal.execute(wagers)
        found.append(lamps(floor.journal.jackpot))
        database.close()
        found += look_up(f"sqlite:///{Path(folder) / 'ids.db'}", "SQLite")
        if server is not None:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute("CREATE DATABASE ids")
            found += look_up(server.replace("/postgres", "/ids"), "PostgreSQL")
    table = Table(title="Fast paths, µs a wager", title_justify="left")
    for column in ("fast path", "fast", "plain", "plain takes", ""):
        table.add_column(column)
    for each in found:
        met = "met" if each.gain >= LEAST_GAIN else "MISSED"
        table.add_row(each.what, f"{each.fast_us:.1f}", f"{each.plain_us:.1f}", f"{each.gain:.2f} ×", met)
    Console(width=110, highlight=False).print(table)
    return 0 if all(each.gain >= LEAST_GAIN for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
