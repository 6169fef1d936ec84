"""A round's prizes under its instrument and configuration, as transfers between accounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from jackpot.core.ledger import Account, Kind, Transfer
from jackpot.core.state import Config, Declaration, Lock, Payout, PayoutStatus, Round, Wager, WagerStatus
from rules import INSTRUMENTS, Cards, parse
from rules.canberra_common import Box
from rules.instruments import canberra_poker_1997, canberra_poker_2016
from rules.jackpot_prizes import ApprovedFunding, Claim, PoolAmounts, Prize, Sources, split_in_turn


class Settled(NamedTuple):
    """A settled round: its prizes in payout order, the transfers, and the split of its losing wagers (1997)."""

    payouts: tuple[Payout, ...]
    transfers: tuple[Transfer, ...]
    pooled: tuple[tuple[int, int], ...]


def settle(instrument: str, played: Round, config: Config, lock: Lock, split_total_cents: int) -> Settled:
    """Settle a round on the pools as at its lock; wagers not pooled yet are split on the present total."""
    standing = sorted(wager for wager in played.wagers.values() if wager.status is WagerStatus.ACCEPTED)
    boxes = [_box(played, wager) for wager in standing]
    pools = PoolAmounts(lock.jackpot_cents, lock.reserve_cents)
    approved = ApprovedFunding(config.fixed_prizes_from, config.reset_cents)
    pooled: tuple[tuple[int, int], ...] = ()
    between: list[Transfer] = []
    if INSTRUMENTS[instrument].pools_wagers_at_settlement:
        claims = canberra_poker_1997.claims(boxes, 0)
        wagers = canberra_poker_1997.wagers_of(
            boxes, claims, wager_cents=config.wager_cents, jackpot_bps=config.jackpot_bps
        )
        pooled = _pooled(played.pooled, wagers.losing, config, split_total_cents)
        settlement, moved = canberra_poker_1997.settle_jackpot(claims, pools, approved, replace(wagers, splits=pooled))
        between = _pooling(moved)
    else:
        settlement = canberra_poker_2016.settle_jackpot(canberra_poker_2016.claims(boxes), pools, approved)
    payouts = tuple(_payout(payout, config) for payout in settlement.payouts)
    prizes = [transfer for payout in payouts for transfer in _prize_transfers(payout)]
    return Settled(payouts, (*prizes, *between, *_reset(settlement.reset)), pooled)


def _pooled(
    before: tuple[tuple[int, int], ...], losing: int, config: Config, split_total_cents: int
) -> tuple[tuple[int, int], ...]:
    """Return the split of the losing wagers: those pooled already as they were, the others on the total so far."""
    kept = before[:losing]
    return kept + split_in_turn(split_total_cents, config.wager_cents, config.jackpot_bps, losing - len(kept))


def _pooling(moved: canberra_poker_1997.Pooled) -> list[Transfer]:
    targets = (
        (Account.JACKPOT, moved.jackpot_cents),
        (Account.RESERVE, moved.reserve_cents),
        (Account.HOUSE, moved.house_cents),
        (Account.PLAYERS, moved.returned_cents),
    )
    return [Transfer(Account.WAGERS, target, cents, Kind.CONTRIBUTION) for target, cents in targets if cents]


def prize_alone(
    instrument: str, declaration: Declaration, config: Config, pools: PoolAmounts
) -> tuple[str, str | None, int]:
    """Return (hand, prize or None, cents) that one declared hand would be paid now, alone."""
    game = canberra_poker_2016.load()
    hand = game.hand(list(declaration.cards))
    if INSTRUMENTS[instrument].pays_displayed_amount:
        prize = canberra_poker_1997.prize_hand(hand)
        claims = [Claim(1, prize, declaration.displayed_cents)] if prize else []
        settlement, _ = canberra_poker_1997.settle_jackpot(claims, pools, ApprovedFunding(config.fixed_prizes_from))
    else:
        prize = canberra_poker_2016.prize_hand(hand)
        claims = [Claim(1, prize)] if prize else []
        settlement = canberra_poker_2016.settle_jackpot(claims, pools, ApprovedFunding(config.fixed_prizes_from))
    return hand.category.value, prize, sum(payout.amount_cents for payout in settlement.payouts)


def flows_of(transfers: Iterable[Transfer], before: Mapping[str, int] | None = None) -> Mapping[str, int]:
    """Return the net flow between each pair of accounts, added to the flows before."""
    flows = dict(before or {})
    for source, target, amount, _ in transfers:
        back = min(amount, flows.get(f"{target}>{source}", 0))
        if back:
            flows[f"{target}>{source}"] -= back
        if amount > back:
            flows[f"{source}>{target}"] = flows.get(f"{source}>{target}", 0) + amount - back
    return {flow: cents for flow, cents in flows.items() if cents}


def _box(played: Round, wager: Wager) -> Box:
    declaration = played.declared.get(wager.box)
    cards: Cards | None = parse(list(declaration.cards)) if declaration else None
    return Box(
        box=wager.box,
        cards=cards,
        folded=wager.box in played.folded,
        jackpot_wager=True,
        displayed_cents=declaration.displayed_cents if declaration else None,
    )


def _payout(payout: Prize, config: Config) -> Payout:
    status = PayoutStatus.PENDING if payout.hand in config.confirm else PayoutStatus.PAID
    sources = payout.sources
    return Payout(
        payout.order,
        payout.box,
        payout.hand,
        payout.amount_cents,
        sources.jackpot_cents,
        sources.reserve_cents,
        sources.house_cents,
        sources.advance_cents,
        payout.clause,
        status,
    )


def _prize_transfers(payout: Payout) -> list[Transfer]:
    """Return the transfers of a prize to the player or, while it awaits confirmation, to the account payable."""
    target = Account.PAYABLE if payout.status is PayoutStatus.PENDING else Account.PLAYERS
    sources = [
        (Account.JACKPOT, payout.jackpot_cents),
        (Account.RESERVE, payout.reserve_cents),
        (Account.HOUSE, payout.house_cents),
        (Account.HOUSE_ADVANCE, payout.advance_cents),
    ]
    return [Transfer(source, target, cents, Kind.PRIZE) for source, cents in sources if cents]


def _reset(reset: Sources) -> list[Transfer]:
    """Return the transfers of the reset after a royal, from the reserve, then as an advance (reading 12)."""
    entries = [
        Transfer(Account.RESERVE, Account.JACKPOT, reset.reserve_cents, Kind.RESET),
        Transfer(Account.HOUSE_ADVANCE, Account.JACKPOT, reset.advance_cents, Kind.ADVANCE),
    ]
    return [entry for entry in entries if entry.amount_cents]
