"""Post accepted wagers to one private copy of the state: `evolve` posts one, the journal posts many in a row.

A copy of tables, wagers, totals and balances for each wager takes 1.5 times as long as one copy for a batch of 200
(`bench/hot_path.py`).
"""

from __future__ import annotations

from typing import Final

from jackpot.core.events import Event
from jackpot.core.ledger import post, require_not_negative
from jackpot.core.state import Jackpot, Round, Table, Wager, wager_key

_ROUND: Final = Table._fields.index("round")
_WAGERS: Final = Round._fields.index("wagers")


class WagerBatch:
    """A copy of the state to which accepted wagers are posted; the original never changes."""

    def __init__(self, jackpot: Jackpot) -> None:
        self._balances = dict(jackpot.balances)
        self._totals = dict(jackpot.split_totals)
        self._tables = dict(jackpot.tables)
        self._wagers: dict[str, dict[str, Wager]] = {}
        self.jackpot = jackpot._replace(balances=self._balances, split_totals=self._totals, tables=self._tables)
        """The state so far; it changes with every wager that is posted."""

    def post(self, event: Event) -> None:
        """Post an accepted wager."""
        table, data = event.table or "", event.data
        wagers, version = self._round_of(table)
        box, wager_id = data["box"], data["wager_id"]
        to_jackpot, to_reserve = data["jackpot_cents"], data["reserve_cents"]
        wagers[wager_key(box, wager_id)] = Wager(
            box, wager_id, event.round or 0, data["amount_cents"], to_jackpot, to_reserve
        )
        self._totals[version] += to_jackpot + to_reserve
        post(self._balances, event.transfers)

    def finish(self) -> Jackpot:
        """Return the state after all wagers; nothing may be posted afterwards."""
        require_not_negative(self._balances)
        return self.jackpot

    def _round_of(self, name: str) -> tuple[dict[str, Wager], int]:
        """Return the wagers of a table's round, copied once so that they can be changed, and its configuration."""
        table = self._tables[name]
        played = table.round
        if played is None:
            raise AssertionError(f"table {name} has no round")
        wagers = self._wagers.get(name)
        if wagers is None:
            wagers = self._wagers[name] = dict(played.wagers)
            copied = Round._make((*played[:_WAGERS], wagers, *played[_WAGERS + 1 :]))
            self._tables[name] = Table._make((*table[:_ROUND], copied, *table[_ROUND + 1 :]))
        return wagers, played.config_version
