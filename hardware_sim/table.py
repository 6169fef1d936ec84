"""The table itself: cards, chips and what everybody there can see; no power cycle makes a table forget."""

from __future__ import annotations

from collections.abc import Callable

from hardware_sim.messages import ReceivedState
from hardware_sim.player import People
from hardware_sim.shoe import Deal, Shoe
from hardware_sim.wager_log import WagerTotal

RoundOver = Callable[[int, frozenset[int] | None], None]
"""Called with a round and the boxes that held a wager when it was settled; None where nobody knows."""


class SimulatedTable:
    """One table with its boxes, between the pads and the dealer."""

    def __init__(self, name: str, boxes: int, shoe: Shoe, people: People) -> None:
        self.name = name
        self.boxes = boxes
        self.people = people
        self.first_round: int | None = None
        """The last round that is not ours: deals count from the one after it."""
        self.awaited: set[str] = set()
        """The wagers of this round that lie on a pad whose lamp has not answered: everybody can see them."""
        self.booked: dict[int, WagerTotal] = {}
        """What the states told of each round of ours."""
        self.voided: set[tuple[int, int]] = set()
        """The boxes whose wager the dealer has already voided in a round: once is enough."""
        self.settled: dict[int, frozenset[int]] = {}
        self.listeners: list[RoundOver] = []
        self._shoe = shoe
        self._deal: tuple[int, Deal] | None = None
        self.seen: ReceivedState | None = None
        self._over = 0

    def hear(self, state: ReceivedState) -> None:
        """A device of this table heard its state; another may have heard a newer one."""
        if self.seen is not None and state.jackpot == self.seen.jackpot and state.position < self.seen.position:
            return
        if self.first_round is None:
            self.first_round = self._over = state.round
        before, self.seen = self.seen, state
        if state.round <= self.first_round:
            return
        if state.phase != "idle":
            self.booked[state.round] = WagerTotal(len(state.lit), len(state.lit) * state.wager_cents)
        elif before is not None and before.round == state.round and before.phase == "open":
            self.booked[state.round] = WagerTotal()

    def deal_number(self, number: int) -> int:
        """Which deal of ours a round is, from 1; 0 or less for a round that is not ours."""
        return number - (self.first_round if self.first_round is not None else number)

    def cards(self, state: ReceivedState) -> Deal:
        """The cards that lie on the table in this round."""
        if self._deal is None or self._deal[0] != state.round:
            deal = self._shoe.deal(self.name, self.deal_number(state.round), self.boxes, state.declared)
            self._deal = state.round, deal
        return self._deal[1]

    def end(self, number: int) -> None:
        """The dealer sees that a round, and all before it, is over."""
        for over in range(self._over + 1, number + 1):
            standing = self.settled.pop(over, None)
            for listener in self.listeners:
                listener(over, standing)
            self.voided = {(at, box) for at, box in self.voided if at > over}
        self._over = max(self._over, number)
