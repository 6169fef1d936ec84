"""`jackpot settle`: settle rounds given as JSON, without a controller or a store."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from jackpot import calculator
from jackpot.cli.output import AsJson, console, money, print_json, table, words
from rules import INSTRUMENTS
from rules.errors import RulesError

MAX_CHARACTERS = 64 * 1024 * 1024


def settle(
    file: Annotated[
        str, typer.Argument(help="A JSON file with one round, or JSON Lines with one round a line; - is stdin.")
    ] = "-",
    *,
    as_json: AsJson = False,
) -> int:
    """Settle one round given as JSON under any instrument; nothing is stored.

    With JSON Lines one result is printed for each line; a bad line gives {"error": …} and the exit code is 1.
    """
    if file == "-":
        return _settle_stream(sys.stdin, as_json=as_json)
    try:
        with Path(file).open(encoding="utf-8") as stream:
            return _settle_stream(stream, as_json=as_json)
    except UnicodeDecodeError:
        raise calculator.RequestError(f"{file} is not UTF-8 text") from None


def _settle_stream(stream: TextIO, *, as_json: bool) -> int:
    """Answer JSON Lines one by one, so that a program can wait for each answer; else read one JSON document."""
    first = next((line for line in stream if line.strip()), "")
    if not _is_round(first):
        text = first + stream.read(MAX_CHARACTERS)
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not any(map(_is_round, lines)) or _is_json(text):
            return _settle_one(text, as_json=as_json)
        return _settle_lines(iter(lines))
    second = next((line for line in stream if line.strip()), None)
    if second is None:
        return _settle_one(first, as_json=as_json)
    return _settle_lines(_chain(first, second, stream))


def _chain(first: str, second: str, rest: TextIO) -> Iterator[str]:
    yield first
    yield second
    yield from (line for line in rest if line.strip())


def _settle_one(text: str, *, as_json: bool) -> int:
    answer = calculator.settle(calculator.read(text))
    if as_json:
        print_json(answer)
    else:
        show(answer, console())
    return 0


def _settle_lines(lines: Iterator[str]) -> int:
    bad = 0
    for line in lines:
        try:
            answer = calculator.settle(calculator.read(line))
        except (RulesError, calculator.RequestError) as error:
            answer, bad = {"error": str(error)}, bad + 1
        print_json(answer, indent=None)
        sys.stdout.flush()
    return 1 if bad else 0


def _is_round(line: str) -> bool:
    try:
        value = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(value, dict) and "rules" in value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return False
    return True


def show(answer: dict[str, Any], screen: Console) -> None:
    """Print one answer as tables."""
    instrument = INSTRUMENTS[answer["rules"]]
    screen.print(f"[bold]{instrument.game}[/bold], {instrument.law}")
    if "jackpot" in answer:
        _show_jackpot(answer["jackpot"], screen)
    if "table" in answer:
        _show_table(answer, screen)
    if "pots" in answer:
        _show_pots(answer, screen)


def _show_jackpot(jackpot: dict[str, Any], screen: Console) -> None:
    columns = ("order", "box", "hand", "prize", "from jackpot", "from reserve", "from house", "clause")
    rows = [
        (
            payout["order"],
            payout["box"],
            words(payout["hand"]),
            money(payout["amount_cents"]),
            money(payout["from_jackpot_cents"]),
            money(payout["from_reserve_cents"]),
            money(payout["from_house_cents"]),
            payout["clause"],
        )
        for payout in jackpot["payouts"]
    ]
    numbers = ("order", "box", "prize", "from jackpot", "from reserve", "from house")
    if rows:
        screen.print(table("Jackpot payouts, in the order they are paid", columns, rows, right=numbers))
    else:
        screen.print("No jackpot prize is won.")
    pools = [
        ("jackpot pool after", money(jackpot["jackpot_after_cents"])),
        ("reserve pool after", money(jackpot["reserve_after_cents"])),
        ("reset after a royal", money(jackpot["reset_cents"])),
        ("added by the house", money(jackpot["house_cents"])),
    ]
    pools += [(f"wagers {words(key[:-6])}", money(cents)) for key, cents in jackpot.get("wagers", {}).items()]
    screen.print(table("", ("pools", "amount"), pools, right=("amount",)))


def _show_table(answer: dict[str, Any], screen: Console) -> None:
    wagers = [key for key in answer["table"][0] if f"{key}_paid_cents" in answer["table"][0]] if answer["table"] else []
    columns = ["box", "hand"] + [column for wager in wagers for column in (wager, f"{wager} pays")] + ["clauses"]
    rows = []
    for result, cited in zip(answer["table"], answer["clauses"], strict=True):
        paid = [cell for wager in wagers for cell in (result[wager], money(result[f"{wager}_paid_cents"]))]
        clauses = dict.fromkeys(str(value) for key, value in cited.items() if key != "box")
        rows.append([result["box"], words(result["hand"]), *paid, ", ".join(clauses)])
    screen.print(table("At the table", columns, rows, right=["box", *(f"{wager} pays" for wager in wagers)]))


def _show_pots(answer: dict[str, Any], screen: Console) -> None:
    seats = [
        (seat, shown["high"] or shown["low"] or "not shown", shown["low"] if shown["high"] else None,
         money(answer["paid"].get(seat, 0)))
        for seat, shown in answer["hands"].items()
    ]  # fmt: skip
    screen.print(table("Players at the end", ("seat", "hand", "low", "paid"), seats, right=("seat", "paid")))
    pots = [
        (number, money(pot["amount_cents"]), _seats(pot["eligible"]), _seats(pot["high_winners"]),
         _seats(pot["low_winners"]))
        for number, pot in enumerate(answer["pots"], start=1)
    ]  # fmt: skip
    columns = ("pot", "amount", "eligible", "high", "low")
    screen.print(table("Pots", columns, pots, right=("pot", "amount")))
    clause = f" ({answer['commission_clause']})" if answer["commission_clause"] else ""
    screen.print(f"Commission {money(answer['commission_cents'])}{clause}.")
    if answer["returned_cents"]:
        screen.print(f"Uncalled, back to seat {answer['returned_to']}: {money(answer['returned_cents'])}.")


def _seats(seats: list[int]) -> str:
    return ", ".join(map(str, seats))
