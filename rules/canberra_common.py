"""Boxes and the settlement of antes and bets, common to the Canberra Poker instruments of 1997 and 2016."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rules.cards import Cards
from rules.categories import Category
from rules.errors import RoundError
from rules.game import Game
from rules.hands import Hand
from rules.round_checks import Outcome, require_box, require_cents


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a round: its cards (None while undeclared), its wagers, and whether it folded or was misdealt."""

    box: int
    cards: Cards | None = None
    folded: bool = False
    jackpot_wager: bool = False
    ante_cents: int | None = None
    bet_cents: int | None = None
    misdealt: bool = False
    displayed_cents: int | None = None

    def __post_init__(self) -> None:
        require_box(self.box)
        for what, cents in (("ante", self.ante_cents), ("bet", self.bet_cents), ("display", self.displayed_cents)):
            if cents is not None:
                require_cents(f"the {what} of box {self.box}", cents)


@dataclass(frozen=True, slots=True)
class BoxResult:
    """The amounts the table pays one box on top of its stakes; `hand` is None if there is none to rank."""

    box: int
    hand: Category | None
    ante: Outcome
    ante_paid_cents: int
    bet: Outcome
    bet_paid_cents: int
    clause: str


@dataclass(frozen=True, slots=True)
class TableClauses:
    """The clauses that settle a box, cited in its result."""

    bet_is_twice_ante: str
    fold: str
    dealer_does_not_play: str
    win: str
    lose: str
    tie: str


def dealer_plays(game: Game, dealer: Cards | None) -> Hand | None:
    """Return the dealer's hand if it has an ace and a king or is higher (2016 r 9.2, 1997 r 9.3), else None."""
    if dealer is None:
        return None
    hand = game.hand(dealer)
    lowest_that_plays = game.strength("Ac Kd 4c 3d 2h")
    return hand if hand.strength >= lowest_that_plays else None


@dataclass(frozen=True, slots=True)
class TableTerms:
    """The odds of a bet, the maximum payout, and the clauses."""

    odds: Mapping[Category, int]
    max_payout_cents: int | None
    clauses: TableClauses

    def __post_init__(self) -> None:
        if self.max_payout_cents is not None:
            require_cents("the maximum payout", self.max_payout_cents)


def settle_box(game: Game, box: Box, dealer: Hand | None, terms: TableTerms) -> BoxResult:
    """Settle one box against the dealer's hand, which is None if the dealer does not play."""
    ante, bet = _wagers(box, terms)
    if box.cards is None and not box.folded:
        raise RoundError(f"box {box.box} has not folded and shows no cards: give its five cards, or fold it")
    hand = None if box.cards is None else game.hand(box.cards)
    category, clauses = hand.category if hand else None, terms.clauses
    if hand is None or box.folded:
        return BoxResult(box.box, category, Outcome.LOSE, 0, Outcome.LOSE, 0, clauses.fold)
    if dealer is None:
        return BoxResult(box.box, category, Outcome.WIN, ante, Outcome.PUSH, 0, clauses.dealer_does_not_play)
    if hand > dealer:
        paid = _bet_pays(bet, hand, terms)
        return BoxResult(box.box, category, Outcome.WIN, ante, Outcome.WIN, paid, clauses.win)
    if hand == dealer:
        return BoxResult(box.box, category, Outcome.PUSH, 0, Outcome.PUSH, 0, clauses.tie)
    return BoxResult(box.box, category, Outcome.LOSE, 0, Outcome.LOSE, 0, clauses.lose)


def _wagers(box: Box, terms: TableTerms) -> tuple[int, int]:
    """Return the ante and the bet, which is exactly twice the ante unless the box folded."""
    ante = require_cents(f"the ante of box {box.box}", box.ante_cents)
    bet = box.bet_cents or 0
    if not box.folded and bet != 2 * ante:
        raise RoundError(
            f"the bet of box {box.box} is {bet} cents and must be exactly twice the ante of {ante} "
            f"({terms.clauses.bet_is_twice_ante})"
        )
    return ante, bet


def _bet_pays(bet: int, hand: Hand, terms: TableTerms) -> int:
    paid = bet * terms.odds[hand.category]
    return paid if terms.max_payout_cents is None else min(paid, terms.max_payout_cents)
