"""A round's prizes under its instrument and configuration, as entries between accounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from jackpot.core.ledger import Account, Kind, Transfer
from jackpot.core.state import Config, Declaration, Lock, Payout, PayoutStatus, Round, Wager, WagerStatus
from rules import Cards, parse
from rules.canberra import Box
from rules.instruments import canberra_poker_1997, canberra_poker_2016
from rules.prizes import Approved, Claim, Pools, Settlement, Sources
from rules.prizes import Payout as Prize

BOOMERANG: Final = canberra_poker_1997.INSTRUMENT.id


class Settled(NamedTuple):
    """A round settled: its prizes in payout order, the entries, and what it added to the split's total."""

    payouts: tuple[Payout, ...]
    transfers: tuple[Transfer, ...]
    split_added_cents: int


def settle(instrument: str, played: Round, config: Config, lock: Lock) -> Settled:
    """Settle a round on the pools as at its lock."""
    boxes = [_box(played, wager) for wager in played.wagers.values() if wager.status is WagerStatus.ACCEPTED]
    pools = Pools(lock.jackpot_cents, lock.reserve_cents)
    approved = Approved(config.fixed_prizes_from, config.reset_cents)
    if instrument == BOOMERANG:
        claims = canberra_poker_1997.claims(boxes, 0)
        wagers = canberra_poker_1997.wagers_of(
            boxes,
            claims,
            wager_cents=config.wager_cents,
            jackpot_bps=config.jackpot_bps,
            split_before_cents=lock.split_before_cents,
        )
        settlement, pooled = canberra_poker_1997.settle_jackpot(claims, pools, approved, wagers)
        added = wagers.losing * config.wager_cents
        pooling = [
            (Account.JACKPOT, pooled.jackpot_cents),
            (Account.RESERVE, pooled.reserve_cents),
            (Account.HOUSE, pooled.house_cents),
            (Account.PLAYERS, pooled.returned_cents),
        ]
        between = [Transfer(Account.WAGERS, target, c, Kind.CONTRIBUTION) for target, c in pooling if c]
    else:
        settlement, between, added = _settle_2016(canberra_poker_2016.claims(boxes), pools, approved), [], 0
    payouts = tuple(_payout(payout, config) for payout in settlement.payouts)
    prizes = [transfer for payout in payouts for transfer in _entries(payout)]
    return Settled(payouts, (*prizes, *between, *_reset(settlement.reset)), added)


def prize_alone(instrument: str, declaration: Declaration, config: Config, pools: Pools) -> tuple[str, str | None, int]:
    """(hand, prize or None, cents): what one declared hand would be paid now, alone."""
    game = canberra_poker_2016.load()
    hand = game.hand(list(declaration.cards))
    if instrument == BOOMERANG:
        prize = canberra_poker_1997.prize_hand(hand)
        claims = [Claim(1, prize, declaration.displayed_cents)] if prize else []
        settlement, _ = canberra_poker_1997.settle_jackpot(claims, pools, Approved(config.fixed_prizes_from))
    else:
        prize = canberra_poker_2016.prize_hand(hand)
        claims = [Claim(1, prize)] if prize else []
        settlement = _settle_2016(claims, pools, Approved(config.fixed_prizes_from))
    return hand.category.value, prize, sum(payout.amount_cents for payout in settlement.payouts)


def flows_of(transfers: Iterable[Transfer]) -> Mapping[str, int]:
    """What moved between each two accounts, in all."""
    flows: dict[str, int] = {}
    for source, target, amount, _ in transfers:
        flows[f"{source}>{target}"] = flows.get(f"{source}>{target}", 0) + amount
    return flows


def _settle_2016(claims: list[Claim], pools: Pools, approved: Approved) -> Settlement:
    return canberra_poker_2016.settle_jackpot(claims, pools, approved)


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


def _entries(payout: Payout) -> list[Transfer]:
    """The prize from whoever pays it, to the player or, while it awaits confirmation, to the account payable."""
    target = Account.PAYABLE if payout.status is PayoutStatus.PENDING else Account.PLAYERS
    sources = [
        (Account.JACKPOT, payout.jackpot_cents),
        (Account.RESERVE, payout.reserve_cents),
        (Account.HOUSE, payout.house_cents),
        (Account.HOUSE_ADVANCE, payout.advance_cents),
    ]
    return [Transfer(source, target, cents, Kind.PRIZE) for source, cents in sources if cents]


def _reset(reset: Sources) -> list[Transfer]:
    """The reset after a royal, from the reserve, then as an advance (reading 12)."""
    entries = [
        Transfer(Account.RESERVE, Account.JACKPOT, reset.reserve_cents, Kind.RESET),
        Transfer(Account.HOUSE_ADVANCE, Account.JACKPOT, reset.advance_cents, Kind.ADVANCE),
    ]
    return [entry for entry in entries if entry.amount_cents]
