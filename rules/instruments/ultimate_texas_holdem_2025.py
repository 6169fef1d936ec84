"""NI2025-411: Ultimate Texas Hold-em, five of seven cards against the dealer.

Choices where the text is silent, beside the readings:
- Wagers that break the game's own proportions are refused, not settled: the blind equals the ante (dictionary), the
  play wager is one to four times the ante (rr 8.1, 8.3, 8.5), trips needs both (r 4.3). When each multiple is allowed
  is for the dealer to check.
- A folded player may have a play wager on the table (r 9.1, conceding); it is lost with the other three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rules.cards import Cards
from rules.categories import Category
from rules.errors import RoundError
from rules.game import Game, HoldemGame
from rules.hands import Hand
from rules.instruments import INSTRUMENTS
from rules.options import refuse_options
from rules.round_checks import Outcome, require_boxes, require_cents, require_one_deck

INSTRUMENT: Final = INSTRUMENTS["ultimate-texas-holdem-2025"]

BLIND_ODDS: Final = {
    Category.ROYAL_FLUSH: (500, 1),
    Category.STRAIGHT_FLUSH: (50, 1),
    Category.FOUR_OF_A_KIND: (10, 1),
    Category.FULL_HOUSE: (3, 1),
    Category.FLUSH: (3, 2),
    Category.STRAIGHT: (1, 1),
}
"""For a hand that beats the dealer, up to the maximum payout (r 10.1, table 1)."""

TRIPS_ODDS: Final = {
    Category.ROYAL_FLUSH: 50,
    Category.STRAIGHT_FLUSH: 40,
    Category.FOUR_OF_A_KIND: 30,
    Category.FULL_HOUSE: 8,
    Category.FLUSH: 7,
    Category.STRAIGHT: 4,
    Category.THREE_OF_A_KIND: 3,
}
"""To one; the dealer's hand does not matter (r 10.1, table 2)."""

PLAY_MULTIPLES: Final = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class HoldemPlayer:
    """One box: two hole cards (None if folded unseen) and four wagers."""

    box: int
    hole: Cards | None
    ante_cents: int
    blind_cents: int
    play_cents: int = 0
    trips_cents: int = 0
    folded: bool = False


@dataclass(frozen=True, slots=True)
class SettledWager:
    """The outcome of one wager, the amount paid on top of it, and the clause."""

    outcome: Outcome
    paid_cents: int
    clause: str


@dataclass(frozen=True, slots=True)
class HoldemResult:
    """The four wagers of one box, settled."""

    box: int
    hand: Category | None
    ante: SettledWager
    blind: SettledWager
    play: SettledWager
    trips: SettledWager


def load(**options: object) -> Game:
    """Return the game: one deck of 52 (r 2.1), the best five of seven (r 9.3(b)), the order of r 3.1."""
    refuse_options(INSTRUMENT.id, options)
    return HoldemGame(INSTRUMENT.id)


def settle_table(
    board: Cards, dealer: Cards, players: Sequence[HoldemPlayer], max_payout_cents: int | None = None
) -> list[HoldemResult]:
    """Settle the four wagers of each player against the dealer (rr 9, 10, reading 28)."""
    game = load()
    _require_round(game, board, dealer, players)
    if max_payout_cents is not None:
        require_cents("the maximum payout", max_payout_cents)
    dealer_hand = game.best(dealer, board)
    return [_settle_player(game, player, board, dealer_hand, max_payout_cents) for player in players]


def _settle_player(
    game: Game, player: HoldemPlayer, board: Cards, dealer: Hand, max_payout_cents: int | None
) -> HoldemResult:
    hand = None if player.hole is None else game.best(player.hole, board)
    category = hand.category if hand else None
    if hand is None or player.folded:
        lost = _settled(Outcome.LOSE, "9.1" if player.play_cents else "8.6")
        return HoldemResult(player.box, category, lost, lost, lost, lost)
    return HoldemResult(
        player.box,
        category,
        ante=_ante(player, hand, dealer),
        blind=_blind(player, hand, dealer, max_payout_cents),
        play=_against_dealer(player.play_cents, hand, dealer, "9.8"),
        trips=_trips(player, hand),
    )


def _settled(outcome: Outcome, number: str, paid_cents: int = 0) -> SettledWager:
    return SettledWager(outcome, paid_cents, INSTRUMENT.clause(number))


def _against_dealer(stake: int, hand: Hand, dealer: Hand, number: str) -> SettledWager:
    """The higher hand wins, at one to one (rr 9.5, 9.8)."""
    if hand > dealer:
        return _settled(Outcome.WIN, f"{number}(a)", stake)
    return _settled(Outcome.PUSH, f"{number}(c)") if hand == dealer else _settled(Outcome.LOSE, f"{number}(b)")


def _ante(player: HoldemPlayer, hand: Hand, dealer: Hand) -> SettledWager:
    """The ante pushes unless the dealer has a pair or better (rr 9.2, 9.5)."""
    if dealer.category is Category.FIVE_ODD_CARDS:
        return _settled(Outcome.PUSH, "9.5(c)")
    return _against_dealer(player.ante_cents, hand, dealer, "9.5")


def _blind(player: HoldemPlayer, hand: Hand, dealer: Hand, max_payout_cents: int | None) -> SettledWager:
    """The blind wins only with a straight or better that beats the dealer (r 9.6); three to two is rounded down."""
    if hand < dealer:
        return _settled(Outcome.LOSE, "9.6(b)")
    if hand == dealer or hand.category not in BLIND_ODDS:
        return _settled(Outcome.PUSH, "9.6(c)")
    times, to = BLIND_ODDS[hand.category]
    paid = player.blind_cents * times // to
    return _settled(Outcome.WIN, "9.6(a)", paid if max_payout_cents is None else min(paid, max_payout_cents))


def _trips(player: HoldemPlayer, hand: Hand) -> SettledWager:
    """Trips wins with three of a kind or better; the dealer's hand does not matter (r 9.7)."""
    if hand.category in TRIPS_ODDS:
        return _settled(Outcome.WIN, "9.7(a)", player.trips_cents * TRIPS_ODDS[hand.category])
    return _settled(Outcome.LOSE, "9.7(b)")


def _require_round(game: Game, board: Cards, dealer: Cards, players: Sequence[HoldemPlayer]) -> None:
    require_boxes(player.box for player in players)
    game.check_deal(dealer, board)
    require_one_deck([("the board", board), ("the dealer", dealer), *((f"box {p.box}", p.hole) for p in players)])
    for player in players:
        if player.hole is None and not player.folded:
            raise RoundError(f"box {player.box} has not folded and shows no hole cards")
        _require_wagers(player)


def _require_wagers(player: HoldemPlayer) -> None:
    where = f"of box {player.box}"
    ante = require_cents(f"the ante {where}", player.ante_cents)
    blind = require_cents(f"the blind {where}", player.blind_cents)
    play = require_cents(f"the play wager {where}", player.play_cents)
    require_cents(f"the trips wager {where}", player.trips_cents)
    if not ante or blind != ante:
        raise RoundError(f"the blind {where} is {blind} cents and must equal its ante of {ante}, which must be placed")
    if not (player.folded and play == 0) and play not in [ante * times for times in PLAY_MULTIPLES]:
        raise RoundError(
            f"the play wager {where} is {play} cents and must be one, two, three or four times its ante of {ante} "
            f"({INSTRUMENT.clause('8.1')}, 8.3, 8.5)"
        )
