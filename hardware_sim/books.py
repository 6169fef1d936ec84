"""The reconciliation: what the pads believe against what the controller booked, to the cent."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from hardware_sim.notebook import RoundKey, Sum

PAGE_ROWS: Final = 500
MOST_PAGES: Final = 2_000
FROM_STATES: Final = "the tables' own states"
"""The source where there are no books: lit boxes times the wager; a supervisor's void does not show in it."""

Books = Mapping[RoundKey, Sum]


class BooksError(ValueError):
    """Books that cannot be read."""


class Line(NamedTuple):
    """A table or a round: what was believed, what was booked."""

    table: str
    round: int | None
    rounds: int
    believed: Sum
    booked: Sum

    @property
    def difference_cents(self) -> int:
        """Booked less believed."""
        return self.booked.cents - self.believed.cents

    @property
    def is_equal(self) -> bool:
        """Whether both say the same, wagers and cents."""
        return self.believed == self.booked


class Reconciliation(NamedTuple):
    """Every round of a run, compared."""

    source: str
    rounds: tuple[Line, ...]
    unanswered: int
    contradictions: tuple[str, ...]

    @property
    def tables(self) -> tuple[Line, ...]:
        """The rounds of each table added up."""
        names = dict.fromkeys(line.table for line in self.rounds)
        return tuple(_added(name, [line for line in self.rounds if line.table == name]) for name in names)

    @property
    def total(self) -> Line:
        """Everything added up."""
        return _added("all", self.rounds)

    @property
    def differences(self) -> tuple[Line, ...]:
        """The rounds where believed and booked differ."""
        return tuple(line for line in self.rounds if not line.is_equal)

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, nothing is unanswered, and no answer contradicted another."""
        return not self.differences and not self.unanswered and not self.contradictions


def compared(played: Iterable[RoundKey], believed: Books, booked: Books) -> tuple[Line, ...]:
    """Believed against booked, for the rounds that were played."""
    return tuple(
        Line(table, number, 1, believed.get((table, number), Sum()), booked.get((table, number), Sum()))
        for table, number in sorted(played, key=_by_table)
    )


def read_books(rows: Iterable[Mapping[str, Any]]) -> dict[RoundKey, Sum]:
    """Books from rows as `jackpot rounds --json` prints them: `table_id`, `round`, `wagers`, `wagered_cents`."""
    try:
        return {
            (str(row["table_id"]), int(row["round"])): Sum(int(row["wagers"]), int(row["wagered_cents"]))
            for row in rows
        }
    except (KeyError, TypeError, ValueError):
        raise BooksError("the books are not rows with table_id, round, wagers and wagered_cents") from None


def read_books_file(path: Path) -> dict[RoundKey, Sum]:
    """Books from a JSON file."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BooksError(f"the books {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BooksError(f"the books {path} are not JSON") from None
    return read_books(rows if isinstance(rows, list) else [rows])


async def ask_books(config: Path, jackpot: str, played: Iterable[RoundKey]) -> dict[RoundKey, Sum]:
    """Books from the controller's own command line, page by page, until every round that was played is found."""
    missing = set(played)
    found: dict[RoundKey, Sum] = {}
    before: int | None = None
    for _ in range(MOST_PAGES):
        rows = await _page(config, jackpot, before)
        page = read_books(rows)
        found |= page
        missing -= page.keys()
        if not missing or len(rows) < PAGE_ROWS:
            break
        before = int(rows[-1]["seq"])
    return found


async def _page(config: Path, jackpot: str, before: int | None) -> list[dict[str, Any]]:
    words = ["rounds", "--json", "--config", str(config), "--jackpot", jackpot, "--limit", str(PAGE_ROWS)]
    if before is not None:
        words += ["--before", str(before)]
    asked = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jackpot", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, problem = await asked.communicate()
    if asked.returncode:
        said = problem.decode(errors="replace").strip().splitlines()
        raise BooksError(f"the controller's books cannot be asked: {said[-1] if said else 'no reason given'}")
    try:
        rows: list[dict[str, Any]] = json.loads(out)
    except ValueError:
        raise BooksError("the controller's books are not JSON") from None
    return rows


def _added(table: str, lines: Iterable[Line]) -> Line:
    total = Line(table, None, 0, Sum(), Sum())
    for line in lines:
        believed, booked = total.believed.plus(*line.believed), total.booked.plus(*line.booked)
        total = Line(table, None, total.rounds + line.rounds, believed, booked)
    return total


def _by_table(key: RoundKey) -> tuple[int, str, int]:
    """Tables t2 before t10."""
    table, number = key
    return len(table), table, number
