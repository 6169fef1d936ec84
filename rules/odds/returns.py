"""The expected return of a jackpot wager as a function of the meter, in exact fractions of a dollar.

One winner a round is assumed, and the wager's own contribution to the meter is left out, as published figures do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

from rules.cards import ACE
from rules.categories import Category
from rules.errors import OptionError, shown
from rules.instruments import canberra_poker_1997, canberra_poker_2016
from rules.instruments.ultimate_texas_holdem_2025 import TRIPS_ODDS
from rules.odds.counting import category_counts, strength_counts, total_hands
from rules.ranking import DeckOptions, ranking, ranks_of

FULL_DECK: Final = DeckOptions()


@dataclass(frozen=True)
class PrizeTable:
    """The prizes of a five-card jackpot: fixed amounts, and percentages of the meter with a least amount."""

    fixed_cents: Mapping[str, int]
    percent: Mapping[str, tuple[int, int]]
    pools_winning_wagers: bool = True

    def chance(self, hand: str) -> Fraction:
        """Return the probability that five cards are this prize hand."""
        return Fraction(prize_counts()[hand], total_hands(FULL_DECK))

    @property
    def chance_of_any(self) -> Fraction:
        """The probability that a wager wins any prize."""
        return sum((self.chance(hand) for hand in (*self.fixed_cents, *self.percent)), Fraction(0))

    @property
    def fixed_cost_per_wager(self) -> Fraction:
        """The cost of the fixed prizes, in dollars per wager."""
        return sum((self.chance(hand) * Fraction(cents, 100) for hand, cents in self.fixed_cents.items()), Fraction(0))

    @property
    def meter_share_per_wager(self) -> Fraction:
        """The part of the meter that a wager wins on average, floors ignored."""
        return sum(
            (self.chance(hand) * Fraction(percent, 100) for hand, (percent, _) in self.percent.items()), Fraction(0)
        )

    def expected_return(self, meter_cents: int) -> Fraction:
        """Return the dollars that a wager wins on average with this meter, with floors and rounding as paid."""
        shares = (
            self.chance(hand) * Fraction(max(meter_cents * percent // 100, least), 100)
            for hand, (percent, least) in self.percent.items()
        )
        return self.fixed_cost_per_wager + sum(shares, Fraction(0))

    def break_even_meter_cents(self, wager_cents: int) -> int:
        """Return the meter at which a wager returns its cost, to the nearest cent, floors ignored."""
        if type(wager_cents) is not int or wager_cents < 1:
            raise OptionError(f"a wager is a whole number of cents, 1 or more, and not {shown(wager_cents)}")
        dollars = (Fraction(wager_cents, 100) - self.fixed_cost_per_wager) / self.meter_share_per_wager
        return max(0, round(dollars * 100))

    @property
    def mean_wagers_to_royal(self) -> Fraction:
        """The mean number of wagers until a royal flush."""
        return 1 / self.chance(Category.ROYAL_FLUSH)

    def mean_pool_at_royal_cents(self, wager_cents: int, jackpot_bps: int, reset_cents: int) -> Fraction:
        """Return the mean jackpot pool at a royal flush, starting from the reset.

        Between royals the pool gains its share of each wager and loses a tenth at each straight flush. Summed over the
        chance that the royal comes at the first, second, … wager, that is a geometric series:
        (p·reset + gain) / (p + s), with p the chance of a royal and s a tenth of that of a straight flush.
        """
        gain = Fraction(wager_cents * jackpot_bps, 10_000)
        if not self.pools_winning_wagers:
            gain *= 1 - self.chance_of_any
        return (self.chance(Category.ROYAL_FLUSH) * reset_cents + gain) / self.meter_share_per_wager


@cache
def prize_counts() -> Mapping[str, int]:
    """Return the five-card hands of each prize, out of 2,598,960; the Dead Man's Hand also counts as two pairs."""
    counts: dict[str, int] = {category.value: n for category, n in category_counts(FULL_DECK).items()}
    order = ranking(FULL_DECK)
    counts[canberra_poker_1997.DEAD_MANS_HAND] = sum(
        deals
        for strength, deals in strength_counts(FULL_DECK).items()
        if order.category_of(strength) is Category.TWO_PAIRS and ranks_of(strength)[:2] == (ACE, 8)
    )
    return counts


def prize_table(instrument_id: str) -> PrizeTable:
    """Return the prizes of an instrument that has a jackpot."""
    try:
        return _TABLES[instrument_id]
    except KeyError:
        raise OptionError(f"{instrument_id} has no jackpot: choose one of {', '.join(_TABLES)}") from None


_TABLES: Final = {
    canberra_poker_2016.INSTRUMENT.id: PrizeTable(
        fixed_cents={hand.value: cents for hand, (cents, _) in canberra_poker_2016.FIXED_PRIZES.items()},
        percent={
            Category.ROYAL_FLUSH.value: (100, canberra_poker_2016.ROYAL_FLUSH_FLOOR_CENTS),
            Category.STRAIGHT_FLUSH.value: (
                canberra_poker_2016.STRAIGHT_FLUSH_PERCENT,
                canberra_poker_2016.STRAIGHT_FLUSH_FLOOR_CENTS,
            ),
        },
    ),
    canberra_poker_1997.INSTRUMENT.id: PrizeTable(
        fixed_cents=canberra_poker_1997.FIXED_PRIZES,
        percent=canberra_poker_1997.PERCENTAGE_PRIZES,
        pools_winning_wagers=False,
    ),
}


def _caribbean_stud(four: int, full_house: int, flush: int) -> PrizeTable:
    return PrizeTable(
        fixed_cents={"four_of_a_kind": four * 100, "full_house": full_house * 100, "flush": flush * 100},
        percent={"royal_flush": (100, 0), "straight_flush": (10, 0)},
    )


CARIBBEAN_STUD_100_75_50: Final = _caribbean_stud(100, 75, 50)
CARIBBEAN_STUD_150_100_50: Final = _caribbean_stud(150, 100, 50)
"""Two published prize tables of a similar game, whose break-even meters are known."""


def trips_house_edge() -> Fraction:
    """Return the part of a Trips wager that the house keeps (NI2025-411 r 10.1, table 2)."""
    counts, deals = category_counts(FULL_DECK, 7), total_hands(FULL_DECK, 7)
    won = sum(counts[category] * odds for category, odds in TRIPS_ODDS.items())
    lost = deals - sum(counts[category] for category in TRIPS_ODDS)
    return Fraction(lost - won, deals)
