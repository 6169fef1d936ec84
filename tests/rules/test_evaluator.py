"""The evaluator against the readings: every hand of every deck, the Joker, low hands, and the choices of each game."""

from collections import Counter
from functools import cache
from itertools import combinations, pairwise, product
from math import comb
from random import Random

import pytest

import rules
from rules import Category
from tests.support import reference_rules as reference
from tests.support.reference_rules import ACE, JOKER, LOWEST, SUITS, Deck, assert_same_order, deals

CANBERRA = ("canberra-poker-2016", "canberra-poker-1997")
FIXED_DECK = (*CANBERRA, "ultimate-texas-holdem-2025")
POT_GAMES = ("canberra-manila-2005", "seven-card-stud-2005")
REDUCED = [size for size in LOWEST if size < 52]
ACE_LOW = pytest.mark.parametrize("ace_low", [False, True], ids=["ace high only", "ace high and low"])
LOW_ACE = pytest.mark.parametrize("low_ace", ["high", "low"], ids=["low ace high", "low ace low"])
WITH_JOKER = pytest.mark.parametrize("joker", [False, True], ids=["no joker", "joker"])
SIZES = pytest.mark.parametrize("size", LOWEST)

PUBLISHED_52 = {
    "royal_flush": 4,
    "straight_flush": 36,
    "four_of_a_kind": 624,
    "full_house": 3_744,
    "flush": 5_108,
    "straight": 10_200,
    "three_of_a_kind": 54_912,
    "two_pairs": 123_552,
    "one_pair": 1_098_240,
    "five_odd_cards": 1_302_540,
}
PUBLISHED_53 = {
    "royal_flush": 24,
    "five_of_a_kind": 13,
    "straight_flush": 180,
    "four_of_a_kind": 3_120,
    "full_house": 6_552,
    "flush": 7_804,
    "straight": 20_532,
    "three_of_a_kind": 137_280,
    "two_pairs": 123_552,
    "one_pair": 1_268_088,
    "five_odd_cards": 1_302_540,
}


@cache
def manila(**options):
    return rules.load("canberra-manila-2005", **options)


@cache
def stud(**options):
    return rules.load("seven-card-stud-2005", **options)


@cache
def holdem():
    return rules.load("ultimate-texas-holdem-2025")


@cache
def canberra():
    return rules.load("canberra-poker-2016")


def named(cards):
    return [reference.name(card) for card in cards]


def text(cards):
    return " ".join(named(cards))


def tally(game, size, held, *, joker):
    """Count all hands of `held` cards by strength, ranks, and one suit or not."""
    deck = [card for card in rules.deck(size) if not card.is_joker][::-1]
    extra = tuple(rules.parse("Jk")) if joker else ()
    ranks = [card.rank for card in deck]
    suits = [card.suit for card in deck]
    found = Counter()
    strength = game.strength
    columns = zip(combinations(deck, held), combinations(ranks, held), combinations(suits, held), strict=True)
    for hand, its_ranks, its_suits in columns:
        found[strength(hand + extra), its_ranks, len(set(its_suits)) == 1] += 1
    return found


def check_tally(found, game, deck, extra=()):
    """Require the reference's value and category for every hand; return the number of hands in each category."""
    pairs, counts = [], Counter()
    for (strength, ranks, one_suit), times in found.items():
        suits = "hhhhh" if one_suit else "cdhsc"
        hand = [*zip(ranks, suits, strict=False), *extra]
        value = reference.high(hand, deck)
        pairs.append((strength, value))
        category = game.ranking.category_of(strength)
        assert category == reference.category(value, deck)
        counts[category.value] += times
    assert_same_order(pairs)
    return counts


def counts_by_formula(size, *, ace_low):
    """Return the number of natural hands of a deck in each category, by formula."""
    n = size // 4
    straights = n - 4 + ace_low
    return {
        "royal_flush": 4,
        "straight_flush": 4 * (straights - 1),
        "four_of_a_kind": n * 4 * (n - 1),
        "full_house": n * 4 * (n - 1) * 6,
        "flush": 4 * (comb(n, 5) - straights),
        "straight": straights * (4**5 - 4),
        "three_of_a_kind": n * 4 * comb(n - 1, 2) * 4**2,
        "two_pairs": comb(n, 2) * 6**2 * (n - 2) * 4,
        "one_pair": n * 6 * comb(n - 1, 3) * 4**3,
        "five_odd_cards": (comb(n, 5) - straights) * (4**5 - 4),
    }


@cache
def full_deck_tally():
    return tally(canberra(), 52, 5, joker=False)


def test_all_2598960_hands_have_the_published_categories():
    found = full_deck_tally()
    assert found.total() == 2_598_960
    assert check_tally(found, canberra(), Deck(ace_low=True)) == PUBLISHED_52


def test_all_2598960_hands_fall_into_7462_classes():
    assert len({strength for strength, _, _ in full_deck_tally()}) == 7_462


@pytest.mark.parametrize("instrument", [*CANBERRA[1:], "ultimate-texas-holdem-2025"])
def test_the_games_of_one_full_deck_rank_every_class_alike(instrument):
    game = rules.load(instrument)
    for hand in reference.one_of_each_class(Deck()):
        assert game.strength(text(hand)) == canberra().strength(text(hand))


@pytest.mark.parametrize("size", REDUCED)
def test_all_hands_of_a_reduced_deck_have_their_categories_and_their_order(size):
    game = manila(deck=size, ace_low=True)
    counts = check_tally(tally(game, size, 5, joker=False), game, Deck(size, ace_low=True))
    assert counts == counts_by_formula(size, ace_low=True)
    assert counts.total() == comb(size, 5)


@SIZES
@ACE_LOW
@WITH_JOKER
def test_every_class_of_natural_hands_has_its_category_and_its_order(size, ace_low, joker):
    deck, game = Deck(size, joker, ace_low), stud(deck=size, joker=joker, ace_low=ace_low)
    pairs, categories = [], set()
    for five in reference.one_of_each_class(deck):
        hand, value = game.hand(text(five)), reference.high(five, deck)
        assert hand.category == reference.category(value, deck)
        pairs.append((hand.strength, value))
        categories.add(hand.category)
    assert_same_order(pairs)
    assert categories == set(Category) - {Category.FIVE_OF_A_KIND}


@SIZES
@ACE_LOW
def test_all_hands_with_the_joker_rank_as_with_the_best_substitute(size, ace_low):
    deck, game = Deck(size, joker=True, ace_low=ace_low), manila(deck=size, joker=True, ace_low=ace_low)
    found = tally(game, size, 4, joker=True)
    assert found.total() == comb(size, 4)
    with_joker = check_tally(found, game, deck, extra=(JOKER,))
    assert with_joker["five_of_a_kind"] == size // 4
    assert with_joker["royal_flush"] == 20
    assert with_joker["five_odd_cards"] == with_joker["two_pairs"] == 0


def test_all_2869685_hands_of_a_full_deck_with_the_joker_have_the_published_categories():
    game, deck = manila(joker=True, ace_low=True), Deck(joker=True, ace_low=True)
    with_joker = check_tally(tally(game, 52, 4, joker=True), game, deck, extra=(JOKER,))
    assert with_joker + Counter(PUBLISHED_52) == PUBLISHED_53


@SIZES
@ACE_LOW
def test_hands_with_and_without_the_joker_stand_in_one_order(size, ace_low):
    deck, game = Deck(size, joker=True, ace_low=ace_low), manila(deck=size, joker=True, ace_low=ace_low)
    hands = [*reference.one_of_each_class(deck), *reference.one_of_each_joker_class(deck)]
    assert_same_order((game.strength(text(five)), reference.high(five, deck)) for five in hands)


@pytest.mark.parametrize("size", LOWEST)
def test_the_joker_is_tried_as_every_card_of_the_deck_in_each_of_500_hands(size):
    random = Random(size)
    deck, game = Deck(size, joker=True, ace_low=True), stud(deck=size, joker=True, ace_low=True)
    pairs = []
    for _ in range(500):
        suits = random.choice([SUITS, "h"])
        four = random.sample([card for card in deck.natural if card[1] in suits], 4)
        pairs.append((game.strength(text([*four, JOKER])), reference.high_by_every_card(four, deck)))
    assert_same_order(pairs)


CATEGORIES_LOW_TO_HIGH = [
    ("Qh Tc 7c 4d 3s", Category.FIVE_ODD_CARDS),
    ("Th Tc Kc 6d 2s", Category.ONE_PAIR),
    ("Qh Qc 4c 4d Js", Category.TWO_PAIRS),
    ("Qh Qc Qd 8d 5s", Category.THREE_OF_A_KIND),
    ("Kh Qc Jc Ts 9d", Category.STRAIGHT),
    ("Kd Jd 9d 7d 5d", Category.FLUSH),
    ("Kh Kc Kd Jd Js", Category.FULL_HOUSE),
    ("Ah Ac Ad As 4s", Category.FOUR_OF_A_KIND),
    ("Jh Th 9h 8h 7h", Category.STRAIGHT_FLUSH),
    ("Ah Ac Ad As Jk", Category.FIVE_OF_A_KIND),
    ("As Ks Qs Js Ts", Category.ROYAL_FLUSH),
]


@pytest.mark.parametrize(("cards", "category"), CATEGORIES_LOW_TO_HIGH)
def test_the_examples_of_rule_3_3_have_their_categories(cards, category):
    hand = manila(joker=True).hand(cards)
    assert hand.category is category
    assert isinstance(hand.category, str)


def test_the_categories_of_a_full_deck_rise_from_five_odd_cards_to_a_royal_flush():
    hands = [manila(joker=True).hand(cards) for cards, _ in CATEGORIES_LOW_TO_HIGH]
    assert all(lower < higher for lower, higher in pairwise(hands))


@pytest.mark.parametrize("instrument", FIXED_DECK)
def test_the_games_of_52_cards_without_joker_keep_the_same_order(instrument):
    game = rules.load(instrument)
    strengths = [game.strength(cards) for cards, _ in CATEGORIES_LOW_TO_HIGH if "Jk" not in cards]
    assert strengths == sorted(set(strengths))


@pytest.mark.parametrize("size", REDUCED)
@WITH_JOKER
@pytest.mark.parametrize("instrument", POT_GAMES)
def test_with_fewer_than_52_cards_the_lowest_flush_beats_the_highest_full_house(size, joker, instrument):
    game = rules.load(instrument, deck=size, joker=joker)
    lowest = [name for name in Deck(size).names if name.endswith("s")]
    flush = " ".join([*lowest[:4], lowest[5]])
    assert game.hand(flush).category is Category.FLUSH
    assert game.hand(flush) > game.hand("As Ah Ad Ks Kh")
    assert game.hand(flush) < game.hand(text([(LOWEST[size], suit) for suit in SUITS] + [(LOWEST[size] + 1, "s")]))


@WITH_JOKER
@pytest.mark.parametrize("instrument", POT_GAMES)
def test_with_52_cards_or_53_the_lowest_full_house_beats_the_highest_flush(joker, instrument):
    game = rules.load(instrument, joker=joker)
    assert game.hand("2s 2h 2d 3s 3h") > game.hand("As Ks Qs Js 9s")


def test_48_cards_and_the_joker_are_a_reduced_deck():
    game = manila(deck=48, joker=True)
    assert game.hand("3s 4s 5s 6s 8s") > game.hand("As Ah Ad Ks Kh")


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("Qh Qd Jh Js Tc", "Qs Qc Jd Jc 9c"),
        ("Kc Kd Kh Jc Jd", "Kc Kd Kh Tc Td"),
        ("Ac Ad Ah 2c 2d", "Kc Kd Kh Ac Ad"),
        ("4c 4d 4h 4s 3c", "4c 4d 4h 4s 2c"),
        ("3c 3d 3h 3s 2c", "2c 2d 2h 2s Ac"),
        ("Qc Qd Qh 8c 5d", "Qc Qd Qh 8c 4d"),
        ("Qc Qd Qh 9c 2d", "Qc Qd Qh 8c 7d"),
        ("Ac Ad 2c 2d 3h", "Kc Kd Qc Qd Ah"),
        ("Ac Ad 9c 9d 2h", "Ac Ad 8c 8d Kh"),
        ("Tc Td Kc 6d 3h", "Tc Td Kc 6d 2h"),
        ("Tc Td Ac 3d 2h", "Tc Td Kc Qd Jh"),
        ("3c 3d 4c 5d 7h", "2c 2d Ac Kd Qh"),
        ("Qh Tc 7c 4d 3s", "Qh Tc 7c 4d 2s"),
        ("Kd Jd 9d 7d 5d", "Kd Jd 9d 7d 4d"),
        ("6c 5d 4h 3s 2c", "5c 4d 3h 2s Ac"),
        ("Ac Kd Qh Js Tc", "Kc Qd Jh Ts 9c"),
        ("6c 5c 4c 3c 2c", "5c 4c 3c 2c Ac"),
    ],
)
def test_within_a_category_every_card_counts(better, worse):
    game = canberra()
    assert game.hand(better).category is game.hand(worse).category
    assert game.hand(better) > game.hand(worse)
    assert game.strength(better) > game.strength(worse)


def test_equal_threes_in_two_full_houses_compare_the_pair():
    game = manila(joker=True)
    assert game.hand("Kc Kd Jc Jd Jk") > game.hand("Kc Kd Kh Tc Td")
    assert game.hand("Kc Kd Jc Jd Jk") == game.hand("Kc Kd Kh Js Jh")


def test_four_aces_and_the_joker_are_five_of_a_kind():
    assert manila(joker=True).hand("Ac Ad Ah As Jk").category is Category.FIVE_OF_A_KIND


@SIZES
def test_five_of_a_kind_stands_between_a_straight_flush_and_a_royal_flush(size):
    game = manila(deck=size, joker=True)
    fives = [game.hand(text([*((rank, suit) for suit in SUITS), JOKER])) for rank in Deck(size).ranks]
    assert {hand.category for hand in fives} == {Category.FIVE_OF_A_KIND}
    assert fives == sorted(fives)
    assert game.hand("Kc Qc Jc Tc 9c") < fives[0]
    assert fives[-1] < game.hand("Ac Kc Qc Jc Tc")
    assert len(set(fives)) == size // 4


def test_the_joker_beside_a_suited_a_k_9_5_makes_the_flush_a_a_k_9_5():
    game = manila(joker=True)
    hand = game.hand("As Ks 9s 5s Jk")
    assert hand.category is Category.FLUSH
    assert str(hand.cards) == "As Jk Ks 9s 5s"
    assert hand > game.hand("Ah Kh Qh Jh 9h")
    assert hand > game.hand("Ah Kh 9h 4h Jk")
    assert hand == game.hand("Ah Kh 9h 5h Jk")
    assert hand < game.hand("2c 2d 2h 3c 3d")


@pytest.mark.parametrize("missing", range(5))
def test_a_royal_flush_with_the_joker_equals_a_natural_one(missing):
    game = manila(joker=True)
    four = [card for place, card in enumerate(["Ah", "Kh", "Qh", "Jh", "Th"]) if place != missing]
    hand = game.hand([*four, "Jk"])
    assert hand == game.hand("Ac Kc Qc Jc Tc")
    assert [str(card) for card in hand.cards].index("Jk") == missing


@pytest.mark.parametrize("size", LOWEST)
def test_the_joker_cannot_count_as_a_card_that_the_deck_lacks(size):
    deck = Deck(size, joker=True)
    lowest_four = [(deck.lowest + step, suit) for step, suit in zip((1, 2, 3, 5), SUITS, strict=True)]
    low = manila(deck=size, joker=True).low(text([*lowest_four, JOKER]))
    assert low.category is Category.FIVE_ODD_CARDS
    assert str(low.cards).endswith("Jk")
    assert low == manila(deck=size).low(text([*lowest_four, (deck.lowest, "c")]))


def test_the_joker_counts_separately_in_each_half():
    game = stud(joker=True, win="high_low", low_ace="low", eight_or_better=True)
    held = "As 2s 3s 4s Jk 8d Kd"
    assert game.best(held).category is Category.FLUSH
    assert str(game.best(held).cards) == "As Jk 4s 3s 2s"
    assert str(game.best_low(held).cards) == "Jk 4s 3s 2s As"
    assert game.best_low(held) == game.low("5c 4s 3s 2s As")


@pytest.mark.parametrize(
    ("size", "cards"),
    [
        (52, "5c 4d 3h 2s Ac"),
        (48, "6c 5d 4h 3s Ac"),
        (44, "7c 6d 5h 4s Ac"),
        (40, "8c 7d 6h 5s Ac"),
        (36, "9c 8d 7h 6s Ac"),
        (32, "Tc 9d 8h 7s Ac"),
    ],
)
@WITH_JOKER
@pytest.mark.parametrize("instrument", POT_GAMES)
def test_a_low_ace_plays_directly_below_the_lowest_rank_of_the_deck(size, cards, joker, instrument):
    chosen = rules.load(instrument, deck=size, joker=joker, ace_low=True)
    not_chosen = rules.load(instrument, deck=size, joker=joker)
    suited = " ".join(card[0] + "d" for card in cards.split())
    lowest_six = Deck(size).natural[::4][:5]
    assert chosen.hand(cards).category is Category.STRAIGHT
    assert str(chosen.hand(cards).cards) == cards
    assert chosen.hand(cards) < chosen.hand(text([*lowest_six[:4], (lowest_six[4][0], "d")]))
    assert chosen.hand(suited).category is Category.STRAIGHT_FLUSH
    assert chosen.hand(suited) < chosen.hand(text((rank, "d") for rank, _ in lowest_six))
    assert not_chosen.hand(cards).category is Category.FIVE_ODD_CARDS
    assert str(not_chosen.hand(cards).cards) == f"Ac {cards[:-3]}"
    assert not_chosen.hand(suited).category is Category.FLUSH


@pytest.mark.parametrize("instrument", FIXED_DECK)
def test_canberra_poker_and_ultimate_texas_holdem_always_have_the_low_ace(instrument):
    game = rules.load(instrument)
    assert game.hand("5c 4d 3h 2s Ac").describe() == "Straight, five high"
    assert game.hand("5c 4c 3c 2c Ac").describe() == "Straight flush, five high"


@pytest.mark.parametrize("option", ["deck", "joker", "ace_low", "low_ace", "win", "eight_or_better"])
@pytest.mark.parametrize("instrument", FIXED_DECK)
def test_the_other_games_leave_no_choice(instrument, option):
    with pytest.raises(rules.OptionError, match=option):
        rules.load(instrument, **{option: 52})


@pytest.mark.parametrize("cards", ["4c 3d 2h As Kc", "3c 2d Ah Ks Qc", "2c Ad Kh Qs Jc", "4c 3c 2c Ac Kc"])
@ACE_LOW
def test_a_straight_does_not_wrap_around_the_ace(cards, ace_low):
    assert manila(ace_low=ace_low).hand(cards).category in (Category.FIVE_ODD_CARDS, Category.FLUSH)


@pytest.mark.parametrize("size", REDUCED)
def test_the_low_ace_of_a_full_deck_makes_no_straight_in_a_reduced_one(size):
    cards = text([(ACE, "c"), *((LOWEST[size] + step, "d") for step in (1, 2, 3, 4))])
    assert manila(deck=size, ace_low=True).hand(cards).category is Category.FIVE_ODD_CARDS


def test_the_joker_completes_a_straight_at_its_upper_end():
    game = manila(joker=True, ace_low=True)
    assert str(game.hand("5c 4d 3h 2s Jk").cards) == "Jk 5c 4d 3h 2s"
    assert str(game.hand("4d 3h 2s Ac Jk").cards) == "Jk 4d 3h 2s Ac"
    assert str(game.hand("5c 4d 2s Ac Jk").cards) == "5c 4d Jk 2s Ac"
    assert game.hand("Kc Qd Jh Ts Jk") == game.hand("Ac Kc Qd Jh Ts")


@SIZES
@LOW_ACE
def test_every_class_of_low_hands_has_its_category_and_its_order(size, low_ace):
    deck, game = Deck(size, joker=True), stud(deck=size, joker=True, low_ace=low_ace)
    without = stud(deck=size, low_ace=low_ace)
    pairs = []
    for five in [*reference.one_of_each_class(deck), *reference.one_of_each_joker_class(deck)]:
        hand, value = game.low(text(five)), reference.low(five, deck, ace_is_low=low_ace == "low")
        assert hand.category == reference.low_category(value)
        assert hand.is_eight_or_better == reference.is_eight_or_better(value)
        assert set(hand.cards) == set(rules.parse(named(five)))
        counted = [1 if card.rank == ACE and low_ace == "low" else card.rank for card in hand.cards]
        assert all(card in (0, rank) for card, rank in zip(counted, reference.low_counted_ranks(value), strict=True))
        if JOKER not in five:
            assert without.low(text(five)) == hand
        pairs.append((hand.strength, value))
    assert_same_order(pairs)


@SIZES
@LOW_ACE
@ACE_LOW
def test_straights_and_flushes_do_not_count_in_low_hands(size, low_ace, ace_low):
    game = manila(deck=size, low_ace=low_ace, ace_low=ace_low)
    for ranks in combinations(Deck(size).ranks, 5):
        suited = game.low(text((rank, "s") for rank in ranks))
        mixed = game.low(text(zip(ranks, "cdhsc", strict=True)))
        assert suited == mixed
        assert suited.category is Category.FIVE_ODD_CARDS


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("2c 2d Kc Qd Jh", "3c 3d 6c 5d 4h"),
        ("Kc Qd Jh Ts 9c", "2c 2d 3c 4d 5h"),
        ("8h 6c 4c 3d 2s", "8h 6c 5c 3d 2s"),
        ("8h 6c 5c 4d 3s", "8h 7c 4c 3d 2s"),
        ("6c 5d 4h 3s 2c", "7c 5d 4h 3s 2c"),
        ("Kc Kd Qc 3d 2h", "2c 2d 3c 3d 4h"),
        ("2c 2d 3c 3d 4h", "2c 2d 4c 4d 3h"),
        ("2c 2d 3c 3d 4h", "2c 2d 3c 3d 5h"),
        ("Kc Kd Qc Qd Jh", "2c 2d 2h 3c 4d"),
        ("2c 2d 2h 3c 4d", "2c 2d 2h 3c 5d"),
        ("Kc Kd Kh 3c 2d", "2c 2d 2h 3c 3d"),
        ("2c 2d 2h Kc Kd", "3c 3d 3h 2c 2d"),
        ("Kc Kd Kh Qc Qd", "2c 2d 2h 2s 3c"),
        ("2c 2d 2h 2s Kc", "3c 3d 3h 3s 2c"),
        ("2c 2d 4c 5d 7h", "2c 2d 3c 6d 7h"),
    ],
)
@LOW_ACE
def test_a_low_hand_with_fewer_pairs_wins_then_the_one_with_lower_cards(lower, higher, low_ace):
    game = stud(low_ace=low_ace)
    assert game.low(lower) > game.low(higher)


def test_the_ace_is_high_in_a_low_hand_so_the_best_is_6_5_4_3_2():
    game = stud(ace_low=True)
    best = game.low("6c 5d 4h 3s 2c")
    assert best > game.low("5c 4d 3h 2s Ac")
    assert game.low("Kc Qd Jh Ts 9c") > game.low("5c 4d 3h 2s Ac")
    assert all(best >= game.low(text(five)) for five in reference.one_of_each_class(Deck()))


def test_the_best_low_hand_is_5_4_3_2_a_where_the_operator_makes_the_ace_low():
    game = stud(low_ace="low")
    best = game.low("5c 4c 3c 2c Ac")
    assert best > game.low("6c 5d 4h 3s 2c")
    assert str(best.cards) == "5c 4c 3c 2c Ac"
    assert game.low("Ac Ad Kc Qd Jh") > game.low("2c 2d 3c 4d 5h")
    assert all(best >= game.low(text(five)) for five in reference.one_of_each_class(Deck()))


@pytest.mark.parametrize(
    ("low_ace", "cards", "qualifies"),
    [
        ("high", "8h 6c 4c 3d 2s", True),
        ("high", "8h 7c 6c 5d 4s", True),
        ("high", "8h 7h 6h 5h 4h", True),
        ("high", "9h 4c 3c 2d 5s", False),
        ("high", "8h 4c 3c 2d As", False),
        ("high", "8h 6c 4c 4d 2s", False),
        ("low", "8h 6c 4c 3d 2s", True),
        ("low", "8h 4c 3c 2d As", True),
        ("low", "5h 4h 3h 2h Ah", True),
        ("low", "9h 4c 3c 2d As", False),
        ("low", "Ah Ac 3c 2d 4s", False),
        ("high", "8h 6c 4c 3d Jk", True),
        ("high", "8h 6c 4c Ad Jk", False),
        ("low", "8h 6c 4c Ad Jk", True),
        ("low", "9h 6c 4c Ad Jk", False),
        ("low", "8h 8c 4c Ad Jk", False),
    ],
)
def test_eight_or_better_is_five_different_ranks_none_above_eight(low_ace, cards, qualifies):
    game = stud(joker=True, low_ace=low_ace, eight_or_better=True)
    assert game.low(cards).is_eight_or_better is qualifies


def test_without_an_eight_or_better_there_is_no_low_hand():
    strict = stud(low_ace="low", eight_or_better=True)
    assert strict.best_low("9h 6c 4c 3d 2s Kd Kc") is None
    assert strict.best_low("8h 6c 4c 3d 2s Kd Kc") == strict.low("8h 6c 4c 3d 2s")
    assert stud(low_ace="low").best_low("9h 6c 4c 3d 2s Kd Kc") == strict.low("9h 6c 4c 3d 2s")


def test_manila_uses_both_hole_cards_and_exactly_three_communal_ones():
    game = manila()
    best = game.best("2c 7d", board="As Ks Qs Js Ts")
    assert best.category is Category.FIVE_ODD_CARDS
    assert set(rules.parse("2c 7d")) < set(best.cards)
    assert str(best.cards) == "As Ks Qs 7d 2c"
    assert game.best("9s 2d", board="Ks Qs Js Ts 3h").category is Category.FIVE_ODD_CARDS
    assert game.best("9s Ks", board="2c Qs Js Ts 3h").category is Category.STRAIGHT_FLUSH


def test_holdem_and_stud_may_use_any_five_of_seven_cards():
    assert holdem().best("2c 7d", board="As Ks Qs Js Ts").category is Category.ROYAL_FLUSH
    assert str(holdem().best("2c 7d", board="As Ks Qs Js Ts").cards) == "As Ks Qs Js Ts"
    assert holdem().best("As 7d", board="2c Ks Qs Js Ts").category is Category.ROYAL_FLUSH
    assert stud().best("2c As Ks 7d Qs Js Ts").category is Category.ROYAL_FLUSH


def check_best(game, deck, own, board, choices):
    """Require that the game's best of these choices is the reference's; return its strength and value."""
    best, value = game.best(named(own), board=named(board)), max(reference.high(five, deck) for five in choices)
    counted = reference.cards(str(best.cards))
    assert sorted(counted) in [sorted(five) for five in choices]
    assert reference.high(counted, deck) == value
    assert best.category == reference.category(value, deck)
    assert best.strength == game.strength(best.cards)
    for form in (text, named, lambda cards: rules.parse(named(cards)), lambda cards: list(rules.parse(named(cards)))):
        assert game.best_strength(form(own), board=form(board)) == best.strength
    return best.strength, value


def check_best_low(game, deck, own, board, choices):
    """Require the same for low hands, where there may be none."""
    best = game.best_low(text(own), board=text(board))
    value = max(reference.low(five, deck, ace_is_low=game.low_options.ace_is_low) for five in choices)
    if game.low_options.eight_or_better and not reference.is_eight_or_better(value):
        assert best is None
        return []
    counted = reference.cards(str(best.cards))
    assert sorted(counted) in [sorted(five) for five in choices]
    assert reference.low(counted, deck, ace_is_low=game.low_options.ace_is_low) == value
    return [(best.strength, value)]


@SIZES
@WITH_JOKER
@ACE_LOW
def test_stud_gives_the_best_of_21_hands(size, joker, ace_low):
    deck, game = Deck(size, joker, ace_low), stud(deck=size, joker=joker, ace_low=ace_low)
    count = 900 if size in (52, 32) else 150
    assert_same_order(
        check_best(game, deck, seven, (), reference.any_five(seven)) for seven in deals(deck, count, seed=size)
    )


def test_holdem_gives_the_best_of_21_hands():
    deck = Deck(ace_low=True)
    assert_same_order(
        check_best(holdem(), deck, seven[:2], seven[2:], reference.any_five(seven))
        for seven in deals(deck, 2_000, seed=1)
    )


@SIZES
@WITH_JOKER
@ACE_LOW
def test_manila_gives_the_best_of_ten_hands(size, joker, ace_low):
    deck, game = Deck(size, joker, ace_low), manila(deck=size, joker=joker, ace_low=ace_low)
    count = 900 if size in (52, 32) else 150
    assert_same_order(
        check_best(game, deck, seven[:2], seven[2:], reference.two_and_three(seven[:2], seven[2:]))
        for seven in deals(deck, count, seed=size)
    )


@pytest.mark.parametrize("instrument", CANBERRA)
def test_canberra_poker_plays_the_five_cards_as_dealt(instrument):
    game, deck = rules.load(instrument), Deck(ace_low=True)
    assert_same_order(check_best(game, deck, seven[:5], (), [seven[:5]]) for seven in deals(deck, 300, seed=2))


@pytest.mark.parametrize("size", [52, 48, 32])
@WITH_JOKER
@LOW_ACE
@pytest.mark.parametrize("eight_or_better", [False, True], ids=["any low", "eight or better"])
def test_stud_and_manila_give_the_best_low_hand(size, joker, low_ace, eight_or_better):
    options = {"deck": size, "joker": joker, "low_ace": low_ace, "eight_or_better": eight_or_better}
    deck, pairs = Deck(size, joker), []
    for seven in deals(deck, 120, seed=size):
        hole, board = seven[:2], seven[2:]
        pairs += check_best_low(stud(**options), deck, seven, (), reference.any_five(seven))
        pairs += check_best_low(manila(**options), deck, hole, board, reference.two_and_three(hole, board))
    assert_same_order(pairs)
    assert pairs or (size == 32 and eight_or_better)


@WITH_JOKER
def test_six_own_cards_and_a_communal_last_one_play_as_seven_in_stud(joker):
    deck, game = Deck(joker=joker), stud(joker=joker)
    for seven in deals(deck, 300, seed=17):
        six, last = seven[:6], seven[6:]
        check_best(game, deck, six, last, reference.any_five(seven))
        assert game.best_strength(text(six), text(last)) == game.best_strength(text(seven))
        assert game.best(text(six), board=text(last)) == game.best(text(seven))
        assert game.best_low(text(six), board=text(last)) == game.best_low(text(seven))


def test_the_order_in_which_cards_are_given_does_not_matter():
    random = Random(3)
    deck, game = Deck(joker=True), stud(joker=True, low_ace="low")
    for seven in deals(deck, 200, seed=3):
        mixed = random.sample(seven, 7)
        assert game.best_strength(text(mixed)) == game.best_strength(text(seven))
        assert game.best_low(text(mixed)) == game.best_low(text(seven))
        assert game.strength(text(seven[4::-1])) == game.strength(text(seven[:5]))
        assert game.low(text(seven[4::-1])) == game.low(text(seven[:5]))


def spellings(cards):
    """Return the same cards in each form that the rules accept."""
    names = named(cards)
    parsed = rules.parse(names)
    tens = [name.replace("T", "10") for name in names]
    return [
        " ".join(names),
        " ".join(tens),
        "  ".join(names) + "\n",
        names,
        tens,
        tuple(names),
        list(parsed),
        tuple(parsed),
        parsed,
        [names[0], *list(parsed)[1:]],
    ]


def test_strength_and_hand_agree_for_every_form_of_cards():
    deck, game = Deck(joker=True), manila(joker=True)
    for seven in deals(deck, 200, seed=4):
        five = seven[:5]
        hand = game.hand(text(five))
        for form in spellings(five):
            assert game.strength(form) == hand.strength
            assert game.hand(form) == hand
            assert game.low(form) == game.low(text(five))


def test_best_and_best_strength_agree_for_every_form_of_cards():
    deck = Deck()
    for seven in deals(deck, 30, seed=5):
        for game in (holdem(), manila()):
            expected = game.best(text(seven[:2]), board=text(seven[2:]))
            for own, board in product(spellings(seven[:2]), spellings(seven[2:])):
                assert game.best_strength(own, board=board) == expected.strength
                assert game.best(own, board) == expected
        expected = stud().best(text(seven))
        for own in spellings(seven):
            assert stud().best_strength(own) == expected.strength
            assert stud().best(own) == expected
            assert stud().best_low(own) == stud().best_low(text(seven))


@SIZES
@WITH_JOKER
@ACE_LOW
def test_the_cards_of_a_hand_lie_highest_first_a_low_ace_last_and_the_joker_where_it_counts(size, joker, ace_low):
    deck, game = Deck(size, joker, ace_low), manila(deck=size, joker=joker, ace_low=ace_low)
    hands = [*reference.one_of_each_class(deck), *(reference.one_of_each_joker_class(deck) if joker else ())]
    for five in hands:
        laid = game.hand(text(five)).cards
        assert isinstance(laid, rules.Cards)
        assert sorted(laid) == sorted(rules.parse(named(five)))
        counted = reference.counted_ranks(five, deck)
        for card, rank in zip(laid, counted, strict=True):
            assert card.is_joker or card.rank == (ACE if rank == 1 else rank)


@pytest.mark.parametrize(
    ("cards", "laid"),
    [
        ("2s Ks Ts As Qs", "As Ks Qs Ts 2s"),
        ("4c Qh Js 4d Qc", "Qh Qc Js 4c 4d"),
        ("2c Ad 2h As 2d", "Ad As 2c 2h 2d"),
        ("Ac 2d 3h 4s 5c", "5c 4s 3h 2d Ac"),
        ("Ac Kd Qh Js Tc", "Ac Kd Qh Js Tc"),
        ("Jk Kd Qh 9s 2c", "Kd Jk Qh 9s 2c"),
        ("Jk 9d 9h 2s 2c", "9d 9h Jk 2s 2c"),
        ("Jk 6d 9h 8s 5c", "9h 8s Jk 6d 5c"),
        ("Kd Jk 9d 5d 3d", "Jk Kd 9d 5d 3d"),
        ("8h Ac Jk 8d Ad", "Ac Ad Jk 8h 8d"),
    ],
)
def test_the_cards_of_a_hand_lie_as_a_dealer_would_lay_them(cards, laid):
    assert str(manila(joker=True, ace_low=True).hand(cards).cards) == laid


@pytest.mark.parametrize(
    ("cards", "sentence"),
    [
        ("As Ks Qs Js Ts", "Royal flush"),
        ("Ks Qs Js Ts Jk", "Royal flush"),
        ("Ac Ad Ah As Jk", "Five of a kind, aces"),
        ("6c 6d 6h 6s Jk", "Five of a kind, sixes"),
        ("Jh Th 9h 8h 7h", "Straight flush, jack high"),
        ("5h 4h 3h 2h Ah", "Straight flush, five high"),
        ("6c 6d 6h 6s Ac", "Four of a kind, sixes"),
        ("Kc Kd Kh Jc Jd", "Full house, kings over jacks"),
        ("2c 2d 2h Ac Ad", "Full house, twos over aces"),
        ("Kc Kd Jc Jd Jk", "Full house, kings over jacks"),
        ("Kd Jd 9d 7d 5d", "Flush, king high"),
        ("Kd Jd 9d 7d Jk", "Flush, ace high"),
        ("Kh Qc Jc Ts 9d", "Straight, king high"),
        ("5c 4d 3h 2s Ac", "Straight, five high"),
        ("Ac Kd Qh Js Tc", "Straight, ace high"),
        ("Qc Qd Qh 8c 5d", "Three of a kind, queens"),
        ("8c 8d Ac Ad Kh", "Two pairs, aces and eights"),
        ("Tc Td Kc 6d 2h", "One pair, tens"),
        ("Kc Jd 6d 2h Jk", "One pair, kings"),
        ("Qh Tc 7c 4d 3s", "Five odd cards, queen high"),
    ],
)
def test_a_hand_describes_itself(cards, sentence):
    hand = manila(joker=True, ace_low=True).hand(cards)
    assert hand.describe() == sentence
    assert sentence in repr(hand)
    assert str(hand) == cards


@pytest.mark.parametrize(
    ("rank", "one", "many"),
    [
        (2, "two", "twos"),
        (3, "three", "threes"),
        (4, "four", "fours"),
        (5, "five", "fives"),
        (6, "six", "sixes"),
        (7, "seven", "sevens"),
        (8, "eight", "eights"),
        (9, "nine", "nines"),
        (10, "ten", "tens"),
        (11, "jack", "jacks"),
        (12, "queen", "queens"),
        (13, "king", "kings"),
        (ACE, "ace", "aces"),
    ],
)
def test_each_rank_has_its_name(rank, one, many):
    assert canberra().hand(text(pair_of(rank))).describe() == f"One pair, {many}"
    assert f" {one} {one}" in f" {canberra().low(text(pair_of(rank))).describe()}"
    if rank >= 6:
        assert canberra().hand(text(straight_to(rank))).describe() == f"Straight, {one} high"


def pair_of(rank):
    others = [other for other in (2, 4, 6, 8) if other != rank][:3]
    return [(rank, "c"), (rank, "d"), *((other, "h") for other in others)]


def straight_to(top):
    return [*((top - step, "c") for step in range(4)), (top - 4, "d")]


@pytest.mark.parametrize(
    ("cards", "sentence"),
    [
        ("2s 3d 8h 6c 4c", "Low, eight six four three two"),
        ("Ac 2c 3c 4c 5c", "Low, five four three two ace"),
        ("2c 2d Kc Qd Jh", "Low with one pair, king queen jack two two"),
        ("6c 4d 3h 2s Jk", "Low, six four three two ace"),
    ],
)
def test_a_low_hand_describes_itself(cards, sentence):
    hand = stud(joker=True, low_ace="low").low(cards)
    assert hand.describe() == sentence
    assert sentence in repr(hand)
    assert str(hand) == cards


def test_hands_of_equal_ranks_tie_in_any_suits():
    game = canberra()
    spades, hearts = game.hand("As Kd 9s 5s 3c"), game.hand("Ah Kc 9h 5h 3d")
    assert spades == hearts
    assert not spades != hearts  # noqa: SIM202 - the operator itself is tested
    assert not spades < hearts
    assert not spades > hearts
    assert spades <= hearts
    assert spades >= hearts
    assert hash(spades) == hash(hearts)
    assert len({spades, hearts, game.hand("As Kd 9s 5s 2c")}) == 2


def test_the_greater_hand_wins():
    game = canberra()
    better, worse = game.hand("As Kd 9s 5s 3c"), game.hand("Ah Kc 9h 5h 2d")
    assert better > worse
    assert better >= worse
    assert worse < better
    assert worse <= better
    assert better != worse
    assert max(worse, better) is better
    assert sorted([better, worse]) == [worse, better]


def test_low_hands_tie_and_win_like_high_hands():
    game = stud(low_ace="low")
    lower, other, higher = game.low("8h 6c 4c 3d 2s"), game.low("8d 6d 4d 3d 2d"), game.low("8h 7c 4c 3d 2s")
    assert lower == other
    assert hash(lower) == hash(other)
    assert lower > higher
    assert higher < lower
    assert max(higher, lower) is lower


def hand_of(instrument, kind="hand", **options):
    return getattr(rules.load(instrument, **options), kind)("As Ks Qs Js Ts")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (hand_of("canberra-manila-2005"), hand_of("canberra-manila-2005", deck=48)),
        (hand_of("canberra-manila-2005", joker=True), hand_of("canberra-manila-2005", deck=48, joker=True)),
        (hand_of("canberra-poker-2016"), hand_of("seven-card-stud-2005", deck=32)),
        (hand_of("canberra-manila-2005"), hand_of("canberra-manila-2005", "low")),
        (hand_of("canberra-manila-2005", deck=32), hand_of("canberra-manila-2005", "low", deck=32)),
        (hand_of("canberra-manila-2005", "low"), hand_of("canberra-manila-2005", "low", low_ace="low")),
        (hand_of("canberra-manila-2005"), 10_485_760),
        (hand_of("canberra-manila-2005"), "As Ks Qs Js Ts"),
        (hand_of("canberra-manila-2005", "low"), None),
    ],
    ids=repr,
)
def test_hands_of_different_orders_are_not_compared(one, other):
    assert one != other
    assert other != one
    for compare in ("__lt__", "__gt__", "__le__", "__ge__"):
        assert getattr(one, compare)(other) is NotImplemented
    with pytest.raises(TypeError):
        _ = one < other
    with pytest.raises(TypeError):
        _ = one > other
    with pytest.raises(TypeError):
        _ = one <= other
    with pytest.raises(TypeError):
        max(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (hand_of("canberra-manila-2005"), hand_of("seven-card-stud-2005")),
        (hand_of("canberra-manila-2005"), hand_of("canberra-manila-2005", joker=True, ace_low=True)),
        (hand_of("canberra-manila-2005", deck=48, joker=True), hand_of("seven-card-stud-2005", deck=32)),
        (hand_of("canberra-poker-2016"), hand_of("ultimate-texas-holdem-2025")),
        (hand_of("canberra-manila-2005", "low"), hand_of("seven-card-stud-2005", "low")),
    ],
    ids=repr,
)
def test_hands_of_one_order_are_compared_across_games(one, other):
    assert one == other
    assert hash(one) == hash(other)
    assert one <= other


def test_a_hand_is_made_of_the_cards_given():
    hand = canberra().hand("Ts As Ks Qs Js")
    assert isinstance(hand, rules.Hand)
    assert isinstance(canberra().low("Ts As Ks Qs Js"), rules.LowHand)
    assert hand.strength == canberra().strength("Ts As Ks Qs Js")
    assert type(hand.strength) is int
