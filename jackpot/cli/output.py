"""The output of commands: tables for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print one JSON value."""
    sys.stdout.write(json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def console() -> Console:
    """Return the console for tables, at least 120 columns wide if the output is not a terminal."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=max(screen.width, 120))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Iterable[str] = ()) -> Table:
    """Return a table; the columns named in `right` hold numbers and are aligned to the right."""
    drawn = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold")
    numbers = set(right)
    for column in columns:
        drawn.add_column(
            column, justify="right" if column in numbers else "left", no_wrap=column in numbers, overflow="fold"
        )
    for row in rows:
        drawn.add_row(*("" if cell is None else Text(str(cell)) for cell in row))
    return drawn


def money(cents: int) -> str:
    """Return an amount in dollars: $1,234.56."""
    sign, whole = ("-" if cents < 0 else ""), abs(cents)
    return f"{sign}${whole // 100:,}.{whole % 100:02d}"


def words(name: str | None) -> str:
    """Return an identifier as words: straight_flush as "straight flush"."""
    return (name or "").replace("_", " ")


AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.")]


class Listing(NamedTuple):
    """Rows to print, with the title and key of each column; keys that end in _cents are money."""

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]

    def show(self, *, as_json: bool, as_csv: bool = False) -> None:
        """Print the rows as JSON, CSV or a table."""
        if as_json:
            print_json([dict(row) for row in self.rows])
        elif as_csv:
            self._show_csv()
        else:
            right = [name for name, key in self.columns.items() if key.endswith("_cents") or key in _NUMBERS]
            cells = [[_cell(key, row.get(key)) for key in self.columns.values()] for row in self.rows]
            console().print(table(self.title, list(self.columns), cells, right=right))

    def _show_csv(self) -> None:
        keys = list(self.columns.values())
        writer = csv.DictWriter(sys.stdout, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: row.get(key) for key in keys} for row in self.rows)


_NUMBERS = ("seq", "round", "box", "boxes", "wagers", "version")


def _cell(key: str, value: object) -> object:
    if key.endswith("_cents") and isinstance(value, int):
        return money(value)
    if isinstance(value, list):
        return " ".join(map(str, value))
    return words(value) if key in ("hand", "type", "status", "phase", "outcome") and isinstance(value, str) else value


def print_answer(answer: object, sentence: str, *, as_json: bool) -> None:
    """Print the answer to a command: as JSON, or as a sentence."""
    if as_json:
        print_json(answer)
    else:
        console().print(sentence, soft_wrap=True, markup=False, emoji=False)
