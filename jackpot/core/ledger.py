"""Double entry: accounts, transfers between them, and balances that are sums of transfers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class Account(StrEnum):
    """The accounts; the sum over all of them is always zero."""

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
    """The reason of a transfer; the daily report has a line for each kind that touches a pool."""

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
    """Money moved from one account to another; never edited, a mistake is corrected by another transfer."""

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


class TransferBuilder:
    """Builds transfers; if a pool is short, the reserve pays the rest, then an advance (readings 11, 13)."""

    def __init__(self, balances: Balances, kind: Kind) -> None:
        self._balances = dict(balances)
        self._kind = kind
        self.transfers: list[Transfer] = []

    def move(self, source: Account, target: Account, amount: int, kind: Kind | None = None) -> None:
        """Add transfers that move the whole amount; other accounts cover the shortfall of a pool."""
        for payer in payers(source):
            if payer == target:
                return  # the target itself covers the shortfall, so nothing moves
            taken = amount if payer not in NEVER_NEGATIVE else min(amount, self._balances[payer])
            amount -= taken
            if taken:
                self._balances[payer] -= taken
                self._balances[target] += taken
                self.transfers.append(Transfer(payer, target, taken, kind or self._kind))
        if amount:
            raise AssertionError(f"the account {source} is {amount} cents short for {target}")


def payers(source: Account) -> tuple[Account, ...]:
    """Return the accounts that pay for an account, in order: itself, then its helpers."""
    match source:
        case Account.JACKPOT:
            return Account.JACKPOT, Account.RESERVE, Account.HOUSE_ADVANCE
        case Account.RESERVE:
            return Account.RESERVE, Account.HOUSE_ADVANCE
        case _:
            return (source,)
