"""The controller's books, read through its command line: its rounds, and every wager from its audit trail."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from hardware_sim.reconciliation import Books, BooksError, read_books, wagers_from_events
from hardware_sim.wager_log import RoundKey

PAGE_ROWS: Final = 1_000
MAX_PAGES: Final = 2_000
DEFAULT_CONFIG: Final = Path("jackpot.toml")
DEFAULT_SITE: Final = "casino"
JACKPOT: Final = (sys.executable, "-P", "-m", "jackpot")
"""The controller's command line; -P keeps modules in the working directory from shadowing its own."""

Row = dict[str, Any]


def find_config(site: str) -> Path | None:
    """Return the configuration file that the controller's commands would use here; None if it is another site's."""
    path = Path(os.environ.get("JACKPOT_CONFIG") or DEFAULT_CONFIG)
    try:
        configured = tomllib.loads(path.read_text(encoding="utf-8")).get("site", DEFAULT_SITE)
    except (OSError, ValueError):
        return None
    return path if os.environ.get("JACKPOT_SITE", configured) == site else None


async def read_controller_books(config: Path, jackpot: str, played: Iterable[RoundKey]) -> Books:
    """Read the totals of the played rounds, and every wager since the first of them."""
    rounds = await _read_rounds(config, jackpot, set(played))
    first = min((row["seq"] for row in rounds), default=None)
    events = await _read_events(config, jackpot, first) if first is not None else []
    totals = read_books(rounds).totals
    return Books(f"the controller's books ({config.name}), wager by wager", totals, wagers_from_events(events))


async def _read_rounds(config: Path, jackpot: str, missing: set[RoundKey]) -> list[Row]:
    """Read rounds, the newest first, until every wanted one is found; return only the wanted ones."""
    wanted, found = frozenset(missing), []
    before: int | None = None
    for _ in range(MAX_PAGES):
        rows = await _read_page(config, ["rounds", "--jackpot", jackpot], before)
        matching = [row for row in rows if (row["table_id"], row["round"]) in wanted]
        found += matching
        missing -= {(row["table_id"], row["round"]) for row in matching}
        if not missing or len(rows) < PAGE_ROWS:
            break
        before = int(rows[-1]["seq"])
    return found


async def _read_events(config: Path, jackpot: str, first: int) -> list[Row]:
    """Read the events from this one on, the oldest first."""
    found: list[Row] = []
    before: int | None = None
    for _ in range(MAX_PAGES):
        rows = await _read_page(config, ["audit", "list", "--chain", jackpot], before)
        found += [row for row in rows if row["seq"] >= first]
        if len(rows) < PAGE_ROWS or rows[-1]["seq"] <= first:
            break
        before = int(rows[-1]["seq"])
    return found[::-1]


async def _read_page(config: Path, command: list[str], before: int | None) -> list[Row]:
    arguments = [*command, "--json", "--config", str(config), "--limit", str(PAGE_ROWS)]
    if before is not None:
        arguments += ["--before", str(before)]
    process = await asyncio.create_subprocess_exec(
        *JACKPOT, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:  # cancelled meanwhile: the command must not outlive its caller
            process.kill()
            await process.wait()
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        raise BooksError(f"cannot read the controller's books: {lines[-1] if lines else 'no reason given'}")
    try:
        rows: list[Row] = json.loads(out)
    except ValueError:
        raise BooksError("the controller's books are not JSON") from None
    return rows
