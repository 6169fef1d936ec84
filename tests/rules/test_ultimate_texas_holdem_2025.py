"""NI2025-411 rr 8-10: the four wagers of Ultimate Texas Hold-em against the dealer (reading 28), to the cent."""

from itertools import permutations

import pytest

from rules import CardError, Category, HandError, OptionError, RoundError, RulesError, parse
from rules.instruments import ultimate_texas_holdem_2025 as law
from rules.instruments.ultimate_texas_holdem_2025 import HoldemPlayer, HoldemResult
from rules.round_checks import Outcome

ANTE, PLAY, TRIPS = 10_00, 40_00, 5_00
WIN, LOSE, PUSH = Outcome.WIN, Outcome.LOSE, Outcome.PUSH
WAGERS = ("ante", "blind", "play", "trips")


def seated(hole: str | None, box: int = 1, **more: object) -> HoldemPlayer:
    fields = {"ante_cents": ANTE, "blind_cents": ANTE, "play_cents": PLAY, "trips_cents": TRIPS} | more
    return HoldemPlayer(box, None if hole is None else parse(hole), **fields)


def settle(board: str, dealer: str, hole: str | None, max_payout: int | None = None, **more: object) -> HoldemResult:
    (result,) = law.settle_table(parse(board), parse(dealer), [seated(hole, **more)], max_payout)
    return result


def wager(result: HoldemResult, name: str) -> tuple[Outcome, int]:
    """Return the outcome of one of the four wagers and the amount paid on top of it."""
    settled = getattr(result, name)
    return settled.outcome, settled.paid_cents


# Player's category: board, the dealer's hole cards (two pairs at most), the player's.
BEATS_THE_DEALER = {
    Category.ROYAL_FLUSH: ("Ts Js Qs 2c 3d", "2h 3h", "As Ks"),
    Category.STRAIGHT_FLUSH: ("9s 8s 7s 2c 3d", "2h 3h", "6s 5s"),
    Category.FOUR_OF_A_KIND: ("9s 9h 4d 2c 3d", "2h 3h", "9c 9d"),
    Category.FULL_HOUSE: ("9s 9h 4d 2c Kd", "2h Kh", "9c 4c"),
    Category.FLUSH: ("Ks 9s 4s 2c 3d", "2h 3h", "As 5s"),
    Category.STRAIGHT: ("9s 8h 7d 2c 3d", "2h 3h", "6s 5c"),
    Category.THREE_OF_A_KIND: ("9s 9h 4d 2c Kd", "2h 3h", "9c 5c"),
    Category.TWO_PAIRS: ("9s 9h 4d 2c Kd", "2h 3h", "Kc 5c"),
    Category.ONE_PAIR: ("9s Jh 4d 2c Kd", "2h 3h", "Kc 5c"),
}
"""Only these hands of the game beat a dealer who qualifies; five odd cards beat no pair."""

BEATEN_BY_A_QUALIFYING_DEALER = {
    Category.STRAIGHT_FLUSH: ("9s 8s 7s 2c 3d", "Ts Js", "6s 5s"),
    Category.FOUR_OF_A_KIND: ("9s 9h 4d 4c 3d", "9c 9d", "4h 4s"),
    Category.FULL_HOUSE: ("9s 9h 4d 4c 3d", "9c 9d", "4h As"),
    Category.FLUSH: ("Ks 9s 4s 2c 3d", "As 3s", "Qs Js"),
    Category.STRAIGHT: ("9s 8h 7d 2c 3d", "Jh Tc", "6s 5c"),
    Category.THREE_OF_A_KIND: ("9s 8h 7d 2c 3d", "Jh Tc", "9c 9d"),
    Category.TWO_PAIRS: ("9s 8h 7d 2c 3d", "9c 9d", "8c 7c"),
    Category.ONE_PAIR: ("9s 8h 7d 2c 3d", "Ac Ad", "Kc Kd"),
    Category.FIVE_ODD_CARDS: ("9s 8h 7d 2c 3d", "2d 4h", "Ac Kd"),
}
TIED_ON_THE_BOARD = {
    Category.ROYAL_FLUSH: "As Ks Qs Js Ts",
    Category.STRAIGHT: "Ts 9h 8d 7c 6s",
    Category.THREE_OF_A_KIND: "As Ah Ad Kc Qs",
    Category.ONE_PAIR: "As Ah Kd Qc Js",
}
NO_PAIR = ("Ks Jh 9d 7c 3d", "5h 2h")
"""A board and the dealer's hole cards that do not qualify."""


# --- 9.5: the ante ---


@pytest.mark.parametrize("deal", BEATS_THE_DEALER.values(), ids=BEATS_THE_DEALER.keys())
def test_an_ante_wins_even_money_on_a_hand_higher_than_the_dealers_qualifying_one(deal):
    assert wager(settle(*deal), "ante") == (WIN, ANTE)


@pytest.mark.parametrize("deal", BEATEN_BY_A_QUALIFYING_DEALER.values(), ids=BEATEN_BY_A_QUALIFYING_DEALER.keys())
def test_an_ante_loses_to_a_higher_qualifying_hand(deal):
    assert wager(settle(*deal), "ante") == (LOSE, 0)


@pytest.mark.parametrize("board", TIED_ON_THE_BOARD.values(), ids=TIED_ON_THE_BOARD.keys())
def test_an_ante_pushes_on_equal_hands(board):
    assert wager(settle(board, "2c 3d", "2d 3c"), "ante") == (PUSH, 0)


@pytest.mark.parametrize("hole", ["Kc 2d", "Ac 2d", "4d 2d", "5d 2d", "Tc 8h"])
def test_an_ante_pushes_where_the_dealer_has_no_pair_whether_the_player_is_higher_lower_or_equal(hole):
    assert wager(settle(*NO_PAIR, hole), "ante") == (PUSH, 0)


@pytest.mark.parametrize(
    ("board", "dealer", "qualifies"),
    [
        ("Ks Jh 9d 7c 3d", "5h 2h", False),
        ("Ks Jh 9d 7c 3d", "Ah Qh", False),
        ("Ks Jh 9d 7c 3d", "2h 2d", True),
        ("Ks Jh 9d 7c 3d", "3h 2d", True),
        ("Ks Jh 9d 7c 7d", "5h 2h", True),
        ("Ks Jh 9d 7c 3d", "Qh Tc", True),
    ],
)
def test_the_dealer_qualifies_with_a_pair_or_better(board, dealer, qualifies):
    assert settle(board, dealer, "Kc Kd").ante.outcome is (LOSE if dealer == "Qh Tc" else WIN if qualifies else PUSH)


# --- 9.6: the blind ---

BLIND_ODDS = {
    Category.ROYAL_FLUSH: 500 * ANTE,
    Category.STRAIGHT_FLUSH: 50 * ANTE,
    Category.FOUR_OF_A_KIND: 10 * ANTE,
    Category.FULL_HOUSE: 3 * ANTE,
    Category.FLUSH: 15_00,
    Category.STRAIGHT: ANTE,
}
LESS_THAN_A_STRAIGHT = (Category.THREE_OF_A_KIND, Category.TWO_PAIRS, Category.ONE_PAIR)


@pytest.mark.parametrize(("category", "paid"), BLIND_ODDS.items())
def test_a_blind_that_beats_the_dealer_with_a_straight_or_higher_is_paid_the_odds_of_its_hand(category, paid):
    result = settle(*BEATS_THE_DEALER[category])
    assert result.hand is category
    assert wager(result, "blind") == (WIN, paid)


@pytest.mark.parametrize("category", LESS_THAN_A_STRAIGHT)
def test_a_blind_that_beats_the_dealer_with_less_than_a_straight_pushes(category):
    result = settle(*BEATS_THE_DEALER[category])
    assert result.hand is category
    assert wager(result, "blind") == (PUSH, 0)


def test_a_blind_that_beats_a_dealer_who_does_not_qualify_with_five_odd_cards_pushes():
    assert wager(settle(*NO_PAIR, "Ac 2d"), "blind") == (PUSH, 0)


@pytest.mark.parametrize("deal", BEATEN_BY_A_QUALIFYING_DEALER.values(), ids=BEATEN_BY_A_QUALIFYING_DEALER.keys())
def test_a_blind_loses_to_a_higher_hand_even_with_a_straight_or_higher(deal):
    assert wager(settle(*deal), "blind") == (LOSE, 0)


def test_a_blind_loses_to_a_higher_hand_that_does_not_qualify():
    assert wager(settle("Ks Jh 9d 7c 3d", "Ah Qh", "Ac 2d"), "blind") == (LOSE, 0)


@pytest.mark.parametrize("board", TIED_ON_THE_BOARD.values(), ids=TIED_ON_THE_BOARD.keys())
def test_a_blind_pushes_on_equal_hands_even_royal_flushes(board):
    assert wager(settle(board, "2c 3d", "2d 3c"), "blind") == (PUSH, 0)


def test_a_blind_wins_with_a_straight_though_the_dealer_does_not_qualify_and_the_ante_pushes():
    result = settle(*NO_PAIR, "Tc 8h")
    assert result.hand is Category.STRAIGHT
    assert (wager(result, "ante"), wager(result, "blind")) == ((PUSH, 0), (WIN, ANTE))


@pytest.mark.parametrize(("blind", "paid"), [(1, 1), (3, 4), (5_01, 7_51), (10_00, 15_00), (9_99, 14_98)])
def test_three_to_two_is_rounded_down_to_the_cent(blind, paid):
    deal = BEATS_THE_DEALER[Category.FLUSH]
    assert wager(settle(*deal, ante_cents=blind, blind_cents=blind, play_cents=blind), "blind") == (WIN, paid)


# --- 9.7: trips ---

TRIPS_ODDS = {
    Category.ROYAL_FLUSH: 50,
    Category.STRAIGHT_FLUSH: 40,
    Category.FOUR_OF_A_KIND: 30,
    Category.FULL_HOUSE: 8,
    Category.FLUSH: 7,
    Category.STRAIGHT: 4,
    Category.THREE_OF_A_KIND: 3,
}


@pytest.mark.parametrize(("category", "odds"), TRIPS_ODDS.items())
def test_trips_is_paid_the_odds_of_its_hand_where_it_beats_the_dealer(category, odds):
    assert wager(settle(*BEATS_THE_DEALER[category]), "trips") == (WIN, odds * TRIPS)


@pytest.mark.parametrize("category", [category for category in TRIPS_ODDS if category in BEATEN_BY_A_QUALIFYING_DEALER])
def test_trips_is_paid_the_same_where_the_dealer_is_higher(category):
    result = settle(*BEATEN_BY_A_QUALIFYING_DEALER[category])
    assert result.hand is category
    assert wager(result, "trips") == (WIN, TRIPS_ODDS[category] * TRIPS)


@pytest.mark.parametrize("category", [category for category in TRIPS_ODDS if category in TIED_ON_THE_BOARD])
def test_trips_is_paid_the_same_on_equal_hands(category):
    result = settle(TIED_ON_THE_BOARD[category], "2c 3d", "2d 3c")
    assert wager(result, "trips") == (WIN, TRIPS_ODDS[category] * TRIPS)


def test_trips_is_paid_where_the_dealer_does_not_qualify():
    assert wager(settle(*NO_PAIR, "Tc 8h"), "trips") == (WIN, 4 * TRIPS)


@pytest.mark.parametrize(
    "deal",
    [
        BEATS_THE_DEALER[Category.TWO_PAIRS],
        BEATS_THE_DEALER[Category.ONE_PAIR],
        BEATEN_BY_A_QUALIFYING_DEALER[Category.TWO_PAIRS],
        (*NO_PAIR, "Ac 2d"),
    ],
)
def test_trips_loses_below_three_of_a_kind_even_where_the_player_beats_the_dealer(deal):
    assert wager(settle(*deal), "trips") == (LOSE, 0)


@pytest.mark.parametrize("category", TRIPS_ODDS)
def test_no_trips_wager_is_paid_nothing(category):
    board, dealer, hole = map(parse, BEATS_THE_DEALER[category])
    (result,) = law.settle_table(board, dealer, [HoldemPlayer(1, hole, ANTE, ANTE, ANTE)])
    assert result.trips.paid_cents == 0


# --- 9.8: the play wager ---


@pytest.mark.parametrize("times", [1, 2, 3, 4])
@pytest.mark.parametrize("deal", [*BEATS_THE_DEALER.values(), (*NO_PAIR, "Ac 2d"), (*NO_PAIR, "Tc 8h")])
def test_a_play_wager_wins_even_money_on_a_higher_hand_whether_or_not_the_dealer_qualifies(deal, times):
    assert wager(settle(*deal, play_cents=times * ANTE), "play") == (WIN, times * ANTE)


@pytest.mark.parametrize("deal", [*BEATEN_BY_A_QUALIFYING_DEALER.values(), ("Ks Jh 9d 7c 3d", "Ah Qh", "Ac 2d")])
def test_a_play_wager_loses_to_a_higher_hand_whether_or_not_it_qualifies(deal):
    assert wager(settle(*deal), "play") == (LOSE, 0)


@pytest.mark.parametrize("board", [*TIED_ON_THE_BOARD.values(), "Ks Jh 9d 8c 7d"])
def test_a_play_wager_pushes_on_equal_hands(board):
    assert wager(settle(board, "2c 3d", "2d 3c"), "play") == (PUSH, 0)


# --- 10.1: the maximum payout ---


@pytest.mark.parametrize(
    ("max_payout", "paid"), [(None, 5_000_00), (5_000_00, 5_000_00), (4_999_99, 4_999_99), (1_00, 1_00), (0, 0)]
)
def test_only_the_blind_is_paid_up_to_the_maximum_payout(max_payout, paid):
    result = settle(*BEATS_THE_DEALER[Category.ROYAL_FLUSH], max_payout)
    assert wager(result, "blind") == (WIN, paid)
    assert (wager(result, "ante"), wager(result, "play")) == ((WIN, ANTE), (WIN, PLAY))
    assert wager(result, "trips") == (WIN, 50 * TRIPS)


@pytest.mark.parametrize("max_payout", [-1, True, 1.5, "500"])
@pytest.mark.parametrize("category", [Category.ROYAL_FLUSH, Category.ONE_PAIR])
def test_a_maximum_payout_that_is_no_amount_of_money_is_refused(max_payout, category):
    with pytest.raises(RulesError):
        settle(*BEATS_THE_DEALER[category], max_payout)


# --- folds ---


@pytest.mark.parametrize("hole", ["As Ks", None])
@pytest.mark.parametrize("play", [0, ANTE, PLAY])
def test_a_fold_loses_all_four_wagers_with_any_cards(hole, play):
    result = settle("Ts Js Qs 2c 3d", "2h 3h", hole, folded=True, play_cents=play)
    assert [wager(result, name) for name in WAGERS] == [(LOSE, 0)] * 4


def test_a_player_may_fold_with_ante_and_blind_alone_on_the_table():
    board, dealer, hole = map(parse, BEATS_THE_DEALER[Category.ROYAL_FLUSH])
    (result,) = law.settle_table(board, dealer, [HoldemPlayer(1, hole, ANTE, ANTE, folded=True)])
    assert [wager(result, name) for name in WAGERS] == [(LOSE, 0)] * 4
    assert result.ante.clause == "NI2025-411 r 8.6"


def test_a_fold_loses_its_ante_too_where_the_dealer_does_not_qualify():
    assert wager(settle(*NO_PAIR, "Ac 2d", folded=True, play_cents=0), "ante") == (LOSE, 0)


# --- the clause that settles each wager ---


@pytest.mark.parametrize(
    ("deal", "clauses"),
    [
        (BEATS_THE_DEALER[Category.STRAIGHT], ("9.5(a)", "9.6(a)", "9.8(a)", "9.7(a)")),
        (BEATS_THE_DEALER[Category.ONE_PAIR], ("9.5(a)", "9.6(c)", "9.8(a)", "9.7(b)")),
        (BEATEN_BY_A_QUALIFYING_DEALER[Category.STRAIGHT], ("9.5(b)", "9.6(b)", "9.8(b)", "9.7(a)")),
        ((TIED_ON_THE_BOARD[Category.ONE_PAIR], "2c 3d", "2d 3c"), ("9.5(c)", "9.6(c)", "9.8(c)", "9.7(b)")),
        ((*NO_PAIR, "Ac 2d"), ("9.5(c)", "9.6(c)", "9.8(a)", "9.7(b)")),
        (("Ks Jh 9d 7c 3d", "Ah Qh", "Ac 2d"), ("9.5(c)", "9.6(b)", "9.8(b)", "9.7(b)")),
    ],
)
def test_each_wager_names_the_clause_that_settles_it(deal, clauses):
    result = settle(*deal)
    assert [getattr(result, name).clause for name in WAGERS] == [f"NI2025-411 r {number}" for number in clauses]


@pytest.mark.parametrize(("play", "number"), [(0, "8.6"), (PLAY, "9.1")])
def test_a_fold_names_8_6_and_a_conceded_hand_9_1(play, number):
    result = settle(*NO_PAIR, "Ac 2d", folded=True, play_cents=play)
    assert {getattr(result, name).clause for name in WAGERS} == {f"NI2025-411 r {number}"}


# --- 4.3, 4.5, 8.1, 8.3, 8.5, 13.1: refused rounds ---


@pytest.mark.parametrize(("ante", "blind"), [(0, 0), (0, ANTE), (ANTE, 0), (ANTE, ANTE - 1), (ANTE, 2 * ANTE)])
@pytest.mark.parametrize("folded", [False, True])
def test_the_blind_equals_the_ante_and_trips_needs_both(ante, blind, folded):
    with pytest.raises(RoundError, match="must equal its ante"):
        settle(*NO_PAIR, "Ac 2d", ante_cents=ante, blind_cents=blind, play_cents=ante, folded=folded)


@pytest.mark.parametrize("play", [0, 1, ANTE - 1, ANTE + 1, 5 * ANTE, 25_00])
def test_the_play_wager_is_one_two_three_or_four_times_the_ante(play):
    with pytest.raises(RoundError, match="must be one, two, three or four times its ante of 1000"):
        settle(*NO_PAIR, "Ac 2d", play_cents=play)


@pytest.mark.parametrize("play", [1, 5 * ANTE])
def test_a_conceded_play_wager_too_is_one_to_four_times_the_ante(play):
    with pytest.raises(RoundError, match="must be one, two, three or four times"):
        settle(*NO_PAIR, "Ac 2d", play_cents=play, folded=True)


@pytest.mark.parametrize("bad", [-1, True, 10.0, "1000", None])
@pytest.mark.parametrize("field", ["ante_cents", "blind_cents", "play_cents", "trips_cents"])
def test_a_wager_is_a_whole_number_of_cents(field, bad):
    with pytest.raises(RoundError, match="whole number of cents"):
        settle(*NO_PAIR, "Ac 2d", **{field: bad})


def test_a_player_who_neither_folds_nor_shows_hole_cards_cannot_be_settled():
    with pytest.raises(RoundError, match="box 1 has not folded and shows no hole cards"):
        settle(*NO_PAIR, None)


@pytest.mark.parametrize(
    ("board", "dealer", "hole"),
    [
        ("Ks Jh 9d 7c", "5h 2h", "Ac 2d"),
        ("Ks Jh 9d 7c 3d 4d", "5h 2h", "Ac 2d"),
        ("Ks Jh 9d 7c 3d", "5h", "Ac 2d"),
        ("Ks Jh 9d 7c 3d", "5h 2h 2s", "Ac 2d"),
        ("Ks Jh 9d 7c 3d", "5h 2h", "Ac"),
        ("Ks Jh 9d 7c 3d", "5h 2h", "Ac 2d 2s"),
    ],
)
def test_an_incorrect_number_of_cards_is_a_misdeal_and_not_settled(board, dealer, hole):
    with pytest.raises(HandError):
        settle(board, dealer, hole)


@pytest.mark.parametrize(("dealer", "hole"), [("5h 2h", "5h Ac"), ("5h 2h", "Ks Ac"), ("5h Ks", "Ac 2d")])
def test_no_card_is_in_two_places(dealer, hole):
    with pytest.raises(CardError):
        settle("Ks Jh 9d 7c 3d", dealer, hole)


def test_the_joker_is_not_in_the_deck():
    with pytest.raises(CardError):
        settle(*NO_PAIR, "Ac Jk")


@pytest.mark.parametrize("box", [0, -1, True, 1.0, "1", None])
def test_a_box_is_numbered_from_one(box):
    with pytest.raises(RoundError, match="numbered from 1"):
        settle(*NO_PAIR, "Ac 2d", box=box)


def test_one_wager_to_a_box():
    with pytest.raises(RoundError, match="box 2 is listed twice"):
        law.settle_table(parse(NO_PAIR[0]), parse(NO_PAIR[1]), [seated("Ac 2d", box=2), seated("Ad 2c", box=2)])


def test_the_instrument_leaves_no_choice_of_deck():
    with pytest.raises(OptionError):
        law.load(deck=40)


# --- a whole table ---


def test_each_player_is_settled_alone_and_answered_in_the_order_given():
    players = [
        seated("As Ks", box=5),
        seated("9c 9d", box=3, play_cents=3 * ANTE),
        seated("4c 5c", box=1, folded=True, play_cents=0),
    ]
    board, dealer = parse("Ts Js Qs 2c 3d"), parse("2h 3h")
    for order in permutations(players):
        results = law.settle_table(board, dealer, order)
        assert [result.box for result in results] == [player.box for player in order]
        paid = {result.box: [getattr(result, name).paid_cents for name in WAGERS] for result in results}
        assert paid == {5: [ANTE, 500 * ANTE, PLAY, 50 * TRIPS], 3: [0, 0, 0, 0], 1: [0, 0, 0, 0]}


def test_an_ace_low_straight_counts_and_five_of_seven_cards_make_the_hand():
    result = settle("5s 4h 3d Kc Kd", "Qh Qs", "Ac 2d")
    assert result.hand is Category.STRAIGHT
    assert wager(result, "blind") == (WIN, ANTE)
