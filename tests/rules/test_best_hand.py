"""The best hand of a deal equals the best of all choices, with the same five cards in the same order."""

from itertools import combinations, islice, permutations, product

import pytest

import rules
from rules import Cards, Category
from tests.support import reference_rules as reference
from tests.support.reference_rules import LOWEST, Deck, deals

FIXED_DECK = ("canberra-poker-2016", "canberra-poker-1997", "ultimate-texas-holdem-2025")
POT_GAMES = ("canberra-manila-2005", "seven-card-stud-2005")
DECKS = [Deck(size, joker, ace_low) for size, joker, ace_low in product(LOWEST, [False, True], [False, True])]


def choices(game, cards):
    """Return every five cards that a player of this game may use, in the order given."""
    if game.instrument_id == "canberra-manila-2005":
        return [Cards((*cards[:2], *three)) for three in combinations(cards[2:], 3)]
    return [Cards(five) for five in combinations(cards, 5)]


def laid_out(hand, deck):
    """Return the five cards of a hand in the order of the ranks they count as, by the reference."""
    left = list(hand.given)
    laid = []
    for rank in reference.counted_ranks(reference.cards(str(hand.given)), deck):
        natural = [card for card in left if card.rank == (reference.ACE if rank == 1 else rank)]
        laid.append((natural or [card for card in left if card.is_joker])[0])
        left.remove(laid[-1])
    return Cards(laid)


def parts(game, cards):
    """Return the ways to divide a deal into own cards and board."""
    if game.instrument_id == "seven-card-stud-2005":
        return [(cards, Cards(())), (cards[:6], cards[6:])]
    return [(cards, Cards(()))] if len(cards) == 5 else [(cards[:2], cards[2:])]


def check_best(game, deck, cards):
    expected = max((game.hand(five) for five in choices(game, cards)), key=lambda hand: hand.strength)
    for own, board in parts(game, cards):
        forms = [(own, board), (str(own), str(board)), (list(own), list(board)), (str(own), board)]
        if not board:
            forms += [(own,), (str(own),)]
        for form in forms:
            best = game.best(*form)
            assert type(best) is rules.Hand
            assert best.strength == expected.strength == game.best_strength(*form)
            assert best.given == expected.given
            assert best.cards == laid_out(expected, deck)
            assert (best.category, repr(best)) == (expected.category, repr(expected))
            assert game.strength(best.cards) == game.strength(best.given) == best.strength
            assert (best.cards.key, best.cards.total) == (best.given.key, best.given.total)


def parsed(cards):
    return rules.parse([reference.name(card) for card in cards])


def label(deck):
    return f"{deck.size}{' joker' * deck.joker}{' ace low' * deck.ace_low}"


@pytest.mark.parametrize("deck", DECKS, ids=label)
@pytest.mark.parametrize("instrument", POT_GAMES)
def test_the_best_hand_is_the_first_of_the_best_choices_in_every_deck(instrument, deck):
    game = rules.load(instrument, deck=deck.size, joker=deck.joker, ace_low=deck.ace_low)
    for seven in deals(deck, 200, seed=deck.size):
        check_best(game, deck, parsed(seven))


@pytest.mark.parametrize("instrument", FIXED_DECK)
def test_the_best_hand_is_the_first_of_the_best_choices_without_options(instrument):
    game, deck = rules.load(instrument), Deck(ace_low=True)
    dealt = 7 if instrument == "ultimate-texas-holdem-2025" else 5
    for seven in deals(deck, 1_200, seed=7):
        check_best(game, deck, parsed(seven[:dealt]))


@pytest.mark.parametrize("cards", ["As Ks Qs Js Ts Jk 9s", "As Kd Qs Jh Ts Jk 9c", "As Kd Qs Jh Ts Jk Td"])
def test_a_joker_that_is_not_needed_counts_if_it_was_given_first(cards):
    deck, game = Deck(joker=True, ace_low=True), rules.load("seven-card-stud-2005", joker=True, ace_low=True)
    for order in islice(permutations(cards.split()), 0, None, 17):
        check_best(game, deck, rules.parse(order))
    assert rules.parse("Jk")[0] in game.best(f"Jk {cards.replace(' Jk', '')}").cards
    assert rules.parse("Jk")[0] not in game.best(f"{cards.replace(' Jk', '')} Jk").cards


def test_a_joker_makes_four_of_a_kind_beside_four_cards_of_one_suit():
    deck, game = Deck(joker=True), rules.load("seven-card-stud-2005", joker=True)
    cards = "9s 9d 9h As Ks 2s Jk"
    assert game.best(cards).category is Category.FOUR_OF_A_KIND
    check_best(game, deck, rules.parse(cards))


@pytest.mark.parametrize("deck", [Deck(size, joker) for size, joker in product([52, 48, 32], [False, True])], ids=label)
@pytest.mark.parametrize("low_ace", ["high", "low"])
@pytest.mark.parametrize("instrument", POT_GAMES)
def test_the_best_low_hand_is_the_first_of_the_best_choices(instrument, deck, low_ace):
    game = rules.load(instrument, deck=deck.size, joker=deck.joker, low_ace=low_ace)
    for seven in deals(deck, 150, seed=deck.size):
        cards = parsed(seven)
        expected = max((game.low(five) for five in choices(game, cards)), key=lambda hand: hand.strength)
        for own, board in parts(game, cards):
            best = game.best_low(str(own), str(board))
            assert (best, best.given, best.cards) == (expected, expected.given, expected.cards)
