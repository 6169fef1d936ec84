"""Cards and decks: names of cards, contents of decks, and refused input."""

import copy
import pickle
from collections.abc import MutableSequence, Sequence

import pytest

import rules
from tests.support.reference_rules import LOWEST, SUITS, Deck

RANKS = "23456789TJQKA"
NAMES = [rank + suit for rank in RANKS for suit in SUITS]
NOT_CARDS = [
    "1s",
    "0s",
    "11s",
    "as",
    "AS",
    "aS",
    "Ax",
    "10",
    "s",
    "A",
    "JK",
    "jk",
    "J",
    "Jks",
    "AsKs",
    "A♠",
    "T10s",
    "*",
]

POT_GAMES = ("canberra-manila-2005", "seven-card-stud-2005")


def joker():
    return rules.parse("Jk")[0]


def lowest_cards(size, count):
    return " ".join(Deck(size).names[::5][:count])


@pytest.mark.parametrize("name", [*NAMES, "Jk"])
def test_a_card_prints_as_it_is_written(name):
    (card,) = rules.parse(name)
    assert str(card) == name
    assert name in repr(card)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_knows_its_rank_and_its_suit(name):
    (card,) = rules.parse(name)
    assert (card.rank, card.suit) == (RANKS.index(name[0]) + 2, name[1])
    assert not card.is_joker


@pytest.mark.parametrize("suit", SUITS)
def test_a_ten_is_written_10_or_t(suit):
    assert rules.parse(f"10{suit}") == rules.parse(f"T{suit}")
    assert str(rules.parse(f"10{suit}")) == f"T{suit}"


def test_the_joker_has_no_rank_and_no_suit():
    assert joker().is_joker
    assert (joker().rank, joker().suit) == (0, "")


def test_there_are_fifty_three_different_cards():
    assert len(set(rules.parse([*NAMES, "Jk"]))) == 53


@pytest.mark.parametrize(
    "cards",
    [
        "As 10d Jk",
        "  As\tTd\n Jk ",
        ["As", "10d", "Jk"],
        ("As", "Td", "Jk"),
        list(rules.parse("As Td Jk")),
        tuple(rules.parse("As Td Jk")),
        [rules.parse("As")[0], "Td", joker()],
        rules.parse("As Td Jk"),
    ],
    ids=repr,
)
def test_cards_come_as_a_string_or_as_a_list_of_names_or_cards(cards):
    parsed = rules.parse(cards)
    assert isinstance(parsed, rules.Cards)
    assert [str(card) for card in parsed] == ["As", "Td", "Jk"]
    assert str(parsed) == "As Td Jk"


def test_one_card_may_stand_without_a_list():
    assert rules.parse(rules.parse("Qh")[0]) == rules.parse("Qh")


@pytest.mark.parametrize("nothing", ["", "  \n", [], ()])
def test_an_empty_string_or_list_is_no_cards(nothing):
    assert len(rules.parse(nothing)) == 0


def test_parsed_cards_are_not_parsed_again():
    cards = rules.parse("As Kd")
    assert rules.parse(cards) is cards


@pytest.mark.parametrize("name", NOT_CARDS)
@pytest.mark.parametrize("given", [lambda name: f"Kd {name}", lambda name: ["Kd", name]], ids=["text", "list"])
def test_a_text_that_is_not_a_card_is_refused_by_name(given, name):
    with pytest.raises(rules.CardError) as refusal:
        rules.parse(given(name))
    assert repr(name) in str(refusal.value)


@pytest.mark.parametrize("cards", [None, 7, 1.5, b"As Kd", {"As": 1}, {"As"}, range(3), complex(1)], ids=repr)
def test_cards_that_are_no_string_and_no_list_are_refused_by_type(cards):
    with pytest.raises(rules.CardError, match=type(cards).__name__):
        rules.parse(cards)


def test_an_error_message_shortens_a_long_value():
    with pytest.raises(rules.CardError) as refusal:
        rules.parse("x" * 100_000)
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize(
    ("cards", "twice"),
    [
        ("As Kd As", "As"),
        ("2c 2c", "2c"),
        ("10d Kd Td", "Td"),
        ("Jk As Jk", "Jk"),
        (["Kd", "As", "Kd", "As"], "Kd"),
        (["Ac", rules.parse("Ac")[0]], "Ac"),
        ("As Ks Qs Js Ts As", "As"),
        (["7h"] * 5_000, "7h"),
        (["Jk"] * 5_000, "Jk"),
        ([*NAMES, "Jk", "9d"], "9d"),
    ],
    ids=lambda given: str(given)[:30],
)
def test_a_card_given_twice_is_refused_by_name(cards, twice):
    with pytest.raises(rules.CardError, match=f"^{twice} appears twice"):
        rules.parse(cards)


@pytest.mark.parametrize("name", [*NAMES, "Jk"])
@pytest.mark.parametrize("times", [2, 3, 4, 5, 8, 16, 17, 32])
def test_no_card_may_be_repeated_however_often(name, times):
    with pytest.raises(rules.CardError, match=f"^{name} appears twice"):
        rules.parse([name] * times)


@pytest.mark.parametrize("size", LOWEST)
@pytest.mark.parametrize("with_joker", [False, True])
def test_a_deck_holds_each_of_its_cards_once_lowest_first_and_the_joker_last(size, with_joker):
    deck = rules.deck(size, joker=with_joker)
    assert [str(card) for card in deck] == Deck(size, with_joker).names
    assert len(set(deck)) == size + with_joker


def test_a_deck_has_fifty_two_cards_by_default():
    assert rules.deck() == rules.deck(52)


@pytest.mark.parametrize("size", [0, -52, 51, 53, 54, 28, 42, "52", 52.0, True, None, [52]], ids=repr)
def test_a_deck_of_another_size_is_refused_by_that_size(size):
    with pytest.raises(rules.OptionError) as refusal:
        rules.deck(size)
    assert repr(size) in str(refusal.value)


@pytest.mark.parametrize("instrument", POT_GAMES)
@pytest.mark.parametrize("size", LOWEST)
@pytest.mark.parametrize("method", ["strength", "hand", "low"])
def test_a_card_that_is_not_in_the_deck_is_refused_by_name(instrument, size, method):
    game = rules.load(instrument, deck=size)
    held = lowest_cards(size, 4)
    for foreign in [name for name in [*NAMES, "Jk"] if name not in Deck(size).names]:
        with pytest.raises(rules.CardError, match=f"^{foreign} is not in"):
            getattr(game, method)(f"{held} {foreign}")


@pytest.mark.parametrize("size", [size for size in LOWEST if size != 52])
def test_the_error_for_a_foreign_card_names_the_size_of_the_deck(size):
    with pytest.raises(rules.CardError, match=f"{size} cards"):
        rules.load("canberra-manila-2005", deck=size).hand("2c As Ks Qs Js")


@pytest.mark.parametrize("method", ["best", "best_strength", "best_low"])
@pytest.mark.parametrize("foreign", ["2c", "6h", "Jk"])
@pytest.mark.parametrize("suited", [False, True], ids=["mixed suits", "one suit"])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_foreign_card_among_seven_is_refused_by_name(method, foreign, suited, as_text):
    others = ["7s", "8s", "9s", "Js", "Qs", "Ks"] if suited else ["7s", "8h", "9c", "Js", "Qd", "Ks"]
    stud = rules.load("seven-card-stud-2005", deck=32)
    manila = rules.load("canberra-manila-2005", deck=32)
    seven = [*others, foreign]
    hole_and_board = seven[:2], seven[2:]
    with pytest.raises(rules.CardError, match=f"^{foreign} is not in"):
        getattr(stud, method)(" ".join(seven) if as_text else rules.parse(seven))
    with pytest.raises(rules.CardError, match=f"^{foreign} is not in"):
        getattr(manila, method)(*(" ".join(part) if as_text else rules.parse(part) for part in hole_and_board))


@pytest.mark.parametrize("instrument", rules.INSTRUMENTS)
@pytest.mark.parametrize("method", ["strength", "hand", "low"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 7, 8, 9, 10])
@pytest.mark.parametrize("form", [str, rules.parse, lambda text: text.split(), lambda text: list(rules.parse(text))])
def test_a_hand_of_other_than_five_cards_is_refused_with_its_count(instrument, method, count, form):
    with pytest.raises(rules.HandError, match=rf"5 cards .* {count} were given"):
        getattr(rules.load(instrument), method)(form(lowest_cards(52, count)))


@pytest.mark.parametrize("method", ["best", "best_strength", "best_low"])
@pytest.mark.parametrize("instrument", ["canberra-manila-2005", "ultimate-texas-holdem-2025"])
@pytest.mark.parametrize(
    ("hole", "board", "count"),
    [
        ("", "2c 3d 4h 5s 7c", "2 hole cards .* 0"),
        ("As", "2c 3d 4h 5s 7c", "2 hole cards .* 1"),
        ("As Kd Qh", "2c 3d 4h 5s 7c", "2 hole cards .* 3"),
        ("As Kd Qh Jc Ts 9h 8h", "", "2 hole cards .* 7"),
        ("As Kd", "", "5 communal cards .* 0"),
        ("As Kd", "2c 3d 4h", "5 communal cards .* 3"),
        ("As Kd", "2c 3d 4h 5s", "5 communal cards .* 4"),
        ("As Kd", "2c 3d 4h 5s 7c 8c", "5 communal cards .* 6"),
    ],
)
def test_hole_and_communal_cards_are_refused_with_their_count(method, instrument, hole, board, count):
    for form in (str, rules.parse, str.split):
        with pytest.raises(rules.HandError, match=count):
            getattr(rules.load(instrument), method)(form(hole), board=form(board))


@pytest.mark.parametrize("method", ["best", "best_strength", "best_low"])
@pytest.mark.parametrize(
    ("own", "board", "count"),
    [
        ("", "", "7 own cards .* 0"),
        ("As Kd Qh Jc Ts", "", "7 own cards .* 5"),
        ("As Kd Qh Jc Ts 9h", "", "7 own cards .* 6"),
        ("As Kd Qh Jc Ts 9h 8h 7h", "", "7 own cards .* 8"),
        ("As Kd Qh Jc Ts", "2c", "6 own cards .* 5"),
        ("As Kd Qh Jc Ts 9h 8h", "2c", "6 own cards .* 7"),
        ("As Kd Qh Jc Ts", "2c 3d", "1 communal card .* 2"),
        ("As Kd", "2c 3d 4h 5s 7c", "1 communal card .* 5"),
    ],
)
def test_stud_cards_are_refused_with_their_count(method, own, board, count):
    for form in (str, rules.parse, str.split):
        with pytest.raises(rules.HandError, match=count):
            getattr(rules.load("seven-card-stud-2005"), method)(form(own), board=form(board))


@pytest.mark.parametrize("instrument", ["canberra-poker-2016", "canberra-poker-1997"])
@pytest.mark.parametrize("method", ["best", "best_strength", "best_low"])
def test_canberra_poker_has_five_own_cards_and_no_communal_ones(instrument, method):
    best = getattr(rules.load(instrument), method)
    with pytest.raises(rules.HandError, match="no communal cards, and 1 "):
        best("As Kd Qh Jc", board="Ts")
    with pytest.raises(rules.HandError, match=r"5 cards .* 7 "):
        best("As Kd Qh Jc Ts 9h 8h")


@pytest.mark.parametrize("method", ["best", "best_strength", "best_low"])
@pytest.mark.parametrize("form", [str, rules.parse, str.split])
def test_a_card_held_and_on_the_board_is_refused_by_name(method, form):
    for instrument in ("canberra-manila-2005", "ultimate-texas-holdem-2025"):
        with pytest.raises(rules.CardError, match=r"^As appears twice"):
            getattr(rules.load(instrument), method)(form("As Kd"), board=form("2c 3d As 5s 7c"))
    with pytest.raises(rules.CardError, match=r"^7c appears twice"):
        getattr(rules.load("seven-card-stud-2005"), method)(form("As Kd 2c 3d 5s 7c"), board=form("7c"))


@pytest.mark.parametrize("method", ["best", "best_strength", "best_low"])
@pytest.mark.parametrize("form", [str, str.split, lambda text: [rules.parse(name)[0] for name in text.split()]])
@pytest.mark.parametrize("others", ["Ks Qs Js Ts 9s", "Kd Qh Jc 9s 7c"], ids=["one suit", "mixed suits"])
@pytest.mark.parametrize("twice", ["As", "2c", "Jk"])
def test_a_card_twice_among_seven_is_refused_by_name(method, form, others, twice):
    best = getattr(rules.load("seven-card-stud-2005", joker=True), method)
    for seven in (f"{twice} {others} {twice}", f"{others} {twice} {twice}", f"{twice} {twice} {others}"):
        with pytest.raises(rules.CardError, match=f"^{twice} appears twice"):
            best(form(seven))


def test_a_refusal_is_a_value_error_of_the_rules():
    for kind in (rules.CardError, rules.HandError, rules.OptionError):
        assert issubclass(kind, rules.RulesError)
    assert issubclass(rules.RulesError, ValueError)


def test_cards_are_a_sequence():
    cards = rules.parse("As Kd 9h 9c Jk")
    assert isinstance(cards, Sequence)
    assert len(cards) == 5
    assert str(cards[0]) == "As"
    assert str(cards[-1]) == "Jk"
    assert [str(card) for card in reversed(cards)] == ["Jk", "9c", "9h", "Kd", "As"]
    assert cards.index(rules.parse("9h")[0]) == 2
    assert cards.count(joker()) == 1
    assert joker() in cards
    assert rules.parse("2c")[0] not in cards
    with pytest.raises(IndexError):
        cards[5]


def test_a_slice_of_cards_is_cards():
    cards = rules.parse("As Kd 9h 9c Jk")
    assert cards[1:3] == rules.parse("Kd 9h")
    assert cards[::-1] == rules.parse("Jk 9c 9h Kd As")
    assert cards[5:] == rules.parse("")


def test_cards_cannot_be_changed():
    cards = rules.parse("As Kd")
    assert not isinstance(cards, MutableSequence)
    with pytest.raises(TypeError):
        cards[0] = joker()
    with pytest.raises(TypeError):
        del cards[0]
    with pytest.raises(AttributeError):
        cards.append(joker())


def test_cards_do_not_follow_the_list_they_came_from():
    names = ["As", "Kd"]
    cards = rules.parse(names)
    names.clear()
    assert str(cards) == "As Kd"


def test_cards_are_equal_when_they_are_the_same_cards_in_the_same_order():
    assert rules.parse("As 10d") == rules.parse(["As", "Td"])
    assert rules.parse("As Td") != rules.parse("Td As")
    assert rules.parse("As Td") != rules.parse("As")
    assert rules.parse("As Td") != ["As", "Td"]
    assert len({rules.parse("As Td"), rules.parse("As 10d"), rules.parse("Td As")}) == 2


def test_cards_put_together_are_new_cards():
    hole = rules.parse("As Kd")
    assert hole + "9h Jk" == rules.parse("As Kd 9h Jk")
    one_name = ["9h"]
    assert hole + one_name == rules.parse("As Kd 9h")
    assert hole + rules.parse("9h") == rules.parse("As Kd 9h")
    assert str(hole) == "As Kd"
    with pytest.raises(rules.CardError, match=r"^Kd appears twice"):
        _ = hole + "Kd"


def test_cards_print_as_they_are_written():
    assert repr(rules.parse("As 10d Jk")) == "Cards('As Td Jk')"


@pytest.mark.parametrize("name", ["As", "2c", "Td", "Jk"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda card: pickle.loads(pickle.dumps(card))])
def test_a_card_copied_or_stored_is_the_same_card(name, copied):
    (card,) = rules.parse(name)
    again = copied(card)
    assert (str(again), again.rank, again.suit, again.is_joker) == (name, card.rank, card.suit, card.is_joker)
    assert rules.parse([again]) == rules.parse(name)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda cards: pickle.loads(pickle.dumps(cards))])
def test_cards_copied_or_stored_are_equal_and_rank_alike(copied):
    game = rules.load("canberra-manila-2005", joker=True)
    cards = rules.parse("As Ks 9s 5s Jk")
    assert copied(cards) == cards
    assert hash(copied(cards)) == hash(cards)
    assert game.strength(copied(cards)) == game.strength(cards)
    assert copied(cards).triples == cards.triples


@pytest.mark.parametrize("number", [0, 1, 5, -1, 2**48, 2**200])
def test_a_card_made_of_a_bare_number_is_refused(number):
    with pytest.raises(rules.RulesError):
        rules.parse([rules.Card(number)])


def test_two_cards_added_up_are_not_a_card():
    ace, king = rules.parse("As Ks")
    with pytest.raises(rules.RulesError):
        rules.parse([rules.Card(ace + king), rules.Card(0)])


def test_a_card_made_of_the_number_of_another_is_that_card_or_refused():
    for name in [*NAMES, "Jk"]:
        (card,) = rules.parse(name)
        try:
            again = rules.parse([rules.Card(int(card))])
        except rules.CardError:
            continue
        assert str(again) == name
