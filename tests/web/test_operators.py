"""Operators over HTTP: tokens are shown once and revoked at once; a manager takes two managers."""

import pytest

from jackpot.clock import in_seconds
from jackpot.core.commands import Role
from tests.support.api_client import problem, unique, wait_until


def can_read(api, token):
    answer = api.client(token).get("/api/v1/jackpots")
    assert answer.status_code in (200, 401)
    return answer.status_code == 200


def named(api, name):
    return next((o for o in api.get("/operators") if o["name"] == name), None)


@pytest.mark.parametrize("role", ["auditor", "supervisor"])
def test_a_manager_adds_an_operator_whose_token_works_at_once(api, role):
    name = unique("new")
    added = api.post("/operators", {"name": name, "role": role, "days": 7})
    assert (added["operator"], len(added["token"])) == (name, 43)
    assert added["expires_at"][:10] == in_seconds(7 * 86_400)[:10]
    assert can_read(api, added["token"])
    assert named(api, name) == {"name": name, "role": role, "active": True, "expires_at": added["expires_at"]}
    assert api.refused("/operators", {"name": name, "role": role}) == (409, "conflict")


def test_a_token_lasts_a_year_by_default(api):
    added = api.post("/operators", {"name": unique("new"), "role": "auditor"})
    assert added["expires_at"][:10] == in_seconds(365 * 86_400)[:10]
    for days in (0, -1, 4_000, 1.5, "7", None):
        body = {"name": unique("new"), "role": "auditor", "days": days}
        assert api.refused("/operators", body) == (422, "malformed")


def test_a_new_manager_takes_two_managers(api):
    name = unique("moe")
    assert api.refused("/operators", {"name": name, "role": "manager"})[0] == 422
    one = api.post(f"/operators/{name}/propose")
    assert one["operator"] == name
    assert {"name": name, "what": "add", "by": "manager1"} in api.get("/operators/proposals")
    assert api.refused(f"/operators/{name}/approve", {}) == (403, "same_person")
    other = api.post(f"/operators/{name}/approve", {}, "second")
    for known in (one["half"], other["half"]):  # neither half is a token
        assert not can_read(api, known)
    token = f"{one['half']}.{other['half']}"
    assert api.client(token).get("/api/v1/session").json()["role"] == "manager"
    assert api.refused(f"/operators/{name}/approve", {}, "second") == (404, "unknown_proposal")
    entries = api.entries("operator_added", "manager_proposed")
    assert [(kind, actor, data["name"]) for kind, actor, data in entries[:2]] == [
        ("operator_added", "manager2", name),
        ("manager_proposed", "manager1", name),
    ]
    assert entries[0][2]["proposed_by"] == "manager1"


def test_a_managers_proposal_can_be_withdrawn(api):
    name = unique("moe")
    api.post(f"/operators/{name}/propose")
    assert api.refused(f"/operators/{name}/propose", role="second") == (409, "conflict")
    assert api.post(f"/operators/{name}/withdraw", {"reason": "no"}, "second") == {"withdrawn": name}
    assert api.refused(f"/operators/{name}/approve", {}, "second") == (404, "unknown_proposal")


def test_operators_renew_their_own_token_and_the_old_one_is_refused(api):
    name = unique("aude")
    old = api.post("/operators", {"name": name, "role": "auditor"})["token"]
    answer = api.client(old).post(f"/api/v1/operators/{name}/renew", json={"days": 30})
    new = answer.json()["token"]
    assert (can_read(api, new), can_read(api, old)) == (True, False)
    answer = api.client(new).post("/api/v1/operators/sue/renew", json={})
    assert (answer.status_code, problem(answer)["code"]) == (403, "forbidden")
    third = api.post(f"/operators/{name}/renew", {})["token"]
    assert (can_read(api, third), can_read(api, new)) == (True, False)


def test_a_new_token_for_a_manager_takes_two_managers(api):
    assert api.refused("/operators/manager2/renew", {}) == (403, "forbidden")
    assert api.post("/operators/manager2/propose")["operator"] == "manager2"
    assert {"name": "manager2", "what": "renew", "by": "manager1"} in api.get("/operators/proposals")
    assert api.refused("/operators/manager2/approve", {}) == (403, "same_person")
    api.post("/operators/manager2/withdraw", {"reason": "found again"})


def test_a_revoked_operator_has_no_access_from_then_on(api):
    name = unique("sid")
    token = api.post("/operators", {"name": name, "role": "supervisor"})["token"]
    assert can_read(api, token)
    assert api.post(f"/operators/{name}/revoke", {"reason": "left"}) == {"revoked": name}
    assert not can_read(api, token)
    assert not named(api, name)["active"]
    assert api.refused("/operators", {"name": name, "role": "auditor"}) == (409, "conflict")


def test_a_repeat_with_the_same_key_does_not_show_the_token_again(api):
    name, key = unique("bea"), unique("k")
    body = {"name": name, "role": "auditor"}
    first = api.post("/operators", body, key=key)
    again = api.post("/operators", body, key=key)
    assert (again["token"], again["expires_at"]) == (None, first["expires_at"])
    assert "renew it" in again["note"]
    assert can_read(api, first["token"])
    assert api.refused("/operators", {**body, "role": "supervisor"}, key=key) == (409, "command_id_reused")
    renewed = unique("k")
    new = api.post(f"/operators/{name}/renew", {}, key=renewed)["token"]
    assert api.post(f"/operators/{name}/renew", {}, key=renewed)["token"] is None
    assert can_read(api, new)


def test_the_daemon_reads_what_the_command_line_writes(api):
    name = unique("cli")
    added = api.site.answer("operator", "add", name, "--role", "auditor", "--token", api.tokens["manager"])
    assert can_read(api, added["token"])  # the store is read again for an unknown token
    api.post(f"/operators/{unique('dia')}/propose")
    done = api.site.run("operator", "revoke", name, "--reason", "left", "--token", api.tokens["manager"])
    assert done.code == 0, done.err
    wait_until(lambda: not can_read(api, added["token"]), "the revocation")
    assert api.post("/operators", {"name": unique("after"), "role": "auditor"})["token"]


def test_a_token_that_expires_while_the_daemon_runs_is_refused(api):
    name, ends, before = unique("eve"), in_seconds(5), dict(api.tokens)
    token = api.add(name, Role.SUPERVISOR, ends)
    api.tokens.update(before)
    client = api.client(token)
    signed_in = client.post("/api/v1/session", json={"token": token})
    assert (signed_in.status_code, signed_in.json()["expires_at"]) == (200, ends)
    cookies = dict(client.cookies)
    wait_until(lambda: client.get("/api/v1/jackpots").status_code == 401, "the end of the token")
    answer = client.get("/api/v1/jackpots")
    assert problem(answer)["code"] == "token_expired"
    assert answer.json()["detail"] == f"the token of {name} expired at {ends}: a manager can renew it"
    with api.client() as browser:
        browser.cookies.update(cookies)
        assert problem(browser.get("/api/v1/jackpots"))["code"] == "session_ended"
    renewed = api.post(f"/operators/{name}/renew", {})["token"]
    assert can_read(api, renewed)


def test_the_trail_of_all_these_acts_verifies(api):
    assert api.get("/audit/verify")["ok"]
