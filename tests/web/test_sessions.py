"""Sessions in memory: their time, their operator's access, their number; and how often something may happen."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from jackpot.core.commands import Role
from jackpot.core.site.state import Operator, Site
from jackpot.web.authentication import Authenticator
from jackpot.web.rate_limits import MAX_KEYS, OTHERS, WINDOW_SECONDS, RateLimiter, Refusals, network
from jackpot.web.sessions import IDLE_SECONDS, LONGEST_SECONDS, MAX_OF_ONE, MAX_SESSIONS, Sessions, key_of

NOW, YEAR = "2026-11-15T09:30:00.000Z", "2027-11-15T09:30:00.000Z"
SUE = Operator("sue", Role.SUPERVISOR, "hash", expires_at=YEAR)


def site(operator=SUE):
    return Site({operator.name: operator})


def test_a_session_is_found_by_its_id_alone_and_kept_by_its_hash():
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    assert sessions.find(secret, site(), NOW, 1.0) == session._replace(seen=1.0)
    assert sessions.find(secret[:-1] + ("x" if secret[-1] != "x" else "y"), site(), NOW, 1.0) is None
    assert session.key == key_of(secret)
    assert secret not in repr(vars(sessions))
    assert sessions.find(session.key, site(), NOW, 1.0) is None


def test_ids_and_csrf_tokens_are_long_and_never_the_same():
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


def test_a_session_ends_after_twelve_hours_however_busy_it_is():
    sessions = Sessions()
    secret, _ = sessions.open(SUE, 0.0)
    at = 0.0
    while at + 600 < LONGEST_SECONDS:
        at += 600
        assert sessions.find(secret, site(), NOW, at)
    assert sessions.find(secret, site(), NOW, LONGEST_SECONDS) is None


@pytest.mark.parametrize(
    "now",
    [
        SUE._replace(active=False, token_hash=""),
        SUE._replace(token_hash="another"),
        SUE._replace(expires_at=NOW),
        SUE._replace(name="somebody"),
    ],
    ids=["revoked", "renewed", "expired", "unknown"],
)
def test_a_session_ends_with_its_operators_access(now):
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    assert sessions.holds(session, site(), NOW, 1.0)
    assert not sessions.holds(session, site(now), NOW, 1.0)
    assert sessions.find(secret, site(now), NOW, 1.0) is None
    assert sessions.find(secret, site(), NOW, 1.0) is None  # it does not come back


def test_signing_out_ends_a_session_at_once():
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    sessions.end(session)
    assert not sessions.holds(session, site(), NOW, 0.0)
    assert sessions.find(secret, site(), NOW, 0.0) is None


def test_whoever_opens_too_many_loses_the_oldest_of_their_own():
    sessions = Sessions()
    ada = Operator("ada", Role.AUDITOR, "hers")
    everyone = Site({"sue": SUE, "ada": ada})
    hers, _ = sessions.open(ada, 0.0)
    made = [sessions.open(SUE, 1.0 + number)[0] for number in range(MAX_OF_ONE + 1)]
    assert sessions.find(hers, everyone, NOW, 50.0)
    assert sessions.find(made[0], everyone, NOW, 50.0) is None
    assert all(sessions.find(secret, everyone, NOW, 50.0) for secret in made[1:])


def test_there_are_never_more_than_so_many():
    sessions = Sessions()
    for number in range(MAX_SESSIONS + 50):
        sessions.open(SUE._replace(name=f"o{number}"), float(number) / 10)
    assert len(sessions) == MAX_SESSIONS


def test_a_tally_lets_so_many_pass_and_then_says_how_long_to_wait():
    tally = RateLimiter(3)
    for at in (0.0, 10.0, 20.0):
        assert tally.wait_seconds("here", at) == 0
        tally.add("here", at)
    assert tally.wait_seconds("here", 20.0) == WINDOW_SECONDS - 20
    assert tally.wait_seconds("there", 20.0) == 0
    assert tally.wait_seconds("here", WINDOW_SECONDS) == 0
    tally.add("here", WINDOW_SECONDS)
    assert tally.wait_seconds("here", WINDOW_SECONDS + 1) == 0


def test_a_tally_stays_small_and_counts_the_rest_together():
    tally = RateLimiter(3)
    for number in range(3 * MAX_KEYS):
        tally.add(f"10.0.{number // 250}.{number % 250}", 1.0)
    assert len(tally._counts) <= MAX_KEYS + 1
    assert tally.wait_seconds(OTHERS, 1.0) > 0
    tally.add("late", 1.0 + WINDOW_SECONDS)
    assert len(tally._counts) == 1


def told(refusals, at):
    """Whatever is due, told."""
    found = []
    while (due := refusals.due(at)) is not None:
        refusals.tell(due, at)
        found.append(due)
    return found


def test_the_entry_log_hears_of_an_address_once_a_minute_with_all_its_attempts():
    refusals = Refusals(5)
    refusals.add("10.0.0.7")
    assert told(refusals, 0.0) == [("10.0.0.7", 1)]
    for _ in range(9):
        refusals.add("10.0.0.7")
    assert told(refusals, 1.0) == []
    assert told(refusals, WINDOW_SECONDS - 1) == []
    assert told(refusals, WINDOW_SECONDS) == [("10.0.0.7", 9)]
    assert told(refusals, 3 * WINDOW_SECONDS) == []


def test_what_the_entry_log_did_not_take_stays_due_with_what_came_since():
    refusals = Refusals(5)
    refusals.add("10.0.0.7")
    lost = refusals.due(0.0)
    assert refusals.due(1.0) == lost == ("10.0.0.7", 1)
    refusals.add("10.0.0.8")
    refusals.add("10.0.0.7")
    taken = refusals.due(2.0)
    refusals.add("10.0.0.7")  # while the log is written
    refusals.tell(taken, 2.0)
    assert taken == ("10.0.0.7", 2)
    assert told(refusals, 3.0) == [("10.0.0.8", 1)]
    assert told(refusals, 2.0 + WINDOW_SECONDS) == [("10.0.0.7", 1)]


def test_a_flood_from_everywhere_makes_few_entries_and_loses_no_count():
    refusals, heard = Refusals(5), []
    for number in range(3 * MAX_KEYS):
        refusals.add(f"10.0.{number // 250}.{number % 250}")
        heard += told(refusals, 1.0)
    assert len(heard) == 5
    for minute in range(1, 500):
        heard += told(refusals, 1.0 + minute * WINDOW_SECONDS)
    assert sum(attempts for _, attempts in heard) == 3 * MAX_KEYS
    assert len(refusals._untold) == 0


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
def test_one_customer_has_one_count(address, counted):
    assert network(address) == counted


def test_what_a_page_asks_by_itself_does_not_keep_a_session_alive():
    sessions = Sessions()
    secret, session = sessions.open(SUE, 0.0)
    for minute in range(1, 30):
        assert sessions.find(secret, site(), NOW, 60.0 * minute, attended=False) == session
    assert sessions.find(secret, site(), NOW, IDLE_SECONDS + 1, attended=False) is None


@pytest.mark.parametrize(
    ("path", "headers", "attended"),
    [
        ("/", {}, True),
        ("/api/v1/wins", {}, True),
        ("/wins", {"x-unattended": "1"}, False),
        ("/console/feed", {}, False),
    ],
    ids=["a page", "the API", "what a page asks by itself", "the feed that it listens to"],
)
def test_only_what_somebody_asks_for_keeps_a_session_alive(path, headers, attended):
    authenticator = Authenticator(SimpleNamespace(site=site(SUE._replace(expires_at=""))))
    opened_at = time.monotonic() - IDLE_SECONDS / 2
    secret, _ = authenticator.sessions.open(SUE, opened_at)
    told = {"host": "localhost", "cookie": f"jackpot-session={secret}", **headers}
    scope = {
        "type": "http", "method": "GET", "scheme": "http", "path": path, "query_string": b"",
        "server": ("localhost", 80), "headers": [(name.encode(), value.encode()) for name, value in told.items()],
    }  # fmt: skip
    caller = asyncio.run(authenticator.admit(Request(scope)))
    assert (caller.session.seen > opened_at) == attended
