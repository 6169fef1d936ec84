"""Many wagers in a row: the same two functions, on a copy of the state that the run may change as it goes.

`decide` then `evolve` copies tables, wagers, totals and balances for each wager, which costs more than the wager. A run
copies each of them once. What comes of it is the same, and tests compare the two.
"""

from __future__ import annotations

from typing import Final

from jackpot.core.answers import Decision
from jackpot.core.commands import PlaceWager
from jackpot.core.decide import decide
from jackpot.core.events import Event
from jackpot.core.ledger import require_sound
from jackpot.core.state import Jackpot, Round, Table, Wager, wager_key

_ROUND: Final = Table._fields.index("round")
"""Where a table keeps its round: to make a table anew without names is quicker."""


class Run:
    """A state being carried through wagers; whoever holds the state it began with never sees a change."""

    def __init__(self, jackpot: Jackpot) -> None:
        self._balances = dict(jackpot.balances)
        self._totals = dict(jackpot.split_totals)
        self._tables = dict(jackpot.tables)
        self._wagers: dict[str, dict[str, Wager]] = {}
        self._jackpot = jackpot._replace(
            balances=self._balances, split_totals=self._totals, tables=self._tables
        )  # fmt: skip

    def end(self) -> Jackpot:
        """The state after all of it; the run is over."""
        require_sound(self._balances)
        return self._jackpot

    def place(self, asked: PlaceWager) -> Decision:
        """What `decide` says of a wager, and the state after it."""
        decision = decide(self._jackpot, asked)
        for event in decision.events:
            self._post(event)
        return decision

    def _post(self, event: Event) -> None:
        """What `evolve` does with an accepted wager."""
        table, data = event.table or "", event.data
        wagers, version = self._wagers_of(table)
        box, wager_id = data["box"], data["wager_id"]
        to_jackpot, to_reserve = data["jackpot_cents"], data["reserve_cents"]
        wagers[wager_key(box, wager_id)] = Wager(
            box, wager_id, event.round or 0, data["amount_cents"], to_jackpot, to_reserve
        )
        self._totals[version] += to_jackpot + to_reserve
        for source, target, cents, _ in event.transfers:
            self._balances[source] -= cents
            self._balances[target] += cents

    def _wagers_of(self, name: str) -> tuple[dict[str, Wager], int]:
        """The wagers of a table's round, ours to change, and the configuration it was opened under."""
        table = self._tables[name]
        played = table.round
        if played is None:
            raise AssertionError(f"table {name} has no round")
        own = self._wagers.get(name)
        if own is None:
            own = self._wagers[name] = dict(played.wagers)
            mine = Round._make((played.number, played.config_version, own, *played[3:]))
            self._tables[name] = Table._make((*table[:_ROUND], mine, *table[_ROUND + 1 :]))
        return own, played.config_version
