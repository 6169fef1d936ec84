"""`jackpot hand`: name and rank hands under an instrument and its options."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jackpot.cli.output import AsJson, console, print_json, table, words
from rules import INSTRUMENTS, Game, Hand, LowHand, load, parse
from rules.instruments import DEFAULT

Rules = Annotated[str, typer.Option("--rules", help="The instrument: see `jackpot rules`.")]


def hand(  # noqa: PLR0913 - one option for each option of an instrument
    hands: Annotated[list[str], typer.Argument(help='One hand per argument, in quotes: "As Kd 9c 5s 2d".')],
    *,
    rules: Rules = DEFAULT,
    board: Annotated[str, typer.Option(help="The communal cards, for Manila and Hold-em.")] = "",
    deck: Annotated[int | None, typer.Option(help="52, 48, 44, 40, 36 or 32 cards.")] = None,
    joker: Annotated[bool, typer.Option("--joker", help="The Joker is in the deck.")] = False,
    ace_low: Annotated[bool, typer.Option("--ace-low", help="The ace is also low in straights.")] = False,
    low_ace: Annotated[str | None, typer.Option(help="high or low: the ace in low hands.")] = None,
    eight_or_better: Annotated[bool, typer.Option("--eight-or-better", help="A low hand must qualify.")] = False,
    low: Annotated[bool, typer.Option("--low", help="Rank the hands as low hands.")] = False,
    as_json: AsJson = False,
) -> None:
    """Name hands and rank them, best first; equal places are ties."""
    chosen = {
        "deck": deck,
        "joker": joker or None,
        "ace_low": ace_low or None,
        "low_ace": low_ace,
        "eight_or_better": eight_or_better or None,
    }
    options = {name: value for name, value in chosen.items() if value is not None}
    game = load(rules, **options)
    named: list[tuple[str, Hand | LowHand | None]] = [
        (given, _best_low(game, given, board) if low else _best(game, given, board)) for given in hands
    ]
    ranked = _ranked(named)
    if as_json:
        print_json({"rules": rules, "options": options, "hands": ranked})
        return
    columns = ("place", "given", "counts", "category", "in words")
    rows = [(r["place"], r["given"], r["cards"], words(r["category"]), r["describe"]) for r in ranked]
    console().print(table(f"{INSTRUMENTS[rules].game}, {INSTRUMENTS[rules].law}", columns, rows, right=("place",)))


def _best(game: Game, given: str, board: str) -> Hand:
    return game.hand(given) if not board and parse(given).size == 5 else game.best(given, board or ())


def _best_low(game: Game, given: str, board: str) -> LowHand | None:
    return game.low(given) if not board and parse(given).size == 5 else game.best_low(given, board or ())


def _ranked(named: list[tuple[str, Hand | LowHand | None]]) -> list[dict[str, Any]]:
    strengths = sorted((found.strength if found else -1 for _, found in named), reverse=True)
    rows: list[dict[str, Any]] = [
        {
            "place": strengths.index(found.strength if found else -1) + 1,
            "given": given,
            "cards": str(found.cards) if found else None,
            "category": found.category if found else None,
            "describe": found.describe() if found else "No low hand qualifies",
            "strength": found.strength if found else None,
        }
        for given, found in named
    ]
    return sorted(rows, key=lambda row: int(row["place"]))
