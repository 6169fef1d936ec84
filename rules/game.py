"""A game's hands: the strength of five cards, and the best hand its players may make."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Final, NamedTuple

from rules.cards import (
    FLUSH_BIAS,
    IDENTITY_SHIFT,
    JOKER,
    KEY_MASK,
    LAST_BIASED,
    LAST_CARD,
    PAIR,
    PAIR_AND_SPACE,
    PAIR_OF_CARDS,
    RANK_MASK,
    RANKS,
    SUM_MASK,
    Card,
    Cards,
    CardsLike,
    ChosenCards,
    descending_rank,
    key_of,
    parse,
)
from rules.errors import CardError, HandError
from rules.hands import Hand, LowHand
from rules.ranking import DeckOptions, LowRanking, Ranking, low_ranking, ranking
from rules.winning_five import WinningFive, winning_five

NO_BOARD: Final[tuple[()]] = ()


class WinRule(StrEnum):
    """The hand that wins the pot (NI2005-64 and NI2005-74 r 3.5(b), (c))."""

    HIGH = "high"
    LOW = "low"
    HIGH_LOW = "high_low"


class LowOptions(NamedTuple):
    """The options of low hands: the ace is low in them or high, and they must be eight or better or not."""

    ace_is_low: bool = False
    eight_or_better: bool = False


class Game:
    """One game under one choice of options; a subclass decides which five cards a player may use."""

    def __init__(
        self,
        instrument_id: str,
        deck: DeckOptions | None = None,
        low: LowOptions | None = None,
        win: WinRule = WinRule.HIGH,
    ) -> None:
        self.instrument_id = instrument_id
        self.deck = deck or DeckOptions()
        self.low_options = low or LowOptions()
        self.win = win

    @cached_property
    def ranking(self) -> Ranking:
        """The order of high hands."""
        return ranking(self.deck)

    @cached_property
    def low_ranking(self) -> LowRanking:
        """The order of low hands."""
        return low_ranking(self.deck, ace_is_low=self.low_options.ace_is_low)

    @cached_property
    def _five(self) -> dict[int, int]:
        return self.ranking.five

    @cached_property
    def _seven(self) -> dict[int, int]:
        return self.ranking.seven

    @cached_property
    def _low_five(self) -> dict[int, int]:
        return self.low_ranking.five

    def strength(self, cards: CardsLike) -> int:
        """Return the strength of five cards: greater is better, equal is a tie."""
        try:
            if type(cards) is Cards:
                return self._five[cards.key]
            if type(cards) is str:
                total = PAIR_AND_SPACE[cards[:6]] + PAIR_AND_SPACE[cards[6:12]] + LAST_BIASED[cards[12:]]
                return self._five[total & KEY_MASK]
        except KeyError:
            pass
        try:
            return self._five[key_of(cards)]
        except KeyError:
            raise self._refusal(parse(cards), 5) from None

    def hand(self, cards: CardsLike) -> Hand:
        """Return five cards as a hand."""
        return Hand(cards if type(cards) is str else parse(cards), self.strength(cards), self.ranking)

    def low(self, cards: CardsLike) -> LowHand:
        """Return five cards as a low hand."""
        held = parse(cards)
        try:
            return LowHand(held, self._low_five[held.key & RANK_MASK], self.low_ranking)
        except KeyError:
            raise self._refusal(held, 5) from None

    def best(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> Hand:
        """Return the best hand the game allows, with the five cards that make it."""
        own, shared = self.check_deal(cards, board)
        strength = self.best_strength(own, shared)
        five = next(five for five in self._choices(own, shared) if self._five[key_of(five)] == strength)
        return Hand(Cards(five), strength, self.ranking)

    def best_strength(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> int:
        """Return the strength of the best hand the game allows."""
        own, _ = self.check_deal(cards, board)
        return self.strength(own)

    def best_low(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> LowHand | None:
        """Return the best low hand the game allows; None if it must be eight or better and is not."""
        choices = self._choices(*self.check_deal(cards, board))
        best = max((self.low(five) for five in choices), key=lambda hand: hand.strength)
        return best if best.is_eight_or_better or not self.low_options.eight_or_better else None

    def check_deal(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> tuple[Cards, Cards]:
        """Return a player's cards and the board after checking that the game deals such cards."""
        own, shared = parse(cards), parse(board)
        whole = own + shared
        self._require_in_deck(whole)
        self._require_counts(own, shared)
        return own, shared

    def _choices(self, own: Cards, _shared: Cards) -> Iterator[tuple[Card, ...]]:
        """Yield every five cards that the player may use."""
        yield tuple(own)

    def _require_counts(self, own: Cards, shared: Cards) -> None:
        if shared.size:
            raise HandError(f"{self.instrument_id} has no communal cards, and {shared.size} were given ({shared})")
        if own.size != 5:
            raise self._wrong_count(own, 5)

    def _require_in_deck(self, cards: Cards) -> None:
        for card in cards:
            if card is JOKER and not self.deck.joker:
                raise CardError(f"Jk is not in this deck: {self.instrument_id} is played here without the Joker")
            if card is not JOKER and card.rank < self.deck.lowest:
                lowest = RANKS[self.deck.lowest - 2]
                raise CardError(f"{card} is not in a deck of {self.deck.size} cards, whose lowest is {lowest}")

    def _wrong_count(self, cards: Cards, wanted: int) -> HandError:
        return HandError(f"{wanted} cards are needed and {cards.size} were given ({str(cards) or 'none'})")

    def _refusal(self, cards: Cards, wanted: int) -> Exception:
        """Return the error that says why these cards have no strength."""
        try:
            self._require_in_deck(cards)
        except CardError as error:
            return error
        return self._wrong_count(cards, wanted)


class TwoPlusThreeGame(Game):
    """Two hole cards and exactly three of five communal cards (reading 26)."""

    def best_strength(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> int:
        """Return the strength of the best hand the game allows."""
        own, shared = parse(cards), parse(board)
        if (own.total & shared.total) >> IDENTITY_SHIFT or own.size != 2 or shared.size != 5:
            self.check_deal(own, shared)
        held, table = own.total & SUM_MASK, self._five
        try:
            return max([table[held + three & KEY_MASK] for three in shared.triples])
        except KeyError:
            self.check_deal(own, shared)
            raise

    def _choices(self, own: Cards, shared: Cards) -> Iterator[tuple[Card, ...]]:
        return ((*own, *three) for three in combinations(shared, 3))

    def _require_counts(self, own: Cards, shared: Cards) -> None:
        _require_hole_and_board(own, shared)


class BestOfSevenGame(Game):
    """Any five of seven cards (reading 26); a subclass decides how the seven are dealt."""

    _own_text_lengths: ClassVar[tuple[int, ...]]
    """The lengths that a player's own cards may have as plain text."""

    @cached_property
    def _winning_five(self) -> WinningFive:
        return winning_five(self.ranking)

    def best(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> Hand:
        """Return the best hand the game allows, with the five cards that make it."""
        try:
            given, seven, total = self._read_seven(cards, board)
            key = total & KEY_MASK
            seven.sort(key=descending_rank)
            if key <= RANK_MASK:
                strength = self._seven[key]
                five = self._winning_five[key](seven)
            else:
                strength = self.ranking.best_of_seven(key, total)
                five = self._winning_five.in_one_suit(seven, key, strength)
        except KeyError:
            five = None
        if five is None:  # cards to refuse, or a Joker that is not needed: try every choice
            return super().best(cards, board)
        return Hand(given, strength, self.ranking, ChosenCards(five))

    def _checked_strength(self, cards: CardsLike, board: CardsLike) -> int:
        """Return the strength for cards in any form, or refuse them; slower than plain text and parsed cards."""
        own, shared = self.check_deal(cards, board)
        total = own.total + shared.total
        return self.ranking.best_of_seven(total + FLUSH_BIAS & KEY_MASK, total)

    def _read_seven(self, cards: CardsLike, board: CardsLike) -> tuple[CardsLike, list[Card], int]:
        """Return the seven cards as given, as a list, and their biased sum."""
        if type(cards) is str and len(cards) in self._own_text_lengths and (type(board) is str or board is NO_BOARD):
            text = f"{cards} {board}" if board else cards
            try:
                first, a, b = PAIR_OF_CARDS[text[:6]]
                second, c, d = PAIR_OF_CARDS[text[6:12]]
                third, e, f = PAIR_OF_CARDS[text[12:18]]
                last, g = LAST_CARD[text[18:]]
                return text, [a, b, c, d, e, f, g], first + second + third + last
            except KeyError:
                pass
        own, shared = self.check_deal(cards, board)
        seven = [*own, *shared]
        return seven, seven.copy(), own.total + shared.biased

    def _choices(self, own: Cards, shared: Cards) -> Iterator[tuple[Card, ...]]:
        return combinations((*own, *shared), 5)


class HoldemGame(BestOfSevenGame):
    """Two hole cards and five communal cards."""

    _own_text_lengths = (len("As Kd"),)

    def best_strength(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> int:
        """Return the strength of the best hand the game allows."""
        try:
            if type(cards) is Cards and type(board) is Cards and cards.size == 2:
                total = cards.total + board.biased
                key = total & KEY_MASK
                return self._seven[key] if key <= RANK_MASK else self.ranking.best_of_seven(key, total)
            if type(cards) is str and type(board) is str:
                total = PAIR[cards] + PAIR_AND_SPACE[board[:6]] + PAIR_AND_SPACE[board[6:12]] + LAST_BIASED[board[12:]]
                key = total & KEY_MASK
                return self._seven[key] if key <= RANK_MASK else self.ranking.best_of_seven(key, total)
        except KeyError:
            pass
        return self._checked_strength(cards, board)

    def _require_counts(self, own: Cards, shared: Cards) -> None:
        _require_hole_and_board(own, shared)


class StudGame(BestOfSevenGame):
    """Seven own cards, or six and a communal last card where the deck ran short (NI2005-74 r 17.20)."""

    _own_text_lengths = (len("As Kd Qc Js Th 9d"), len("As Kd Qc Js Th 9d 8h"))

    def best_strength(self, cards: CardsLike, board: CardsLike = NO_BOARD) -> int:
        """Return the strength of the best hand the game allows."""
        try:
            if type(cards) is Cards and board is NO_BOARD:
                key = cards.key
                return self._seven[key] if key <= RANK_MASK else self.ranking.best_of_seven(key, cards.total)
            if type(cards) is str and board is NO_BOARD:
                pairs = PAIR_AND_SPACE[cards[:6]] + PAIR_AND_SPACE[cards[6:12]] + PAIR_AND_SPACE[cards[12:18]]
                total = pairs + LAST_BIASED[cards[18:]]
                key = total & KEY_MASK
                return self._seven[key] if key <= RANK_MASK else self.ranking.best_of_seven(key, total)
        except KeyError:
            pass
        return self._checked_strength(cards, board)

    def _require_counts(self, own: Cards, shared: Cards) -> None:
        if shared.size > 1:
            raise HandError(f"at most 1 communal card is dealt and {shared.size} were given ({shared})")
        if own.size + shared.size != 7:
            raise HandError(f"{7 - shared.size} own cards are needed and {own.size} were given ({str(own) or 'none'})")


def _require_hole_and_board(own: Cards, shared: Cards) -> None:
    if own.size != 2:
        raise HandError(f"2 hole cards are needed and {own.size} were given ({str(own) or 'none'})")
    if shared.size != 5:
        raise HandError(f"5 communal cards are needed and {shared.size} were given ({str(shared) or 'none'})")
