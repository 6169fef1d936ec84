"""An act under an id acts once, at a table, at a jackpot, at the site; tokens end; boxes are voided together."""

import json

import pytest

from jackpot.core.commands import (
    CONTROLLER,
    Actor,
    Approve,
    Identified,
    LinkTable,
    ProposeAdjustment,
    ProposeConfig,
    Role,
    UnlinkTable,
    VoidHands,
)
from jackpot.core.decide import decide
from jackpot.core.events import EventType
from jackpot.core.ledger import Account
from jackpot.core.results import Refused
from jackpot.core.site.commands import (
    INSTALLER,
    AddOperator,
    IdentifiedSite,
    ProposeManager,
    RefuseSignIn,
    RenewToken,
    RevokeOperator,
    SignIn,
    SignOut,
)
from jackpot.core.site.decide import decide_site
from jackpot.core.site.evolve import evolve_site
from jackpot.core.site.state import Operator, Site, plain_site, site_from_plain
from tests.support.core_floor import AT, DEALER, MANAGER, OTHER_MANAGER, ROYALS, SUPERVISOR, Floor, config

# Of a whole jackpot.


def jackpot_wide(floor):
    floor.open("t2")
    floor.void("t2")
    proposed = floor.propose(wager_cents=300)
    return [
        ProposeConfig(AT, MANAGER, config(wager_cents=200), "season"),
        ProposeAdjustment(AT, MANAGER, Account.RESERVE, Account.JACKPOT, 5, "count", "t2", 1),
        Approve(AT, OTHER_MANAGER, proposed),
        LinkTable(AT, MANAGER, "t9", 5),
        UnlinkTable(AT, MANAGER, "t2", "moved"),
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_jackpots_command_carries_its_id_and_its_answer_in_its_first_event(number):
    floor = Floor()
    command = jackpot_wide(floor)[number]
    events, answer = decide(floor.jackpot, Identified("k1", "digest", command))
    mark = events[0].data["command"]
    assert mark == {"id": "k1", "digest": "digest", "answer": dict(answer), "scope": "jackpot"}
    floor.ask(Identified("k1", "digest", command))
    assert all("k1" not in table.commands for table in floor.jackpot.tables.values())


@pytest.mark.parametrize("number", range(5))
def test_a_jackpots_command_that_the_store_knows_is_answered_again_and_acts_no_more(number):
    floor = Floor()
    command = jackpot_wide(floor)[number]
    before = json.dumps({"as": "before"})
    assert decide(floor.jackpot, Identified("k1", "digest", command, ("digest", before))) == ((), {"as": "before"})
    with pytest.raises(Refused) as refused:
        decide(floor.jackpot, Identified("k1", "digest", command, ("other", before)))
    assert refused.value.code == "command_id_reused"


def test_a_refused_jackpots_command_leaves_its_id_free():
    floor = Floor()
    number = floor.propose(wager_cents=200)
    assert floor.refusal(Identified("k1", "d", Approve(AT, MANAGER, number))) == "same_person"
    assert floor.ask(Identified("k1", "d", Approve(AT, OTHER_MANAGER, number))) == {"version": 2}


# Several boxes are void together, or none is.


def test_boxes_are_voided_together_each_with_its_own_event_and_money():
    floor = Floor()
    before = floor.pools
    floor.open()
    floor.wager(1, 3, 5)
    assert floor.ask(VoidHands(AT, SUPERVISOR, "t1", 1, (5, 1), "misdeal")) == {"returned_cents": 200}
    voided = [event for event in floor.events if event.type is EventType.HAND_VOIDED]
    assert [event.data["box"] for event in voided] == [5, 1]
    assert [sum(t.amount_cents for t in event.transfers) for event in voided] == [100, 100]
    assert floor.jackpot.tables["t1"].round.lit == [3]
    floor.void()
    assert floor.pools == before


@pytest.mark.parametrize(
    ("boxes", "code"), [((1, 2), "no_wager"), ((1, 9), "unknown_box"), ((1, 1), "malformed"), ((), "malformed")]
)
def test_where_one_box_cannot_be_voided_none_is(boxes, code):
    floor = Floor()
    floor.open()
    floor.wager(1, 3)
    before = floor.jackpot
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 1, boxes, "misdeal")) == code
    assert floor.jackpot == before


def test_a_void_of_boxes_obeys_what_a_void_of_one_does():
    floor = Floor()
    floor.open()
    floor.wager(1, 3)
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 1, (1,), " ")) == "malformed"
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 2, (1,), "misdeal")) == "wrong_round"
    floor.close()
    assert floor.refusal(VoidHands(AT, DEALER, "t1", 1, (1,), "misdeal")) == "needs_supervisor"
    floor.declare(1, ROYALS[0])
    floor.settle()
    assert floor.refusal(VoidHands(AT, SUPERVISOR, "t1", 1, (1,), "misdeal")) == "wrong_phase"


def test_pools_that_other_boxes_emptied_are_helped_out_box_by_box():
    floor = Floor(jackpot=0, reserve=0)
    floor.open()
    floor.wager(1, 3)
    floor.approve(floor.adjust("jackpot", "house", 140))
    floor.approve(floor.adjust("reserve", "house", 60))
    floor.ask(VoidHands(AT, SUPERVISOR, "t1", 1, (1, 3), "misdeal"))
    assert floor.pools == (0, 0)
    assert floor.holds("house_advance") == -200


# The site.

LATER, YEAR = "2026-12-15T09:30:00.000Z", "2027-11-15T09:30:00.000Z"
MANAGERS = Site({name: Operator(name, Role.MANAGER, f"hash of {name}") for name in ("max", "mia")})


def grown(site, *commands):
    for command in commands:
        site = evolve_site(site, decide_site(site, command).event)
    return site


def code_of(act):
    with pytest.raises(Refused) as refused:
        act()
    return refused.value.code.value


def test_a_sites_command_under_an_id_acts_once_and_is_answered_without_any_hash():
    asked = IdentifiedSite("k1", "d", AddOperator(AT, MANAGER, "sue", Role.SUPERVISOR, "hash of sue", YEAR))
    event, answer = decide_site(MANAGERS, asked)
    assert answer == {"operator": "sue", "role": "supervisor", "expires_at": YEAR}
    assert event.data["command"] == {"id": "k1", "digest": "d", "answer": answer}
    known = asked._replace(earlier=("d", json.dumps(answer)))
    assert decide_site(MANAGERS, known) == (None, answer)
    assert code_of(lambda: decide_site(MANAGERS, known._replace(digest="e"))) == "command_id_reused"


def test_a_token_is_worth_something_until_its_end_and_a_new_one_has_a_new_end():
    site = grown(MANAGERS, AddOperator(AT, MANAGER, "sue", Role.SUPERVISOR, "h", LATER))
    sue = site.operators["sue"]
    assert (sue.is_expired(AT), sue.is_expired("2026-12-15T09:29:59.999Z"), sue.is_expired(LATER)) == (
        False,
        False,
        True,
    )
    site = grown(site, RenewToken(AT, MANAGER, "sue", "h2", YEAR))
    assert (site.operators["sue"].expires_at, site.operators["sue"].is_expired(LATER)) == (YEAR, False)


def test_an_operator_of_before_there_were_ends_never_expires_and_is_written_as_then():
    site = grown(Site(), AddOperator(AT, INSTALLER, "max", Role.MANAGER, "h"))
    assert not site.operators["max"].is_expired("9999-12-31T23:59:59.999Z")
    assert plain_site(site)["operators"] == [["max", "manager", "h", True]]
    assert site_from_plain(json.loads(json.dumps(plain_site(site)))) == site
    both = grown(site, AddOperator(AT, INSTALLER, "mia", Role.MANAGER, "h", YEAR))
    assert plain_site(both)["operators"][1] == ["mia", "manager", "h", True, YEAR]
    assert site_from_plain(json.loads(json.dumps(plain_site(both)))) == both


@pytest.mark.parametrize("end", [AT, "2026-11-15T09:29:59.999Z", "tomorrow", "2027-11-15", "2027-11-15T09:30:00Z"])
def test_a_token_ends_at_a_moment_to_come(end):
    assert code_of(lambda: decide_site(MANAGERS, AddOperator(AT, MANAGER, "sue", Role.AUDITOR, "h", end))) == (
        "conflict"
    )
    assert code_of(lambda: decide_site(MANAGERS, RenewToken(AT, MANAGER, "max", "h", end))) == "conflict"


def test_every_operator_signs_in_and_out_in_their_own_name_and_the_site_stays_as_it_was():
    site = grown(MANAGERS, AddOperator(AT, MANAGER, "ada", Role.AUDITOR, "h"))
    ada = Actor("ada", Role.AUDITOR)
    for kind, told in ((SignIn, "signed_in"), (SignOut, "signed_out")):
        event = decide_site(site, kind(AT, ada, "10.0.0.7")).event
        assert (event.type, event.actor, event.data) == (told, "ada", {"address": "10.0.0.7"})
        assert evolve_site(site, event) == site
        assert code_of(lambda kind=kind: decide_site(site, kind(AT, Actor("eve", Role.AUDITOR), "x"))) == "forbidden"
    gone = grown(site, RevokeOperator(AT, MANAGER, "ada", "left"))
    assert code_of(lambda: decide_site(gone, SignIn(AT, ada, "10.0.0.7"))) == "forbidden"


def test_only_the_controller_records_refused_sign_ins():
    event = decide_site(MANAGERS, RefuseSignIn(AT, CONTROLLER, "10.0.0.7", 12)).event
    assert (event.type, event.data) == ("sign_in_refused", {"address": "10.0.0.7", "attempts": 12})
    assert evolve_site(MANAGERS, event) == MANAGERS
    assert code_of(lambda: decide_site(MANAGERS, RefuseSignIn(AT, SUPERVISOR, "x", 1))) == "forbidden"


@pytest.mark.parametrize("reason", ["a\0b", "half \ud800 of a pair"])
def test_a_text_that_no_database_keeps_is_refused(reason):
    site = grown(MANAGERS, ProposeManager(AT, MANAGER, "moe", "one half"))
    assert code_of(lambda: decide_site(site, RevokeOperator(AT, MANAGER, "mia", reason))) == "malformed"
