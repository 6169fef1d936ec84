"""Pots, commission and their division in Canberra Manila and Stud (NI2005-64 and NI2005-74 rr 13-15, reading 29).

Choices where the text is silent, beside the readings:
- The part of the highest stake that no other player met goes back even to a player who folded later (reading 29).
  Money that several folded players put in beyond the stake of every player still in joins the last pot: it stays in
  (r 4.6), and no other player can claim it.
- In a high/low game in which no low hand qualifies, there is one half only, so a tie for it is a tie in the sense of
  r 15.2(c).
- A pot whose commission takes all of it pays nothing; the only limit in the text is the approved maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rules.cards import Cards
from rules.errors import RoundError, shown
from rules.game import Game, WinRule
from rules.hands import Hand, LowHand
from rules.instruments import find
from rules.round_checks import require_cents, require_one_deck

SEATS: Final = 10
COMMISSION_THRESHOLD_CENTS: Final = {5: 1900, 10: 900}
"""A pot must exceed this to pay the percentage (r 15.2(a))."""
_RATE_CLAUSES: Final = {5: "15.2(a)(i)", 10: "15.2(a)(ii)"}
DOLLAR_CENTS: Final = 100


@dataclass(frozen=True, slots=True)
class Player:
    """One seat at the showdown: its cards, the money it put in, and the part of it that was ante or blind."""

    seat: int
    hole: Cards | None
    put_in_cents: int
    blind_or_ante_cents: int = 0
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Commission:
    """The house's commission on the pots: five or ten per cent, up to an approved maximum."""

    percent: int
    cap_cents: int

    def __post_init__(self) -> None:
        if type(self.percent) is not int or self.percent not in COMMISSION_THRESHOLD_CENTS:
            raise RoundError(f"the commission is 5 or 10 per cent (r 15.2(a)), not {shown(self.percent)}")
        require_cents("the commission's cap", self.cap_cents)


@dataclass(frozen=True, slots=True)
class Pot:
    """Money put in up to one tap-out level, and the seats that may win it."""

    amount_cents: int
    eligible: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SettledPot:
    """A pot with its winners; `amount_cents` is before commission."""

    amount_cents: int
    eligible: tuple[int, ...]
    high_winners: tuple[int, ...]
    low_winners: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Showdown:
    """A finished round: hands, pots, commission, uncalled money, and the amount each seat is paid from the pots."""

    pots: tuple[SettledPot, ...]
    commission_cents: int
    returned_cents: int
    returned_to: int | None
    paid: Mapping[int, int]
    hands: Mapping[int, tuple[Hand | None, LowHand | None]]
    commission_clause: str | None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms under which a table divides its pots."""

    button: int
    smallest_chip_cents: int = DOLLAR_CENTS
    commission: Commission | None = None


def settle_pots(game: Game, players: Sequence[Player], terms: Terms, board: Cards | None = None) -> Showdown:
    """Settle the showdown: return uncalled money, find the winners of each pot, take commission, pay every seat."""
    _require_round(players, terms, board)
    returned_to, returned = uncalled(players)
    stakes = {p.seat: p.put_in_cents - (returned if p.seat == returned_to else 0) for p in players}
    pots = build_pots(stakes, {p.seat for p in players if not p.folded})
    hands = _hands(game, players, board)
    settled = _find_winners(game, pots, hands)
    clause = _commission_clause(terms.commission, settled, players, stakes)
    rate = terms.commission if clause in _RATE_CLAUSES.values() else None
    taken = commission([pot.amount_cents for pot in pots], rate)
    paid = dict.fromkeys(sorted(stakes), 0)
    for pot, fee in zip(settled, taken, strict=True):
        for seat, cents in _divide_pot(pot, pot.amount_cents - fee, terms).items():
            paid[seat] += cents
    won = {seat: cents for seat, cents in paid.items() if cents}
    cited = find(game.instrument_id).clause(clause) if clause else None
    return Showdown(settled, sum(taken), returned, returned_to, won, hands, cited)


def uncalled(players: Sequence[Player]) -> tuple[int | None, int]:
    """Return (seat, cents) of the part of the highest stake that no other player met (r 15.2(b))."""
    ranked = sorted(players, key=lambda player: player.put_in_cents, reverse=True)
    excess = ranked[0].put_in_cents - ranked[1].put_in_cents
    return (ranked[0].seat, excess) if excess else (None, 0)


def build_pots(stakes: Mapping[int, int], live: set[int]) -> list[Pot]:
    """Build one pot for each tap-out level (r 14.2); folded money stays in."""
    levels = sorted({stakes[seat] for seat in live})
    pots, below = [], 0
    for level in levels:
        top = max(stakes.values()) if level == levels[-1] else level
        amount = sum(min(stake, top) - min(stake, below) for stake in stakes.values())
        eligible = tuple(sorted(seat for seat in live if stakes[seat] >= level))
        pots.append(Pot(amount, eligible))
        below = level
    return [pot for pot in pots if pot.amount_cents] or pots[:1]


def commission(pots: Sequence[int], rate: Commission | None) -> list[int]:
    """Return the fee for each pot, main pot first: a percentage of all if any one exceeds the threshold (r 15.2(a))."""
    if rate is None:
        return [0] * len(pots)
    threshold = COMMISSION_THRESHOLD_CENTS[rate.percent]
    due = 0
    if max(pots) > threshold:
        whole_dollars = sum(pots) * rate.percent // 100 // DOLLAR_CENTS * DOLLAR_CENTS
        due = min(whole_dollars, rate.cap_cents)
    taken = []
    for pot in pots:
        fee = min(due, pot) if pot > threshold else 0
        taken.append(fee)
        due -= fee
    return taken


def divide(cents: int, winners: Sequence[int], terms: Terms) -> dict[int, int]:
    """Divide equally in smallest chips; the rest goes to the winner nearest clockwise from the button (r 13.2)."""
    share = cents // (len(winners) * terms.smallest_chip_cents) * terms.smallest_chip_cents
    shares = dict.fromkeys(winners, share)
    nearest = min(winners, key=lambda seat: (seat - terms.button - 1) % SEATS)
    shares[nearest] += cents - share * len(winners)
    return shares


def _divide_pot(pot: SettledPot, cents: int, terms: Terms) -> dict[int, int]:
    """Divide a pot: the low half is rounded down to the chip, the high half is the rest; one half alone takes all."""
    if not pot.low_winners:
        return divide(cents, pot.high_winners, terms)
    if not pot.high_winners:
        return divide(cents, pot.low_winners, terms)
    low_half = cents // (2 * terms.smallest_chip_cents) * terms.smallest_chip_cents
    paid = divide(low_half, pot.low_winners, terms)
    for seat, share in divide(cents - low_half, pot.high_winners, terms).items():
        paid[seat] = paid.get(seat, 0) + share
    return paid


def _hands(game: Game, players: Sequence[Player], board: Cards | None) -> dict[int, tuple[Hand | None, LowHand | None]]:
    """Return the best high and low hand of each player still in; a single player left need not show."""
    live = [player for player in players if not player.folded]
    if game.win is WinRule.LOW and game.low_options.eight_or_better:
        raise RoundError("eight or better is for high/low games (r 3.5(d)): in a low game the lowest hand always wins")
    if len(live) == 1:
        return {live[0].seat: (None, None)}
    shared = board if board is not None else ()
    return {
        player.seat: (
            game.best(_shown(player), shared) if game.win is not WinRule.LOW else None,
            game.best_low(_shown(player), shared) if game.win is not WinRule.HIGH else None,
        )
        for player in live
    }


def _find_winners(
    game: Game, pots: Sequence[Pot], hands: Mapping[int, tuple[Hand | None, LowHand | None]]
) -> tuple[SettledPot, ...]:
    """Find the winners of each pot; a single player left wins without showing (rr 10.4(a), 12.4(a))."""
    alone = tuple(hands) if len(hands) == 1 else ()
    settled = []
    for pot in pots:
        high = _greatest({seat: hands[seat][0] for seat in pot.eligible})
        low = _greatest({seat: hands[seat][1] for seat in pot.eligible})
        if alone:
            high, low = ((), alone) if game.win is WinRule.LOW else (alone, ())
        settled.append(SettledPot(pot.amount_cents, pot.eligible, high, low))
    return tuple(settled)


def _greatest(hands: Mapping[int, Hand | LowHand | None]) -> tuple[int, ...]:
    """Return the seats with the greatest hand; none if there is no hand."""
    strengths = {seat: hand.strength for seat, hand in hands.items() if hand is not None}
    best = max(strengths.values(), default=None)
    return tuple(seat for seat, strength in strengths.items() if strength == best)


def _commission_clause(
    rate: Commission | None, pots: Sequence[SettledPot], players: Sequence[Player], stakes: Mapping[int, int]
) -> str | None:
    """Return the clause that decides the commission, an exemption before the rate; None if there is no commission."""
    if rate is None:
        return None
    if _all_tied(pots, players):
        return "15.2(c)"
    return "15.2(d)" if _only_forced(players, stakes) else _RATE_CLAUSES[rate.percent]


def _all_tied(pots: Sequence[SettledPot], players: Sequence[Player]) -> bool:
    """Return True if all players who put money in stayed to the end and tied in each half (r 15.2(c))."""
    paying = tuple(sorted(player.seat for player in players if player.put_in_cents))
    halves = [winners for pot in pots[:1] for winners in (pot.high_winners, pot.low_winners) if winners]
    return len(paying) > 1 and all(winners == paying for winners in halves)


def _only_forced(players: Sequence[Player], stakes: Mapping[int, int]) -> bool:
    """Return True if only antes and blinds are in (r 15.2(d))."""
    return all(stakes[player.seat] <= player.blind_or_ante_cents for player in players)


def _shown(player: Player) -> Cards:
    if player.hole is None:
        raise RoundError(f"seat {player.seat} has not folded and shows no cards: give its cards, or fold it")
    return player.hole


def _require_round(players: Sequence[Player], terms: Terms, board: Cards | None) -> None:
    if len(players) < 2:
        raise RoundError("a round has at least two players")
    _require_seat("the button", terms.button)
    if require_cents("the smallest chip", terms.smallest_chip_cents) < 1:
        raise RoundError(f"the smallest chip is worth at least 1 cent, not {shown(terms.smallest_chip_cents)}")
    seen: set[int] = set()
    for player in players:
        _require_seat("a player", player.seat)
        if player.seat in seen:
            raise RoundError(f"seat {player.seat} is listed twice: one player to a seat")
        seen.add(player.seat)
        put_in = require_cents(f"what seat {player.seat} put in", player.put_in_cents)
        forced = require_cents(f"the ante or blind of seat {player.seat}", player.blind_or_ante_cents)
        if forced > put_in:
            raise RoundError(f"seat {player.seat} put in {put_in} cents, less than its ante or blind of {forced}")
    if all(player.folded for player in players):
        raise RoundError("everyone has folded: one player is always left, and wins the pots")
    require_one_deck([("the board", board), *((f"seat {p.seat}", p.hole) for p in players)])


def _require_seat(name: str, seat: object) -> None:
    if type(seat) is not int or not 1 <= seat <= SEATS:
        raise RoundError(f"{name} sits at seat 1 to {SEATS}, not {shown(seat)}")
