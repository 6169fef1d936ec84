"""Odds, returns and solvency as plain figures, ready for JSON: exact fractions beside decimals, never a float."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from rules.game import BestOfSevenGame, Game
from rules.instruments import DEFAULT, load
from rules.odds.counting import category_counts, total_hands
from rules.odds.returns import PrizeTable, prize_table
from rules.odds.solvency import Configuration, solvency

SHOWN_METERS_CENTS: Final = (1_000_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000)

Plain = dict[str, Any]


def hand_figures(game: Game, cards: int | None = None) -> Plain:
    """Return the number of deals of each hand."""
    size = cards if cards is not None else 7 if isinstance(game, BestOfSevenGame) else 5
    counts = category_counts(game.deck, size)
    return {
        "cards": size,
        "deck": {"size": game.deck.size, "joker": game.deck.joker, "ace_low": game.deck.ace_low},
        "counts": {category.value: count for category, count in counts.items()},
        "total": total_hands(game.deck, size),
    }


def jackpot_figures(rules: str, configuration: Configuration, meter_cents: int | None = None) -> Plain:
    """Return the figures of a jackpot: the return of a wager by the meter, and the solvency of the configuration."""
    prizes, wager_cents = prize_table(rules), configuration.wager_cents
    mean_pool = prizes.mean_pool_at_royal_cents(wager_cents, configuration.jackpot_bps, configuration.reset_cents)
    meters = sorted({*SHOWN_METERS_CENTS, prizes.break_even_meter_cents(wager_cents)})
    return {
        "prize_counts": {hand: _prize_count(prizes, hand) for hand in (*prizes.percent, *prizes.fixed_cents)},
        "wager_cents": wager_cents,
        "jackpot_bps": configuration.jackpot_bps,
        "reset_cents": configuration.reset_cents,
        "fixed_prizes_from": configuration.fixed_prizes_from,
        "fixed_cost_per_wager": str(prizes.fixed_cost_per_wager),
        "expected_return": None if meter_cents is None else return_at(prizes, meter_cents),
        "return_by_meter": [return_at(prizes, meter) for meter in meters],
        "mean_wagers_to_royal": int(prizes.mean_wagers_to_royal),
        "mean_pool_at_royal_cents": round(mean_pool),
        **solvency_figures(rules, configuration),
    }


def solvency_figures(rules: str, configuration: Configuration) -> Plain:
    """Return the reserve's gain and costs in dollars per wager, and the break-even meter."""
    prizes = prize_table(rules)
    reserve = solvency(prizes, configuration)
    return {
        "break_even_meter_cents": prizes.break_even_meter_cents(configuration.wager_cents),
        "reserve_gain_per_wager": str(reserve.reserve_gain),
        "reserve_fixed_cost_per_wager": str(reserve.fixed_cost),
        "reserve_reset_cost_per_wager": str(reserve.reset_cost),
        "reserve_drift_per_wager": str(reserve.drift),
        "reserve_drift_per_wager_decimal": decimal(reserve.drift),
        "reserve_starves": reserve.starves,
    }


def return_at(prizes: PrizeTable, meter_cents: int) -> Plain:
    """Return the expected return of a wager at this meter."""
    return {"meter_cents": meter_cents} | both(prizes.expected_return(meter_cents))


def both(value: Fraction) -> Plain:
    """Return a fraction both exact and as a decimal."""
    return {"fraction": str(value), "decimal": decimal(value)}


def decimal(value: Fraction, digits: int = 6) -> str:
    """Return a fraction as a decimal rounded to this many digits, computed without floats."""
    scaled = round(value * 10**digits)
    sign, whole = ("-" if scaled < 0 else ""), abs(scaled)
    return f"{sign}{whole // 10**digits}.{whole % 10**digits:0{digits}d}"


def _prize_count(prizes: PrizeTable, hand: str) -> int:
    return int(prizes.chance(hand) * total_hands(load(DEFAULT).deck))
