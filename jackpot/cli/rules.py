"""`jackpot rules`: the instruments, clause by clause, and who is responsible for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any

import typer

from jackpot.cli.output import AsJson, console, print_json, table
from rules import INSTRUMENTS
from rules.instruments import find
from rules.register import By, Clause, clauses


def rules(
    instrument_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="An instrument's id.")] = None,
    *,
    by: Annotated[By | None, typer.Option(help="Only the clauses for which this part is responsible.")] = None,
    clause: Annotated[str | None, typer.Option(help="Only this clause and its paragraphs: 11.3.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the instruments, or the clauses of one: requirement, who is responsible, where in the code, which tests."""
    if instrument_id is None:
        _list_instruments(as_json=as_json)
        return
    instrument = find(instrument_id)
    chosen = [c for c in clauses(instrument_id) if _wanted(c, by, clause)]
    if as_json:
        about = {"id": instrument.id, "law": instrument.law, "game": instrument.game}
        print_json(about | {"clauses": [_plain(c) for c in chosen]})
        return
    rows = [(c.number, c.asks, c.by, _how(c)) for c in chosen]
    columns = ("clause", "requirement", "responsible", "where or how")
    console().print(table(f"{instrument.game}, {instrument.law}", columns, rows))


def _wanted(clause: Clause, by: By | None, number: str | None) -> bool:
    if by is not None and clause.by is not by:
        return False
    if number is None or clause.number == number:
        return True
    return clause.number.startswith((f"{number}(", f"{number}.", f"{number}#"))


def _how(clause: Clause) -> str:
    if clause.by is By.CODE:
        tests = [test.rpartition("::")[2] for test in clause.tests]
        return "\n".join([*clause.where, *(f"  {test}" for test in tests)])
    return clause.control or clause.reason


def _plain(clause: Clause) -> dict[str, Any]:
    return {key: value for key, value in asdict(clause).items() if value not in ("", ())}


def _list_instruments(*, as_json: bool) -> None:
    listed = []
    for instrument in INSTRUMENTS.values():
        counts = Counter(clause.by for clause in clauses(instrument.id))
        about = {"id": instrument.id, "law": instrument.law, "game": instrument.game}
        listed.append(about | {"clauses": sum(counts.values())} | {by.replace(" ", "_"): counts[by] for by in By})
    if as_json:
        print_json({"instruments": listed})
        return
    columns = ("id", "law", "game", "clauses", "code", "operator", "not applicable")
    rows = [tuple(entry.values()) for entry in listed]
    console().print(table("Instruments, and who is responsible for their clauses", columns, rows, right=columns[3:]))
