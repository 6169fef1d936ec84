"""The store compared with the raw driver, in one run: python bench/store.py [--wagers 1000000]

A batch of 200 wagers goes through decide, hash and commit; the same rows are then written by the raw driver into a
database of the same schema, in one transaction (executemany on SQLite, COPY on PostgreSQL). The two take turns, and the
medians of the turns are compared.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table
from sqlalchemy import func, select

from jackpot.core.commands import Actor, CloseWagers, CreateJackpot, LinkTable, OpenRound, PlaceWager, Role, Settle
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.store import queries, tables
from jackpot.store.database import Database
from jackpot.store.schema import migrate
from rules.jackpot_prizes import FixedFrom

MANAGER, DEALER, PAD = Actor("max", Role.MANAGER), Actor("dealer"), Actor("pad")
TABLES, BOXES, BATCH = 10, 20, 200
CONFIG = Config(1, 200, 7_000, 3_000, 1_000_000, FixedFrom.RESERVE, ("royal_flush", "straight_flush"))
BULK = (tables.events, tables.transfers, tables.wagers)


class Floor:
    """A jackpot whose tables play one round a minute."""

    def __init__(self, database: Database) -> None:
        self.journal = Journal.open(database, "main", "bench")
        self._began = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
        if not self.journal.jackpot.id:
            at = self._now(0)
            first = CreateJackpot(at, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
            self.journal.execute([first, *(LinkTable(at, MANAGER, f"t{n}", BOXES) for n in range(TABLES))])

    def _now(self, number: int) -> str:
        return (self._began + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def open(self) -> list[PlaceWager]:
        """Open a round at every table and return wagers for all boxes."""
        number = self.journal.jackpot.tables["t0"].number + 1
        at = self._now(number)
        self.journal.execute([OpenRound(at, DEALER, f"t{n}") for n in range(TABLES)])
        boxes = [(n, box) for n in range(TABLES) for box in range(1, BOXES + 1)][:BATCH]
        return [PlaceWager(at, PAD, f"t{n}", b, f"t{n}b{b}-{number:06d}", number, 200, ante=True) for n, b in boxes]

    def end(self) -> None:
        """Close and settle every round."""
        number = self.journal.jackpot.tables["t0"].number
        at, names = self._now(number), [f"t{n}" for n in range(TABLES)]
        self.journal.execute(
            [CloseWagers(at, DEALER, t, number) for t in names] + [Settle(at, DEALER, t, number) for t in names]
        )


def rows_since(database: Database, seq: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that a batch inserted and changed."""
    with database.reader() as connection:
        found = {t.name: [tuple(r) for r in connection.execute(select(t).where(t.c.seq > seq))] for t in BULK}
        for t in (tables.balances, tables.states, tables.chains):
            found[t.name] = [tuple(r) for r in connection.execute(select(t))]
    return found


class RawSqlite:
    """Writes the same rows with sqlite3."""

    def __init__(self, path: Path) -> None:
        migrate(Database(f"sqlite:///{path}"))
        self.connection = sqlite3.connect(path)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("INSERT INTO chains VALUES ('main', 0, x'00', 1, 'raw', 0)")
        self.connection.commit()

    def write(self, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        cursor, (_, seq, head, *_) = self.connection.cursor(), rows["chains"][0]
        cursor.execute("UPDATE chains SET seq = ?, head = ? WHERE chain = 'main'", (seq, head))
        for table in BULK:
            marks = ",".join("?" * len(table.columns))
            cursor.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows[table.name])
        for name in ("balances", "states"):
            cursor.executemany(f"INSERT OR REPLACE INTO {name} VALUES (?,?,?)", rows[name])
        self.connection.commit()


class RawPostgres:
    """Writes the same rows with psycopg's COPY."""

    def __init__(self, url: str) -> None:
        migrate(Database(url))
        self.connection = psycopg.connect(url)
        self.connection.execute("INSERT INTO chains VALUES ('main', 0, '', 1, 'raw', 0)")
        self.connection.commit()

    def write(self, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        cursor, (_, seq, head, *_) = self.connection.cursor(), rows["chains"][0]
        cursor.execute("UPDATE chains SET seq = %s, head = %s WHERE chain = 'main'", (seq, head))
        for table in BULK:
            with cursor.copy(f"COPY {table.name} FROM STDIN") as copy:
                for row in rows[table.name]:
                    copy.write_row(row)
        for name, column, key in (("balances", "balance_cents", "account"), ("states", "body", "part")):
            cursor.executemany(
                f"INSERT INTO {name} VALUES (%s,%s,%s) "
                f"ON CONFLICT (chain, {key}) DO UPDATE SET {column} = excluded.{column}",
                rows[name],
            )
        self.connection.commit()


def race(floor: Floor, raw: RawSqlite | RawPostgres, turns: int) -> tuple[float, float]:
    """Return the median microseconds per wager of the store and of the raw driver, measured in turns."""
    ours, theirs = [], []
    for _ in range(turns):
        floor_wagers = floor.open()
        opened = floor.journal.lease.head.seq
        start = time.perf_counter()
        floor.journal.execute(floor_wagers)
        ours.append((time.perf_counter() - start) / BATCH * 1e6)
        rows = rows_since(floor.journal.lease.database, opened)
        start = time.perf_counter()
        raw.write(rows)
        theirs.append((time.perf_counter() - start) / BATCH * 1e6)
        floor.end()
    return statistics.median(ours), statistics.median(theirs)


def cost(floor: Floor) -> float:
    """Return the microseconds per wager of one batch."""
    wagers = floor.open()
    start = time.perf_counter()
    floor.journal.execute(wagers)
    took = (time.perf_counter() - start) / BATCH * 1e6
    floor.end()
    return took


def costs(one: Floor, other: Floor, turns: int) -> tuple[float, float, float]:
    """Return the median microseconds per wager on two floors, and the median of the ratios of the turns."""
    pairs = [(cost(one), cost(other)) for _ in range(turns)]
    first, second = zip(*pairs, strict=True)
    return statistics.median(first), statistics.median(second), statistics.median(a / b for a, b in pairs)


def warm_up(floor: Floor) -> None:
    for _ in range(3):
        cost(floor)


def fill(floor: Floor, wagers: int) -> None:
    """Play until this number of wagers is stored."""
    for _ in range(wagers // BATCH):
        floor.journal.execute(floor.open())
        floor.end()


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def slowest_page(database: Database) -> float:
    """Return the milliseconds of the slowest query for a page."""
    with database.reader() as connection:
        last = connection.execute(select(func.max(tables.events.c.seq))).scalar_one()
        at = [
            connection.execute(select(tables.events.c.at).where(tables.events.c.seq == last * n // 4)).scalar_one()
            for n in (1, 2, 3)
        ]
        filters = [
            queries.EventFilter(since, until, kind, actor)
            for since, until in ((None, None), (at[0], None), (None, at[0]), (at[1], at[2]))
            for kind in (None, "wager_accepted", "round_settled", "round_voided")
            for actor in (None, "pad", "dealer", "max", "nobody")
        ]
        pages = [queries.Page("main", table, before) for table in (None, "t3") for before in (None, 1_000, last // 2)]
        requests: list[Callable[[], object]] = []
        for page in pages:
            requests += [partial(queries.rounds, connection, page), partial(queries.wins, connection, page)]
            requests += [partial(queries.events, connection, page, wanted) for wanted in filters]
        for query in requests:
            query()
        return max(timed(query) for query in requests)


@contextmanager
def postgres() -> Iterator[str]:
    sys.path.insert(0, str(Path(__file__).parent.parent))  # a script has only its own folder on the path
    from tests.support.postgres import server

    with server() as url:
        yield url


def start_up(url: str) -> tuple[float, float]:
    """Return the seconds and megabytes of a new process that opens the store."""
    code = (
        "import re, sys, time; t = time.perf_counter();"
        "from jackpot.engine.journal import Journal; from jackpot.store.database import Database;"
        "Journal.open(Database(sys.argv[1]), 'main', 'again');"
        r"print(time.perf_counter() - t, re.search(r'VmHWM:\s*([0-9]+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, check=True)
    seconds, kib = done.stdout.split()
    return float(seconds), int(kib) / 1024


def main() -> int:
    arguments = argparse.ArgumentParser(description="The store compared with the raw driver.")
    arguments.add_argument("--turns", type=int, default=30)
    arguments.add_argument("--wagers", type=int, default=0, help="also measure with this many wagers stored")
    arguments.add_argument("--no-postgres", action="store_true")
    chosen = arguments.parse_args()
    lines: list[tuple[str, str, str, bool]] = []
    with tempfile.TemporaryDirectory() as folder, nullcontext(None) if chosen.no_postgres else postgres() as server:
        url = f"sqlite:///{folder}/ours.db"
        database = Database(url)
        migrate(database)
        floor = Floor(database)
        warm_up(floor)
        ours, raw = race(floor, RawSqlite(Path(folder) / "raw.db"), chosen.turns)
        lines.append(
            (
                "SQLite, 200 wagers per batch",
                f"{ours:.1f} µs, raw {raw:.1f}: {raw / ours:.0%} of raw",
                "≥ 35 %",
                raw / ours >= 0.35,
            )
        )
        if server is not None:
            lines.append(_postgres_line(server, chosen.turns))
        if chosen.wagers:
            lines += _full_lines(database, floor, url, chosen)
    table = Table(title="Store", title_justify="left")
    for column in ("measurement", "result", "target", ""):
        table.add_column(column)
    for what, measured, target, met in lines:
        table.add_row(what, measured, target, "met" if met else "MISSED")
    Console(width=130, highlight=False).print(table)
    return 0 if all(met for *_, met in lines) else 1


def _postgres_line(server: str, turns: int) -> tuple[str, str, str, bool]:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE ours")
        connection.execute("CREATE DATABASE raw")
    database = Database(server.replace("/postgres", "/ours"))
    migrate(database)
    floor = Floor(database)
    warm_up(floor)
    ours, raw = race(floor, RawPostgres(server.replace("/postgres", "/raw")), turns)
    database.close()
    return (
        "PostgreSQL, 200 wagers per batch",
        f"{ours:.1f} µs, raw COPY {raw:.1f}: {raw / ours:.0%} of raw",
        "≥ 30 %",
        raw / ours >= 0.30,
    )


def _full_lines(
    database: Database, floor: Floor, url: str, chosen: argparse.Namespace
) -> list[tuple[str, str, str, bool]]:
    fill(floor, chosen.wagers)
    other = Database(url.replace("ours.db", "empty.db"))
    migrate(other)
    empty_floor = Floor(other)
    warm_up(empty_floor)
    full, empty, compared = costs(floor, empty_floor, 4 * chosen.turns)
    page = slowest_page(database)
    seconds, megabytes = start_up(url)
    return [
        (
            f"with {chosen.wagers:,} wagers stored",
            f"{full:.1f} µs, empty {empty:.1f}: {compared:.2f} ×",
            "≤ 1.10 ×",
            compared <= 1.10,
        ),
        ("slowest page", f"{page:.1f} ms", "≤ 50 ms", page <= 50),
        ("start-up", f"{seconds:.2f} s, {megabytes:.0f} MB", "< 2 s, < 200 MB", seconds < 2 and megabytes < 200),
    ]


if __name__ == "__main__":
    sys.exit(main())
