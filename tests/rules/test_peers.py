"""Other evaluators, where their rules are the same as ours, give the same order and the same ties."""

import warnings
from itertools import combinations_with_replacement
from random import Random

import phevaluator
import pokerkit
import pytest
import treys

import rules
from tests.support import reference_rules as reference
from tests.support.reference_rules import Deck, assert_same_order

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # eval7 calls pyparsing by names it has since changed
    import eval7

TREYS = treys.Evaluator()
CANBERRA = rules.load("canberra-poker-2016")
HOLDEM = rules.load("ultimate-texas-holdem-2025")
STUD = rules.load("seven-card-stud-2005", ace_low=True)
MANILA = rules.load("canberra-manila-2005", ace_low=True)
SHORT = {"deck": 36, "ace_low": True}


def by_phevaluator(names):
    return -phevaluator.evaluate_cards(*names)


def by_treys(names):
    return -TREYS.evaluate([], [treys.Card.new(name) for name in names])


def by_eval7(names):
    return eval7.evaluate([eval7.Card(name) for name in names])


def by_pokerkit(names):
    hand = pokerkit.StandardHighHand.from_game("".join(names))
    return hand.lookup.get_entry(hand.cards).index


PEERS = pytest.mark.parametrize("peer", [by_phevaluator, by_treys, by_eval7, by_pokerkit])


def index_of(hand, *, low):
    """Return the index of a pokerkit hand in its own table, greater is better."""
    index = hand.lookup.get_entry(hand.cards).index
    return -index if low else index


def best_index(kind, *cards, low):
    """Return the index of the best hand of this kind that pokerkit finds in the cards, or None."""
    try:
        hand = kind.from_game(*("".join(part) for part in cards))
    except ValueError:
        return None
    return index_of(hand, low=low)


def hands(deck, number, count, seed):
    """Yield random cards, every other time from one suit and a few more, where flushes are frequent."""
    random = Random(seed)
    for turn in range(count):
        suits = random.sample("cdhs", 2) if turn % 2 else "cdhs"
        yield random.sample([name for name in deck.names if name[1] in suits], number)


def class_representatives(deck):
    return [[reference.name(card) for card in hand] for hand in reference.one_of_each_class(deck)]


@PEERS
def test_each_peer_ranks_all_7462_classes_in_our_order(peer):
    classes = class_representatives(Deck())
    pairs = {(CANBERRA.strength(names), peer(names)) for names in classes}
    assert len(pairs) == len(classes) == 7_462
    assert_same_order(pairs)


@pytest.mark.parametrize("peer", [by_phevaluator, by_treys])
def test_the_place_of_each_class_is_its_number_from_the_top(peer):
    classes = sorted(class_representatives(Deck()), key=CANBERRA.strength, reverse=True)
    assert [-peer(names) for names in classes] == list(range(1, 7_463))


@PEERS
def test_peers_rank_random_hands_of_five_cards_alike(peer):
    assert_same_order((CANBERRA.strength(names), peer(names)) for names in hands(Deck(), 5, 6_000, seed=1))


@PEERS
def test_peers_rank_random_hands_of_seven_cards_alike(peer):
    pairs = set()
    for names in hands(Deck(), 7, 4_000, seed=2):
        ours = STUD.best_strength(names)
        assert ours == HOLDEM.best_strength(" ".join(names[:2]), board=" ".join(names[2:]))
        pairs.add((ours, peer(names)))
    assert_same_order(pairs)


def test_pokerkit_finds_the_same_categories():
    labels = {
        "High card": {"five_odd_cards"},
        "One pair": {"one_pair"},
        "Two pair": {"two_pairs"},
        "Three of a kind": {"three_of_a_kind"},
        "Straight": {"straight"},
        "Flush": {"flush"},
        "Full house": {"full_house"},
        "Four of a kind": {"four_of_a_kind"},
        "Straight flush": {"straight_flush", "royal_flush"},
    }
    seen = set()
    for names in class_representatives(Deck()):
        label = pokerkit.StandardHighHand.lookup.get_entry("".join(names)).label
        assert CANBERRA.hand(names).category in labels[label]
        seen.add(label)
    assert seen == set(labels)


def test_short_deck_holdem_of_36_cards_is_our_reduced_order_with_the_low_ace():
    game = rules.load("seven-card-stud-2005", **SHORT)
    kind = pokerkit.ShortDeckHoldemHand
    classes = class_representatives(Deck(36))
    pairs = [(game.strength(names), best_index(kind, names, low=False)) for names in classes]
    assert len(set(pairs)) == len(classes)
    pairs += [
        (game.best_strength(names), best_index(kind, names, low=False)) for names in hands(Deck(36), 7, 600, seed=5)
    ]
    assert_same_order(pairs)


def test_manila_is_omaha_with_two_hole_cards():
    pairs = []
    for names in hands(Deck(), 7, 1_500, seed=6):
        hole, board = names[:2], names[2:]
        pairs.append((MANILA.best_strength(hole, board), best_index(pokerkit.OmahaHoldemHand, hole, board, low=False)))
    assert_same_order(pairs)


def test_pokerkit_ranks_every_low_hand_with_a_low_ace_the_same():
    game = rules.load("seven-card-stud-2005", low_ace="low")
    pairs = [
        (game.low(names).strength, best_index(pokerkit.RegularLowHand, names, low=True))
        for names in class_representatives(Deck())
    ]
    ranks = [ranks for ranks in combinations_with_replacement(range(13), 5) if len(set(ranks)) > 1]
    assert len(set(pairs)) == len(ranks) == 6_175
    assert_same_order(pairs)


def test_pokerkit_finds_the_same_best_low_of_seven_cards():
    game = rules.load("seven-card-stud-2005", low_ace="low")
    assert_same_order(
        (game.best_low(names).strength, best_index(pokerkit.RegularLowHand, names, low=True))
        for names in hands(Deck(), 7, 600, seed=7)
    )


@pytest.mark.parametrize("instrument", ["seven-card-stud-2005", "canberra-manila-2005"])
def test_pokerkit_finds_the_same_eight_or_better_low_hand_or_none(instrument):
    game = rules.load(instrument, low_ace="low", eight_or_better=True)
    stud = instrument == "seven-card-stud-2005"
    kind = pokerkit.EightOrBetterLowHand if stud else pokerkit.OmahaEightOrBetterLowHand
    pairs, none = [], 0
    low_cards = [name for name in Deck().names if name[0] in "A23456789"]
    random = Random(8)
    for _ in range(1_200):
        names = random.sample(low_cards, 7)
        parts = (names,) if stud else (names[:2], names[2:])
        ours, theirs = game.best_low(*parts), best_index(kind, *parts, low=True)
        assert (ours is None) == (theirs is None)
        if ours is None:
            none += 1
        else:
            pairs.append((ours.strength, theirs))
    assert_same_order(pairs)
    assert none > 100
    assert len(pairs) > 300
