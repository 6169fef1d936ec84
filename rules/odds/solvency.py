"""Solvency of a configuration: the reserve's gain and cost per wager, and the probability that it runs dry.

The floors of the percentage prizes are left out: with a reset of $10,000 or more they have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, gcd
from typing import Final

from rules.categories import Category
from rules.errors import OptionError, shown
from rules.jackpot_prizes import WHOLE_BPS, FixedFrom
from rules.odds.returns import PrizeTable

NEGLIGIBLE: Final = 1e-18


@dataclass(frozen=True)
class Configuration:
    """The part of an approved configuration that decides solvency."""

    wager_cents: int = 200
    jackpot_bps: int = 7_000
    reset_cents: int = 1_000_000
    fixed_prizes_from: FixedFrom = FixedFrom.RESERVE

    def __post_init__(self) -> None:
        for name, value, least in (
            ("the wager", self.wager_cents, 1),
            ("the jackpot's share", self.jackpot_bps, 0),
            ("the reset", self.reset_cents, 0),
        ):
            if type(value) is not int or value < least:
                raise OptionError(f"{name} is a whole number, {least} or more, and not {shown(value)}")
        if self.jackpot_bps > WHOLE_BPS:
            raise OptionError(f"the jackpot's share is at most {WHOLE_BPS} basis points, not {self.jackpot_bps}")


@dataclass(frozen=True)
class ReserveFlow:
    """The reserve's gain and costs, in dollars per wager."""

    reserve_gain: Fraction
    fixed_cost: Fraction
    reset_cost: Fraction

    @property
    def drift(self) -> Fraction:
        """The mean gain of the reserve per wager."""
        return self.reserve_gain - self.fixed_cost - self.reset_cost

    @property
    def starves(self) -> bool:
        """True if the reserve falls without limit."""
        return self.drift < 0


def solvency(table: PrizeTable, configuration: Configuration) -> ReserveFlow:
    """Return the reserve's mean gain from wagers and cost of fixed prizes and resets, per wager."""
    wager = Fraction(configuration.wager_cents, 100)
    gain = wager * Fraction(WHOLE_BPS - configuration.jackpot_bps, WHOLE_BPS)
    if not table.pools_winning_wagers:
        gain *= 1 - table.chance_of_any
    from_reserve = configuration.fixed_prizes_from is FixedFrom.RESERVE
    return ReserveFlow(
        reserve_gain=gain,
        fixed_cost=table.fixed_cost_per_wager if from_reserve else Fraction(0),
        reset_cost=table.chance(Category.ROYAL_FLUSH) * Fraction(configuration.reset_cents, 100),
    )


def chance_of_running_dry(table: PrizeTable, configuration: Configuration, reserve_cents: int, wagers: int) -> float:
    """Return the probability that the reserve cannot pay a prize or a reset within this many wagers.

    All payments are multiples of one unit (fifty dollars, say), and the reserve, counted in whole units, rises only
    after several wagers. The sum of payments never falls. So in a stretch of wagers with the same number of units it is
    enough to check the last wager: the reserve is overdrawn within the stretch if and only if it is at its end. One
    step for each stretch gives the exact probability, except for probabilities below 1e-18, which are dropped. In 1997
    a winning wager is not pooled; the mean gain is used for each wager. NumPy makes long spans a hundred times faster.
    """
    payments = _payments(table, configuration)
    if not payments or wagers < 1:
        return 0.0
    unit = gcd(*payments)
    chances = tuple((cents // unit, chance) for cents, chance in payments.items())
    paid = _Paid([1.0])
    for units, length in _stretches(_gain(table, configuration), reserve_cents, unit, wagers):
        paid = paid.after(_paid_within(chances, length), units)
    return min(1.0, max(0.0, 1.0 - sum(paid.chances)))


class _Paid:
    """The probability of each sum paid so far, in units from `lowest` up."""

    def __init__(self, chances: list[float], lowest: int = 0) -> None:
        self.chances = chances
        self.lowest = lowest

    def after(self, more: list[float], limit: int) -> _Paid:
        """Return the sums after one more stretch, without those above `limit`, where the reserve ran dry."""
        chances = _convolve(self.chances, more)[: max(0, limit - self.lowest + 1)]
        first = next((i for i, chance in enumerate(chances) if chance > NEGLIGIBLE), len(chances))
        while chances and chances[-1] <= NEGLIGIBLE:
            chances.pop()
        return _Paid(chances[first:], self.lowest + first)


def _payments(table: PrizeTable, configuration: Configuration) -> dict[int, float]:
    """Return the possible payments of the reserve after one wager, with their probabilities."""
    payments: dict[int, float] = {}
    if configuration.fixed_prizes_from is FixedFrom.RESERVE:
        for hand, cents in table.fixed_cents.items():
            payments[cents] = payments.get(cents, 0.0) + float(table.chance(hand))
    if configuration.reset_cents:
        royal = float(table.chance(Category.ROYAL_FLUSH))
        payments[configuration.reset_cents] = payments.get(configuration.reset_cents, 0.0) + royal
    return payments


def _gain(table: PrizeTable, configuration: Configuration) -> Fraction:
    return solvency(table, configuration).reserve_gain * 100


def _stretches(gain_cents: Fraction, reserve_cents: int, unit: int, wagers: int) -> Iterator[tuple[int, int]]:
    """Yield (whole units in the reserve without payments, number of wagers that this holds for)."""
    done = 0
    while done < wagers:
        units = (reserve_cents + (done + 1) * gain_cents) // unit
        last = wagers
        if gain_cents:
            last = min(last, ceil(((units + 1) * unit - reserve_cents) / gain_cents) - 1)
        yield units, last - done
        done = last


@cache
def _paid_within(payments: tuple[tuple[int, float], ...], wagers: int) -> list[float]:
    """Return the probabilities that the reserve pays 0, 1, 2, … units within this many wagers."""
    if wagers == 1:
        chances = [0.0] * (1 + max(units for units, _ in payments))
        for units, chance in payments:
            chances[units] = chance
        chances[0] = 1.0 - sum(chances)
        return chances
    half = _paid_within(payments, wagers // 2)
    whole = _convolve(half, half)
    if wagers % 2:
        whole = _convolve(whole, _paid_within(payments, 1))
    while whole[-1] <= NEGLIGIBLE:
        whole.pop()
    return whole


def _convolve(a: list[float], b: list[float]) -> list[float]:
    """Return the distribution of the sum of two independent counts."""
    if not a:
        return []
    try:
        from numpy import convolve  # noqa: PLC0415 - the extra `fast`, and slow to import where it is not needed
    except ImportError:
        return _convolve_plainly(a, b)
    product: list[float] = convolve(a, b).tolist()
    return product


def _convolve_plainly(a: list[float], b: list[float]) -> list[float]:
    total = [0.0] * (len(a) + len(b) - 1)
    for shift, chance in enumerate(b):
        if chance > NEGLIGIBLE:
            for i, other in enumerate(a, start=shift):
                total[i] += chance * other
    return total
