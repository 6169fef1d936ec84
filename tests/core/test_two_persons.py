"""Two-person control, roles, and the site's operators."""

from fractions import Fraction

import pytest

from jackpot.core.administration import MAX_BOXES, MAX_PROPOSALS
from jackpot.core.commands import (
    CONTROLLER,
    Actor,
    Approve,
    CloseWagers,
    Confirm,
    Correct,
    CreateJackpot,
    Declare,
    Fold,
    LinkTable,
    OpenRound,
    ProposeAdjustment,
    ProposeConfig,
    ProposeRetirement,
    ReportMalfunction,
    ResumeTable,
    Role,
    SetMode,
    Settle,
    Unfold,
    UnlinkTable,
    VoidHand,
    VoidRound,
    Withdraw,
)
from jackpot.core.decide import decide
from jackpot.core.events import EventType
from jackpot.core.ledger import Account, Kind
from jackpot.core.results import Refused
from jackpot.core.site.commands import (
    INSTALLER,
    KEYHOLDER,
    AddJackpot,
    AddOperator,
    AddTable,
    ApproveManager,
    ProposeManager,
    RenewToken,
    RevokeOperator,
    StartSoftware,
    WithdrawManager,
)
from jackpot.core.site.decide import decide_site, joined_hash
from jackpot.core.site.evolve import evolve_site
from jackpot.core.site.state import Site, plain_site, site_from_plain
from jackpot.core.state import NEW, Phase
from jackpot.tokens import operator_of, token_hash
from rules.jackpot_prizes import FixedFrom
from tests.support.core_floor import (
    AT,
    AUDITOR,
    DEALER,
    FLUSH,
    MANAGER,
    NOTHING,
    OTHER_MANAGER,
    PAD,
    ROYALS,
    STRAIGHT_FLUSHES,
    SUPERVISOR,
    Floor,
    config,
)

THIRD_MANAGER = Actor("moe", Role.MANAGER)
NOT_MANAGERS = [SUPERVISOR, AUDITOR, DEALER, PAD]
NOT_SUPERVISORS = [AUDITOR, DEALER, PAD]


def named(actor):
    return actor.name


def proposed(config_, actor=MANAGER, reason="season"):
    return ProposeConfig(AT, actor, config_, reason)


def moved(source, target, cents, actor=MANAGER, *, reason="count", table=None, number=None):
    return ProposeAdjustment(AT, actor, Account(source), Account(target), cents, reason, table, number)


# Approved configurations.


def test_a_configuration_is_proposed_by_one_manager_and_approved_by_another():
    floor = Floor()
    number = floor.propose(wager_cents=500)
    assert floor.jackpot.config.wager_cents == 100
    assert floor.approve(number) == {"version": 2}
    assert floor.jackpot.config == config(version=2, wager_cents=500)
    assert floor.jackpot.proposals == {}


def test_the_trail_names_proposer_approver_change_and_reason():
    floor = Floor()
    floor.approve(floor.propose(wager_cents=500))
    proposed, approved = floor.events[-2:]
    assert (proposed.type, proposed.actor) == (EventType.CONFIG_PROPOSED, "max")
    assert (proposed.data["reason"], proposed.data["body"]["wager_cents"]) == ("season", 500)
    assert (approved.type, approved.actor) == (EventType.CONFIG_APPROVED, "mia")
    assert (approved.data["proposed_by"], approved.data["reason"]) == ("max", "season")
    assert (approved.data["config"]["version"], approved.data["config"]["wager_cents"]) == (2, 500)


def test_a_manager_never_approves_their_own_proposal():
    floor = Floor()
    number = floor.propose(wager_cents=500)
    assert floor.refusal(Approve(AT, MANAGER, number)) == "same_person"
    assert floor.jackpot.config.version == 1
    assert number in floor.jackpot.proposals


@pytest.mark.parametrize("actor", NOT_MANAGERS, ids=named)
def test_only_a_manager_proposes_approves_or_withdraws_a_configuration(actor):
    floor = Floor()
    assert floor.refusal(proposed(config(), actor)) == "forbidden"
    number = floor.propose(wager_cents=500)
    assert floor.refusal(Approve(AT, actor, number)) == "forbidden"
    assert floor.refusal(Withdraw(AT, actor, number, "no")) == "forbidden"


@pytest.mark.parametrize("reason", ["", "  ", "\n"])
def test_a_proposal_needs_a_reason(reason):
    floor = Floor()
    assert floor.refusal(proposed(config(), reason=reason)) == "malformed"
    assert floor.refusal(moved("house", "jackpot", 1, reason=reason)) == "malformed"


@pytest.mark.parametrize(
    "changes",
    [
        {"jackpot_bps": 7_000, "reserve_bps": 2_999},
        {"jackpot_bps": 7_000, "reserve_bps": 3_001},
        {"jackpot_bps": 10_001, "reserve_bps": -1},
        {"jackpot_bps": -1, "reserve_bps": 10_001},
        {"wager_cents": 0},
        {"wager_cents": -100},
        {"wager_cents": 10**15 + 1},
        {"reset_cents": -1},
        {"reset_cents": 10**15 + 1},
        {"confirm": ("royal_flush", "royal_sampler")},
        {"confirm": ("dead_mans_hand",)},
        {"confirm": ("straight",)},
    ],
    ids=str,
)
def test_an_invalid_configuration_is_refused_at_the_proposal(changes):
    floor = Floor()
    assert floor.refusal(proposed(config(**changes))) == "conflict"
    with pytest.raises(Refused) as refused:
        decide(NEW, CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", config(**changes), "mia", 0, 0))
    assert refused.value.code == "conflict"


@pytest.mark.parametrize(
    "changes",
    [
        {"jackpot_bps": 0, "reserve_bps": 10_000},
        {"jackpot_bps": 10_000, "reserve_bps": 0},
        {"wager_cents": 1},
        {"reset_cents": 0},
        {"confirm": ()},
        {"confirm": ("royal_flush", "straight_flush", "four_of_a_kind", "full_house", "flush")},
        {"fixed_prizes_from": FixedFrom.HOUSE},
        {"fixed_prizes_from": FixedFrom.JACKPOT},
    ],
    ids=str,
)
def test_a_configuration_at_the_limits_is_approved(changes):
    floor = Floor()
    floor.approve(floor.propose(**changes))
    assert floor.jackpot.config == config(version=2, **changes)


def test_the_dead_mans_hand_is_a_prize_to_confirm_in_1997_only():
    floor = Floor(rules="canberra-poker-1997", confirm=("dead_mans_hand",))
    assert floor.play({1: ("As", "Ah", "8s", "8h", "2c")})[0]["status"] == "pending"


# 100 x 5,108 flushes, 150 x 3,744 full houses, 500 x 624 fours of a kind, in 2,598,960 hands.
FIXED_COST_CENTS = Fraction(100 * (100 * 5_108 + 150 * 3_744 + 500 * 624), 2_598_960)


def in_cents(lost):
    thousandths = round(lost * 1000)
    return f"{thousandths // 1000}.{thousandths % 1000:03d} cents"


@pytest.mark.parametrize(
    ("changes", "lost"),
    [
        ({}, FIXED_COST_CENTS - 30),
        ({"reset_cents": 1_000_000}, FIXED_COST_CENTS - 30 + Fraction(4 * 1_000_000, 2_598_960)),
        ({"wager_cents": 200, "jackpot_bps": 8_000, "reserve_bps": 2_000}, FIXED_COST_CENTS - 40),
        ({"jackpot_bps": 10_000, "reserve_bps": 0}, FIXED_COST_CENTS),
    ],
    ids=str,
)
def test_a_configuration_that_drains_the_reserve_is_proposed_with_a_warning_and_its_figure(changes, lost):
    floor = Floor()
    answer = floor.execute(proposed(config(**changes)))
    assert in_cents(lost) in answer["warning"]
    assert floor.jackpot.proposals[answer["proposal"]].warning == answer["warning"]
    assert floor.events[-1].data["warning"] == answer["warning"]
    assert floor.approve(answer["proposal"]) == {"version": 2}


@pytest.mark.parametrize(
    "changes",
    [
        {"wager_cents": 200, "reset_cents": 1_000_000},
        {"fixed_prizes_from": FixedFrom.HOUSE},
        {"jackpot_bps": 4_000, "reserve_bps": 6_000},
    ],
    ids=str,
)
def test_a_configuration_that_feeds_the_reserve_is_proposed_without_a_warning(changes):
    assert Floor().execute(proposed(config(**changes)))["warning"] is None


def test_a_configuration_takes_effect_for_rounds_opened_after_and_an_open_round_keeps_its_own():
    floor = Floor(jackpot=0, reserve=0)
    floor.open("t1")
    floor.approve(floor.propose(wager_cents=500, jackpot_bps=5_000, reserve_bps=5_000, confirm=("flush",)))
    floor.open("t2")
    assert floor.refusal(floor.wagered(1, table="t1", amount=500)) == "wrong_amount"
    assert floor.refusal(floor.wagered(1, table="t2", amount=100)) == "wrong_amount"
    floor.wager(1, table="t1", amount=100)
    assert floor.pools == (70, 30)
    floor.wager(1, table="t2", amount=500)
    assert floor.pools == (70 + 250, 30 + 250)
    statuses = {}
    for table in ("t1", "t2"):
        floor.close(table)
        floor.declare(1, FLUSH, table)
        statuses[table] = floor.settle(table)[0]["status"]
    assert statuses == {"t1": "paid", "t2": "pending"}
    floor.open("t1")
    floor.wager(1, table="t1", amount=500)


def test_a_pending_round_is_corrected_under_the_configuration_it_was_opened_under():
    floor = Floor(jackpot=5_000_000 - 140, confirm=("royal_flush", "straight_flush"))
    floor.play({7: STRAIGHT_FLUSHES[0], 2: STRAIGHT_FLUSHES[1]})
    floor.approve(floor.propose(fixed_prizes_from=FixedFrom.HOUSE, confirm=(), reset_cents=900_000_000))
    payouts = floor.correct({2: FLUSH})
    assert [(p["amount_cents"], p["status"]) for p in payouts] == [(500_000, "pending"), (10_000, "paid")]
    assert (floor.holds("house"), floor.holds("reserve")) == (0, 2_000_060 - 10_000)


def test_each_version_has_its_own_split_total():
    """At 6,667 basis points a version's wagers give J 66, 67, 67, 66, independent of other versions in between."""
    shares = {"jackpot_bps": 6_667, "reserve_bps": 3_333}
    floor = Floor(jackpot=0, **shares)
    given = {"t1": [66], "t2": []}
    floor.open("t1")
    floor.wager(7, table="t1")
    floor.approve(floor.propose(**shares))
    floor.open("t2")
    for box in (1, 2, 3):
        for table in ("t1", "t2"):
            before = floor.holds("jackpot")
            floor.wager(box, table=table)
            given[table].append(floor.holds("jackpot") - before)
    assert given == {"t1": [66, 67, 67, 66], "t2": [66, 67, 67]}


def test_a_later_proposal_may_be_approved_first_and_versions_count_approvals():
    floor = Floor()
    first, second = floor.propose(wager_cents=500), floor.propose(wager_cents=1_000)
    assert (first, second) == (1, 2)
    assert floor.approve(second) == {"version": 2}
    assert floor.approve(first) == {"version": 3}
    assert floor.jackpot.config.wager_cents == 500


def test_a_proposal_is_approved_once_and_its_number_never_used_again():
    floor = Floor()
    number = floor.propose(wager_cents=500)
    floor.approve(number)
    assert floor.refusal(Approve(AT, OTHER_MANAGER, number)) == "unknown_proposal"
    assert floor.refusal(Withdraw(AT, OTHER_MANAGER, number, "late")) == "unknown_proposal"
    assert floor.propose(wager_cents=500) == number + 1


@pytest.mark.parametrize("actor", [MANAGER, OTHER_MANAGER, THIRD_MANAGER], ids=named)
def test_any_manager_may_withdraw_a_proposal_which_can_then_not_be_approved(actor):
    floor = Floor()
    number = floor.propose(wager_cents=500)
    assert floor.execute(Withdraw(AT, actor, number, "mistyped")) == {}
    assert floor.refusal(Approve(AT, OTHER_MANAGER, number)) == "unknown_proposal"
    assert (floor.jackpot.config.version, floor.jackpot.proposals) == (1, {})


def test_the_number_of_waiting_proposals_is_limited():
    floor = Floor()
    for _ in range(MAX_PROPOSALS):
        floor.propose()
    assert floor.refusal(proposed(config())) == "conflict"
    assert floor.refusal(moved("house", "jackpot", 1)) == "conflict"
    floor.execute(Withdraw(AT, MANAGER, 1, "room"))
    assert floor.propose() == MAX_PROPOSALS + 1


# Creation of a jackpot.


def created(actor=MANAGER, approved_by="mia", jackpot=0, reserve=0, rules="canberra-poker-2016"):
    return CreateJackpot(AT, actor, "main", rules, config(), approved_by, jackpot, reserve)


def refusal_of_a_new_jackpot(**changes):
    with pytest.raises(Refused) as refused:
        decide(NEW, created(**changes))
    return refused.value.code.value


@pytest.mark.parametrize("actor", NOT_MANAGERS, ids=named)
def test_only_a_manager_creates_a_jackpot_or_links_a_table(actor):
    assert refusal_of_a_new_jackpot(actor=actor) == "forbidden"
    assert Floor().refusal(LinkTable(AT, actor, "t3", 7)) == "forbidden"


def test_the_first_configuration_too_needs_a_second_manager():
    assert refusal_of_a_new_jackpot(approved_by="max") == "same_person"


def test_an_unapproved_first_configuration_is_refused():
    assert refusal_of_a_new_jackpot(approved_by="") == "same_person"


@pytest.mark.parametrize("rules", ["ultimate-texas-holdem-2025", "canberra-manila-2005", "snap"])
def test_a_jackpot_under_rules_that_have_none_is_refused(rules):
    assert refusal_of_a_new_jackpot(rules=rules) == "conflict"


@pytest.mark.parametrize("amounts", [{"jackpot": -1}, {"reserve": -1}, {"jackpot": 10**15 + 1}], ids=str)
def test_a_jackpot_opens_with_valid_amounts_only(amounts):
    assert refusal_of_a_new_jackpot(**amounts) == "conflict"


def test_advances_to_the_pools_are_recorded_as_owed_back():
    floor = Floor(jackpot=1_000_000, reserve=2_000_000)
    assert floor.holds("house_advance") == -3_000_000
    assert {transfer.kind for transfer in floor.events[0].transfers} == {Kind.ADVANCE}
    assert floor.events[0].data["approved_by"] == "mia"


def test_a_jackpot_is_created_once_and_a_table_linked_once():
    floor = Floor()
    assert floor.refusal(created()) == "conflict"
    assert floor.refusal(LinkTable(AT, MANAGER, "t1", 7)) == "conflict"


@pytest.mark.parametrize("boxes", [0, -1, MAX_BOXES + 1])
def test_a_table_has_a_sensible_number_of_boxes(boxes):
    assert Floor().refusal(LinkTable(AT, MANAGER, "t3", boxes)) == "conflict"


# Money moved by hand.


def test_an_adjustment_is_proposed_by_one_manager_with_a_reason_and_approved_by_another():
    floor = Floor()
    number = floor.adjust("house", "reserve", 12_345)
    assert floor.pools == (5_000_000, 2_000_000)
    assert floor.refusal(Approve(AT, MANAGER, number)) == "same_person"
    assert floor.approve(number) == {"moved_cents": 12_345}
    assert floor.pools == (5_000_000, 2_012_345)
    assert floor.holds("house") == -12_345
    event = floor.events[-1]
    assert (event.actor, event.data["proposed_by"], event.data["reason"]) == ("mia", "max", "count")
    assert event.transfers == ((Account.HOUSE, Account.RESERVE, 12_345, Kind.ADJUSTMENT),)


@pytest.mark.parametrize("actor", NOT_MANAGERS, ids=named)
def test_only_a_manager_proposes_or_approves_an_adjustment(actor):
    floor = Floor()
    assert floor.refusal(moved("house", "reserve", 100, actor)) == "forbidden"
    number = floor.adjust("house", "reserve", 100)
    assert floor.refusal(Approve(AT, actor, number)) == "forbidden"


def test_an_ended_round_is_corrected_only_by_a_two_person_act_that_names_it():
    floor = Floor(confirm=())
    floor.play({3: FLUSH})
    assert floor.refusal(VoidRound(AT, SUPERVISOR, "t1", 1, "dispute")) == "wrong_phase"
    assert floor.refusal(Correct(AT, SUPERVISOR, "t1", 1, {3: None}, "dispute")) == "wrong_phase"
    number = floor.execute(moved("players", "reserve", 10_000, table="t1", number=1))["proposal"]
    floor.approve(number)
    assert floor.events[-2].type is EventType.ADJUSTMENT_PROPOSED
    assert [(event.table, event.round) for event in floor.events[-2:]] == [("t1", 1), ("t1", 1)]
    assert floor.pools == (5_000_070, 2_000_030)


@pytest.mark.parametrize("cents", [0, -1, 10**15 + 1])
def test_an_adjustment_moves_a_sensible_amount(cents):
    assert Floor().refusal(moved("house", "reserve", cents)) == "conflict"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("reserve", "reserve"),
        ("payable", "house"),
        ("jackpot", "payable"),
        ("wagers", "house"),
        ("house", "wagers"),
    ],
)
def test_money_awaiting_confirmation_or_settlement_is_never_moved_by_hand(source, target):
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert floor.refusal(moved(source, target, 1)) == "conflict"


def test_a_pool_can_give_all_its_money_and_no_more():
    floor = Floor()
    assert floor.refusal(moved("jackpot", "reserve", 5_000_001)) == "insufficient"
    floor.approve(floor.adjust("jackpot", "reserve", 5_000_000))
    assert floor.pools == (0, 7_000_000)


def test_an_approval_is_refused_if_the_money_has_gone_since_the_proposal():
    floor = Floor(confirm=())
    number = floor.adjust("jackpot", "reserve", 5_000_000)
    floor.play({7: ROYALS[0]})
    assert floor.refusal(Approve(AT, OTHER_MANAGER, number)) == "insufficient"
    assert floor.jackpot.proposals[number].by == "max"


def test_an_advance_is_repaid_from_a_pool_under_the_same_control():
    floor = Floor(jackpot=5_000_000, reserve=2_000_000)
    number = floor.adjust("reserve", "house_advance", 500_000)
    assert floor.refusal(Approve(AT, MANAGER, number)) == "same_person"
    floor.approve(number)
    assert (floor.holds("reserve"), floor.holds("house_advance")) == (1_500_000, -6_500_000)
    assert floor.events[-1].transfers[0].kind is Kind.REPAYMENT


def test_no_more_is_repaid_than_is_owed():
    floor = Floor(jackpot=100, reserve=0)
    floor.approve(floor.adjust("house", "jackpot", 1_000))
    assert floor.refusal(moved("jackpot", "house_advance", 101)) == "insufficient"
    floor.approve(floor.adjust("jackpot", "house_advance", 100))
    assert floor.holds("house_advance") == 0
    assert floor.refusal(moved("jackpot", "house_advance", 1)) == "insufficient"


def test_an_advance_repaid_twice_by_two_waiting_proposals_is_repaid_once():
    floor = Floor(jackpot=1_000, reserve=0)
    first, second = (floor.adjust("jackpot", "house_advance", 1_000) for _ in range(2))
    floor.approve(first)
    floor.approve(floor.adjust("house", "jackpot", 1_000))
    assert floor.refusal(Approve(AT, OTHER_MANAGER, second)) == "insufficient"


@pytest.mark.parametrize("source", ["house", "players"])
def test_only_pools_repay_advances(source):
    assert Floor().refusal(moved(source, "house_advance", 100)) == "insufficient"


def test_a_further_advance_is_a_two_person_act_and_owed_back():
    floor = Floor(jackpot=0, reserve=0)
    floor.approve(floor.adjust("house_advance", "reserve", 700))
    assert (floor.holds("reserve"), floor.holds("house_advance")) == (700, -700)
    assert floor.events[-1].transfers[0].kind is Kind.ADVANCE


# Roles.


@pytest.mark.parametrize("actor", NOT_SUPERVISORS, ids=named)
def test_only_a_supervisor_confirms_or_corrects(actor):
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert floor.refusal(Confirm(AT, actor, "t1", 1)) == "forbidden"
    assert floor.refusal(Correct(AT, actor, "t1", 1, {7: None}, "misread")) == "forbidden"
    assert floor.holds("payable") == 500_007


@pytest.mark.parametrize("actor", [SUPERVISOR, MANAGER], ids=named)
def test_a_supervisor_or_a_manager_confirms_corrects_resumes_and_voids(actor):
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0], 1: NOTHING})
    corrected = floor.execute(Correct(AT, actor, "t1", 1, {1: STRAIGHT_FLUSHES[1]}, "misread"))
    assert [(payout["box"], payout["status"]) for payout in corrected["payouts"]] == [(7, "pending"), (1, "pending")]
    confirmed = floor.execute(Confirm(AT, actor, "t1", 1))
    assert [(payout["box"], payout["status"]) for payout in confirmed["payouts"]] == [(7, "paid"), (1, "paid")]
    floor.open()
    floor.close()
    assert floor.execute(VoidRound(AT, actor, "t1", 2, "fire")) == {"returned_cents": 0}
    floor.execute(ReportMalfunction(AT, DEALER, "t1", "pad", "dark"))
    assert floor.execute(ResumeTable(AT, actor, "t1")) == {}


@pytest.mark.parametrize("actor", NOT_SUPERVISORS, ids=named)
def test_only_a_supervisors_approval_resumes_a_suspended_table(actor):
    floor = Floor()
    floor.execute(ReportMalfunction(AT, DEALER, "t1", "pad", "dark"))
    assert floor.refusal(ResumeTable(AT, actor, "t1")) == "forbidden"
    assert floor.jackpot.tables["t1"].suspended == "dealer_report"


@pytest.mark.parametrize("actor", NOT_MANAGERS, ids=named)
def test_only_a_manager_sets_tournament_mode(actor):
    assert Floor().refusal(SetMode(AT, actor, "t1", True, False)) == "forbidden"


@pytest.mark.parametrize("actor", NOT_SUPERVISORS, ids=named)
def test_from_the_first_card_on_a_void_is_a_supervisors_act(actor):
    floor = Floor()
    floor.open()
    floor.wager(7)
    floor.close()
    assert floor.refusal(VoidHand(AT, actor, "t1", 1, 7, "misdeal")) == "needs_supervisor"
    assert floor.refusal(VoidRound(AT, actor, "t1", 1, "misdeal")) == "needs_supervisor"
    floor.declare(7, STRAIGHT_FLUSHES[0])
    floor.settle()
    assert floor.refusal(VoidRound(AT, actor, "t1", 1, "misdeal")) == "needs_supervisor"


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_correction_needs_a_reason_and_a_named_box(reason):
    floor = Floor()
    floor.play({7: STRAIGHT_FLUSHES[0]})
    assert floor.refusal(Correct(AT, SUPERVISOR, "t1", 1, {7: None}, reason)) == "malformed"
    assert floor.refusal(Correct(AT, SUPERVISOR, "t1", 1, {}, "misread")) == "malformed"


@pytest.mark.parametrize("actor", [SUPERVISOR, MANAGER], ids=named)
def test_if_the_dealer_terminal_is_dead_a_supervisor_closes_folds_declares_and_settles(actor):
    floor = Floor()
    floor.open()
    floor.wager(1, 2)
    floor.execute(CloseWagers(AT, actor, "t1", 1))
    floor.execute(Fold(AT, actor, "t1", 1, 2))
    floor.execute(Unfold(AT, actor, "t1", 1, 2))
    floor.execute(Declare(AT, actor, "t1", 1, 1, FLUSH))
    assert floor.execute(Settle(AT, actor, "t1", 1))["payouts"][0]["amount_cents"] == 10_000
    assert floor.events[-1].actor == actor.name


AUDITORS_ACTS = {
    "open a round": (Phase.IDLE, OpenRound(AT, AUDITOR, "t1")),
    "close wagers": (Phase.OPEN, CloseWagers(AT, AUDITOR, "t1", 1)),
    "void an open round": (Phase.OPEN, VoidRound(AT, AUDITOR, "t1", 1, "whim")),
    "void an open hand": (Phase.OPEN, VoidHand(AT, AUDITOR, "t1", 1, 1, "whim")),
    "fold": (Phase.CLOSED, Fold(AT, AUDITOR, "t1", 1, 1)),
    "unfold": (Phase.CLOSED, Unfold(AT, AUDITOR, "t1", 1, 1)),
    "declare": (Phase.CLOSED, Declare(AT, AUDITOR, "t1", 1, 1, FLUSH)),
    "settle": (Phase.CLOSED, Settle(AT, AUDITOR, "t1", 1)),
    "suspend a table": (Phase.OPEN, ReportMalfunction(AT, AUDITOR, "t1", "pad", "whim")),
}


@pytest.mark.parametrize("act", AUDITORS_ACTS)
def test_an_auditor_reads_and_never_acts(act):
    now, command = AUDITORS_ACTS[act]
    floor = Floor()
    if now is not Phase.IDLE:
        floor.open()
        floor.wager(1)
    if now is Phase.CLOSED:
        floor.close()
    assert floor.refusal(command) == "forbidden"


# The site's operators.


def site_with(*operators):
    site = Site()
    for number, (name, role) in enumerate(operators):
        hashed = f"hash of {name}'s token"
        if number >= 2 and role is Role.MANAGER:
            proposed = ProposeManager(AT, MANAGER, name, "one half")
            site = after(site, proposed, ApproveManager(AT, OTHER_MANAGER, name, hashed))
        else:
            site = after(site, AddOperator(AT, INSTALLER if number < 2 else MANAGER, name, role, hashed))
    return site


def after(site, *commands):
    for command in commands:
        site = evolve_site(site, decide_site(site, command).event)
    return site


TWO_MANAGERS = (("max", Role.MANAGER), ("mia", Role.MANAGER))


def site_refusal(site, command):
    with pytest.raises(Refused) as refused:
        decide_site(site, command)
    return refused.value.code.value


def test_the_installer_adds_the_first_two_managers_only():
    site = site_with(*TWO_MANAGERS)
    assert [(operator.name, operator.role) for operator in site.operators.values()] == list(TWO_MANAGERS)
    assert site_refusal(site, AddOperator(AT, INSTALLER, "moe", Role.MANAGER, "h")) == "forbidden"
    assert site_refusal(site, AddJackpot(AT, INSTALLER, "main")) == "forbidden"


@pytest.mark.parametrize("role", [Role.AUDITOR, Role.SUPERVISOR])
def test_the_installer_adds_managers_only_so_that_two_person_control_can_work(role):
    command = AddOperator(AT, INSTALLER, "ada", role, "h")
    assert site_refusal(Site(), command) == "forbidden"
    assert site_refusal(site_with(TWO_MANAGERS[0]), command) == "forbidden"


@pytest.mark.parametrize("revoked", [0, 1])
def test_revoking_an_operator_never_restores_the_installers_right(revoked):
    site = site_with(*TWO_MANAGERS, ("moe", Role.MANAGER))
    name = TWO_MANAGERS[revoked][0]
    site = evolve_site(site, decide_site(site, RevokeOperator(AT, THIRD_MANAGER, name, "left")).event)
    assert site_refusal(site, AddOperator(AT, INSTALLER, "mel", Role.MANAGER, "h")) == "forbidden"


@pytest.mark.parametrize("actor", [*NOT_MANAGERS, INSTALLER], ids=named)
def test_only_a_manager_changes_the_site(actor):
    site = site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR))
    for command in (
        AddOperator(AT, actor, "sid", Role.SUPERVISOR, "h"),
        RevokeOperator(AT, actor, "sue", "left"),
        RenewToken(AT, actor, "max", "h2"),
        ProposeManager(AT, actor, "moe", "one half"),
        WithdrawManager(AT, actor, "moe", "no"),
        AddJackpot(AT, actor, "main"),
        AddTable(AT, actor, "t1", "main"),
    ):
        assert site_refusal(site, command) == "forbidden"


def test_revocation_keeps_two_managers():
    site = site_with(*TWO_MANAGERS, ("moe", Role.MANAGER), ("sue", Role.SUPERVISOR))
    site = evolve_site(site, decide_site(site, RevokeOperator(AT, MANAGER, "mia", "left")).event)
    for name in ("max", "moe"):
        assert site_refusal(site, RevokeOperator(AT, MANAGER, name, "left")) == "conflict"
    site = evolve_site(site, decide_site(site, RevokeOperator(AT, MANAGER, "sue", "left")).event)
    assert [operator.name for operator in site.operators.values() if operator.active] == ["max", "moe"]


def test_a_revoked_operators_token_is_invalid_and_the_name_is_never_used_again():
    site = site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR))
    site = evolve_site(site, decide_site(site, RevokeOperator(AT, MANAGER, "sue", "left")).event)
    assert (site.operators["sue"].active, site.operators["sue"].token_hash) == (False, "")
    assert site_refusal(site, AddOperator(AT, MANAGER, "sue", Role.MANAGER, "h")) == "conflict"
    assert site_refusal(site, RenewToken(AT, MANAGER, "sue", "h")) == "conflict"
    assert site_refusal(site, RevokeOperator(AT, MANAGER, "sue", "again")) == "conflict"


def test_only_known_operators_are_revoked_or_renewed():
    site = site_with(*TWO_MANAGERS)
    assert site_refusal(site, RevokeOperator(AT, MANAGER, "sue", "left")) == "conflict"
    assert site_refusal(site, RenewToken(AT, MANAGER, "sue", "h")) == "conflict"


def test_a_manager_renews_the_token_of_a_supervisor_alone_and_the_old_one_is_gone():
    site = after(site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR)), RenewToken(AT, MANAGER, "sue", "new hash"))
    assert (site.operators["sue"].token_hash, site.operators["sue"].role) == ("new hash", Role.SUPERVISOR)


@pytest.mark.parametrize("name", ["max", "sue", "ada"])
def test_every_operator_may_renew_their_own_token(name):
    site = site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR), ("ada", Role.AUDITOR))
    own = site.operators[name].actor
    assert after(site, RenewToken(AT, own, name, "new hash")).operators[name].token_hash == "new hash"


def test_a_revoked_operator_cannot_renew_a_token():
    site = after(site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR)), RevokeOperator(AT, MANAGER, "sue", "left"))
    assert site_refusal(site, RenewToken(AT, SUPERVISOR, "sue", "h")) == "forbidden"


def test_one_manager_alone_cannot_create_another_manager():
    site = site_with(*TWO_MANAGERS)
    assert site_refusal(site, AddOperator(AT, MANAGER, "moe", Role.MANAGER, "h")) == "forbidden"
    assert site_refusal(site, RenewToken(AT, MANAGER, "mia", "h")) == "forbidden"
    for name in ("moe", "mia"):
        waiting = after(site, ProposeManager(AT, MANAGER, name, "one half"))
        assert waiting.operators == site.operators
        assert site_refusal(waiting, ApproveManager(AT, MANAGER, name, "h")) == "same_person"
        assert site_refusal(waiting, ApproveManager(AT, SUPERVISOR, name, "h")) == "forbidden"


def test_two_managers_together_add_a_manager_and_the_trail_names_both():
    site = after(site_with(*TWO_MANAGERS), ProposeManager(AT, MANAGER, "moe", "one half"))
    event = decide_site(site, ApproveManager(AT, OTHER_MANAGER, "moe", "h")).event
    assert (event.actor, event.data["proposed_by"]) == ("mia", "max")
    site = evolve_site(site, event)
    assert site.operators["moe"].actor == THIRD_MANAGER
    assert site_refusal(site, ApproveManager(AT, OTHER_MANAGER, "moe", "h2")) == "unknown_proposal"


def test_two_managers_together_renew_a_third_ones_lost_token():
    site = site_with(*TWO_MANAGERS, ("moe", Role.MANAGER))
    proposed = ProposeManager(AT, MANAGER, "moe", "one half")
    site = after(site, proposed, ApproveManager(AT, OTHER_MANAGER, "moe", "other half"))
    renewed = joined_hash("one half", "other half")
    assert (site.operators["moe"].token_hash, site.waiting, site.halves) == (renewed, {}, {})


def test_neither_half_of_a_managers_token_is_a_token():
    halves = "half-of-the-proposer", "half-of-the-approver"
    one, other = map(token_hash, halves)
    site = after(
        site_with(*TWO_MANAGERS),
        ProposeManager(AT, MANAGER, "moe", one),
        ApproveManager(AT, OTHER_MANAGER, "moe", other),
    )
    for joined in (".".join(halves), ".".join(reversed(halves))):
        assert operator_of(site, joined, AT).name == "moe"
    for known in (*halves, *("." + half for half in halves), *(f"{half}.{half}" for half in halves), "".join(halves)):
        with pytest.raises(Refused):
            operator_of(site, known, AT)


def test_a_manager_proposed_before_tokens_had_halves_must_be_proposed_again():
    site = after(site_with(*TWO_MANAGERS), ProposeManager(AT, MANAGER, "moe", "one half"))._replace(halves={"moe": ""})
    assert site_refusal(site, ApproveManager(AT, OTHER_MANAGER, "moe", "h")) == "conflict"


def test_a_site_with_halves_is_read_back_as_it_was():
    site = site_with(*TWO_MANAGERS)
    waiting = after(site, ProposeManager(AT, MANAGER, "moe", "one half"))
    assert site_from_plain(plain_site(waiting)) == waiting
    assert "halves" not in plain_site(site)


def test_a_proposed_manager_can_be_withdrawn_and_proposed_again_but_not_twice():
    site = after(site_with(*TWO_MANAGERS), ProposeManager(AT, MANAGER, "moe", "one half"))
    assert site_refusal(site, ProposeManager(AT, OTHER_MANAGER, "moe", "one half")) == "conflict"
    site = after(site, WithdrawManager(AT, MANAGER, "moe", "changed my mind"))
    assert site_refusal(site, WithdrawManager(AT, MANAGER, "moe", "again")) == "unknown_proposal"
    assert "moe" in after(site, ProposeManager(AT, MANAGER, "moe", "one half")).waiting


def test_a_supervisor_does_not_become_a_manager_by_a_proposal():
    site = site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR))
    assert site_refusal(site, ProposeManager(AT, MANAGER, "sue", "one half")) == "conflict"


def test_the_key_holder_renews_a_lost_token_and_can_do_nothing_else():
    site = site_with(*TWO_MANAGERS)
    assert after(site, RenewToken(AT, KEYHOLDER, "mia", "new hash")).operators["mia"].token_hash == "new hash"
    for command in (AddOperator(AT, KEYHOLDER, "x", Role.AUDITOR, "h"), RevokeOperator(AT, KEYHOLDER, "mia", "r")):
        assert site_refusal(site, command) == "forbidden"


def test_only_the_controller_records_its_software():
    site = site_with(*TWO_MANAGERS)
    assert after(site, StartSoftware(AT, CONTROLLER, "1.0", "abc")).software == "abc"
    assert site_refusal(site, StartSoftware(AT, SUPERVISOR, "1.0", "abc")) == "forbidden"


# Tables are unlinked and jackpots retired.


def test_a_table_is_unlinked_between_rounds_and_unknown_afterwards():
    floor = Floor()
    floor.open()
    assert floor.refusal(UnlinkTable(AT, MANAGER, "t1", "moved")) == "wrong_phase"
    floor.execute(VoidRound(AT, SUPERVISOR, "t1", 1, "misdeal"))
    assert floor.refusal(UnlinkTable(AT, SUPERVISOR, "t1", "moved")) == "forbidden"
    assert floor.refusal(UnlinkTable(AT, MANAGER, "t1", " ")) == "malformed"
    floor.execute(UnlinkTable(AT, MANAGER, "t1", "moved"))
    assert floor.refusal(OpenRound(AT, DEALER, "t1")) == "unknown_table"
    assert floor.refusal(UnlinkTable(AT, MANAGER, "t1", "again")) == "unknown_table"


def test_a_table_linked_again_continues_its_round_numbers():
    floor = Floor()
    floor.open()
    floor.execute(VoidRound(AT, SUPERVISOR, "t1", 1, "misdeal"))
    floor.execute(UnlinkTable(AT, MANAGER, "t1", "moved"))
    floor.execute(LinkTable(AT, MANAGER, "t1", 5))
    assert floor.execute(OpenRound(AT, DEALER, "t1")) == {"round": 2}
    assert floor.jackpot.tables["t1"].boxes == 5


def test_a_jackpot_is_retired_by_two_managers_and_its_money_leaves_the_pools_for_the_heir():
    floor = Floor()
    answer = floor.execute(ProposeRetirement(AT, MANAGER, "next", "renovation"))
    assert floor.refusal(Approve(AT, MANAGER, answer["proposal"])) == "same_person"
    floor.open()
    assert floor.refusal(Approve(AT, OTHER_MANAGER, answer["proposal"])) == "wrong_phase"
    floor.execute(VoidRound(AT, SUPERVISOR, "t1", 1, "misdeal"))
    assert floor.execute(Approve(AT, OTHER_MANAGER, answer["proposal"])) == {"heir": "next", "moved_cents": 7_000_000}
    assert (floor.jackpot.balances[Account.JACKPOT], floor.jackpot.balances[Account.RESERVE]) == (0, 0)
    assert sum(floor.jackpot.balances.values()) == 0
    assert floor.events[-1].data["heir"] == "next"


def test_a_retired_jackpot_plays_and_changes_no_more():
    floor = Floor()
    floor.execute(
        Approve(AT, OTHER_MANAGER, floor.execute(ProposeRetirement(AT, MANAGER, "next", "renovation"))["proposal"])
    )
    assert floor.refusal(OpenRound(AT, DEALER, "t1")) == "wrong_phase"
    for command in (
        LinkTable(AT, MANAGER, "t9", 7),
        ProposeConfig(AT, MANAGER, config(), "more"),
        ProposeRetirement(AT, MANAGER, "next", "again"),
        ProposeAdjustment(AT, MANAGER, Account.HOUSE, Account.JACKPOT, 1, "more"),
    ):
        assert floor.refusal(command) == "conflict"


@pytest.mark.parametrize("heir", ["", "main"])
def test_a_jackpot_cannot_be_its_own_heir(heir):
    assert Floor().refusal(ProposeRetirement(AT, MANAGER, heir, "renovation")) == "conflict"


@pytest.mark.parametrize("name", ["pad", "dealer", "display", "controller", "init", "keyholder"])
def test_no_operator_is_called_like_a_device(name):
    site = site_with(*TWO_MANAGERS)
    assert site_refusal(site, AddOperator(AT, MANAGER, name, Role.AUDITOR, "h")) == "conflict"
    assert site_refusal(site, ProposeManager(AT, MANAGER, name, "one half")) == "conflict"


@pytest.mark.parametrize("name", ["", "two words", "ü", "a/b", "x" * 65])
def test_names_are_1_to_64_plain_characters(name):
    site = site_with(*TWO_MANAGERS)
    assert site_refusal(site, AddOperator(AT, MANAGER, name, Role.AUDITOR, "h")) == "malformed"
    assert site_refusal(site, AddJackpot(AT, MANAGER, name)) == "malformed"
    assert site_refusal(site, AddTable(AT, MANAGER, name, "main")) == "malformed"


def test_a_jackpot_and_a_table_are_added_once():
    site = site_with(*TWO_MANAGERS)
    for command in (AddJackpot(AT, MANAGER, "main"), AddTable(AT, MANAGER, "t1", "main")):
        site = evolve_site(site, decide_site(site, command).event)
        assert site_refusal(site, command) == "conflict"
    assert (site.jackpots, site.tables) == (("main",), {"t1": "main"})


def test_a_site_is_written_and_read_back_whole():
    site = site_with(*TWO_MANAGERS, ("sue", Role.SUPERVISOR), ("ada", Role.AUDITOR))
    for command in (
        RevokeOperator(AT, MANAGER, "sue", "left"),
        AddJackpot(AT, MANAGER, "main"),
        AddTable(AT, MANAGER, "t1", "main"),
    ):
        site = evolve_site(site, decide_site(site, command).event)
    assert site_from_plain(plain_site(site)) == site
