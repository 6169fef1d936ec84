"""Sessions in memory: their time limits, their operator's access and their number; and rate limits."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from jackpot.core.commands import Role
from jackpot.core.site.state import Operator, Site
from jackpot.web.authentication import Authenticator
from jackpot.web.rate_limits import MAX_KEYS, OTHERS, WINDOW_SECONDS, RateLimiter, Refusals, network
from jackpot.web.sessions import IDLE_SECONDS, MAX_PER_OPERATOR, MAX_SECONDS, MAX_SESSIONS, Sessions, key_of

NOW, YEAR = "2026-11-15T09:30:00.000Z", "2027-11-15T09:30:00.000Z"
SUE = Operator("sue", Role.SUPERVISOR, "hash", expires_at=YEAR)


def site(operator=SUE):
    return Site({operator.name: operator})


def test_a_session_is_found_by_its_id_only_and_stored_under_its_hash():
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    assert sessions.find(secret, site(), NOW, 1.0) == session._replace(seen=1.0)
    assert sessions.find(secret[:-1] + ("x" if secret[-1] != "x" else "y"), site(), NOW, 1.0) is None
    assert session.key == key_of(secret)
    assert secret not in repr(vars(sessions))
    assert sessions.find(session.key, site(), NOW, 1.0) is None


def test_ids_and_csrf_tokens_are_long_and_unique():
    sessions = Sessions()
    made = [sessions.open(SUE, 0.0) for _ in range(10)]
    texts = {text for secret, session in made for text in (secret, session.csrf)}
    assert len(texts) == 20
    assert all(len(text) >= 43 for text in texts)


def test_a_session_ends_after_half_an_hour_without_a_request():
    sessions = Sessions()
    secret, _ = sessions.open(SUE, 0.0)
    assert sessions.find(secret, site(), NOW, IDLE_SECONDS - 1)
    assert sessions.find(secret, site(), NOW, 2 * IDLE_SECONDS - 2)
    assert sessions.find(secret, site(), NOW, 3 * IDLE_SECONDS - 2) is None
    assert len(sessions) == 0


def test_a_session_ends_after_twelve_hours_even_if_it_is_used():
    sessions = Sessions()
    secret, _ = sessions.open(SUE, 0.0)
    at = 0.0
    while at + 600 < MAX_SECONDS:
        at += 600
        assert sessions.find(secret, site(), NOW, at)
    assert sessions.find(secret, site(), NOW, MAX_SECONDS) is None


@pytest.mark.parametrize(
    "changed",
    [
        SUE._replace(active=False, token_hash=""),
        SUE._replace(token_hash="another"),
        SUE._replace(expires_at=NOW),
        SUE._replace(name="other"),
    ],
    ids=["revoked", "renewed", "expired", "unknown"],
)
def test_a_session_ends_with_its_operators_access(changed):
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    assert sessions.is_valid(session, site(), NOW, 1.0)
    assert not sessions.is_valid(session, site(changed), NOW, 1.0)
    assert sessions.find(secret, site(changed), NOW, 1.0) is None
    assert sessions.find(secret, site(), NOW, 1.0) is None  # it is not restored


def test_signing_out_ends_a_session_at_once():
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    sessions.end(session)
    assert not sessions.is_valid(session, site(), NOW, 0.0)
    assert sessions.find(secret, site(), NOW, 0.0) is None


def test_an_operator_who_opens_too_many_sessions_loses_the_oldest_of_their_own():
    sessions = Sessions()
    ada = Operator("ada", Role.AUDITOR, "hers")
    everyone = Site({"sue": SUE, "ada": ada})
    hers, _ = sessions.open(ada, 0.0)
    made = [sessions.open(SUE, 1.0 + number)[0] for number in range(MAX_PER_OPERATOR + 1)]
    assert sessions.find(hers, everyone, NOW, 50.0)
    assert sessions.find(made[0], everyone, NOW, 50.0) is None
    assert all(sessions.find(secret, everyone, NOW, 50.0) for secret in made[1:])


def test_the_number_of_sessions_is_limited():
    sessions = Sessions()
    for number in range(MAX_SESSIONS + 50):
        sessions.open(SUE._replace(name=f"o{number}"), float(number) / 10)
    assert len(sessions) == MAX_SESSIONS


def test_a_rate_limiter_allows_its_limit_and_then_returns_the_time_to_wait():
    limiter = RateLimiter(3)
    for at in (0.0, 10.0, 20.0):
        assert limiter.wait_seconds("here", at) == 0
        limiter.add("here", at)
    assert limiter.wait_seconds("here", 20.0) == WINDOW_SECONDS - 20
    assert limiter.wait_seconds("there", 20.0) == 0
    assert limiter.wait_seconds("here", WINDOW_SECONDS) == 0
    limiter.add("here", WINDOW_SECONDS)
    assert limiter.wait_seconds("here", WINDOW_SECONDS + 1) == 0


def test_a_rate_limiter_keeps_a_limited_number_of_keys_and_counts_the_rest_together():
    limiter = RateLimiter(3)
    for number in range(3 * MAX_KEYS):
        limiter.add(f"10.0.{number // 250}.{number % 250}", 1.0)
    assert len(limiter) <= MAX_KEYS + 1
    assert limiter.wait_seconds(OTHERS, 1.0) > 0
    limiter.add("late", 1.0 + WINDOW_SECONDS)
    assert len(limiter) == 1


def recorded(refusals, at):
    """Mark all that is due as recorded, and return it."""
    found = []
    while (due := refusals.due(at)) is not None:
        refusals.mark_recorded(due, at)
        found.append(due)
    return found


def test_an_address_is_recorded_once_a_minute_with_all_its_attempts():
    refusals = Refusals(5)
    refusals.add("10.0.0.7")
    assert recorded(refusals, 0.0) == [("10.0.0.7", 1)]
    for _ in range(9):
        refusals.add("10.0.0.7")
    assert recorded(refusals, 1.0) == []
    assert recorded(refusals, WINDOW_SECONDS - 1) == []
    assert recorded(refusals, WINDOW_SECONDS) == [("10.0.0.7", 9)]
    assert recorded(refusals, 3 * WINDOW_SECONDS) == []


def test_refusals_that_were_not_recorded_stay_due_with_later_ones_added():
    refusals = Refusals(5)
    refusals.add("10.0.0.7")
    lost = refusals.due(0.0)
    assert refusals.due(1.0) == lost == ("10.0.0.7", 1)
    refusals.add("10.0.0.8")
    refusals.add("10.0.0.7")
    taken = refusals.due(2.0)
    refusals.add("10.0.0.7")  # while the entry is written
    refusals.mark_recorded(taken, 2.0)
    assert taken == ("10.0.0.7", 2)
    assert recorded(refusals, 3.0) == [("10.0.0.8", 1)]
    assert recorded(refusals, 2.0 + WINDOW_SECONDS) == [("10.0.0.7", 1)]


def test_a_flood_from_many_addresses_makes_few_entries_and_loses_no_attempt():
    refusals, entries = Refusals(5), []
    for number in range(3 * MAX_KEYS):
        refusals.add(f"10.0.{number // 250}.{number % 250}")
        entries += recorded(refusals, 1.0)
    assert len(entries) == 5
    for minute in range(1, 500):
        entries += recorded(refusals, 1.0 + minute * WINDOW_SECONDS)
    assert sum(attempts for _, attempts in entries) == 3 * MAX_KEYS
    assert len(refusals) == 0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("unknown", "unknown"),
    ],
)
def test_an_ipv6_address_is_counted_by_its_network(address, counted):
    assert network(address) == counted


def test_unattended_requests_do_not_keep_a_session_alive():
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    for minute in range(1, 30):
        assert sessions.find(secret, site(), NOW, 60.0 * minute, attended=False) == session
    assert sessions.find(secret, site(), NOW, IDLE_SECONDS + 1, attended=False) is None


@pytest.mark.parametrize(
    ("path", "extra", "attended"),
    [
        ("/", {}, True),
        ("/api/v1/wins", {}, True),
        ("/wins", {"x-unattended": "1"}, False),
        ("/console/feed", {}, False),
    ],
    ids=["a page", "the API", "an unattended request", "the feed"],
)
def test_only_requests_of_a_person_keep_a_session_alive(path, extra, attended):
    authenticator = Authenticator(SimpleNamespace(site=site(SUE._replace(expires_at=""))))
    opened_at = time.monotonic() - IDLE_SECONDS / 2
    secret, _ = authenticator.sessions.open(SUE, opened_at)
    headers = {"host": "localhost", "cookie": f"jackpot-session={secret}", **extra}
    scope = {
        "type": "http", "method": "GET", "scheme": "http", "path": path, "query_string": b"",
        "server": ("localhost", 80), "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    caller = asyncio.run(authenticator.authenticate(Request(scope)))
    assert (caller.session.seen > opened_at) == attended
