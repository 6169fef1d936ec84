"""Gazette S89 of 1997: Canberra Poker with the Boomerang Jackpot.

Choices where the text is silent, beside the readings:
- The amount a floor adds comes from the reserve, as in 2016 (reading 9); only the percentage of the displayed amount is
  drawn from the jackpot pool, so that the pool keeps all it holds beyond the displayed amount (reading 18).
- The reset after a royal is the settlement's last entry (reading 12), so it comes after the losing wagers are pooled.
- A void hand (rr 13.3, 13.4, 13.7) neither wins nor loses: its ante, bet and jackpot wager go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rules.canberra_common import Box, BoxResult, TableClauses, TableTerms, dealer_plays, settle_box
from rules.cards import ACE, Cards
from rules.categories import Category
from rules.errors import RoundError, shown
from rules.game import Game
from rules.hands import Hand
from rules.instruments import INSTRUMENTS
from rules.jackpot_prizes import (
    ApprovedFunding,
    Claim,
    Funds,
    PoolAmounts,
    Prize,
    Settlement,
    Sources,
    right_to_left,
    split,
    split_in_turn,
)
from rules.options import refuse_options
from rules.round_checks import Outcome, require_boxes, require_cents, require_count, require_one_deck

INSTRUMENT: Final = INSTRUMENTS["canberra-poker-1997"]
CLAUSE: Final = INSTRUMENT.clause("12")
DEAD_MANS_HAND: Final = "dead_mans_hand"

FIXED_PRIZES: Final = {
    Category.FOUR_OF_A_KIND.value: 50_000,
    Category.FULL_HOUSE.value: 15_000,
    Category.FLUSH.value: 10_000,
    DEAD_MANS_HAND: 5_000,
}
PERCENTAGE_PRIZES: Final = {
    Category.ROYAL_FLUSH.value: (100, 1_000_000),
    Category.STRAIGHT_FLUSH.value: (10, 100_000),
}
"""Per cent of the displayed amount, and the least that is paid (s 12)."""

BET_ODDS: Final = {
    Category.FIVE_ODD_CARDS: 1,
    Category.ONE_PAIR: 1,
    Category.TWO_PAIRS: 2,
    Category.THREE_OF_A_KIND: 3,
    Category.STRAIGHT: 4,
    Category.FLUSH: 5,
    Category.FULL_HOUSE: 7,
    Category.FOUR_OF_A_KIND: 20,
    Category.STRAIGHT_FLUSH: 50,
    Category.ROYAL_FLUSH: 250,
}
"""To one, up to the table's maximum payout (s 10)."""

TABLE_CLAUSES: Final = TableClauses(
    bet_is_twice_ante=INSTRUMENT.clause("6.4"),
    fold=INSTRUMENT.clause("9.1"),
    dealer_does_not_play=INSTRUMENT.clause("9.4"),
    win=INSTRUMENT.clause("9.5(a)(i)"),
    lose=INSTRUMENT.clause("9.5(a)(ii)"),
    tie=INSTRUMENT.clause("9.5(a)(iii)"),
)


@dataclass(frozen=True, slots=True)
class Wagers:
    """The round's jackpot wagers by outcome (r 11.3, reading 16)."""

    wager_cents: int = 0
    jackpot_bps: int = 0
    losing: int = 0
    winning: int = 0
    returned: int = 0
    split_before_cents: int = 0
    splits: tuple[tuple[int, int], ...] = ()
    """The split of each losing wager as (jackpot, reserve), if known already."""

    def __post_init__(self) -> None:
        require_cents("the wager", self.wager_cents)
        for what in ("losing", "winning", "returned"):
            require_count(f"the number of {what} wagers", getattr(self, what))
        split(self.split_before_cents, self.wager_cents, self.jackpot_bps)


@dataclass(frozen=True, slots=True)
class Pooled:
    """The amounts that the round's jackpot wagers brought to each account."""

    jackpot_cents: int
    reserve_cents: int
    house_cents: int
    returned_cents: int


def load(**options: object) -> Game:
    """Return the game: one deck of 52 (r 3.1), the order of r 4.3."""
    refuse_options(INSTRUMENT.id, options)
    return Game(INSTRUMENT.id)


def prize_hand(hand: Hand) -> str | None:
    """Return the prize a hand qualifies for (s 12): a higher category first, then the Dead Man's Hand (reading 19)."""
    if hand.category.value in (*PERCENTAGE_PRIZES, *FIXED_PRIZES):
        return hand.category.value
    ranks = sorted(card.rank for card in hand.cards)
    dead = hand.category is Category.TWO_PAIRS and ranks.count(ACE) == 2 and ranks.count(8) == 2
    return DEAD_MANS_HAND if dead else None


def is_void(box: Box) -> bool:
    """Return True if misdealt (r 13.3), with the wrong number of cards (r 13.4), or without an ante (r 13.7)."""
    wrong_count = box.cards is not None and box.cards.size != 5
    return box.misdealt or box.ante_cents == 0 or wrong_count


def claims(boxes: Sequence[Box], displayed_cents: int) -> list[Claim]:
    """Return the boxes that win, each on the amount displayed when it was declared (s 12, reading 17)."""
    require_boxes(box.box for box in boxes)
    require_cents("the displayed amount", displayed_cents)
    require_one_deck((f"box {box.box}", box.cards) for box in boxes)
    game, found = load(), []
    for box in boxes:
        if box.cards is None or not box.jackpot_wager or box.folded or is_void(box):
            continue
        prize = prize_hand(game.hand(box.cards))
        if prize:
            displayed = displayed_cents if box.displayed_cents is None else box.displayed_cents
            found.append(Claim(box.box, prize, displayed))
    return found


def wagers_of(
    boxes: Sequence[Box], claims: Sequence[Claim], *, wager_cents: int, jackpot_bps: int, split_before_cents: int = 0
) -> Wagers:
    """Count the jackpot wagers: winning, void, and all others, also folded and undeclared ones, losing (reading 16)."""
    wagered = [box for box in boxes if box.jackpot_wager]
    winning, returned = len(claims), sum(is_void(box) for box in wagered)
    return Wagers(
        wager_cents=wager_cents,
        jackpot_bps=jackpot_bps,
        losing=len(wagered) - winning - returned,
        winning=winning,
        returned=returned,
        split_before_cents=split_before_cents,
    )


def payout_order(claims: Sequence[Claim]) -> list[Claim]:
    """Return claims right to left (r 9.5); royals are not moved, because 1997 has no rule like r 11.4 of 2016."""
    return right_to_left(claims)


def settle_jackpot(
    claims: Sequence[Claim], pools: PoolAmounts, approved: ApprovedFunding, wagers: Wagers | None = None
) -> tuple[Settlement, Pooled]:
    """Settle a round's prizes (s 12, readings 16-19), then pool the losing wagers (r 11.3), then reset."""
    funds = Funds(pools)
    payouts = []
    for order, claim in enumerate(payout_order(claims), start=1):
        sources = _prize(claim, funds, approved)
        payouts.append(Prize(order, claim.box, claim.hand, sources.total_cents, sources, CLAUSE))
    pooled = _pool(wagers or Wagers(), funds)
    royal = any(claim.hand == Category.ROYAL_FLUSH for claim in claims)
    reset = funds.raise_to(approved.reset_cents) if royal else Sources()
    return Settlement(tuple(payouts), reset, funds.pools), pooled


def _prize(claim: Claim, funds: Funds, approved: ApprovedFunding) -> Sources:
    """Pay one winner on the amount displayed; there is no sharing clause (reading 18)."""
    if claim.hand in FIXED_PRIZES:
        return funds.fixed(FIXED_PRIZES[claim.hand], approved.fixed_prizes_from)
    if claim.hand not in PERCENTAGE_PRIZES:
        raise RoundError(f"box {claim.box}: {shown(claim.hand)} wins no prize under {CLAUSE}")
    percent, floor = PERCENTAGE_PRIZES[claim.hand]
    share = claim.displayed_cents * percent // 100
    jackpot = funds.take_jackpot(share)
    return funds.from_reserve(max(share, floor) - jackpot, jackpot_cents=jackpot)


def _pool(wagers: Wagers, funds: Funds) -> Pooled:
    """Losing wagers go to the pools, a winner's to the house (r 11.2), a void one back to its player."""
    splits = wagers.splits or split_in_turn(
        wagers.split_before_cents, wagers.wager_cents, wagers.jackpot_bps, wagers.losing
    )
    jackpot, reserve = sum(to for to, _ in splits), sum(to for _, to in splits)
    funds.jackpot_cents += jackpot
    funds.reserve_cents += reserve
    return Pooled(jackpot, reserve, wagers.winning * wagers.wager_cents, wagers.returned * wagers.wager_cents)


def settle_table(dealer: Cards, boxes: Sequence[Box], max_payout_cents: int | None = None) -> list[BoxResult]:
    """Settle antes and bets (rr 9-10, reading 27); a dealer with the wrong number of cards has no hand (r 13.5)."""
    require_boxes(box.box for box in boxes)
    require_one_deck([("the dealer", dealer), *((f"box {box.box}", box.cards) for box in boxes)])
    game, terms = load(), TableTerms(BET_ODDS, max_payout_cents, TABLE_CLAUSES)
    playing = dealer_plays(game, dealer if dealer.size == 5 else None)
    return [_returned(box) if is_void(box) else settle_box(game, box, playing, terms) for box in boxes]


def _returned(box: Box) -> BoxResult:
    """Return a void hand's wagers, under the first clause that voids it."""
    number = "13.3" if box.misdealt else "13.7" if box.ante_cents == 0 else "13.4"
    return BoxResult(box.box, None, Outcome.PUSH, 0, Outcome.PUSH, 0, INSTRUMENT.clause(number))
