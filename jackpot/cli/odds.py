"""`jackpot odds`: exact odds, return by meter, break-even meter, and drift of the reserve."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import typer

from jackpot.cli.hand import Rules
from jackpot.cli.output import AsJson, console, money, print_json, table, words
from rules import INSTRUMENTS, load
from rules import odds as exact
from rules.errors import OptionError
from rules.instruments import DEFAULT
from rules.jackpot_prizes import FixedFrom
from rules.odds.figures import both, decimal, hand_figures, jackpot_figures


def odds(  # noqa: PLR0913 - one option for each figure
    *,
    rules: Rules = DEFAULT,
    wager_cents: Annotated[int, typer.Option(min=1, help="The jackpot wager.")] = 200,
    meter_cents: Annotated[int | None, typer.Option(min=0, help="Also show the expected return at this meter.")] = None,
    jackpot_bps: Annotated[int, typer.Option(min=0, max=10_000, help="The jackpot's share of a wager.")] = 7_000,
    reset_cents: Annotated[int, typer.Option(min=0, help="The pool after a royal flush.")] = 1_000_000,
    fixed_prizes_from: Annotated[FixedFrom, typer.Option(help="The source of the fixed prizes.")] = FixedFrom.RESERVE,
    reserve_cents: Annotated[int, typer.Option(min=0, help="The reserve now, for --wagers.")] = 2_000_000,
    wagers: Annotated[
        int | None, typer.Option(min=1, help="Chance that the reserve runs dry within this many wagers.")
    ] = None,
    cards: Annotated[int | None, typer.Option(help="Count hands of 5 or 7 cards.")] = None,
    deck: Annotated[int | None, typer.Option(help="52, 48, 44, 40, 36 or 32 cards.")] = None,
    joker: Annotated[bool, typer.Option("--joker", help="The Joker is in the deck.")] = False,
    ace_low: Annotated[bool, typer.Option("--ace-low", help="The ace is also low in straights.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the exact odds of an instrument's hands, and of its jackpot if it has one."""
    chosen = {"deck": deck, "joker": joker or None, "ace_low": ace_low or None}
    game = load(rules, **{name: value for name, value in chosen.items() if value is not None})
    answer = hand_figures(game, cards)
    if rules.startswith("canberra-poker"):
        configuration = exact.Configuration(wager_cents, jackpot_bps, reset_cents, fixed_prizes_from)
        answer |= jackpot_figures(rules, configuration, meter_cents)
        if wagers is not None:
            answer["chance_of_running_dry"] = _running_dry(rules, configuration, reserve_cents, wagers)
    elif wagers is not None or meter_cents is not None:
        raise OptionError(f"{rules} has no jackpot: --meter-cents and --wagers need one")
    if rules.startswith("ultimate"):
        answer["trips_house_edge"] = both(exact.trips_house_edge())
    if as_json:
        print_json({"rules": rules} | answer)
    else:
        _show(rules, answer)


def _running_dry(rules: str, configuration: exact.Configuration, reserve_cents: int, wagers: int) -> dict[str, Any]:
    chance = exact.chance_of_running_dry(exact.prize_table(rules), configuration, reserve_cents, wagers)
    return {"reserve_cents": reserve_cents, "wagers": wagers, "chance": chance}


def _show(rules: str, answer: dict[str, Any]) -> None:
    screen, instrument = console(), INSTRUMENTS[rules]
    screen.print(f"[bold]{instrument.game}[/bold], {instrument.law}")
    total = answer["total"]
    rows = [
        (words(hand), f"{count:,}", decimal(Fraction(count, total), 8), f"1 in {total / count:,.1f}")
        for hand, count in answer["counts"].items()
    ]
    title = f"Hands of {answer['cards']} cards, {total:,} in all"
    screen.print(table(title, ("hand", "deals", "chance", "odds"), rows, right=("deals", "chance", "odds")))
    if "trips_house_edge" in answer:
        screen.print(
            f"House edge of the Trips wager: {decimal(Fraction(answer['trips_house_edge']['fraction']) * 100, 4)} %"
        )
    if "wager_cents" in answer:
        _show_jackpot(answer)


def _show_jackpot(answer: dict[str, Any]) -> None:
    screen, wager = console(), Fraction(answer["wager_cents"], 100)
    chosen = [answer["expected_return"]] if answer["expected_return"] else []
    meters = sorted(chosen + answer["return_by_meter"], key=lambda entry: int(entry["meter_cents"]))
    rows = [
        (
            money(entry["meter_cents"]),
            f"${entry['decimal']}",
            f"{decimal(Fraction(entry['fraction']) / wager * 100, 2)} %",
            "break-even" if entry["meter_cents"] == answer["break_even_meter_cents"] else "",
        )
        for entry in meters
    ]
    title = f"What a wager of {money(answer['wager_cents'])} returns"
    screen.print(
        table(
            title,
            ("meter", "expected return", "of the wager", ""),
            rows,
            right=("meter", "expected return", "of the wager"),
        )
    )
    dollars = {key: decimal(Fraction(value), 4) for key, value in answer.items() if key.endswith("_per_wager")}
    figures = [
        ("mean wagers to a royal", f"{answer['mean_wagers_to_royal']:,}"),
        ("mean pool at a royal", money(answer["mean_pool_at_royal_cents"])),
        ("reserve gain per wager", f"${dollars['reserve_gain_per_wager']}"),
        ("cost of fixed prizes per wager", f"${dollars['reserve_fixed_cost_per_wager']}"),
        ("cost of resets per wager", f"${dollars['reserve_reset_cost_per_wager']}"),
        ("drift of the reserve per wager", f"${dollars['reserve_drift_per_wager']}"),
        ("verdict", "the reserve shrinks with this split" if answer["reserve_starves"] else "the reserve grows"),
    ]
    dry = answer.get("chance_of_running_dry")
    if dry:
        figures.append(
            (
                f"chance that {money(dry['reserve_cents'])} runs dry within {dry['wagers']:,} wagers",
                f"{dry['chance']:.2e}",
            )
        )
    screen.print(table("", ("figure", "value"), figures, right=("value",)))
