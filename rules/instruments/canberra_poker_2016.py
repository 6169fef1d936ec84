"""NI2016-268: Canberra Poker with a progressive jackpot, the instrument in force.

Choices where the text is silent, beside the readings:
- A bet recorded at a folded box is collected with its ante: a fold is the decision not to bet (r 7.3).
- A hand with the wrong number of cards is refused, not settled: a round not dealt as in r 6.3 is void (r 14.3).
- What floors and fixed prizes draw from the reserve is drawn in payout order. This decides only which prize shows the
  operator's advance if the reserve runs out within a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rules.canberra_common import Box, BoxResult, TableClauses, TableTerms, dealer_plays, settle_box
from rules.cards import Cards
from rules.categories import Category
from rules.errors import RoundError, shown
from rules.game import Game
from rules.hands import Hand
from rules.instruments import INSTRUMENTS
from rules.jackpot_prizes import ApprovedFunding, Claim, Funds, PoolAmounts, Prize, Settlement, Sources, right_to_left
from rules.options import refuse_options
from rules.round_checks import require_boxes, require_one_deck

INSTRUMENT: Final = INSTRUMENTS["canberra-poker-2016"]

FIXED_PRIZES: Final = {
    Category.FOUR_OF_A_KIND: (50_000, INSTRUMENT.clause("11.1(c)")),
    Category.FULL_HOUSE: (15_000, INSTRUMENT.clause("11.1(d)")),
    Category.FLUSH: (10_000, INSTRUMENT.clause("11.1(e)")),
}
STRAIGHT_FLUSH_FLOOR_CENTS: Final = 100_000
STRAIGHT_FLUSH_PERCENT: Final = 10
ROYAL_FLUSH_FLOOR_CENTS: Final = 1_000_000

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
"""To one, up to the table's maximum payout (r 8.1)."""

TABLE_CLAUSES: Final = TableClauses(
    bet_is_twice_ante=INSTRUMENT.clause("7.2"),
    fold=INSTRUMENT.clause("7.3"),
    dealer_does_not_play=INSTRUMENT.clause("9.3"),
    win=INSTRUMENT.clause("9.4"),
    lose=INSTRUMENT.clause("9.5"),
    tie=INSTRUMENT.clause("9.6"),
)


def load(**options: object) -> Game:
    """Return the game: one deck of 52 (r 2.1), the order of r 2.6."""
    refuse_options(INSTRUMENT.id, options)
    return Game(INSTRUMENT.id)


def prize_hand(hand: Hand) -> str | None:
    """Return the prize a hand qualifies for (r 10.7#1), or None."""
    if hand.category in (Category.ROYAL_FLUSH, Category.STRAIGHT_FLUSH, *FIXED_PRIZES):
        return hand.category.value
    return None


def claims(boxes: Sequence[Box]) -> list[Claim]:
    """Return the winning boxes: wager and ante (r 10.1), no fold (r 7.3), declared (r 10.4), a prize hand (r 10.7)."""
    require_boxes(box.box for box in boxes)
    require_one_deck((f"box {box.box}", box.cards) for box in boxes)
    game, found = load(), []
    for box in boxes:
        if box.jackpot_wager and box.ante_cents == 0:
            raise RoundError(f"box {box.box} has a jackpot wager without an ante ({INSTRUMENT.clause('10.1')})")
        prize = prize_hand(game.hand(box.cards)) if box.cards is not None else None
        if prize and box.jackpot_wager and not box.folded:
            found.append(Claim(box.box, prize))
    return found


def payout_order(claims: Sequence[Claim]) -> list[Claim]:
    """Return claims right to left (r 11.2); royals before the last straight flush move to right after it (r 11.4)."""
    ordered = right_to_left(claims)
    straights = [i for i, claim in enumerate(ordered) if claim.hand == Category.STRAIGHT_FLUSH]
    if not straights:
        return ordered
    until = straights[-1] + 1
    head = ordered[:until]
    waiting = [claim for claim in head if claim.hand == Category.ROYAL_FLUSH]
    return [claim for claim in head if claim not in waiting] + waiting + ordered[until:]


def straight_flush_share(jackpot_cents: int, winners: int) -> int:
    """Return a winner's share: ten per cent of the pool, then of the rest, once per winner (r 11.3(b), reading 5)."""
    left = jackpot_cents
    for _ in range(winners):
        left -= left * STRAIGHT_FLUSH_PERCENT // 100
    return (jackpot_cents - left) // winners


def settle_jackpot(claims: Sequence[Claim], pools: PoolAmounts, approved: ApprovedFunding) -> Settlement:
    """Settle a round's prizes on the pools as at the lock (rr 11.1-11.4, readings 4-9, 12)."""
    funds = Funds(pools)
    ordered = payout_order(claims)
    shares: dict[str, int] = {}
    payouts = []
    for order, claim in enumerate(ordered, start=1):
        if claim.hand in (Category.STRAIGHT_FLUSH, Category.ROYAL_FLUSH):
            sources, clause = _percentage_prize(claim.hand, ordered, funds, shares)
        elif claim.hand in FIXED_PRIZES:
            cents, clause = FIXED_PRIZES[Category(claim.hand)]
            sources = funds.fixed(cents, approved.fixed_prizes_from)
        else:
            raise RoundError(f"box {claim.box}: {shown(claim.hand)} wins no prize under {INSTRUMENT.clause('10.7#1')}")
        payouts.append(Prize(order, claim.box, claim.hand, sources.total_cents, sources, clause))
    royal = any(claim.hand == Category.ROYAL_FLUSH for claim in claims)
    reset = funds.raise_to(approved.reset_cents) if royal else Sources()
    return Settlement(tuple(payouts), reset, funds.pools)


def _percentage_prize(hand: str, ordered: Sequence[Claim], funds: Funds, shares: dict[str, int]) -> tuple[Sources, str]:
    """Pay one winner; the first takes all winners' money from the jackpot pool, and floors add from the reserve."""
    winners = sum(claim.hand == hand for claim in ordered)
    royal = hand == Category.ROYAL_FLUSH
    if hand not in shares:
        pool = funds.jackpot_cents
        shares[hand] = pool // winners if royal else straight_flush_share(pool, winners)
        funds.take_jackpot(shares[hand] * winners)
    floor = ROYAL_FLUSH_FLOOR_CENTS if royal else STRAIGHT_FLUSH_FLOOR_CENTS
    number = ("11.1" if winners == 1 else "11.3") + ("(a)" if royal else "(b)")
    sources = funds.from_reserve(max(0, floor - shares[hand]), jackpot_cents=shares[hand])
    return sources, INSTRUMENT.clause(number)


def settle_table(dealer: Cards, boxes: Sequence[Box], max_payout_cents: int | None = None) -> list[BoxResult]:
    """Settle antes and bets against the dealer (rr 7-9, reading 27), in the order the boxes were given."""
    require_boxes(box.box for box in boxes)
    require_one_deck([("the dealer", dealer), *((f"box {box.box}", box.cards) for box in boxes)])
    game, terms = load(), TableTerms(BET_ODDS, max_payout_cents, TABLE_CLAUSES)
    playing = dealer_plays(game, dealer)
    return [settle_box(game, box, playing, terms) for box in boxes]
