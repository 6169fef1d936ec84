"""The controller's books, asked through its own command line: its rounds, and every wager from its audit trail."""

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

Row = dict[str, Any]


def found_config(site: str) -> Path | None:
    """The configuration that the controller's commands would find here, where it is this site's."""
    path = Path(os.environ.get("JACKPOT_CONFIG") or DEFAULT_CONFIG)
    try:
        named = tomllib.loads(path.read_text(encoding="utf-8")).get("site", DEFAULT_SITE)
    except (OSError, ValueError):
        return None
    return path if os.environ.get("JACKPOT_SITE", named) == site else None


async def read_controller_books(config: Path, jackpot: str, played: Iterable[RoundKey]) -> Books:
    """What the books say of the rounds that were played, and of every wager since the first of them."""
    rounds = await _rounds(config, jackpot, set(played))
    first = min((row["seq"] for row in rounds), default=None)
    events = await _events(config, jackpot, first) if first is not None else []
    sums = read_books(rounds).sums
    return Books(f"the controller's books ({config.name}), wager by wager", sums, wagers_from_events(events))


async def _rounds(config: Path, jackpot: str, missing: set[RoundKey]) -> list[Row]:
    """Rounds, the newest first, until every one that is wanted is found; of them only those that are."""
    wanted, found = frozenset(missing), []
    before: int | None = None
    for _ in range(MAX_PAGES):
        rows = await _page(config, ["rounds", "--jackpot", jackpot], before)
        mine = [row for row in rows if (row["table_id"], row["round"]) in wanted]
        found += mine
        missing -= {(row["table_id"], row["round"]) for row in mine}
        if not missing or len(rows) < PAGE_ROWS:
            break
        before = int(rows[-1]["seq"])
    return found


async def _events(config: Path, jackpot: str, first: int) -> list[Row]:
    """The events from this one on, the oldest first."""
    found: list[Row] = []
    before: int | None = None
    for _ in range(MAX_PAGES):
        rows = await _page(config, ["audit", "list", "--chain", jackpot], before)
        found += [row for row in rows if row["seq"] >= first]
        if len(rows) < PAGE_ROWS or rows[-1]["seq"] <= first:
            break
        before = int(rows[-1]["seq"])
    return found[::-1]


async def _page(config: Path, command: list[str], before: int | None) -> list[Row]:
    words = [*command, "--json", "--config", str(config), "--limit", str(PAGE_ROWS)]
    if before is not None:
        words += ["--before", str(before)]
    asked = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jackpot", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, problem = await asked.communicate()
    finally:
        if asked.returncode is None:  # nobody waits for it any more
            asked.kill()
            await asked.wait()
    if asked.returncode:
        said = problem.decode(errors="replace").strip().splitlines()
        raise BooksError(f"the controller's books cannot be asked: {said[-1] if said else 'no reason given'}")
    try:
        rows: list[Row] = json.loads(out)
    except ValueError:
        raise BooksError("the controller's books are not JSON") from None
    return rows
