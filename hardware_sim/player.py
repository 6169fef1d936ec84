"""The people at the boxes and behind the table: what they decide, the same for the same seed."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from hardware_sim.shoe import Hand, Shoe
from rules import Category

ALWAYS: Final = 1.0
NEVER: Final = 0.0


class Habits(NamedTuple):
    """How often, of all occasions, people do a thing."""

    play: float = 0.9
    """A player puts an ante."""
    wager: float = 0.85
    """A player with an ante puts a jackpot wager."""
    misplace: float = 0.01
    """A jackpot wager is put without an ante, or of a wrong amount."""
    fold: float = 0.4
    """A player with five odd cards folds."""
    void_hand: float = 0.003
    """The dealer voids a box's wager before the first card."""
    void_round: float = 0.003
    """The dealer voids a round before the first card."""


class Choice(NamedTuple):
    """What a player puts on a box in one round: nothing, or a wager with or without an ante, and when."""

    wagers: bool
    ante: bool
    extra_cents: int
    when: float
    """From 0, as soon as the round opens, to 1, at the last moment."""


class People:
    """The players and the dealer of one table."""

    def __init__(self, seed: int, table: str, habits: Habits, shoe: Shoe) -> None:
        self._seed = seed
        self._table = table
        self._habits = habits
        self._shoe = shoe

    def choice(self, deal: int, box: int) -> Choice:
        """What the player of a box puts down; one whose hand is rigged always wagers."""
        dice = self._dice(deal, f"box {box}")
        habits, when = self._habits, dice.random()
        if self._shoe.is_rigged(self._table, deal, box):
            return Choice(wagers=True, ante=True, extra_cents=0, when=when)
        if dice.random() < habits.misplace:
            ante = dice.random() < 0.5
            return Choice(wagers=True, ante=ante, extra_cents=100 * ante, when=when)
        wagers = dice.random() < habits.play and dice.random() < habits.wager
        return Choice(wagers=wagers, ante=True, extra_cents=0, when=when)

    def folds(self, deal: int, box: int, cards: Hand) -> bool:
        """Whether a player gives a hand up; never a good one."""
        dice = self._dice(deal, f"fold {box}")
        poor = self._shoe.hand(cards) is Category.FIVE_ODD_CARDS
        return poor and not self._shoe.is_rigged(self._table, deal, box) and dice.random() < self._habits.fold

    def voids_round(self, deal: int) -> bool:
        """Whether the dealer voids the round before the first card."""
        return self._dice(deal, "void round").random() < self._habits.void_round and not self._is_rigged(deal)

    def voids_hand(self, deal: int, box: int) -> bool:
        """Whether the dealer voids a box before the first card."""
        dice = self._dice(deal, f"void {box}")
        return dice.random() < self._habits.void_hand and not self._shoe.is_rigged(self._table, deal, box)

    def _is_rigged(self, deal: int) -> bool:
        return any(self._shoe.is_rigged(self._table, deal, box) for box in range(1, 10))

    def _dice(self, deal: int, what: str) -> random.Random:
        return random.Random(f"{self._seed}/{self._table}/{deal}/{what}")  # noqa: S311 - repeatable people
