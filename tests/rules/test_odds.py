"""Exact odds against published figures and brute force."""

import random
import sys
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest

import rules
from rules import Category
from rules.errors import OptionError
from rules.jackpot_prizes import FixedFrom
from rules.odds import (
    CARIBBEAN_STUD_100_75_50,
    CARIBBEAN_STUD_150_100_50,
    Configuration,
    category_counts,
    chance_of_running_dry,
    prize_table,
    solvency,
    strength_counts,
    total_hands,
    trips_house_edge,
)
from rules.odds.returns import prize_counts
from rules.ranking import DeckOptions

SIZES = (52, 48, 44, 40, 36, 32)
FIVE_OF_52 = {
    "royal_flush": 4, "straight_flush": 36, "four_of_a_kind": 624, "full_house": 3_744, "flush": 5_108,
    "straight": 10_200, "three_of_a_kind": 54_912, "two_pairs": 123_552, "one_pair": 1_098_240,
    "five_odd_cards": 1_302_540,
}  # fmt: skip
SEVEN_OF_52 = {
    "royal_flush": 4_324, "straight_flush": 37_260, "four_of_a_kind": 224_848, "full_house": 3_473_184,
    "flush": 4_047_644, "straight": 6_180_020, "three_of_a_kind": 6_461_620, "two_pairs": 31_433_400,
    "one_pair": 58_627_800, "five_odd_cards": 23_294_460,
}  # fmt: skip
FIVE_OF_53 = {
    "royal_flush": 24, "five_of_a_kind": 13, "straight_flush": 180, "four_of_a_kind": 3_120, "full_house": 6_552,
    "flush": 7_804, "straight": 20_532, "three_of_a_kind": 137_280, "two_pairs": 123_552, "one_pair": 1_268_088,
    "five_odd_cards": 1_302_540,
}  # fmt: skip


@pytest.mark.parametrize(
    ("deck", "cards", "published"),
    [
        (DeckOptions(), 5, FIVE_OF_52),
        (DeckOptions(), 7, SEVEN_OF_52),
        (DeckOptions(joker=True), 5, FIVE_OF_53),
    ],
    ids=["five of 52", "seven of 52", "five of 52 and a wild Joker"],
)
def test_counts_are_the_published_ones(deck, cards, published):
    assert category_counts(deck, cards) == published


@pytest.mark.parametrize("cards", [5, 7])
@pytest.mark.parametrize("joker", [False, True])
@pytest.mark.parametrize("ace_low", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_every_deal_is_counted_once(size, joker, ace_low, cards):
    deck = DeckOptions(size, joker, ace_low)
    assert sum(strength_counts(deck, cards).values()) == comb(size + joker, cards) == total_hands(deck, cards)


@pytest.mark.parametrize(
    ("size", "joker", "ace_low"), [(32, False, True), (32, True, True), (32, True, False), (36, True, True)]
)
def test_five_card_counts_agree_with_counting_every_deal(size, joker, ace_low):
    game = rules.load("canberra-manila-2005", deck=size, joker=joker, ace_low=ace_low)
    walked = {}
    for five in combinations(rules.deck(size, joker=joker), 5):
        strength = game.strength(five)
        walked[strength] = walked.get(strength, 0) + 1
    assert strength_counts(game.deck, 5) == walked


@pytest.mark.parametrize("joker", [False, True])
def test_seven_card_counts_agree_with_a_sample_of_deals(joker):
    """Each category's share of 60,000 deals is within five standard deviations of the exact one."""
    game = rules.load("seven-card-stud-2005", deck=32, joker=joker, ace_low=True)
    cards, deals, shuffler = list(rules.deck(32, joker=joker)), 60_000, random.Random(7)
    seen = dict.fromkeys(Category, 0)
    for _ in range(deals):
        seen[game.ranking.category_of(game.best_strength(rules.Cards(shuffler.sample(cards, 7))))] += 1
    total = total_hands(game.deck, 7)
    for category, count in category_counts(game.deck, 7).items():
        chance = count / total
        assert abs(seen[category] - deals * chance) <= 5 * (deals * chance * (1 - chance)) ** 0.5 + 1


def test_a_count_of_six_cards_is_refused():
    with pytest.raises(OptionError, match="5 or 7 cards"):
        category_counts(DeckOptions(), 6)


def test_fixed_prizes_of_2016_cost_17305_of_32487_dollars_a_wager():
    assert prize_table("canberra-poker-2016").fixed_cost_per_wager == Fraction(17305, 32487)


@pytest.mark.parametrize(
    ("table", "wager_cents", "meter_cents"),
    [
        (prize_table("canberra-poker-2016"), 100, 15_981_053),
        (prize_table("canberra-poker-2016"), 200, 50_177_895),
        (prize_table("canberra-poker-1997"), 100, 14_938_947),
    ],
)
def test_break_even_to_the_nearest_cent(table, wager_cents, meter_cents):
    assert table.break_even_meter_cents(wager_cents) == meter_cents


@pytest.mark.parametrize(
    ("table", "dollars"), [(CARIBBEAN_STUD_100_75_50, 263_205), (CARIBBEAN_STUD_150_100_50, 246_784)]
)
def test_published_break_even_meters_of_caribbean_stud_to_the_dollar(table, dollars):
    assert table.break_even_meter_cents(100) // 100 == dollars


def test_at_the_break_even_meter_a_wager_returns_its_cost():
    table = prize_table("canberra-poker-2016")
    assert abs(table.expected_return(table.break_even_meter_cents(200)) - 2) < Fraction(1, 10**6)


def test_a_low_meter_returns_the_floors():
    table = prize_table("canberra-poker-2016")
    floors = Fraction(4 * 10_000 + 36 * 1_000, 2_598_960)
    assert table.expected_return(0) == table.fixed_cost_per_wager + floors == table.expected_return(1_000_000)


def test_the_return_grows_with_the_meter_by_the_tenths_and_the_whole():
    table = prize_table("canberra-poker-2016")
    step = table.expected_return(20_000_000) - table.expected_return(10_000_000)
    assert step == Fraction(100_000 * 4 + 10_000 * 36, 2_598_960)


def test_trips_house_edge_is_3_4979_per_cent():
    assert round(float(trips_house_edge()) * 100, 4) == 3.4979


def test_dead_mans_hands_are_1584_and_no_other_two_pairs():
    assert prize_counts()["dead_mans_hand"] == 6 * 6 * 44


def test_a_royal_comes_every_649740_wagers_on_average():
    assert prize_table("canberra-poker-2016").mean_wagers_to_royal == 649_740


def test_the_mean_pool_at_a_royal_with_the_defaults():
    pool = prize_table("canberra-poker-2016").mean_pool_at_royal_cents(200, 7_000, 1_000_000)
    assert round(pool) == 48_401_895


@pytest.mark.parametrize("rules_id", ["canberra-poker-2016", "canberra-poker-1997"])
def test_the_mean_pool_at_a_royal_agrees_with_summing_wager_by_wager(rules_id):
    """Royals are made far more frequent than real, so that the series ends soon."""
    table = prize_table(rules_id)
    royal, straight = float(table.chance("royal_flush")), float(table.chance("straight_flush"))
    gain = 200 * 0.7 if table.pools_winning_wagers else 200 * 0.7 * float(1 - table.chance_of_any)
    pool = 1_000_000.0 + (gain if table.pools_winning_wagers else 0)
    keeps = 1 - 0.1 * straight / (1 - royal)
    alive, mean, wagers = 1.0, 0.0, 0
    while alive > 1e-9:
        step = min(1_000, max(1, wagers // 1_000))
        mean += alive * (1 - (1 - royal) ** step) * pool
        for _ in range(step):
            pool = pool * keeps + (gain if table.pools_winning_wagers else gain / (1 - royal))
        alive *= (1 - royal) ** step
        wagers += step
    assert mean == pytest.approx(float(table.mean_pool_at_royal_cents(200, 7_000, 1_000_000)), rel=2e-3)


def test_with_the_default_configuration_the_reserve_grows():
    reserve = solvency(prize_table("canberra-poker-2016"), Configuration())
    assert (float(reserve.reserve_gain), round(float(reserve.fixed_cost), 4)) == (0.60, 0.5327)
    assert round(float(reserve.reset_cost), 4) == 0.0154
    assert not reserve.starves
    assert reserve.drift == reserve.reserve_gain - reserve.fixed_cost - reserve.reset_cost


def test_with_a_one_dollar_wager_at_70_30_the_reserve_shrinks():
    reserve = solvency(prize_table("canberra-poker-2016"), Configuration(wager_cents=100))
    assert reserve.starves
    assert reserve.drift < Fraction(-24, 100)


def test_the_reserve_pays_no_fixed_prizes_that_the_house_or_the_jackpot_pays():
    for payer in (FixedFrom.HOUSE, FixedFrom.JACKPOT):
        reserve = solvency(prize_table("canberra-poker-2016"), Configuration(fixed_prizes_from=payer))
        assert reserve.fixed_cost == 0


def test_in_1997_winning_wagers_do_not_go_to_the_reserve():
    table = prize_table("canberra-poker-1997")
    winning = Fraction(4 + 36 + 624 + 3_744 + 5_108 + 1_584, 2_598_960)
    assert solvency(table, Configuration()).reserve_gain == Fraction(60, 100) * (1 - winning)


def one_wager_at_a_time(table, configuration, reserve_cents, wagers):
    """Return the same probability in the slow and simple way."""
    payments = [(cents, float(table.chance(hand))) for hand, cents in table.fixed_cents.items()]
    payments.append((configuration.reset_cents, float(table.chance("royal_flush"))))
    quiet = 1 - sum(chance for _, chance in payments)
    share = configuration.wager_cents * (10_000 - configuration.jackpot_bps)
    states = {0: 1.0}
    for wager in range(1, wagers + 1):
        after = {}
        for paid, chance in states.items():
            after[paid] = after.get(paid, 0.0) + chance * quiet
            for cents, p in payments:
                if (paid + cents) * 10_000 <= reserve_cents * 10_000 + share * wager:
                    after[paid + cents] = after.get(paid + cents, 0.0) + chance * p
        states = after
    return 1 - sum(states.values())


@pytest.mark.parametrize("reserve_cents", [0, 9_940, 20_000, 55_000])
@pytest.mark.parametrize("wagers", [1, 83, 84, 400])
def test_the_chance_of_running_dry_agrees_with_one_wager_at_a_time(reserve_cents, wagers):
    table, configuration = prize_table("canberra-poker-2016"), Configuration(reset_cents=30_000)
    exact = one_wager_at_a_time(table, configuration, reserve_cents, wagers)
    assert chance_of_running_dry(table, configuration, reserve_cents, wagers) == pytest.approx(
        exact, rel=1e-9, abs=1e-12
    )


def test_the_chance_of_running_dry_is_the_same_without_numpy(monkeypatch):
    solvency_module = sys.modules["rules.odds.solvency"]
    table, configuration = prize_table("canberra-poker-2016"), Configuration()
    with_numpy = chance_of_running_dry(table, configuration, 200_000, 2_000)
    monkeypatch.setattr(solvency_module, "_convolve", solvency_module._convolve_plainly)
    solvency_module._paid_within.cache_clear()
    assert chance_of_running_dry(table, configuration, 200_000, 2_000) == pytest.approx(with_numpy, rel=1e-9)


def test_a_shrinking_reserve_runs_dry_almost_surely():
    table = prize_table("canberra-poker-2016")
    assert chance_of_running_dry(table, Configuration(wager_cents=100), 100_000, 30_000) > 0.99
    assert chance_of_running_dry(table, Configuration(), 100_000_000, 30_000) < 1e-9


@pytest.mark.parametrize(
    "bad",
    [{"wager_cents": 0}, {"wager_cents": 1.5}, {"jackpot_bps": 10_001}, {"jackpot_bps": -1}, {"reset_cents": True}],
)
def test_a_configuration_out_of_range_is_refused(bad):
    with pytest.raises(OptionError):
        Configuration(**bad)


def test_a_game_without_a_jackpot_has_no_prize_table():
    with pytest.raises(OptionError, match="no jackpot"):
        prize_table("canberra-manila-2005")
