"""NI2005-64 and NI2005-74 rr 13-15: pots, commission and their division (reading 29), in Manila and in Stud.

Amounts are in cents, written so that the dollars can be read: 19_01 is $19.01.
"""

from itertools import permutations
from typing import NamedTuple

import pytest

import rules
from rules import CardError, HandError, RoundError, parse
from rules.pots import Commission, Player, Pot, Showdown, Terms, build_pots, commission, divide, settle_pots, uncalled

BIG_CAP = 1_000_000_00


class Table(NamedTuple):
    """A game, and hands by name that may all be dealt in one round unless they share a card.

    aces > kings > queens > jacks > ace_king_a = ace_king_b = ace_king_c > nothing.
    """

    instrument: str
    law: str
    board: str | None
    hands: dict[str, str]

    def settle(
        self,
        players: dict[int, tuple],
        button: int = 10,
        *,
        chip: int = 1,
        rate: Commission | None = None,
        **options: object,
    ) -> Showdown:
        """Players by seat: (name of the hand, put in[, ante or blind]); a name after a minus sign has folded."""
        seated = []
        for seat, (name, put_in, *forced) in players.items():
            hole = self.hands.get(name.removeprefix("-"))
            seated.append(Player(seat, parse(hole) if hole else None, put_in, *forced, folded=name.startswith("-")))
        board = parse(self.board) if self.board else None
        return settle_pots(rules.load(self.instrument, **options), seated, Terms(button, chip, rate), board)


MANILA = Table(
    "canberra-manila-2005",
    "NI2005-64",
    "2c 5d 7h 9s Jc",
    {
        "aces": "Ac Ad",
        "kings": "Kc Kd",
        "queens": "Qc Qd",
        "jacks": "Tc Td",
        "ace_king_a": "Ah Kh",
        "ace_king_b": "As Ks",
        "ace_king_c": "Ac Kc",
        "nothing": "Qh 8d",
    },
)
STUD = Table(
    "seven-card-stud-2005",
    "NI2005-74",
    None,
    {
        "aces": "Ac Ad 2c 4d 6h 8s Tc",
        "kings": "Kc Kd 2d 4h 6s 8c Th",
        "queens": "Qc Qd 2h 4s 6c 8d Ts",
        "jacks": "Jc Jd 2s 4c 6d 8h Td",
        "ace_king_a": "Ah Kh 3c 5d 7h 9s Jh",
        "ace_king_b": "As Ks 3d 5h 7s 9c Js",
        "ace_king_c": "Ac Kc 3h 5c 7d 9d Jc",
        "nothing": "Qh Tc 8c 6h 4d 3s 2c",
    },
)


@pytest.fixture(params=[MANILA, STUD], ids=["manila", "stud"])
def table(request) -> Table:
    return request.param


def player(seat: int, put_in: int, *, folded: bool = False) -> Player:
    return Player(seat, None, put_in, folded=folded)


# --- 13.1: the winning hand ---


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("aces", "kings"),
        ("kings", "queens"),
        ("queens", "jacks"),
        ("jacks", "ace_king_a"),
        ("ace_king_b", "nothing"),
    ],
)
def test_the_higher_hand_wins_the_pot(table, better, worse):
    showdown = table.settle({3: (worse, 50_00), 8: (better, 50_00)})
    assert showdown.paid == {8: 100_00}
    assert showdown.pots[0].high_winners == (8,)
    assert showdown.pots[0].low_winners == ()


def test_the_showdown_has_the_hands_of_the_players_still_in(table):
    showdown = table.settle({3: ("aces", 50_00), 5: ("-kings", 50_00), 8: ("queens", 50_00)})
    described = {seat: (high.describe(), low) for seat, (high, low) in showdown.hands.items()}
    assert described == {3: ("One pair, aces", None), 8: ("One pair, queens", None)}


def test_manila_plays_both_hole_cards_so_the_board_alone_wins_nothing():
    game = rules.load("canberra-manila-2005")
    seated = [Player(1, parse("2c 3d"), 50_00), Player(2, parse("Ac Ad"), 50_00)]
    showdown = settle_pots(game, seated, Terms(10, 1), parse("As Ks Qs Js Ts"))
    assert showdown.paid == {2: 100_00}


def test_stud_plays_any_five_of_seven_and_a_communal_card_as_the_seventh_where_cards_ran_short():
    game = rules.load("seven-card-stud-2005")
    seated = [Player(1, parse("As Ks Qs Js 2c 3d"), 50_00), Player(2, parse("9c 9d 9h 4c 4d 5h"), 50_00)]
    assert settle_pots(game, seated, Terms(10, 1), parse("Ts")).paid == {1: 100_00}
    assert settle_pots(game, seated, Terms(10, 1), parse("9s")).paid == {2: 100_00}


def test_with_a_reduced_deck_a_flush_takes_the_pot_from_a_full_house():
    holes = {1: "As 9s", 2: "Kc Kd"}
    board = parse("Ks Js 8s 8h Jd")
    seated = [Player(seat, parse(hole), 50_00) for seat, hole in holes.items()]
    assert settle_pots(rules.load("canberra-manila-2005", deck=32), seated, Terms(10, 1), board).paid == {1: 100_00}
    assert settle_pots(rules.load("canberra-manila-2005", deck=52), seated, Terms(10, 1), board).paid == {2: 100_00}


# --- 10.4(a), 12.4(a): a single player left ---


@pytest.mark.parametrize("win", ["high", "low", "high_low"])
def test_a_player_left_alone_wins_every_pot_without_showing(table, win):
    showdown = table.settle({3: ("", 50_00), 5: ("-", 20_00), 8: ("-", 50_00)}, win=win)
    assert showdown.paid == {3: 120_00}
    assert showdown.pots[0].high_winners + showdown.pots[0].low_winners == (3,)
    assert showdown.hands == {3: (None, None)}


def test_a_player_left_alone_gets_back_the_uncalled_part_and_wins_the_rest(table):
    showdown = table.settle({3: ("", 80_00), 5: ("-", 20_00), 8: ("-", 50_00)})
    assert (showdown.returned_to, showdown.returned_cents) == (3, 30_00)
    assert showdown.paid == {3: 120_00}


def test_a_player_left_alone_pays_commission_on_the_called_part(table):
    showdown = table.settle({3: ("", 80_00), 5: ("-", 20_00), 8: ("-", 50_00)}, rate=Commission(5, BIG_CAP))
    assert showdown.commission_cents == 6_00
    assert showdown.paid == {3: 114_00}


# --- 15.2(b): an uncalled bet ---


@pytest.mark.parametrize(
    ("put_in", "returned"),
    [
        ([50_00, 50_00], (None, 0)),
        ([50_00, 20_00], (1, 30_00)),
        ([20_00, 50_00], (2, 30_00)),
        ([20_00, 50_00, 50_00], (None, 0)),
        ([20_00, 50_00, 49_99], (2, 1)),
        ([0, 0, 0], (None, 0)),
        ([0, 5_00, 0], (2, 5_00)),
    ],
)
def test_the_unmet_part_of_the_highest_stake_is_returned(put_in, returned):
    assert uncalled([player(seat, cents) for seat, cents in enumerate(put_in, start=1)]) == returned


def test_a_folded_players_money_too_can_meet_the_highest_stake():
    assert uncalled([player(1, 50_00), player(2, 50_00, folded=True), player(3, 10_00)]) == (None, 0)


def test_a_player_who_folded_on_the_highest_stake_gets_back_its_unmet_part_and_the_rest_stays_in(table):
    showdown = table.settle({1: ("-aces", 80_00), 4: ("kings", 50_00), 6: ("queens", 50_00)})
    assert (showdown.returned_to, showdown.returned_cents) == (1, 30_00)
    assert showdown.paid == {4: 150_00}


def test_uncalled_money_forms_no_pot_and_wins_nothing(table):
    showdown = table.settle({3: ("aces", 20_00), 8: ("kings", 50_00)})
    assert [pot.amount_cents for pot in showdown.pots] == [40_00]
    assert (showdown.returned_to, showdown.returned_cents) == (8, 30_00)
    assert showdown.paid == {3: 40_00}


def test_uncalled_money_bears_no_commission(table):
    showdown = table.settle({3: ("aces", 10_00), 8: ("kings", 90_00)}, rate=Commission(5, BIG_CAP))
    assert showdown.commission_cents == 1_00
    assert showdown.paid == {3: 19_00}


# --- 14.2: tapping out ---


@pytest.mark.parametrize(
    ("stakes", "live", "pots"),
    [
        ({1: 50, 2: 50}, {1, 2}, [Pot(100, (1, 2))]),
        ({1: 10, 2: 30, 3: 30}, {1, 2, 3}, [Pot(30, (1, 2, 3)), Pot(40, (2, 3))]),
        (
            {1: 10, 2: 30, 3: 60, 4: 60},
            {1, 2, 3, 4},
            [Pot(40, (1, 2, 3, 4)), Pot(60, (2, 3, 4)), Pot(60, (3, 4))],
        ),
        ({1: 10, 2: 10, 3: 60, 4: 60}, {1, 2, 3, 4}, [Pot(40, (1, 2, 3, 4)), Pot(100, (3, 4))]),
        ({4: 60, 3: 60, 2: 10, 1: 10}, {4, 3, 2, 1}, [Pot(40, (1, 2, 3, 4)), Pot(100, (3, 4))]),
    ],
)
def test_there_is_one_pot_for_each_tap_out_level(stakes, live, pots):
    assert build_pots(stakes, live) == pots


@pytest.mark.parametrize(
    ("stakes", "live", "pots"),
    [
        ({1: 50, 2: 50, 3: 20}, {1, 2}, [Pot(120, (1, 2))]),
        ({1: 10, 2: 30, 3: 30, 4: 20}, {1, 2, 3}, [Pot(40, (1, 2, 3)), Pot(50, (2, 3))]),
        ({1: 10, 2: 30, 3: 30, 4: 5}, {1, 2, 3}, [Pot(35, (1, 2, 3)), Pot(40, (2, 3))]),
        ({1: 10, 2: 30, 3: 60, 4: 60}, {1, 2}, [Pot(40, (1, 2)), Pot(120, (2,))]),
        ({1: 10, 2: 10, 3: 60, 4: 60}, {1, 2}, [Pot(140, (1, 2))]),
    ],
)
def test_folded_money_stays_in_and_beyond_every_stake_still_in_it_joins_the_last_pot(stakes, live, pots):
    assert build_pots(stakes, live) == pots


@pytest.mark.parametrize(
    ("stakes", "live", "pots"),
    [
        ({1: 0, 2: 30, 3: 30}, {1, 2, 3}, [Pot(60, (2, 3))]),
        ({1: 0, 2: 0}, {1, 2}, [Pot(0, (1, 2))]),
        ({1: 0, 2: 30, 3: 30}, {1}, [Pot(60, (1,))]),
    ],
)
def test_a_level_at_which_nothing_was_put_in_is_no_pot(stakes, live, pots):
    assert build_pots(stakes, live) == pots


def test_a_tapped_out_player_wins_only_the_pots_formed_up_to_then_and_the_next_hands_win_the_others(table):
    showdown = table.settle({1: ("aces", 10_00), 4: ("kings", 30_00), 6: ("queens", 60_00), 9: ("jacks", 60_00)})
    assert [(pot.amount_cents, pot.eligible, pot.high_winners) for pot in showdown.pots] == [
        (40_00, (1, 4, 6, 9), (1,)),
        (60_00, (4, 6, 9), (4,)),
        (60_00, (6, 9), (6,)),
    ]
    assert showdown.paid == {1: 40_00, 4: 60_00, 6: 60_00}


def test_a_tapped_out_player_with_the_worse_hand_wins_nothing(table):
    showdown = table.settle({1: ("jacks", 10_00), 4: ("aces", 60_00), 6: ("queens", 60_00)})
    assert showdown.paid == {4: 130_00}


def test_a_folded_hand_wins_nothing_even_if_it_was_the_best(table):
    showdown = table.settle({1: ("-aces", 60_00), 4: ("kings", 60_00), 6: ("queens", 60_00)})
    assert showdown.paid == {4: 180_00}
    assert showdown.pots[0].eligible == (4, 6)


def test_a_tie_in_the_main_pot_does_not_share_the_side_pot(table):
    showdown = table.settle({1: ("ace_king_a", 10_00), 4: ("ace_king_b", 60_00), 6: ("nothing", 60_00)}, chip=1_00)
    assert showdown.paid == {1: 15_00, 4: 15_00 + 100_00}


# --- 13.2: division ---


@pytest.mark.parametrize(
    ("cents", "winners", "button", "chip", "shares"),
    [
        (100_00, [2], 1, 1_00, {2: 100_00}),
        (100_00, [2, 5], 1, 1_00, {2: 50_00, 5: 50_00}),
        (25_00, [2, 5], 1, 1_00, {2: 13_00, 5: 12_00}),
        (25_00, [2, 5], 1, 50, {2: 12_50, 5: 12_50}),
        (25_00, [2, 5], 1, 5_00, {2: 15_00, 5: 10_00}),
        (100_00, [2, 5, 8], 1, 1_00, {2: 34_00, 5: 33_00, 8: 33_00}),
        (101_00, [2, 5, 8], 1, 1_00, {2: 35_00, 5: 33_00, 8: 33_00}),
        (4_00, [2, 5, 8], 1, 5_00, {2: 4_00, 5: 0, 8: 0}),
        (10_03, [2, 5], 1, 1_00, {2: 5_03, 5: 5_00}),
    ],
)
def test_a_pot_is_divided_equally_in_smallest_chips_and_one_winner_gets_all_that_cannot_be(
    cents, winners, button, chip, shares
):
    assert divide(cents, winners, Terms(button, chip)) == shares


@pytest.mark.parametrize(
    ("button", "winners", "nearest"),
    [
        (1, [2, 5], 2),
        (2, [2, 5], 5),
        (3, [2, 5], 5),
        (4, [2, 5], 5),
        (5, [2, 5], 2),
        (6, [2, 5], 2),
        (10, [1, 10], 1),
        (9, [1, 10], 10),
        (1, [1, 10], 10),
        (10, [9, 10], 9),
        (7, [7, 6, 5], 5),
        (7, [7, 6, 8], 8),
    ],
)
def test_the_odd_amount_goes_to_the_winner_nearest_clockwise_from_the_button_whose_own_seat_is_last(
    button, winners, nearest
):
    for order in permutations(winners):
        shares = divide(len(winners) + 1, order, Terms(button, 1))
        assert shares == {seat: 2 if seat == nearest else 1 for seat in winners}


def test_equal_hands_divide_the_pot_and_the_odd_chip_goes_clockwise_from_the_button(table):
    players = {2: ("ace_king_a", 25_00), 5: ("ace_king_b", 25_00), 8: ("nothing", 25_00)}
    assert table.settle(players, button=5, chip=1_00).paid == {2: 38_00, 5: 37_00}
    assert table.settle(players, button=2, chip=1_00).paid == {2: 37_00, 5: 38_00}


def test_each_pot_is_divided_for_itself_so_each_has_its_own_odd_chip(table):
    players = {
        2: ("ace_king_a", 25_00),
        5: ("ace_king_b", 25_00),
        8: ("nothing", 25_00),
        7: ("-", 10_00),
        6: ("ace_king_c", 5_00),
    }
    showdown = table.settle(players, button=10, chip=1_00)
    assert [pot.amount_cents for pot in showdown.pots] == [25_00, 60_00 + 5_00]
    assert showdown.paid == {2: 9_00 + 33_00, 5: 8_00 + 32_00, 6: 8_00}


def test_the_order_in_which_players_are_entered_does_not_matter(table):
    players = {2: ("ace_king_a", 25_00), 5: ("ace_king_b", 60_00), 8: ("nothing", 90_00), 7: ("-", 10_00)}
    rate = Commission(5, BIG_CAP)
    results = [table.settle(dict(order), button=3, chip=1_00, rate=rate) for order in permutations(players.items())]
    first = results[0]
    assert all(
        (result.pots, result.paid, result.commission_cents, result.returned_to)
        == (first.pots, first.paid, first.commission_cents, first.returned_to)
        for result in results
    )


# --- 15.2(a): commission ---


@pytest.mark.parametrize(
    ("percent", "pots", "taken"),
    [
        (5, [19_00], [0]),
        (5, [19_00, 19_00], [0, 0]),
        (5, [19_01, 19_00], [1_00, 0]),
        (5, [19_00, 19_01], [0, 1_00]),
        (10, [9_00], [0]),
        (10, [9_00, 9_00], [0, 0]),
        (10, [9_01, 9_00], [1_00, 0]),
        (10, [9_00, 9_01], [0, 1_00]),
    ],
)
def test_a_pot_of_19_dollars_at_5_per_cent_or_9_at_10_pays_nothing_and_one_cent_more_brings_it(percent, pots, taken):
    assert commission(pots, Commission(percent, BIG_CAP)) == taken


@pytest.mark.parametrize(("folded", "commission_cents"), [(1_00, 0), (1_01, 1_00)])
def test_two_pots_of_19_dollars_bear_no_commission_at_the_table_and_a_cent_more_in_one_does(
    table, folded, commission_cents
):
    players = {1: ("aces", 6_00), 2: ("kings", 15_50), 3: ("queens", 15_50), 4: ("-", folded)}
    showdown = table.settle(players, rate=Commission(5, BIG_CAP))
    assert [pot.amount_cents for pot in showdown.pots] == [18_00 + folded, 19_00]
    assert showdown.commission_cents == commission_cents
    assert showdown.paid == {1: 18_00 + folded - commission_cents, 2: 19_00}


@pytest.mark.parametrize(
    ("percent", "pot", "taken"),
    [
        (5, 19_01, 0),
        (5, 19_99, 0),
        (5, 20_00, 1_00),
        (5, 39_99, 1_00),
        (5, 40_00, 2_00),
        (5, 1_000_00, 50_00),
        (10, 9_99, 0),
        (10, 10_00, 1_00),
        (10, 19_99, 1_00),
        (10, 1_000_00, 100_00),
    ],
)
def test_the_percentage_is_rounded_down_to_the_whole_dollar(percent, pot, taken):
    assert commission([pot], Commission(percent, BIG_CAP)) == [taken]


@pytest.mark.parametrize(("cap", "taken"), [(BIG_CAP, 50_00), (50_00, 50_00), (49_99, 49_99), (10_00, 10_00), (0, 0)])
def test_commission_is_taken_up_to_the_approved_maximum(cap, taken):
    assert commission([1_000_00], Commission(5, cap)) == [taken]


@pytest.mark.parametrize(
    ("pots", "taken"),
    [
        ([15_00, 15_00, 30_00], [0, 0, 3_00]),  # 5% of 60.00, though two of the pots are small
        ([30_00, 15_00, 15_00], [3_00, 0, 0]),
        ([100_00, 500_00], [30_00, 0]),
        ([25_00, 1_000_00], [25_00, 26_00]),  # 5% of 1,025.00 is 51.25: all of the main pot, then the side pot
        ([20_00, 5_00, 1_000_00], [20_00, 0, 31_00]),
        ([10_00, 12_00], [0, 0]),
    ],
)
def test_commission_is_of_all_pots_and_taken_main_pot_first_from_those_above_the_threshold(pots, taken):
    assert commission(pots, Commission(5, BIG_CAP)) == taken


def test_without_a_commission_on_pots_nothing_is_taken(table):
    assert commission([1_000_00, 50_00], None) == [0, 0]
    showdown = table.settle({1: ("aces", 500_00), 2: ("kings", 500_00)})
    assert (showdown.commission_cents, showdown.commission_clause) == (0, None)


@pytest.mark.parametrize(("percent", "number"), [(5, "15.2(a)(i)"), (10, "15.2(a)(ii)")])
def test_the_winner_is_paid_less_the_commission_which_names_its_clause(table, percent, number):
    showdown = table.settle({1: ("aces", 500_00), 2: ("kings", 500_00)}, rate=Commission(percent, BIG_CAP))
    assert showdown.pots[0].amount_cents == 1_000_00
    assert showdown.commission_cents == percent * 10_00
    assert showdown.paid == {1: 1_000_00 - percent * 10_00}
    assert showdown.commission_clause == f"{table.law} r {number}"


def test_the_pot_is_divided_after_the_commission(table):
    players = {1: ("ace_king_a", 25_00), 2: ("ace_king_b", 25_00), 3: ("nothing", 25_00)}
    showdown = table.settle(players, rate=Commission(5, BIG_CAP), chip=1_00)
    assert showdown.commission_cents == 3_00
    assert showdown.paid == {1: 36_00, 2: 36_00}


def test_a_pot_whose_commission_takes_all_of_it_pays_nothing(table):
    players = {1: ("aces", 10_00), 2: ("kings", 510_00), 3: ("queens", 510_00)}
    showdown = table.settle(players, rate=Commission(5, BIG_CAP))
    assert showdown.commission_cents == 51_00
    assert showdown.paid == {2: 1_000_00 - 21_00}


@pytest.mark.parametrize("percent", [0, 1, 7, 15, 100, -5, "5", None, True])
def test_the_commission_is_five_or_ten_per_cent(percent):
    with pytest.raises(RoundError, match="5 or 10 per cent"):
        Commission(percent, BIG_CAP)


@pytest.mark.parametrize("percent", [5.0, 10.0])
def test_a_commission_in_floating_point_is_refused(percent):
    with pytest.raises(RoundError):
        Commission(percent, BIG_CAP)


@pytest.mark.parametrize("cap", [-1, True, 1.0, "1", None])
def test_the_commissions_maximum_is_a_whole_number_of_cents(cap):
    with pytest.raises(RoundError, match="the commission's cap"):
        Commission(5, cap)


# --- 15.2(c): no commission if all who put money in stayed and tied ---


def charged(table: Table, players: dict[int, tuple], **options: object) -> tuple[int, str]:
    showdown = table.settle(players, rate=Commission(10, BIG_CAP), **options)
    return showdown.commission_cents, showdown.commission_clause.removeprefix(f"{table.law} r ")


def test_no_commission_where_two_players_alone_put_money_in_and_tied(table):
    assert charged(table, {1: ("ace_king_a", 50_00), 2: ("ace_king_b", 50_00)}) == (0, "15.2(c)")


def test_no_commission_where_three_players_tied_at_different_stakes(table):
    players = {1: ("ace_king_a", 20_00), 2: ("ace_king_b", 50_00), 3: ("ace_king_c", 80_00)}
    assert charged(table, players) == (0, "15.2(c)")


def test_no_commission_where_they_tied_and_one_who_folded_had_put_in_nothing(table):
    players = {1: ("ace_king_a", 50_00), 2: ("ace_king_b", 50_00), 3: ("-", 0)}
    assert charged(table, players) == (0, "15.2(c)")


def test_commission_where_they_tied_and_one_who_folded_had_put_money_in(table):
    players = {1: ("ace_king_a", 50_00), 2: ("ace_king_b", 50_00), 3: ("-", 1_00)}
    assert charged(table, players) == (10_00, "15.2(a)(ii)")


def test_commission_where_two_tied_and_a_third_stayed_and_lost(table):
    players = {1: ("ace_king_a", 50_00), 2: ("ace_king_b", 50_00), 3: ("nothing", 50_00)}
    assert charged(table, players) == (15_00, "15.2(a)(ii)")


def test_commission_where_two_tied_for_the_side_pot_only(table):
    players = {1: ("aces", 20_00), 2: ("ace_king_a", 50_00), 3: ("ace_king_b", 50_00)}
    assert charged(table, players) == (12_00, "15.2(a)(ii)")


def test_one_player_alone_is_no_tie(table):
    showdown = table.settle({1: ("", 50_00), 2: ("-", 0)}, rate=Commission(10, BIG_CAP))
    assert (showdown.returned_to, showdown.returned_cents) == (1, 50_00)
    assert (showdown.paid, showdown.commission_cents) == ({}, 0)
    assert showdown.commission_clause != f"{table.law} r 15.2(c)"


# --- 15.2(d): no commission if only antes and blinds are in ---


def test_no_commission_where_only_antes_are_in(table):
    players = {1: ("aces", 10_00, 10_00), 2: ("kings", 10_00, 10_00), 3: ("-", 10_00, 10_00)}
    assert charged(table, players) == (0, "15.2(d)")


def test_no_commission_where_only_blinds_are_in_and_the_big_blind_is_left_alone(table):
    assert charged(table, {1: ("-", 10_00, 10_00), 2: ("", 20_00, 20_00)}) == (0, "15.2(d)")


def test_no_commission_where_a_bet_on_top_of_the_antes_was_not_called(table):
    players = {1: ("-", 10_00, 10_00), 2: ("", 90_00, 10_00), 3: ("-", 10_00, 10_00)}
    assert charged(table, players) == (0, "15.2(d)")


def test_commission_where_one_dollar_more_than_the_blinds_was_bet_and_called(table):
    players = {1: ("-", 10_00, 10_00), 2: ("aces", 11_00, 10_00), 3: ("kings", 11_00, 10_00)}
    assert charged(table, players) == (3_00, "15.2(a)(ii)")


def test_commission_where_a_blind_was_called_by_a_player_without_one(table):
    players = {1: ("aces", 20_00, 20_00), 2: ("kings", 20_00)}
    assert charged(table, players) == (4_00, "15.2(a)(ii)")


# --- 3.5(b): the low game ---

LOWS = {
    MANILA.instrument: ("2c 4d 6h 8s Tc", {"six": "3c 5c", "seven": "3d 7c", "tie_seven": "3h 7d", "pair": "4c 6c"}),
    STUD.instrument: (
        None,
        {
            "six": "6c 5c 4d 3d 2c Kc Kd",
            "seven": "7c 5d 4c 3h 2d Kh Ks",
            "tie_seven": "7d 5h 4h 3s 2h Qc Qd",
            "pair": "Ac Ad Qh Jc 9c 8d 7h",
        },
    ),
}


def low_table(table: Table) -> Table:
    board, hands = LOWS[table.instrument]
    return table._replace(board=board, hands=hands)


def test_in_a_low_game_the_lowest_hand_wins_and_there_is_no_high_half(table):
    showdown = low_table(table).settle({1: ("six", 50_00), 2: ("seven", 50_00), 3: ("pair", 50_00)}, win="low")
    assert showdown.paid == {1: 150_00}
    assert (showdown.pots[0].high_winners, showdown.pots[0].low_winners) == ((), (1,))


def test_in_a_low_game_equal_hands_divide_the_pot_without_commission(table):
    showdown = low_table(table).settle(
        {1: ("seven", 50_00), 2: ("tie_seven", 50_00)}, win="low", rate=Commission(5, BIG_CAP)
    )
    assert showdown.paid == {1: 50_00, 2: 50_00}
    assert showdown.commission_clause == f"{table.law} r 15.2(c)"


def test_the_operator_determines_whether_the_lowest_or_the_highest_hand_wins(table):
    players = {1: ("seven", 50_00), 3: ("pair", 50_00)}
    assert low_table(table).settle(players, win="low").paid == {1: 100_00}
    assert low_table(table).settle(players, win="high").paid == {3: 100_00}
    assert low_table(table).settle(players, win="high_low").paid == {1: 50_00, 3: 50_00}


def test_eight_or_better_belongs_to_high_low_games_only(table):
    with pytest.raises(RoundError, match="eight or better is for high/low games"):
        low_table(table).settle({1: ("six", 50_00), 2: ("seven", 50_00)}, win="low", eight_or_better=True)


# --- 3.5(c), (d): high/low ---

HIGH_LOW = {
    MANILA.instrument: (
        "2c 4d 6h Ts Qc",
        {"high": "Qd Qh", "low": "3c 7c", "low_tie": "3d 7d", "high_tie": "Ac Kd", "high_tie_b": "Ad Kc"},
    ),
    STUD.instrument: (
        None,
        {
            "high": "Qc Qd Qh Ts 9c Td 9h",
            "low": "7c 6d 4c 3h 2d Kh Js",
            "low_tie": "7d 6h 4h 3s 2h Jc Kd",
            "high_tie": "Ac Kc Qs Jh 9s 9d 5c",
            "high_tie_b": "Ad Ks Qd Jd 9c 9h 5s",
        },
    ),
}


def split_table(table: Table) -> Table:
    board, hands = HIGH_LOW[table.instrument]
    return table._replace(board=board, hands=hands)


@pytest.mark.parametrize(
    ("put_in", "chip", "high", "low"),
    [
        (50_00, 1_00, 50_00, 50_00),
        (12_50, 1_00, 13_00, 12_00),
        (12_50, 50, 12_50, 12_50),
        (12_50, 5_00, 15_00, 10_00),
        (12_51, 1_00, 13_02, 12_00),
        (1_00, 5_00, 2_00, 0),
    ],
)
def test_the_low_half_is_half_the_pot_down_to_the_chip_and_the_rest_is_the_high_half(table, put_in, chip, high, low):
    showdown = split_table(table).settle({1: ("high", put_in), 2: ("low", put_in)}, chip=chip, win="high_low")
    assert showdown.pots[0].high_winners == (1,)
    assert showdown.pots[0].low_winners == (2,)
    assert showdown.paid == {seat: cents for seat, cents in {1: high, 2: low}.items() if cents}


def test_equal_low_hands_divide_the_low_half_and_its_odd_chip_goes_clockwise_from_the_button(table):
    players = {1: ("high", 25_00), 2: ("low", 25_00), 3: ("low_tie", 25_00), 4: ("-", 3_00)}
    assert split_table(table).settle(players, button=2, chip=1_00, win="high_low").paid == {
        1: 39_00,
        2: 19_00,
        3: 20_00,
    }
    assert split_table(table).settle(players, button=3, chip=1_00, win="high_low").paid == {
        1: 39_00,
        2: 20_00,
        3: 19_00,
    }


def test_one_player_can_win_both_halves(table):
    showdown = low_table(table).settle({1: ("six", 25_00), 3: ("pair", 25_00)}, chip=1_00, win="high_low")
    assert (showdown.pots[0].high_winners, showdown.pots[0].low_winners) == ((1,), (1,))
    assert showdown.paid == {1: 50_00}


def test_where_no_low_hand_qualifies_the_high_hand_takes_all(table):
    players = {1: ("high", 25_00), 2: ("high_tie", 25_00)}
    showdown = split_table(table).settle(players, win="high_low", eight_or_better=True)
    assert showdown.pots[0].low_winners == ()
    assert showdown.paid == {1: 50_00}


def test_where_a_low_hand_need_not_qualify_the_lowest_takes_its_half(table):
    players = {1: ("high", 25_00), 2: ("high_tie", 25_00)}
    showdown = split_table(table).settle(players, win="high_low")
    assert showdown.pots[0].low_winners == (2,)
    assert showdown.paid == {1: 25_00, 2: 25_00}


def test_an_eight_or_better_low_takes_its_half(table):
    players = {1: ("high", 25_00), 2: ("low", 25_00)}
    showdown = split_table(table).settle(players, win="high_low", eight_or_better=True)
    assert showdown.paid == {1: 25_00, 2: 25_00}


def test_each_pot_has_its_own_low_hand(table):
    players = {1: ("low", 10_00), 2: ("high", 30_00), 3: ("high_tie", 30_00)}
    showdown = split_table(table).settle(players, win="high_low", eight_or_better=True)
    assert [(pot.high_winners, pot.low_winners) for pot in showdown.pots] == [((2,), (1,)), ((2,), ())]
    assert showdown.paid == {1: 15_00, 2: 15_00 + 40_00}


def test_in_a_high_low_game_a_tie_in_both_halves_bears_no_commission(table):
    players = {1: ("low", 50_00), 2: ("low_tie", 50_00)}
    assert charged(split_table(table), players, win="high_low") == (0, "15.2(c)")


TIED_LOW_ONLY = {
    MANILA.instrument: ("2c 4c 6c Ts Qd", {"flush": "3c 7c", "odd_cards": "3d 7d"}),
    STUD.instrument: (None, {"flush": "7c 6c 4c 3c 2c Kh Ks", "odd_cards": "7d 6h 4h 3s 2h Jc Kd"}),
}


def test_in_a_high_low_game_a_tie_in_one_half_only_bears_commission(table):
    board, hands = TIED_LOW_ONLY[table.instrument]
    here = table._replace(board=board, hands=hands)
    players = {1: ("flush", 50_00), 2: ("odd_cards", 50_00)}
    showdown = here.settle(players, win="high_low", rate=Commission(10, BIG_CAP))
    assert (showdown.pots[0].high_winners, showdown.pots[0].low_winners) == ((1,), (1, 2))
    assert showdown.commission_cents == 10_00
    assert showdown.paid == {1: 45_00 + 22_50, 2: 22_50}


def test_where_no_low_qualifies_a_tie_for_the_high_half_alone_bears_no_commission(table):
    players = {1: ("high_tie", 50_00), 2: ("high_tie_b", 50_00)}
    assert charged(split_table(table), players, win="high_low", eight_or_better=True) == (0, "15.2(c)")


def test_commission_comes_off_before_the_halves(table):
    players = {1: ("high", 50_00), 2: ("low", 50_00)}
    showdown = split_table(table).settle(players, chip=1_00, win="high_low", rate=Commission(5, BIG_CAP))
    assert showdown.commission_cents == 5_00
    assert showdown.paid == {1: 48_00, 2: 47_00}


# --- refused rounds ---


def test_a_round_has_at_least_two_players(table):
    with pytest.raises(RoundError, match="at least two players"):
        table.settle({1: ("aces", 50_00)})
    with pytest.raises(RoundError, match="at least two players"):
        table.settle({})


def test_a_round_in_which_all_players_folded_is_refused(table):
    with pytest.raises(RoundError, match="everyone has folded"):
        table.settle({1: ("-aces", 50_00), 2: ("-kings", 50_00)})


@pytest.mark.parametrize("seat", [0, 11, -1, True, 1.0, "1", None])
def test_a_table_has_ten_seats(table, seat):
    with pytest.raises(RoundError, match="seat 1 to 10"):
        table.settle({seat: ("aces", 50_00), 2: ("kings", 50_00)})
    with pytest.raises(RoundError, match="the button sits at seat 1 to 10"):
        table.settle({1: ("aces", 50_00), 2: ("kings", 50_00)}, button=seat)


def test_one_player_to_a_seat():
    seated = [Player(3, parse("Ac Ad"), 50_00), Player(3, parse("Kc Kd"), 50_00)]
    with pytest.raises(RoundError, match="seat 3 is listed twice"):
        settle_pots(rules.load(MANILA.instrument), seated, Terms(1), parse(MANILA.board))


@pytest.mark.parametrize("cents", [-1, True, 1.0, "1", None])
def test_the_stake_of_a_seat_is_a_whole_number_of_cents(table, cents):
    with pytest.raises(RoundError, match="what seat 1 put in"):
        table.settle({1: ("aces", cents), 2: ("kings", 50_00)})
    with pytest.raises(RoundError, match="the ante or blind of seat 1"):
        table.settle({1: ("aces", 50_00, cents), 2: ("kings", 50_00)})


def test_an_ante_is_part_of_the_stake(table):
    with pytest.raises(RoundError, match="less than its ante or blind"):
        table.settle({1: ("aces", 50_00, 50_01), 2: ("kings", 50_00)})


@pytest.mark.parametrize("chip", [0, -1, True, 1.0, "1", None])
def test_the_smallest_chip_is_worth_at_least_a_cent(table, chip):
    with pytest.raises(RoundError, match="the smallest chip"):
        table.settle({1: ("aces", 50_00), 2: ("kings", 50_00)}, chip=chip)


def test_a_player_who_neither_folds_nor_shows_cannot_be_settled(table):
    with pytest.raises(RoundError, match="seat 2 has not folded and shows no cards"):
        table.settle({1: ("aces", 50_00), 2: ("", 50_00)})


def test_no_card_is_held_by_two_players_nor_by_one_who_folded(table):
    with pytest.raises(CardError, match="Ac is held by seat 1 and by seat 2"):
        table.settle({1: ("aces", 50_00), 2: ("ace_king_c", 50_00)})
    with pytest.raises(CardError, match="Ac is held by seat 1 and by seat 2"):
        table.settle({1: ("-aces", 50_00), 2: ("ace_king_c", 50_00), 3: ("queens", 50_00)})


def test_no_card_is_held_and_on_the_board():
    with pytest.raises(CardError, match="2c is held by the board and by seat 1"):
        MANILA._replace(hands={"a": "2c 3c", "b": "Ac Ad"}).settle({1: ("a", 50_00), 2: ("b", 50_00)})


@pytest.mark.parametrize("board", [None, "2c 5d 7h 9s", "2c 5d 7h 9s Jc 3d"])
def test_manila_is_decided_on_five_communal_cards(board):
    with pytest.raises(HandError, match="5 communal cards are needed"):
        MANILA._replace(board=board).settle({1: ("aces", 50_00), 2: ("kings", 50_00)})


def test_stud_has_one_communal_card_at_most():
    with pytest.raises(HandError, match="at most 1 communal card"):
        STUD._replace(board="3s 5s").settle({1: ("aces", 50_00), 2: ("kings", 50_00)})


def test_a_card_that_is_not_in_the_deck_in_play_is_refused(table):
    with pytest.raises(CardError, match="is not in a deck of 40 cards"):
        table.settle({1: ("aces", 50_00), 2: ("kings", 50_00)}, deck=40)
