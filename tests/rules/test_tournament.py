"""Tournament prizes for players who finish level: NI2016-268 r 17.23, NI2005-64 and NI2005-74 r 20.19 (reading 30)."""

import pytest

from rules import RoundError
from rules.tournament import rank_eliminated, share_prizes

# --- 17.21, 17.23: prizes ---


def test_every_place_wins_its_prize():
    paid = share_prizes([500_00, 300_00, 200_00], [["ann"], ["bob"], ["cy"], ["dee"]])
    assert paid == {"ann": 500_00, "bob": 300_00, "cy": 200_00, "dee": 0}


@pytest.mark.parametrize(
    ("finish", "paid"),
    [
        ([["ann", "bob"], ["cy"]], {"ann": 400_00, "bob": 400_00, "cy": 200_00}),
        ([["ann"], ["bob", "cy"]], {"ann": 500_00, "bob": 250_00, "cy": 250_00}),
        ([["ann"], ["bob", "cy", "dee"]], {"ann": 500_00, "bob": 166_67, "cy": 166_67, "dee": 166_66}),
        ([["ann", "bob", "cy"]], {"ann": 333_34, "bob": 333_33, "cy": 333_33}),
        ([["ann"], ["bob"], ["cy", "dee"]], {"ann": 500_00, "bob": 300_00, "cy": 100_00, "dee": 100_00}),
        ([["ann"], ["bob"], ["cy"], ["dee", "eve"]], {"ann": 500_00, "bob": 300_00, "cy": 200_00, "dee": 0, "eve": 0}),
    ],
)
def test_players_who_tie_share_the_prizes_of_the_places_they_cover(finish, paid):
    assert share_prizes([500_00, 300_00, 200_00], finish) == paid


@pytest.mark.parametrize(
    ("prize", "tied", "shares"),
    [
        (1, ["ann", "bob", "cy"], {"ann": 1, "bob": 0, "cy": 0}),
        (2, ["ann", "bob", "cy"], {"ann": 1, "bob": 1, "cy": 0}),
        (2, ["cy", "bob", "ann"], {"cy": 1, "bob": 1, "ann": 0}),
        (100_01, ["bob", "ann"], {"bob": 50_01, "ann": 50_00}),
    ],
)
def test_odd_cents_go_to_the_earliest_listed(prize, tied, shares):
    assert share_prizes([prize], [tied]) == shares


@pytest.mark.parametrize("prizes", [[], [0], [1], [1_000_03, 17, 5]])
@pytest.mark.parametrize(
    "finish",
    [
        [["ann"], ["bob"], ["cy"], ["dee"], ["eve"]],
        [["ann", "bob", "cy", "dee", "eve"]],
        [["ann", "bob"], ["cy", "dee", "eve"]],
        [["ann"], ["bob", "cy"], ["dee", "eve"]],
    ],
)
def test_all_of_the_prize_pool_goes_to_the_players(prizes, finish):
    paid = share_prizes(prizes, finish)
    assert sum(paid.values()) == sum(prizes)
    assert set(paid) == {"ann", "bob", "cy", "dee", "eve"}


def test_more_prizes_than_players_cannot_all_be_paid():
    with pytest.raises(RoundError, match="3 prizes for 2 players"):
        share_prizes([500_00, 300_00, 200_00], [["ann"], ["bob"]])


def test_a_player_cannot_finish_in_two_places():
    with pytest.raises(RoundError, match="bob finishes in two places"):
        share_prizes([500_00], [["ann", "bob"], ["bob"]])
    with pytest.raises(RoundError, match="ann finishes in two places"):
        share_prizes([500_00], [["ann", "ann"]])


def test_every_place_has_a_player():
    with pytest.raises(RoundError, match="no player is listed for place 2"):
        share_prizes([500_00], [["ann"], [], ["bob"]])


@pytest.mark.parametrize("prize", [-1, True, 1.0, "1", None])
def test_a_prize_is_a_whole_number_of_cents(prize):
    with pytest.raises(RoundError, match="the prize of place 2"):
        share_prizes([500_00, prize], [["ann"], ["bob"]])


# --- 20.19: players eliminated in the same round ---


def test_the_player_who_put_more_chips_into_the_last_pot_finishes_higher():
    assert rank_eliminated({"ann": 500, "bob": 2_000, "cy": 1_000}) == [["bob"], ["cy"], ["ann"]]


def test_players_who_put_in_the_same_tie_in_the_order_they_are_listed():
    assert rank_eliminated({"ann": 500, "bob": 2_000, "cy": 500, "dee": 2_000}) == [["bob", "dee"], ["ann", "cy"]]


def test_players_who_put_in_nothing_are_ranked_last():
    assert rank_eliminated({"ann": 0, "bob": 1}) == [["bob"], ["ann"]]


def test_without_eliminated_players_the_ranking_is_empty():
    assert rank_eliminated({}) == []


@pytest.mark.parametrize("chips", [-1, True, 1.0, "1", None])
def test_chips_put_in_are_a_whole_number(chips):
    with pytest.raises(RoundError, match="what bob put into the last pot"):
        rank_eliminated({"ann": 1, "bob": chips})


def test_a_final_that_three_leave_in_one_round_is_paid_by_chips_and_equals_share():
    finish = [["winner"], *rank_eliminated({"ann": 700, "bob": 700, "cy": 900})]
    paid = share_prizes([1_000_00, 500_00, 250_00, 100_01], finish)
    assert paid == {"winner": 1_000_00, "cy": 500_00, "ann": 175_01, "bob": 175_00}
