"""The decisions of the players and the dealer of a table; the same seed gives the same decisions."""

from __future__ import annotations

import random
from typing import NamedTuple

from hardware_sim.shoe import Hand, Shoe
from rules import Category


class Habits(NamedTuple):
    """The probabilities of what people do."""

    play: float = 0.9
    """A player places an ante."""
    wager: float = 0.85
    """A player with an ante places a jackpot wager."""
    misplace: float = 0.01
    """A jackpot wager is placed without an ante, or with a wrong amount."""
    fold: float = 0.4
    """A player with five odd cards folds."""
    void_hand: float = 0.003
    """The dealer voids a box's wager before the first card."""
    void_round: float = 0.003
    """The dealer voids a round before the first card."""


class Choice(NamedTuple):
    """A player's choice in one round: no wager, or a wager with or without an ante, and when."""

    wagers: bool
    ante: bool
    extra_cents: int
    when: float
    """From 0, when the round opens, to 1, at the last moment."""


class People:
    """The players and the dealer of one table."""

    def __init__(self, seed: int, table: str, habits: Habits, shoe: Shoe) -> None:
        self._seed = seed
        self._table = table
        self._habits = habits
        self._shoe = shoe

    def choice(self, deal: int, box: int) -> Choice:
        """Return the choice of a box's player; a player whose hand is rigged always wagers."""
        generator = self._random(deal, f"box {box}")
        habits, when = self._habits, generator.random()
        if self._shoe.is_rigged(self._table, deal, box):
            return Choice(wagers=True, ante=True, extra_cents=0, when=when)
        if generator.random() < habits.misplace:
            ante = generator.random() < 0.5
            return Choice(wagers=True, ante=ante, extra_cents=100 * ante, when=when)
        wagers = generator.random() < habits.play and generator.random() < habits.wager
        return Choice(wagers=wagers, ante=True, extra_cents=0, when=when)

    def folds(self, deal: int, box: int, cards: Hand) -> bool:
        """Return True if a player folds; only a hand of five odd cards is ever folded."""
        generator = self._random(deal, f"fold {box}")
        poor = self._shoe.hand(cards) is Category.FIVE_ODD_CARDS
        return poor and not self._shoe.is_rigged(self._table, deal, box) and generator.random() < self._habits.fold

    def voids_round(self, deal: int) -> bool:
        """Return True if the dealer voids the round before the first card."""
        return self._random(deal, "void round").random() < self._habits.void_round and not self._is_rigged(deal)

    def voids_hand(self, deal: int, box: int) -> bool:
        """Return True if the dealer voids a box's wager before the first card."""
        generator = self._random(deal, f"void {box}")
        return generator.random() < self._habits.void_hand and not self._shoe.is_rigged(self._table, deal, box)

    def _is_rigged(self, deal: int) -> bool:
        return any(self._shoe.is_rigged(self._table, deal, box) for box in range(1, 10))

    def _random(self, deal: int, purpose: str) -> random.Random:
        return random.Random(f"{self._seed}/{self._table}/{deal}/{purpose}")  # noqa: S311 - repeatable decisions
