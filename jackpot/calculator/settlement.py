"""Settle a request and return the answer as plain data, ready for JSON."""

from __future__ import annotations

from typing import Any

from jackpot.calculator.requests import (
    Canberra1997,
    Canberra2016,
    CanberraPlayerInput,
    Holdem2025,
    PotRound,
    RoundRequest,
)
from rules import load, pots
from rules.canberra_common import Box, BoxResult
from rules.instruments import canberra_poker_1997, canberra_poker_2016, ultimate_texas_holdem_2025
from rules.jackpot_prizes import ApprovedFunding, PoolAmounts, Prize, Settlement

Answer = dict[str, Any]


def settle(request: RoundRequest) -> Answer:
    """Settle one round under its instrument."""
    match request:
        case Canberra2016():
            return _canberra_2016(request)
        case Canberra1997():
            return _canberra_1997(request)
        case Holdem2025():
            return _holdem(request)
        case PotRound():
            return _pots(request)


def _canberra_2016(request: Canberra2016) -> Answer:
    boxes = [_box(player) for player in request.players]
    settlement = canberra_poker_2016.settle_jackpot(
        canberra_poker_2016.claims(boxes), _pools(request), _approved(request)
    )
    answer: Answer = {"rules": request.rules, "jackpot": _jackpot(settlement)}
    if request.dealer is not None and _has_antes(boxes):
        results = canberra_poker_2016.settle_table(request.dealer, boxes, request.max_payout_cents)
        answer |= _canberra_table(results)
    return answer


def _canberra_1997(request: Canberra1997) -> Answer:
    boxes = [_box(player) for player in request.players]
    displayed = request.pools.displayed_cents
    claims = canberra_poker_1997.claims(boxes, request.pools.jackpot_cents if displayed is None else displayed)
    settlement, pooled = canberra_poker_1997.settle_jackpot(
        claims,
        _pools(request),
        _approved(request),
        canberra_poker_1997.wagers_of(
            boxes,
            claims,
            wager_cents=request.approved.wager_cents,
            jackpot_bps=request.approved.jackpot_bps,
            split_before_cents=request.approved.split_total_cents,
        ),
    )
    wagers = {
        "to_jackpot_cents": pooled.jackpot_cents,
        "to_reserve_cents": pooled.reserve_cents,
        "to_house_cents": pooled.house_cents,
        "returned_cents": pooled.returned_cents,
    }
    answer: Answer = {"rules": request.rules, "jackpot": _jackpot(settlement) | {"wagers": wagers}}
    if request.dealer is not None and _has_antes(boxes):
        results = canberra_poker_1997.settle_table(request.dealer, boxes, request.max_payout_cents)
        answer |= _canberra_table(results)
    return answer


def _box(player: CanberraPlayerInput) -> Box:
    return Box(**dict(player))


def _has_antes(boxes: list[Box]) -> bool:
    return any(box.ante_cents is not None for box in boxes)


def _pools(request: Canberra2016 | Canberra1997) -> PoolAmounts:
    return PoolAmounts(request.pools.jackpot_cents, request.pools.reserve_cents)


def _approved(request: Canberra2016 | Canberra1997) -> ApprovedFunding:
    return ApprovedFunding(request.approved.fixed_prizes_from, request.approved.reset_cents)


def _jackpot(settlement: Settlement) -> Answer:
    return {
        "payouts": [_payout(payout) for payout in settlement.payouts],
        "reset_cents": settlement.reset.total_cents,
        "jackpot_after_cents": settlement.after.jackpot_cents,
        "reserve_after_cents": settlement.after.reserve_cents,
        "house_cents": settlement.house_cents,
    }


def _payout(payout: Prize) -> Answer:
    return {
        "order": payout.order,
        "box": payout.box,
        "hand": payout.hand,
        "amount_cents": payout.amount_cents,
        "from_jackpot_cents": payout.sources.jackpot_cents,
        "from_reserve_cents": payout.sources.reserve_cents,
        "from_house_cents": payout.sources.house_cents + payout.sources.advance_cents,
        "clause": payout.clause,
    }


def _canberra_table(results: list[BoxResult]) -> Answer:
    rows = [
        {
            "box": result.box,
            "hand": result.hand,
            "ante": result.ante,
            "ante_paid_cents": result.ante_paid_cents,
            "bet": result.bet,
            "bet_paid_cents": result.bet_paid_cents,
        }
        for result in results
    ]
    return {"table": rows, "clauses": [{"box": result.box, "clause": result.clause} for result in results]}


def _holdem(request: Holdem2025) -> Answer:
    players = [ultimate_texas_holdem_2025.HoldemPlayer(**dict(player)) for player in request.players]
    results = ultimate_texas_holdem_2025.settle_table(request.board, request.dealer, players, request.max_payout_cents)
    rows, clauses = [], []
    for result in results:
        row: Answer = {"box": result.box, "hand": result.hand}
        cited: Answer = {"box": result.box}
        for wager in ("ante", "blind", "play", "trips"):
            settled: ultimate_texas_holdem_2025.SettledWager = getattr(result, wager)
            row |= {wager: settled.outcome, f"{wager}_paid_cents": settled.paid_cents}
            cited[wager] = settled.clause
        rows.append(row)
        clauses.append(cited)
    return {"rules": request.rules, "table": rows, "clauses": clauses}


def _pots(request: PotRound) -> Answer:
    chosen = request.options
    game = load(request.rules, **chosen.model_dump(exclude={"smallest_chip_cents", "commission"}))
    rate = chosen.commission
    terms = pots.Terms(
        button=request.button,
        smallest_chip_cents=chosen.smallest_chip_cents,
        commission=None if rate is None else pots.Commission(rate.percent, rate.cap_cents),
    )
    players = [pots.Player(**dict(player)) for player in request.players]
    showdown = pots.settle_pots(game, players, terms, request.board)
    return {
        "rules": request.rules,
        "pots": [
            {
                "amount_cents": pot.amount_cents,
                "eligible": list(pot.eligible),
                "high_winners": list(pot.high_winners),
                "low_winners": list(pot.low_winners),
            }
            for pot in showdown.pots
        ],
        "hands": {
            str(seat): {"high": high and high.describe(), "low": low and low.describe()}
            for seat, (high, low) in showdown.hands.items()
        },
        "commission_cents": showdown.commission_cents,
        "commission_clause": showdown.commission_clause,
        "returned_cents": showdown.returned_cents,
        "returned_to": showdown.returned_to,
        "paid": {str(seat): cents for seat, cents in showdown.paid.items()},
    }
