"""Exact odds: the frequency of each hand, the return of a jackpot wager, the solvency of a configuration."""

from rules.odds.counting import category_counts, strength_counts, total_hands
from rules.odds.returns import (
    CARIBBEAN_STUD_100_75_50,
    CARIBBEAN_STUD_150_100_50,
    PrizeTable,
    prize_table,
    trips_house_edge,
)
from rules.odds.solvency import Configuration, ReserveFlow, chance_of_running_dry, solvency

__all__ = [
    "CARIBBEAN_STUD_100_75_50",
    "CARIBBEAN_STUD_150_100_50",
    "Configuration",
    "PrizeTable",
    "ReserveFlow",
    "category_counts",
    "chance_of_running_dry",
    "prize_table",
    "solvency",
    "strength_counts",
    "total_hands",
    "trips_house_edge",
]
