"""Strengths computed with NumPy equal those of `Game.strength`."""

from itertools import combinations, product
from random import Random

import numpy as np
import pytest

import rules
from rules import numpy_batch

DECKS = [
    pytest.param(
        {"deck": size, "joker": joker, "ace_low": ace_low}, id=f"{size}{' joker' * joker}{' ace low' * ace_low}"
    )
    for size, joker, ace_low in product([52, 40, 32], [False, True], [False, True])
]


@pytest.mark.parametrize("options", DECKS)
def test_a_batch_has_the_strengths_of_its_hands(options):
    game, random = rules.load("seven-card-stud-2005", **options), Random(1)
    cards = numpy_batch.cards_of(game)
    suits = [[place for place, card in enumerate(cards) if card.suit in (suit, "")] for suit in "cdhs"]
    rows = [random.sample(random.choice([range(len(cards)), *suits]), 5) for _ in range(2_000)]
    expected = [game.strength([cards[place] for place in row]) for row in rows]
    assert numpy_batch.strengths(game, rows).tolist() == expected


@pytest.mark.parametrize("joker", [False, True], ids=["no joker", "joker"])
def test_all_strengths_are_those_of_every_hand_in_order(joker):
    game = rules.load("canberra-manila-2005", deck=32, joker=joker, ace_low=True)
    hands = combinations(numpy_batch.cards_of(game), 5)
    assert numpy_batch.all_strengths(game).tolist() == [game.strength(hand) for hand in hands]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([[0, 1, 2, 3]], rules.HandError, "five whole numbers"),
        ([0, 1, 2, 3, 4], rules.HandError, "five whole numbers"),
        ([[0.0, 1.0, 2.0, 3.0, 4.0]], rules.HandError, "five whole numbers"),
        ([[0, 1, 2, 3, 52]], rules.CardError, "from 0 to 51"),
        ([[-1, 1, 2, 3, 4]], rules.CardError, "from 0 to 51"),
        ([[0, 1, 2, 3, 4], [7, 8, 7, 9, 10]], rules.CardError, "row 1 holds a card twice"),
    ],
)
def test_rows_that_are_not_five_cards_of_the_deck_are_refused(rows, error, message):
    with pytest.raises(error, match=message):
        numpy_batch.strengths(rules.load("canberra-poker-2016"), np.array(rows))
