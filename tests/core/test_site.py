"""Commands of the site: ids act once, tokens expire, sign-ins are recorded, invalid text is refused."""

import json

import pytest

from jackpot.core.commands import (
    CONTROLLER,
    Actor,
    Role,
)
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
from tests.support.core_floor import AT, MANAGER, SUPERVISOR

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
    command = IdentifiedSite("k1", "d", AddOperator(AT, MANAGER, "sue", Role.SUPERVISOR, "hash of sue", YEAR))
    event, answer = decide_site(MANAGERS, command)
    assert answer == {"operator": "sue", "role": "supervisor", "expires_at": YEAR}
    assert event.data["command"] == {"id": "k1", "digest": "d", "answer": answer}
    known = command._replace(earlier=("d", json.dumps(answer)))
    assert decide_site(MANAGERS, known) == (None, answer)
    assert code_of(lambda: decide_site(MANAGERS, known._replace(digest="e"))) == "command_id_reused"


def test_a_token_is_valid_until_it_expires_and_a_renewed_one_has_a_new_expiry():
    site = grown(MANAGERS, AddOperator(AT, MANAGER, "sue", Role.SUPERVISOR, "h", LATER))
    sue = site.operators["sue"]
    assert (sue.is_expired(AT), sue.is_expired("2026-12-15T09:29:59.999Z"), sue.is_expired(LATER)) == (
        False,
        False,
        True,
    )
    site = grown(site, RenewToken(AT, MANAGER, "sue", "h2", YEAR))
    assert (site.operators["sue"].expires_at, site.operators["sue"].is_expired(LATER)) == (YEAR, False)


def test_an_operator_without_expiry_never_expires_and_is_stored_in_the_old_format():
    site = grown(Site(), AddOperator(AT, INSTALLER, "max", Role.MANAGER, "h"))
    assert not site.operators["max"].is_expired("9999-12-31T23:59:59.999Z")
    assert plain_site(site)["operators"] == [["max", "manager", "h", True]]
    assert site_from_plain(json.loads(json.dumps(plain_site(site)))) == site
    both = grown(site, AddOperator(AT, INSTALLER, "mia", Role.MANAGER, "h", YEAR))
    assert plain_site(both)["operators"][1] == ["mia", "manager", "h", True, YEAR]
    assert site_from_plain(json.loads(json.dumps(plain_site(both)))) == both


@pytest.mark.parametrize("end", [AT, "2026-11-15T09:29:59.999Z", "tomorrow", "2027-11-15", "2027-11-15T09:30:00Z"])
def test_the_expiry_of_a_token_must_be_a_time_in_the_future(end):
    assert code_of(lambda: decide_site(MANAGERS, AddOperator(AT, MANAGER, "sue", Role.AUDITOR, "h", end))) == (
        "conflict"
    )
    assert code_of(lambda: decide_site(MANAGERS, RenewToken(AT, MANAGER, "max", "h", end))) == "conflict"


def test_every_operator_signs_in_and_out_under_their_own_name_and_the_site_does_not_change():
    site = grown(MANAGERS, AddOperator(AT, MANAGER, "ada", Role.AUDITOR, "h"))
    ada = Actor("ada", Role.AUDITOR)
    for kind, expected in ((SignIn, "signed_in"), (SignOut, "signed_out")):
        event = decide_site(site, kind(AT, ada, "10.0.0.7")).event
        assert (event.type, event.actor, event.data) == (expected, "ada", {"address": "10.0.0.7"})
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
def test_a_text_with_a_nul_or_an_unpaired_surrogate_is_refused(reason):
    site = grown(MANAGERS, ProposeManager(AT, MANAGER, "moe", "one half"))
    assert code_of(lambda: decide_site(site, RevokeOperator(AT, MANAGER, "mia", reason))) == "malformed"
