"""The table itself: cards, chips and all that people there can see; not affected by a device's loss of power."""

from __future__ import annotations

from collections.abc import Callable

from hardware_sim.messages import ReceivedState
from hardware_sim.player import People
from hardware_sim.shoe import Deal, Shoe
from hardware_sim.wager_log import WagerTotal

RoundEndCallback = Callable[[int, frozenset[int] | None], None]
"""Called with a round and the boxes that held a wager when it was settled; None if that is unknown."""


class SimulatedTable:
    """One table with its boxes, shared by its pads and its dealer terminal."""

    def __init__(self, name: str, boxes: int, shoe: Shoe, people: People) -> None:
        self.name = name
        self.boxes = boxes
        self.people = people
        self.first_round: int | None = None
        """The last round before this run; deals are counted from the one after it."""
        self.unlit: set[str] = set()
        """The wagers of this round that lie on a pad whose lamp has not answered; people at the table can see them."""
        self.booked: dict[int, WagerTotal] = {}
        """The wagers of each round of this run, from the table's states."""
        self.voided: set[tuple[int, int]] = set()
        """The rounds and boxes whose wager the dealer has voided, so that none is voided twice."""
        self.settled: dict[int, frozenset[int]] = {}
        self.listeners: list[RoundEndCallback] = []
        self.state: ReceivedState | None = None
        """The newest state that a device of this table has received."""
        self._shoe = shoe
        self._deal: tuple[int, Deal] | None = None
        self._ended_round = 0

    def receive_state(self, state: ReceivedState) -> None:
        """Take over a state that a device received, unless another device has received a newer one."""
        before = self.state
        if before is not None and state.jackpot == before.jackpot and state.position < before.position:
            return
        if self.first_round is None:
            self.first_round = self._ended_round = state.round
        self.state = state
        if state.round <= self.first_round:
            return
        if state.phase != "idle":
            self.booked[state.round] = WagerTotal(len(state.lit), len(state.lit) * state.wager_cents)
        elif before is not None and before.round == state.round and before.phase == "open":
            self.booked[state.round] = WagerTotal()

    def deal_number(self, number: int) -> int:
        """Return the number of a round's deal in this run, from 1; 0 or less for a round of an earlier run."""
        return number - (self.first_round if self.first_round is not None else number)

    def cards(self, state: ReceivedState) -> Deal:
        """Return the cards of this round."""
        if self._deal is None or self._deal[0] != state.round:
            deal = self._shoe.deal(self.name, self.deal_number(state.round), self.boxes, state.declared)
            self._deal = state.round, deal
        return self._deal[1]

    def end(self, number: int) -> None:
        """Notify the listeners that a round, and all before it, has ended."""
        for ended in range(self._ended_round + 1, number + 1):
            standing = self.settled.pop(ended, None)
            for listener in self.listeners:
                listener(ended, standing)
            self.voided = {(at, box) for at, box in self.voided if at > ended}
        self._ended_round = max(self._ended_round, number)
