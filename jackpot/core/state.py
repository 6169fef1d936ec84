"""The state of a jackpot: frozen values, all that is needed to decide the next command."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from jackpot.core.ledger import NOTHING, Account, Balances
from rules.jackpot_prizes import FixedFrom


class Phase(StrEnum):
    """The phase of a table's round."""

    IDLE = "idle"
    OPEN = "open"
    CLOSED = "closed"
    PENDING = "pending"


class WagerStatus(StrEnum):
    """The status of an accepted wager."""

    ACCEPTED = "accepted"
    RETURNED = "returned"


class PayoutStatus(StrEnum):
    """The status of a prize."""

    PENDING = "pending"
    PAID = "paid"
    CORRECTED = "corrected"


class Config(NamedTuple):
    """An approved configuration; a round keeps the one it was opened under."""

    version: int
    wager_cents: int
    jackpot_bps: int
    reserve_bps: int
    reset_cents: int
    fixed_prizes_from: FixedFrom
    confirm: tuple[str, ...]


class Wager(NamedTuple):
    """An accepted wager, and how its money was split."""

    box: int
    wager_id: str
    round: int
    amount_cents: int
    jackpot_cents: int
    reserve_cents: int
    status: WagerStatus = WagerStatus.ACCEPTED
    reason: str | None = None


class Declaration(NamedTuple):
    """A box's cards as the dealer stated them, and the amount displayed at that time (1997)."""

    cards: tuple[str, ...]
    displayed_cents: int


class Payout(NamedTuple):
    """One box's prize and the accounts that pay it."""

    order: int
    box: int
    hand: str
    amount_cents: int
    jackpot_cents: int
    reserve_cents: int
    house_cents: int
    advance_cents: int
    clause: str
    status: PayoutStatus


class Lock(NamedTuple):
    """The pools at the moment of the settle command; a correction settles again on these (reading 11)."""

    jackpot_cents: int
    reserve_cents: int
    split_before_cents: int


class Round(NamedTuple):
    """A round of play at a table, the present one or the last.

    `flows` is the money its settlement moves on the pools as at the lock, `posted` the money actually moved (they
    differ if a correction found a pool short), `pooled` the split of its losing wagers (1997).
    """

    number: int
    config_version: int
    wagers: Mapping[str, Wager] = {}
    folded: Mapping[int, str] = {}
    declared: Mapping[int, Declaration] = {}
    payouts: tuple[Payout, ...] = ()
    lock: Lock | None = None
    flows: Mapping[str, int] = {}
    posted: Mapping[str, int] = {}
    pooled: tuple[tuple[int, int], ...] = ()

    def standing(self, box: int) -> Wager | None:
        """Return the standing wager of a box."""
        for wager in self.wagers.values():
            if wager.box == box and wager.status is WagerStatus.ACCEPTED:
                return wager
        return None

    @property
    def lit(self) -> list[int]:
        """The boxes with a standing wager."""
        return sorted(wager.box for wager in self.wagers.values() if wager.status is WagerStatus.ACCEPTED)


class Table(NamedTuple):
    """A table linked to the jackpot. An unlinked one is kept, so that its round numbers go on if it is linked again."""

    id: str
    boxes: int
    phase: Phase = Phase.IDLE
    number: int = 0
    round: Round | None = None
    suspended: str | None = None
    tournament: bool = False
    restricted: bool = False
    unlinked: bool = False
    commands: Mapping[str, tuple[str, str]] = {}


class Proposal(NamedTuple):
    """A change that waits for a second manager."""

    number: int
    kind: str
    by: str
    body: Mapping[str, Any]
    reason: str
    warning: str | None


class Jackpot(NamedTuple):
    """One pair of pools and one meter, with the tables linked to it."""

    id: str = ""
    instrument: str = ""
    retired: bool = False
    version: int = 0
    configs: Mapping[int, Config] = {}
    split_totals: Mapping[int, int] = {}
    balances: Balances = NOTHING
    tables: Mapping[str, Table] = {}
    proposals: Mapping[int, Proposal] = {}
    next_proposal: int = 1

    @property
    def config(self) -> Config:
        """The configuration for rounds that open now."""
        return self.configs[self.version]

    @property
    def meter_cents(self) -> int:
        """The published value: the balance of the jackpot pool."""
        return self.balances[Account.JACKPOT]

    def with_table(self, table: Table) -> Jackpot:
        """Return the jackpot with this table replaced."""
        return self._replace(tables={**self.tables, table.id: table})


def wager_key(box: int, wager_id: str) -> str:
    """Return the key of a wager in its round: its box and the id that its pad gave."""
    return f"{box}/{wager_id}"


NEW: Final = Jackpot()
