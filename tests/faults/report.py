"""The results of all trials: a JSON file, and the page that is written from it."""

import json
import sys
import tomllib
from statistics import median

from tests.faults.processes import ROOT

RESULTS = ROOT / "docs" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"
NAMES = {
    "sqlite": "SQLite",
    "postgresql": "PostgreSQL",
    "patroni": "PostgreSQL under Patroni",
    "mosquitto": "Mosquitto",
    "bridged": "two bridged Mosquittos",
    "nats": "NATS",
    "nats-cluster": "three NATS nodes",
}
_INTRODUCTION = """# Reliability

This page is written by `make faults` from `docs/reliability.json`; do not edit it. Version {version}.

An independent client (`tests/faults/floor.py`, which shares no code with the controller or the simulator) plays
rounds at four tables, repeats every wager until its lamp answers, and keeps its own record. Faults are injected
while it plays. Then its record is compared with the rows of the store, and `jackpot audit verify` must find
nothing.

- **lost**: a lamp showed the wager as accepted, but it is not in the trail.
- **doubled**: the wager is in the trail more than once.
- **hung**: no lamp has answered the wager within 60 s after the fault's end.
- **stuck**: play did not go on within 60 s after the fault's end.
- **silent**: no wager was accepted for 6 s although `/readyz` answered 200 and no table was suspended.
- **stale**: states of an earlier owner that arrived more than 2 s after the first of the next owner.
- **recovery**: from the beginning of the fault, or from its end where nothing can go on before it, to the next
  accepted wager. It includes the start of a process that was killed, the client's own repeat after at most 2 s,
  and a supervisor who resumes suspended tables at once. **limit** is the time in which play must go on, and
  **late** the number of trials that took longer, and of stops by SIGTERM that took more than 10 s.
"""
_COLUMNS = ("trials", "wagers", "lost", "doubled", "hung", "stuck", "silent", "stale", "late")
_SECTIONS = (
    ("One controller", lambda row: row["store"] != "patroni" and row["controllers"] == 1),
    ("Two controllers on one PostgreSQL", lambda row: row["store"] != "patroni" and row["controllers"] > 1),
    ("PostgreSQL under Patroni (three nodes, ttl 20 s)", lambda row: row["store"] == "patroni"),
)


def say(text):
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def version():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def save_results(file, results=(), forgeries=()):
    """Add results to the file, in place of earlier ones of the same kind, store and broker, and write the page."""
    found = json.loads(file.read_text()) if file.exists() else {}
    if found.get("version") != version():
        found = {"version": version(), "faults": [], "forgeries": []}
    for name, new in (("faults", results), ("forgeries", forgeries)):
        rows = {_key(row): row for row in found[name]}
        rows |= {_key(row): row for row in (result.as_json() for result in new)}
        found[name] = list(rows.values())
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if file == RESULTS:
        PAGE.write_text(page(found))


def _key(row):
    return row["kind"], row["store"], row["broker"]


def page(found):
    """Return the text of the page."""
    parts = [_INTRODUCTION.format(version=found["version"])]
    for title, belongs in _SECTIONS:
        rows = [row for row in found["faults"] if belongs(row)]
        if rows:
            parts.append(f"\n## {title}\n\n{_fault_table(rows)}")
    if found["forgeries"]:
        parts.append(f"\n## Changes behind the controller's back\n\n{_forgery_table(found['forgeries'])}")
    problems = [
        f"- {row['kind']} ({_where(row)}): {text}"
        for row in (*found["faults"], *found["forgeries"])
        for text in dict.fromkeys(row["problems"])
    ]
    if problems:
        parts.append("\n## What went wrong\n\n" + "\n".join(problems) + "\n")
    return "".join(parts)


def _fault_table(rows):
    lines = [
        f"| fault | store, broker | {' | '.join(_COLUMNS)} | recovery p50 | max | limit |",
        f"| --- | --- |{' ---: |' * (len(_COLUMNS) + 3)}",
    ]
    for row in _ordered(rows):
        bad = {name for name in _COLUMNS[2:] if row[name]}
        cells = [f"**{row[name]}**" if name in bad else f"{row[name]:,}" for name in _COLUMNS]
        times = row["recovery_seconds"]
        shown = (median(times), max(times)) if times else (None, None)
        cells += ["—" if seconds is None else f"{seconds:.1f} s" for seconds in shown]
        lines.append(f"| {row['kind']} | {_where(row)} | {' | '.join(cells)} | {row['limit_seconds']:.0f} s |")
    total = {name: sum(row[name] for row in rows) for name in _COLUMNS}
    lines.append(f"| **all** | | {' | '.join(f'{total[name]:,}' for name in _COLUMNS)} | | | |")
    return "\n".join(lines) + "\n"


def _forgery_table(rows):
    lines = ["| change | store, broker | trials | noticed |", "| --- | --- | ---: | ---: |"]
    for row in _ordered(rows):
        noticed = row["noticed"] if row["noticed"] == row["trials"] else f"**{row['noticed']}**"
        lines.append(f"| {row['kind']} | {_where(row)} | {row['trials']} | {noticed} |")
    return "\n".join(lines) + "\n"


def _ordered(rows):
    """Return the rows of each kind together, kinds in the order in which they were first run."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    return sorted(rows, key=lambda row: kinds.index(row["kind"]))


def _where(row):
    return f"{NAMES[row['store']]}, {NAMES[row['broker']]}"
