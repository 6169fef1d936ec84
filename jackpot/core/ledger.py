"""Double entry: accounts, transfers between them, and balances that are sums of transfers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class Account(StrEnum):
    """Where money can be; the sum over all accounts is zero, always."""

    PLAYERS = "players"
    WAGERS = "wagers"
    JACKPOT = "jackpot"
    RESERVE = "reserve"
    PAYABLE = "payable"
    HOUSE = "house"
    HOUSE_ADVANCE = "house_advance"


POOLS: Final = (Account.JACKPOT, Account.RESERVE)
NEVER_NEGATIVE: Final = (Account.JACKPOT, Account.RESERVE, Account.PAYABLE, Account.WAGERS)


class Kind(StrEnum):
    """Why money moved; the daily report has a line for each that touches a pool."""

    CONTRIBUTION = "contribution"
    VOID = "void"
    PRIZE = "prize"
    PAYMENT = "payment"
    CORRECTION = "correction"
    RESET = "reset"
    ADVANCE = "advance"
    REPAYMENT = "repayment"
    ADJUSTMENT = "adjustment"


class Transfer(NamedTuple):
    """Money that moved once, for good; a mistake is mended by another transfer."""

    source: Account
    target: Account
    amount_cents: int
    kind: Kind


Balances = Mapping[Account, int]
NOTHING: Final[Balances] = dict.fromkeys(Account, 0)


def posted(balances: Balances, transfers: Iterable[Transfer]) -> Balances:
    """Return the balances after these transfers."""
    after = dict(balances)
    post(after, transfers)
    require_not_negative(after)
    return after


def post(balances: dict[Account, int], transfers: Iterable[Transfer]) -> None:
    """Add these transfers to balances that the caller owns."""
    for source, target, amount, _ in transfers:
        if amount <= 0 or source == target:
            raise AssertionError(f"a transfer moves money: {source} to {target}, {amount} cents")
        balances[source] -= amount
        balances[target] += amount


def require_not_negative(balances: Balances) -> None:
    """Raise `AssertionError` if an account is below zero that must not be."""
    for account in NEVER_NEGATIVE:
        if balances[account] < 0:
            raise AssertionError(f"the account {account} would hold {balances[account]} cents")


class Purse:
    """Balances while an entry is made up: what a pool lacks, the reserve pays, then an advance (readings 11, 13)."""

    def __init__(self, balances: Balances, kind: Kind) -> None:
        self._left = dict(balances)
        self._kind = kind
        self.transfers: list[Transfer] = []

    def move(self, source: Account, target: Account, amount: int, kind: Kind | None = None) -> None:
        """Move all of it; a pool that holds less is helped out."""
        for payer in payers(source):
            if payer == target:
                return  # the reserve, or the advance, bears what the pool before it lacks
            taken = amount if payer not in NEVER_NEGATIVE else min(amount, self._left[payer])
            amount -= taken
            if taken:
                self._left[payer] -= taken
                self._left[target] += taken
                self.transfers.append(Transfer(payer, target, taken, kind or self._kind))
        if amount:
            raise AssertionError(f"the account {source} lacks {amount} cents for {target}")


def payers(source: Account) -> tuple[Account, ...]:
    """Who pays for an account, in order: itself, then its helpers."""
    match source:
        case Account.JACKPOT:
            return Account.JACKPOT, Account.RESERVE, Account.HOUSE_ADVANCE
        case Account.RESERVE:
            return Account.RESERVE, Account.HOUSE_ADVANCE
        case _:
            return (source,)
