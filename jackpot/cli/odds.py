"""`jackpot odds`: exact odds, the return by meter value, the break-even meter, and the drift of the reserve."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import typer

from jackpot.cli.hand import Rules
from jackpot.cli.output import AsJson, console, decimal, money, print_json, table, words
from rules import INSTRUMENTS, load
from rules import odds as exact
from rules.errors import OptionError
from rules.game import BestOfSevenGame, Game
from rules.instruments import DEFAULT
from rules.prizes import FixedFrom

SHOWN_METERS_CENTS = (1_000_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000)


def odds(  # noqa: PLR0913 - one option for each figure that may be asked about
    *,
    rules: Rules = DEFAULT,
    wager_cents: Annotated[int, typer.Option(min=1, help="The jackpot wager.")] = 200,
    meter_cents: Annotated[int | None, typer.Option(min=0, help="Expected return at this meter.")] = None,
    jackpot_bps: Annotated[int, typer.Option(min=0, max=10_000, help="The jackpot's share of a wager.")] = 7_000,
    reset_cents: Annotated[int, typer.Option(min=0, help="What a royal resets the pool to.")] = 1_000_000,
    fixed_prizes_from: Annotated[FixedFrom, typer.Option(help="Who pays the fixed prizes.")] = FixedFrom.RESERVE,
    reserve_cents: Annotated[int, typer.Option(min=0, help="The reserve now, for --wagers.")] = 2_000_000,
    wagers: Annotated[int | None, typer.Option(min=1, help="Chance that the reserve runs dry within these.")] = None,
    cards: Annotated[int | None, typer.Option(help="Count hands of 5 or 7 cards.")] = None,
    deck: Annotated[int | None, typer.Option(help="52, 48, 44, 40, 36 or 32 cards.")] = None,
    joker: Annotated[bool, typer.Option("--joker", help="The Joker is in the deck.")] = False,
    ace_low: Annotated[bool, typer.Option("--ace-low", help="The ace is low in straights, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Exact odds of an instrument's hands, and of its jackpot where it has one."""
    chosen = {"deck": deck, "joker": joker or None, "ace_low": ace_low or None}
    game = load(rules, **{name: value for name, value in chosen.items() if value is not None})
    answer = _counts(game, cards)
    if rules.startswith("canberra-poker"):
        configuration = exact.Configuration(wager_cents, jackpot_bps, reset_cents, fixed_prizes_from)
        answer |= _jackpot(rules, configuration, meter_cents)
        if wagers is not None:
            answer["chance_of_running_dry"] = _dryness(rules, configuration, reserve_cents, wagers)
    elif wagers is not None or meter_cents is not None:
        raise OptionError(f"{rules} has no jackpot: --meter-cents and --wagers ask about one")
    if rules.startswith("ultimate"):
        answer["trips_house_edge"] = _both(exact.trips_house_edge())
    if as_json:
        print_json({"rules": rules} | answer)
    else:
        _show(rules, answer)


def _counts(game: Game, cards: int | None) -> dict[str, Any]:
    size = cards if cards is not None else 7 if isinstance(game, BestOfSevenGame) else 5
    counts = exact.category_counts(game.deck, size)
    return {
        "cards": size,
        "deck": {"size": game.deck.size, "joker": game.deck.joker, "ace_low": game.deck.ace_low},
        "counts": {category.value: count for category, count in counts.items()},
        "total": exact.total_hands(game.deck, size),
    }


def _jackpot(rules: str, configuration: exact.Configuration, meter_cents: int | None) -> dict[str, Any]:
    prizes, wager_cents = exact.prize_table(rules), configuration.wager_cents
    reserve = exact.solvency(prizes, configuration)
    break_even = prizes.break_even_meter_cents(wager_cents)
    mean_pool = prizes.mean_pool_at_royal_cents(wager_cents, configuration.jackpot_bps, configuration.reset_cents)
    asked = None if meter_cents is None else _return_at(prizes, meter_cents)
    meters = sorted({*SHOWN_METERS_CENTS, break_even})
    return {
        "prize_counts": {hand: _prize_count(prizes, hand) for hand in (*prizes.percent, *prizes.fixed_cents)},
        "wager_cents": wager_cents,
        "jackpot_bps": configuration.jackpot_bps,
        "reset_cents": configuration.reset_cents,
        "fixed_prizes_from": configuration.fixed_prizes_from,
        "fixed_cost_per_wager": str(prizes.fixed_cost_per_wager),
        "break_even_meter_cents": break_even,
        "expected_return": asked,
        "return_by_meter": [_return_at(prizes, meter) for meter in meters],
        "mean_wagers_to_royal": int(prizes.mean_wagers_to_royal),
        "mean_pool_at_royal_cents": round(mean_pool),
        "reserve_gain_per_wager": str(reserve.reserve_gain),
        "reserve_fixed_cost_per_wager": str(reserve.fixed_cost),
        "reserve_reset_cost_per_wager": str(reserve.reset_cost),
        "reserve_drift_per_wager": str(reserve.drift),
        "reserve_drift_per_wager_decimal": decimal(reserve.drift),
        "reserve_starves": reserve.starves,
    }


def _prize_count(prizes: exact.PrizeTable, hand: str) -> int:
    return int(prizes.chance(hand) * exact.total_hands(load(DEFAULT).deck))


def _return_at(prizes: exact.PrizeTable, meter_cents: int) -> dict[str, Any]:
    return {"meter_cents": meter_cents} | _both(prizes.expected_return(meter_cents))


def _both(value: Fraction) -> dict[str, Any]:
    return {"fraction": str(value), "decimal": decimal(value)}


def _dryness(rules: str, configuration: exact.Configuration, reserve_cents: int, wagers: int) -> dict[str, Any]:
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
    asked = [answer["expected_return"]] if answer["expected_return"] else []
    meters = sorted(asked + answer["return_by_meter"], key=lambda entry: int(entry["meter_cents"]))
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
        ("reserve gains a wager", f"${dollars['reserve_gain_per_wager']}"),
        ("fixed prizes cost it", f"${dollars['reserve_fixed_cost_per_wager']}"),
        ("resets cost it", f"${dollars['reserve_reset_cost_per_wager']}"),
        ("drift of the reserve a wager", f"${dollars['reserve_drift_per_wager']}"),
        ("verdict", "this split starves the reserve" if answer["reserve_starves"] else "the reserve grows"),
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
