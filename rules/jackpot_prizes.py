"""Jackpot prizes common to the Canberra Poker instruments: pools, the split of a wager, the sources of a prize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rules.errors import RoundError, shown
from rules.round_checks import require_box, require_cents

WHOLE_BPS: Final = 10_000


class FixedFrom(StrEnum):
    """The source of the fixed prizes under the approved configuration (reading 9)."""

    RESERVE = "reserve"
    JACKPOT = "jackpot"
    HOUSE = "house"


@dataclass(frozen=True, slots=True)
class PoolAmounts:
    """The jackpot pool and the reserve pool; neither is ever negative."""

    jackpot_cents: int
    reserve_cents: int

    def __post_init__(self) -> None:
        require_cents("the jackpot pool", self.jackpot_cents)
        require_cents("the reserve pool", self.reserve_cents)


@dataclass(frozen=True, slots=True)
class ApprovedFunding:
    """The part of an approved configuration that decides a settlement."""

    fixed_prizes_from: FixedFrom = FixedFrom.RESERVE
    reset_cents: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.fixed_prizes_from, FixedFrom):
            raise RoundError(f"fixed prizes come from {', '.join(FixedFrom)}, not {shown(self.fixed_prizes_from)}")
        require_cents("the reset amount", self.reset_cents)


@dataclass(frozen=True, slots=True)
class Claim:
    """A box whose hand wins a prize: an accepted wager, not folded, declared (reading 3)."""

    box: int
    hand: str
    displayed_cents: int = 0

    def __post_init__(self) -> None:
        require_box(self.box)
        if not isinstance(self.hand, str):
            raise RoundError(f"box {self.box} claims with the name of a hand, not with {shown(self.hand)}")
        require_cents(f"the amount displayed to box {self.box}", self.displayed_cents)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of an amount; `house` is the operator's own prize, `advance` is owed back by the pools."""

    jackpot_cents: int = 0
    reserve_cents: int = 0
    house_cents: int = 0
    advance_cents: int = 0

    @property
    def total_cents(self) -> int:
        """The sum of all sources."""
        return self.jackpot_cents + self.reserve_cents + self.house_cents + self.advance_cents


@dataclass(frozen=True, slots=True)
class Prize:
    """One box's prize, its place in the order of payment, its sources and its clause."""

    order: int
    box: int
    hand: str
    amount_cents: int
    sources: Sources
    clause: str


@dataclass(frozen=True, slots=True)
class Settlement:
    """A round's prizes in payout order, the reset after a royal, and the pools after all of it."""

    payouts: tuple[Prize, ...]
    reset: Sources
    after: PoolAmounts

    @property
    def house_cents(self) -> int:
        """The amount the operator added: its own prizes and its advances."""
        entries = [payout.sources for payout in self.payouts] + [self.reset]
        return sum(entry.house_cents + entry.advance_cents for entry in entries)


def split(total_before_cents: int, amount_cents: int, jackpot_bps: int) -> tuple[int, int]:
    """Split one wager into (jackpot, reserve), cumulatively, so that no cent is lost or created (reading 1)."""
    require_cents("the total already split", total_before_cents)
    require_cents("the wager", amount_cents)
    if type(jackpot_bps) is not int or not 0 <= jackpot_bps <= WHOLE_BPS:
        raise RoundError(f"the jackpot's share is 0 to {WHOLE_BPS} basis points, not {shown(jackpot_bps)}")
    after = (total_before_cents + amount_cents) * jackpot_bps // WHOLE_BPS
    jackpot = after - total_before_cents * jackpot_bps // WHOLE_BPS
    return jackpot, amount_cents - jackpot


def split_in_turn(
    total_before_cents: int, amount_cents: int, jackpot_bps: int, times: int
) -> tuple[tuple[int, int], ...]:
    """Split equal wagers one after the other, each on the total of all before it."""
    totals = (total_before_cents + n * amount_cents for n in range(times))
    return tuple(split(total, amount_cents, jackpot_bps) for total in totals)


def right_to_left(claims: Sequence[Claim]) -> list[Claim]:
    """Sort claims from the box at the dealer's right, the highest number, down (reading 8)."""
    boxes = [claim.box for claim in claims]
    if len(set(boxes)) != len(boxes):
        raise RoundError(f"box {next(b for b in boxes if boxes.count(b) > 1)} claims twice in one round")
    return sorted(claims, key=lambda claim: -claim.box)


class Funds:
    """The pools while a round's prizes are taken from them, one after the other."""

    def __init__(self, pools: PoolAmounts) -> None:
        self.jackpot_cents = pools.jackpot_cents
        self.reserve_cents = pools.reserve_cents

    @property
    def pools(self) -> PoolAmounts:
        """The pools after the prizes taken so far."""
        return PoolAmounts(self.jackpot_cents, self.reserve_cents)

    def take_jackpot(self, cents: int) -> int:
        """Take this amount from the jackpot pool, or all it holds; return the amount taken."""
        taken = min(cents, self.jackpot_cents)
        self.jackpot_cents -= taken
        return taken

    def from_reserve(self, cents: int, *, jackpot_cents: int = 0) -> Sources:
        """Take from the reserve, then as an advance; `jackpot_cents` was already taken from the jackpot pool."""
        taken = min(cents, self.reserve_cents)
        self.reserve_cents -= taken
        return Sources(jackpot_cents=jackpot_cents, reserve_cents=taken, advance_cents=cents - taken)

    def fixed(self, cents: int, payer: FixedFrom) -> Sources:
        """Take a fixed prize from the source that the approved configuration names (reading 9)."""
        if payer is FixedFrom.HOUSE:
            return Sources(house_cents=cents)
        jackpot = self.take_jackpot(cents) if payer is FixedFrom.JACKPOT else 0
        return self.from_reserve(cents - jackpot, jackpot_cents=jackpot)

    def raise_to(self, reset_cents: int) -> Sources:
        """Raise the jackpot pool to the reset amount; never lower it (reading 12)."""
        given = self.from_reserve(max(0, reset_cents - self.jackpot_cents))
        self.jackpot_cents += given.total_cents
        return given
