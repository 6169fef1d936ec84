"""The shoe deals from real decks, the same for the same seed, and gives exactly the rigged hands."""

import pytest

import rules
from hardware_sim.shoe import MAX_BOXES, Rig, RigError, Shoe
from rules import Category

GAME = rules.load("canberra-poker-2016")
EVERY_HAND = [category.value for category in Category if category is not Category.FIVE_OF_A_KIND]


def cards_of(deal):
    return [card for hand in (*deal.boxes.values(), deal.dealer) for card in hand]


def category(hand):
    return GAME.hand(" ".join(hand)).category


def test_a_deal_has_no_card_twice_and_five_cards_for_each_hand():
    for number in range(1, 200):
        deal = Shoe(3).deal("t1", number, MAX_BOXES)
        assert all(len(hand) == 5 for hand in (*deal.boxes.values(), deal.dealer))
        assert len(set(cards_of(deal))) == 50


def test_the_same_seed_table_and_number_give_the_same_cards_in_any_order():
    forwards = [Shoe(5).deal("t1", number, 7) for number in (1, 2, 3)]
    shoe = Shoe(5)
    assert [shoe.deal("t1", number, 7) for number in (3, 2, 1)] == forwards[::-1]
    assert Shoe(6).deal("t1", 1, 7) != forwards[0]
    assert Shoe(5).deal("t2", 1, 7) != forwards[0]


@pytest.mark.parametrize("hand", EVERY_HAND)
def test_a_rigged_hand_has_the_requested_category(hand):
    for seed in range(20):
        shoe = Shoe(seed, [Rig("t1", 3, hand, 2)])
        deal = shoe.deal("t1", 2, 7)
        assert category(deal.boxes[3]) == hand
        assert len(set(cards_of(deal))) == 40
        assert shoe.is_rigged("t1", 2, 3)
        assert not shoe.is_rigged("t1", 1, 3)


def test_several_big_hands_come_from_one_deck():
    wanted = ["royal_flush"] * 4 + ["straight_flush"] * 3 + ["four_of_a_kind", "full_house"]
    shoe = Shoe(1, [Rig("t1", box, hand, 1) for box, hand in enumerate(wanted, 1)])
    deal = shoe.deal("t1", 1, MAX_BOXES)
    assert [category(deal.boxes[box]) for box in range(1, 10)] == wanted
    assert len(set(cards_of(deal))) == 50


def test_hands_already_on_the_table_are_kept():
    held = {3: ("As", "Ks", "Qs", "Js", "Ts"), 5: ("2c", "2d", "2h", "2s", "3c")}
    deal = Shoe(1).deal("t1", 0, 7, held)
    assert {box: deal.boxes[box] for box in held} == held
    assert len(set(cards_of(deal))) == 40


def test_hands_that_no_deck_can_give_are_refused():
    with pytest.raises(RigError, match="all at once"):
        Shoe(1, [Rig("t1", box, "royal_flush", 1) for box in range(1, 6)])
    with pytest.raises(RigError, match="one deck serves"):
        Shoe(1, [Rig("t1", 10, "flush", 1)])
    with pytest.raises(RigError, match="one deck serves"):
        Shoe(1).deal("t1", 1, 10)


def test_a_rig_is_read_from_text():
    assert Rig.parse("t1:3:royal_flush@7") == Rig("t1", 3, "royal_flush", 7)


@pytest.mark.parametrize("text", ["", "t1:3:royal_flush", "t1:0:flush@1", "t1:3:flush@0", "t1:3:five_of_a_kind@1"])
def test_an_invalid_rig_is_refused(text):
    with pytest.raises(RigError):
        Rig.parse(text)
