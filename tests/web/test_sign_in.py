"""Signing in from a browser: cookies, CSRF protection, ends of sessions, limits, and entries in the trail."""

import time

import pytest

from jackpot.web.authentication import MAX_FAILURES, MAX_SIGN_INS
from tests.support.api_client import Browser, problem, unique, wait_until


def code(answer):
    return answer.status_code, problem(answer)["code"]


@pytest.fixture
def browser(api):
    return api.browser("supervisor")


# The cookie.


def test_the_session_cookie_is_http_only_and_same_site(browser):
    (cookie,) = browser.answer.headers.get_list("Set-Cookie")
    name, *flags = cookie.split("; ")
    assert name.startswith("jackpot-session=")
    assert set(flags) == {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"}  # plain http on the machine itself
    session = browser.answer.json()
    assert (session["name"], session["role"], len(session["csrf"])) == ("sue", "supervisor", 43)
    assert browser.get("/session").json()["csrf"] == session["csrf"]
    assert browser.get("/jackpots").status_code == 200


@pytest.mark.parametrize("host", ["casino.example", "10.0.0.7:8080", "casino.example:443"])
def test_on_other_hosts_the_cookie_is_secure_and_bound_to_the_host(api, host):
    browser = Browser(api, api.tokens["supervisor"], host=host)
    (cookie,) = browser.answer.headers.get_list("Set-Cookie")
    name, *flags = cookie.split("; ")
    assert name.startswith("__Host-jackpot=")
    assert set(flags) == {"HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200", "Secure"}
    secret = name.partition("=")[2]
    for sent, status in (("__Host-jackpot", 200), ("jackpot-session", 401)):
        answer = api.client(Host=host, Cookie=f"{sent}={secret}").get("/api/v1/session")
        assert answer.status_code == status


def test_a_wrong_token_opens_no_session(api):
    with api.client(address="127.0.0.9") as client:
        answer = client.post("/api/v1/session", json={"token": "wrong"})
        assert code(answer) == (401, "unauthenticated")
        assert "Set-Cookie" not in answer.headers
        for body in ({}, {"token": ""}, {"token": "x" * 300}, {"token": 3}, {"token": "x", "more": 1}):
            assert client.post("/api/v1/session", json=body).status_code == 422


# CSRF protection.


def test_an_act_needs_the_sessions_csrf_token_and_the_same_origin(api, browser):
    body = {"note": "again"}
    refused = (403, "csrf")
    assert code(browser.post("/tables/t1/resume", body, csrf=False)) == refused
    assert code(browser.post("/tables/t1/resume", body, csrf="wrong")) == refused
    assert code(browser.post("/tables/t1/resume", body, csrf=api.browser("supervisor").csrf)) == refused
    for page in (
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"{api.url}.evil.example"},
        {"Origin": api.url, "Sec-Fetch-Site": "cross-site"},
    ):
        assert code(browser.post("/tables/t1/resume", body, page=page)) == (403, "foreign_page"), page
    for page in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": api.url}):
        assert code(browser.post("/tables/t1/resume", body, page=page)) == (409, "wrong_phase")


def test_an_act_by_a_session_is_recorded_in_the_operators_name(api, browser):
    api.floor.command("t2", unique("c"), "report_malfunction", equipment="pad 2", note="dark")
    assert browser.post("/tables/t2/resume", {"note": "a new pad"}).status_code == 200
    (event,) = api.get("/audit?limit=1&table=t2")["rows"]
    assert (event["type"], event["actor"]) == ("table_resumed", "sue")


def test_a_session_has_its_operators_role(api):
    auditor = api.browser("auditor")
    assert auditor.get("/jackpots").status_code == 200
    assert code(auditor.post("/tables/t1/resume", {})) == (403, "forbidden")
    assert auditor.get("/quarantine").status_code == 200


def test_a_page_of_another_site_cannot_sign_in(api):
    with api.client() as client:
        for page in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            body = {"token": api.tokens["supervisor"]}
            assert code(client.post("/api/v1/session", json=body, headers=page)) == (403, "foreign_page")


def test_a_token_in_the_header_needs_no_csrf_token_and_takes_precedence_over_a_cookie(api, browser):
    headers = {"Authorization": f"Bearer {api.tokens['auditor']}"}
    answer = browser.client.get("/api/v1/session", headers=headers)
    assert (answer.json()["name"], answer.json()["csrf"]) == ("ada", None)


# Ends of sessions.


def test_signing_out_ends_the_session_and_removes_the_cookie(browser):
    assert browser.sign_out().status_code == 204
    assert "jackpot-session" not in browser.client.cookies
    assert code(browser.get("/session")) == (401, "unauthenticated")


def test_a_stolen_cookie_is_refused_after_the_sign_out(api, browser):
    stolen = dict(browser.client.cookies)
    browser.sign_out()
    with api.client() as thief:
        thief.cookies.update(stolen)
        assert code(thief.get("/api/v1/jackpots")) == (401, "session_ended")


def test_signing_in_again_ends_the_previous_session(api, browser):
    previous = dict(browser.client.cookies)
    body = {"token": api.tokens["manager"]}
    again = browser.client.post("/api/v1/session", json=body, headers=browser.same_origin)
    assert again.json()["name"] == "manager1"
    with api.client() as other:
        other.cookies.update(previous)
        assert code(other.get("/api/v1/jackpots")) == (401, "session_ended")


@pytest.mark.parametrize("ending", ["revoke", "renew"])
def test_a_session_ends_at_once_with_its_operators_access(api, ending):
    name = unique("sid")
    token = api.post("/operators", {"name": name, "role": "supervisor"})["token"]
    browser = Browser(api, token)
    assert browser.get("/jackpots").status_code == 200
    api.post(f"/operators/{name}/{ending}", {"reason": "left"} if ending == "revoke" else {})
    assert code(browser.get("/jackpots")) == (401, "session_ended")
    assert code(browser.get("/jackpots")) == (401, "session_ended")


def test_a_restart_ends_all_sessions(own_api):
    browser = own_api.browser("supervisor")
    assert browser.get("/jackpots").status_code == 200
    own_api.restart()
    assert code(browser.get("/jackpots")) == (401, "session_ended")


# Entries in the trail.


def test_sign_ins_and_sign_outs_are_in_the_audit_trail(api):
    browser = api.browser("auditor", address="127.0.0.3")
    browser.sign_out()
    assert api.entries("signed_in", "signed_out")[:2] == [
        ("signed_out", "ada", {"address": "127.0.0.3"}),
        ("signed_in", "ada", {"address": "127.0.0.3"}),
    ]


# Limits.


def test_wrong_tokens_from_one_address_are_limited_and_recorded_once_a_minute(own_api):
    api, address = own_api, "127.0.0.5"
    client = api.client(address=address)
    for _ in range(MAX_FAILURES):
        assert code(client.post("/api/v1/session", json={"token": "wrong"})) == (401, "unauthenticated")
    answer = client.post("/api/v1/session", json={"token": "wrong"})
    assert code(answer) == (429, "too_many_failures")
    assert 1 <= int(answer.headers["Retry-After"]) <= 61
    wrong = {"Authorization": "Bearer wrong"}
    assert code(client.get("/api/v1/jackpots", headers=wrong)) == (429, "too_many_failures")
    # Valid tokens and other addresses are not limited.
    assert api.client(api.tokens["auditor"], address).get("/api/v1/jackpots").status_code == 200
    assert api.browser("supervisor", address=address).answer.status_code == 200
    assert api.browser("supervisor", address="127.0.0.6").answer.status_code == 200
    assert code(client.post("/api/v1/session", json={"token": "wrong"})) == (429, "too_many_failures")
    recorded = wait_until(lambda: api.entries("sign_in_refused"), "the entry")
    for _ in range(200):
        client.post("/api/v1/session", json={"token": "wrong"})
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 2.5, "two rounds of the authenticator")
    assert api.entries("sign_in_refused") == recorded
    ((kind, actor, data),) = recorded
    assert (kind, actor, data["address"]) == ("sign_in_refused", "controller", address)
    assert 1 <= data["attempts"] <= 14
    assert api.site.stop() == 0
    assert api.site.verified()


def test_wrong_bearer_tokens_are_limited_like_sign_ins(own_api):
    client = own_api.client("wrong", address="127.0.0.7")
    statuses = [client.get("/api/v1/jackpots").status_code for _ in range(MAX_FAILURES + 2)]
    assert statuses == [401] * MAX_FAILURES + [429] * 2


def test_sign_ins_of_one_operator_are_limited(own_api):
    client = own_api.client()
    body = {"token": own_api.tokens["auditor"]}
    answers = [client.post("/api/v1/session", json=body) for _ in range(MAX_SIGN_INS + 3)]
    assert [answer.status_code for answer in answers] == [200] * MAX_SIGN_INS + [429] * 3
    assert code(answers[-1]) == (429, "too_many_sign_ins")
    assert len(own_api.entries("signed_in")) == MAX_SIGN_INS


def test_forwarded_addresses_are_accepted_from_trusted_proxies_only(own_api):
    forwarded = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    client = own_api.client(address="127.0.0.8", **forwarded)
    client.post("/api/v1/session", json={"token": own_api.tokens["auditor"]})
    assert own_api.entries("signed_in")[0][2] == {"address": "127.0.0.8"}
    own_api.site.settings["trusted_proxies"] = "127.0.0.8"
    own_api.restart()
    answer = own_api.client(address="127.0.0.8", **forwarded).post(
        "/api/v1/session", json={"token": own_api.tokens["auditor"]}
    )
    assert answer.headers["Set-Cookie"].startswith("__Host-jackpot=")
    assert own_api.entries("signed_in")[0][2] == {"address": "203.0.113.9"}
