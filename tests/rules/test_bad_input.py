"""Any input to the rules gives a right answer or an error of one line, never another error or a wrong answer."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rules
from tests.support import reference_rules as reference
from tests.support.reference_rules import ACE, JOKER, LOWEST, Deck

thoroughly = settings(max_examples=200, deadline=None, database=None)
FLAGS = ("joker", "ace_low", "eight_or_better")
NAMES = Deck(joker=True).names
CARDS = list(rules.parse(NAMES))
CODES = [int(card) for card in CARDS]
TOO_LONG_TO_PRINT = 10**5_000

GAMES = {
    "canberra-poker-2016": (rules.load("canberra-poker-2016"), Deck(ace_low=True)),
    "ultimate-texas-holdem-2025": (rules.load("ultimate-texas-holdem-2025"), Deck(ace_low=True)),
    "manila with the joker": (
        rules.load("canberra-manila-2005", joker=True, low_ace="low", eight_or_better=True),
        Deck(joker=True),
    ),
    "manila of 40": (rules.load("canberra-manila-2005", deck=40, ace_low=True), Deck(40, ace_low=True)),
    "stud": (rules.load("seven-card-stud-2005", low_ace="low"), Deck()),
    "stud of 32 with the joker": (
        rules.load("seven-card-stud-2005", deck=32, joker=True, ace_low=True),
        Deck(32, joker=True, ace_low=True),
    ),
}
EACH_GAME = pytest.mark.parametrize("game", GAMES)


def too_deep_to_print():
    nested = []
    for _ in range(20_000):
        nested = [nested]
    return nested


names = st.sampled_from([*NAMES, "10c", "10d", "10h", "10s"])
cards = st.sampled_from(CARDS)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(CODES),
    st.sampled_from(CODES[:20]).map(float),
    st.sampled_from(CODES[:20]).map(complex),
    st.sampled_from(CODES).map(Fraction),
    st.sampled_from(CODES).map(Decimal),
    st.floats(),
    st.text(max_size=5),
    st.text(alphabet="AKQJT1098765432scdhk \n", max_size=4),
    st.binary(max_size=20),
    st.builds(object),
    st.sampled_from(list(rules.Category)),
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.lists(inner, max_size=3).map(iter),
    ),
    max_leaves=12,
)
card_texts = st.lists(names, max_size=9).map(" ".join)
unlike = st.lists(names, min_size=1, max_size=9, unique_by=reference.card)
texts = st.one_of(
    st.text(),
    st.text(alphabet="AKQJT1098765432scdhk \n\t", max_size=30),
    card_texts,
    unlike.map(" ".join),
    st.tuples(card_texts, st.text(max_size=3), card_texts).map("".join),
)
lists = st.one_of(
    st.lists(st.one_of(names, cards)),
    unlike,
    unlike.map(tuple),
    unlike.map(rules.parse),
    unlike.map(rules.parse).map(list),
    st.lists(st.one_of(names, cards, scalars, junk), max_size=9),
    st.lists(st.sampled_from(CODES), min_size=5, max_size=5, unique=True),
    st.lists(st.sampled_from(CODES), min_size=7, max_size=7, unique=True),
    st.lists(st.one_of(cards, st.sampled_from(CODES)), min_size=5, max_size=7, unique_by=int),
    st.sampled_from(CODES[:20]).map(float).map(lambda code: [code]),
    st.integers(min_value=2, max_value=3_000).flatmap(lambda times: names.map(lambda name: [name] * times)),
    st.lists(st.integers(), min_size=1_000, max_size=1_000),
)
anything = st.one_of(texts, lists, junk, cards)
fives = st.lists(st.one_of(names, cards), min_size=5, max_size=5)
sevens = st.lists(st.one_of(names, cards), min_size=7, max_size=7)
twos = st.lists(st.one_of(names, cards), min_size=2, max_size=2)


def refused(call, *args, **kwargs):
    """Return the message of the RulesError, or None if there is an answer."""
    try:
        call(*args, **kwargs)
    except rules.RulesError as error:
        message = str(error)
        assert message.strip()
        assert len(message.splitlines()) == 1
        message.encode()
        return message
    return None


def read(given_cards):
    """Return the given cards in the form of the reference, or None if they are not distinct cards."""
    if isinstance(given_cards, str):
        words = given_cards.split()
    elif isinstance(given_cards, rules.Card):
        words = [str(given_cards)]
    elif isinstance(given_cards, list | tuple | rules.Cards):
        words = [str(word) if isinstance(word, rules.Card) else word for word in given_cards]
    else:
        return None
    found = [read_name(word) for word in words]
    return None if None in found or len(set(found)) < len(found) else found


def read_name(word):
    if type(word) is not str:
        return None
    try:
        return reference.card(word)
    except (KeyError, ValueError):
        return None


def held_in(deck, found):
    return found is not None and set(found) <= set(deck.cards)


@cache
def ladder(name):
    """Return hands from the whole order with their values, to check the place of one answer."""
    game, deck = GAMES[name]
    hands = [*reference.one_of_each_class(deck)][::60] + [
        hand for hand in reference.one_of_each_joker_class(deck) if deck.joker
    ][::60]
    texts = [" ".join(map(reference.name, hand)) for hand in hands]
    ace_is_low = game.low_options.ace_is_low
    return (
        [(game.strength(text), reference.high(hand, deck)) for text, hand in zip(texts, hands, strict=True)],
        [
            (game.low(text).strength, reference.low(hand, deck, ace_is_low=ace_is_low))
            for text, hand in zip(texts, hands, strict=True)
        ],
    )


def is_in_order(strength, value, rungs):
    return all(
        (strength > rung, strength == rung) == (value > rung_value, value == rung_value) for rung, rung_value in rungs
    )


def check_five(name, given_cards):
    """Every function for five cards gives the right answer, or every one refuses them."""
    game, deck = GAMES[name]
    found = read(given_cards)
    highs, lows = ladder(name)
    if held_in(deck, found) and len(found) == 5:
        value = reference.high(found, deck)
        assert game.hand(given_cards).category == reference.category(value, deck)
        assert game.strength(given_cards) == game.hand(given_cards).strength
        assert is_in_order(game.strength(given_cards), value, highs)
        low_value = reference.low(found, deck, ace_is_low=game.low_options.ace_is_low)
        assert is_in_order(game.low(given_cards).strength, low_value, lows)
    else:
        assert refused(game.hand, given_cards)
        assert refused(game.low, given_cards)
        assert refused(game.strength, given_cards)


def choices(name, own, board):
    """Return the hands a player may make of these cards, or None if the game does not deal such cards."""
    _, deck = GAMES[name]
    if own is None or board is None or set(own) & set(board) or not held_in(deck, [*own, *board]):
        return None
    counts = len(own), len(board)
    if name.startswith("canberra"):
        return [own] if counts == (5, 0) else None
    if name.startswith("manila"):
        return reference.two_and_three(own, board) if counts == (2, 5) else None
    if name.startswith("ultimate"):
        return reference.any_five([*own, *board]) if counts == (2, 5) else None
    return reference.any_five([*own, *board]) if counts in ((7, 0), (6, 1)) else None


def check_best(name, own, board):
    """Every function for a player's cards and a board gives the right answer, or every one refuses them."""
    game, deck = GAMES[name]
    allowed = choices(name, read(own), read(board))
    if allowed is None:
        assert refused(game.best, own, board)
        assert refused(game.best_low, own, board)
        assert refused(game.best_strength, own, board)
        return
    highs, lows = ladder(name)
    value = max(reference.high(five, deck) for five in allowed)
    assert game.best(own, board).category == reference.category(value, deck)
    assert game.best_strength(own, board) == game.best(own, board).strength
    assert is_in_order(game.best_strength(own, board), value, highs)
    low_value = max(reference.low(five, deck, ace_is_low=game.low_options.ace_is_low) for five in allowed)
    best_low = game.best_low(own, board)
    if game.low_options.eight_or_better and not reference.is_eight_or_better(low_value):
        assert best_low is None
    else:
        assert is_in_order(best_low.strength, low_value, lows)


@thoroughly
@given(anything)
def test_parse_reads_the_cards_or_refuses_in_one_line(given_cards):
    found = read(given_cards)
    if found is None:
        assert refused(rules.parse, given_cards)
    else:
        parsed = rules.parse(given_cards)
        assert [str(card) for card in parsed] == [reference.name(card) for card in found]


@EACH_GAME
@thoroughly
@given(anything)
def test_five_cards_are_ranked_rightly_or_refused_in_one_line(game, given_cards):
    check_five(game, given_cards)


@EACH_GAME
@thoroughly
@given(fives, st.sampled_from([list, tuple, lambda five: " ".join(map(str, five))]))
def test_five_names_are_ranked_rightly_or_refused_in_one_line(game, five, form):
    check_five(game, form(five))


@EACH_GAME
@thoroughly
@given(anything, st.one_of(anything, st.just(()), fives))
def test_a_best_hand_is_right_or_refused_in_one_line(game, own, board):
    check_best(game, own, board)


@EACH_GAME
@thoroughly
@given(st.one_of(sevens, twos, fives), st.one_of(fives, st.just([])), st.booleans())
def test_a_best_hand_of_real_cards_is_right_or_refused_in_one_line(game, own, board, as_text):
    if as_text:
        own, board = " ".join(map(str, own)), " ".join(map(str, board))
    check_best(game, own, board)


@EACH_GAME
@thoroughly
@given(st.permutations(Deck(32, joker=True).names), st.sampled_from([list, " ".join, rules.parse]))
def test_a_best_hand_of_a_proper_deal_is_right(game, shuffled, form):
    number = 5 if game.startswith("canberra") else 7 if game.startswith("stud") else 2
    own = [name for name in shuffled if name != "Jk" or GAMES[game][1].joker][:number]
    board = [name for name in shuffled if name not in own and name != "Jk"][: 5 if number == 2 else 0]
    assert choices(game, read(own), read(board))
    check_best(game, form(own), form(board))


NO_HANDS = {
    "a number too long to print": [TOO_LONG_TO_PRINT],
    "lists too deep to print, in a list": [too_deep_to_print()],
    "lists too deep to print": too_deep_to_print(),
    "floats": [0.5, 1.5, 2.5, 3.5, 4.5],
    "no numbers": [float("nan")] * 5,
    "bytes in a list": [b"As", b"Ks", b"Qs", b"Js", b"Ts"],
    "bytes": b"As Ks Qs Js Ts",
    "lists in a list": [["As"], ["Ks"], ["Qs"], ["Js"], ["Ts"]],
    "two names in one string of a list": ["As Ks", "Qs Js", "Ts"],
    "nothing in a list": ["As", None, "Qs", "Js", "Ts"],
    "zeros": [0] * 5,
    "truths": [True] * 5,
    "empty names": [""] * 5,
    "half a character": "\ud800 \ud800",
    "a broken line": ["As", "Ks", "Qs", "Js", "T\ns"],
    "a dictionary": {"As": 1, "Ks": 2, "Qs": 3, "Js": 4, "Ts": 5},
    "a set": {"As", "Ks", "Qs", "Js", "Ts"},
    "an iterator": iter(["As", "Ks", "Qs", "Js", "Ts"]),
    "a bytearray": bytearray(b"As"),
    "one card 5,000 times": ["2c"] * 5_000,
    "the Joker 5,000 times": "Jk " * 5_000,
    "a whole deck": NAMES,
}


@pytest.mark.parametrize("given_cards", NO_HANDS.values(), ids=list(NO_HANDS))
def test_every_function_refuses_cards_that_make_no_hand(given_cards):
    assert refused(rules.parse, given_cards) or read(given_cards) is not None
    for name in GAMES:
        check_five(name, given_cards)
        check_best(name, given_cards, ())
        check_best(name, "As Kd", given_cards)


@pytest.mark.parametrize("plain", [int, float, complex, Fraction, Decimal])
@pytest.mark.parametrize("clubs", ["2c 3c 4c 5c 6c", "7c 8c 9c Tc Jc"])
def test_every_function_refuses_a_plain_number_as_a_card(plain, clubs):
    numbers = [plain(card) for card in rules.parse(clubs)]
    for name in GAMES:
        check_five(name, numbers)
        check_best(name, numbers, ())
        check_best(name, ["As", "Ks"], numbers)


@pytest.mark.parametrize("board", [None, 0, 0.0, False, b"", {}, set()], ids=repr)
def test_every_function_refuses_an_empty_board_that_is_no_list(board):
    for name in GAMES:
        for form in (str, str.split, rules.parse):
            check_best(name, form("As Ks Qs Js Ts 9d 8h"), board)
            check_best(name, form("As Ks Qs Js Ts"), board)
            check_best(name, form("As Ks"), board)


option_names = st.one_of(
    st.sampled_from(["deck", "low_ace", "win", *FLAGS]),
    st.text(max_size=8).filter(lambda name: name != "instrument_id"),
)
option_values = st.one_of(
    st.sampled_from([*LOWEST, "high", "low", "high_low", True, False]),
    st.sampled_from([52.0, "52", 0, 1, "true", "", 51, 53, b"low", "HIGH"]),
    junk,
)
good_options = st.fixed_dictionaries(
    {},
    optional={
        "deck": st.sampled_from(list(LOWEST)),
        "low_ace": st.sampled_from(["high", "low"]),
        "win": st.sampled_from(["high", "low", "high_low"]),
        **dict.fromkeys(FLAGS, st.booleans()),
    },
)


def is_allowed(name, value):
    if name in FLAGS:
        return type(value) is bool
    if name == "deck":
        return type(value) is int and value in LOWEST
    if name == "low_ace":
        return type(value) is str and value in ("high", "low")
    return name == "win" and type(value) is str and value in ("high", "low", "high_low")


@thoroughly
@given(
    st.sampled_from(list(rules.INSTRUMENTS)),
    st.one_of(good_options, st.dictionaries(option_names, option_values, max_size=4)),
)
@example("canberra-poker-2016", {"two\nlines": 1})
@example("seven-card-stud-2005", {"two\nlines": 1})
@example("seven-card-stud-2005", {"\ud800": 1})
@example("seven-card-stud-2005", {"": 1})
def test_a_game_is_loaded_as_its_options_say_or_refused_in_one_line(instrument, options):
    choice = instrument in ("canberra-manila-2005", "seven-card-stud-2005")
    if options and not (choice and all(is_allowed(name, value) for name, value in options.items())):
        assert refused(rules.load, instrument, **options)
        return
    game = rules.load(instrument, **options)
    deck = Deck(options.get("deck", 52), options.get("joker", False), options.get("ace_low", not choice))
    ace_is_low = options.get("low_ace") == "low"
    straight = [(deck.lowest + step, suit) for step, suit in zip((0, 1, 2, 3), "cdhs", strict=True)] + [(ACE, "c")]
    fives = [
        straight,
        [(ACE, suit) for suit in "cdhs"] + [(13, "c")],
        [(9, "c"), (9, "d"), (9, "h"), (8, "c"), (8, "d")],
    ]
    fives += [[*straight[:4], JOKER]] if deck.joker else []
    for five in fives:
        hand = game.hand([reference.name(card) for card in five])
        assert hand.category == reference.category(reference.high(five, deck), deck)
    low = game.low([reference.name(card) for card in straight])
    assert (low.cards[-1].rank == ACE) is ace_is_low
    assert game.win == options.get("win", "high")
    assert game.low_options.eight_or_better is options.get("eight_or_better", False)
    if not deck.joker:
        assert refused(game.hand, "As Ks Qs Js Jk")
    if deck.lowest > 2:
        assert refused(game.hand, "As Ks Qs Js 2c")


@pytest.mark.parametrize("value", [TOO_LONG_TO_PRINT, too_deep_to_print()], ids=["too long", "too deep"])
def test_an_option_that_cannot_be_printed_is_refused_like_any_other(value):
    for instrument in rules.INSTRUMENTS:
        for option in ("deck", "low_ace", "win", *FLAGS):
            assert refused(rules.load, instrument, **{option: value})


@pytest.mark.parametrize("value", [TOO_LONG_TO_PRINT, too_deep_to_print()], ids=["too long", "too deep"])
def test_an_instrument_or_a_deck_that_cannot_be_printed_is_refused_like_any_other(value):
    assert refused(rules.load, value)
    assert refused(rules.deck, value)


@thoroughly
@given(
    st.one_of(junk, st.text(), st.sampled_from(list(rules.INSTRUMENTS)).map(str.upper)).filter(
        lambda given_id: given_id not in list(rules.INSTRUMENTS)
    )
)
def test_an_instrument_that_does_not_exist_is_refused_in_one_line(instrument):
    assert refused(rules.load, instrument)


@thoroughly
@given(st.one_of(junk, st.integers()))
def test_a_deck_is_of_a_size_the_law_knows_or_refused_in_one_line(size):
    if type(size) is int and size in LOWEST:
        assert len(rules.deck(size)) == size
    else:
        assert refused(rules.deck, size)
