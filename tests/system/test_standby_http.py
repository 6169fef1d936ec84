"""Operators' acts and pages on a controller that stands by: the acts reach the owner, also after a takeover."""

import json
import urllib.request

import pytest

from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, wait_until

ROUND = "rounds/t1/1"


@pytest.fixture
def pair(new_site, mosquitto_port, postgres_url, new_client):
    """Two controllers of one site, the first of which owns the jackpot, and a client with a wager at t1."""
    first = new_site(mosquitto_port, database=postgres.new_postgres_database(postgres_url))
    second = first.twin()
    first.start()
    second.start()
    client = new_client(mosquitto_port, first.id, "tables/#")
    assert client.command("t1", "open", "open_round")["ok"]
    assert client.wager("t1", 3, "w1", 1)["lit"]
    yield first, second, client
    for site in (first, second):
        if site.process.poll() is None:
            site.kill()


def get(site, path):
    """Return an answer of the API to a manager."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{site.http}{path}", headers={"Authorization": f"Bearer {site.tokens[0]}"}
    )
    with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as reply:
        return json.load(reply)


def owner_of(site):
    """Return the process number of the owner that a controller names, "" if there is none, and the standbys."""
    (main,) = get(site, "/api/v1/controllers")["jackpots"]
    owner = main["owner"].split(":")[1] if main["owner"] else ""
    return owner, [standby["controller"].split(":")[1] for standby in main["standbys"]]


def void_until_done(site):
    """Send an act with one key until it is answered, as a person would during a takeover."""

    def done():
        status, answer = site.act(f"{ROUND}/void", {"reason": "A card"}, **{"Idempotency-Key": "void"})
        assert status in (200, 503), answer
        return answer if status == 200 else None

    return wait_until(done, "the act")


def test_an_act_at_the_standby_is_carried_out_by_the_owner_and_shown_at_the_standby(pair):
    first, second, _ = pair
    pids = str(first.process.pid), str(second.process.pid)
    wait_until(lambda: owner_of(second) == (pids[0], [pids[1]]), "both controllers to be named")
    assert owner_of(first) == owner_of(second)
    wait_until(lambda: get(second, "/api/v1/tables/t1")["lit"] == [3], "the wager at the standby")
    assert get(second, "/readyz")["ready"]
    assert void_until_done(second) == {"returned_cents": 200}
    assert void_until_done(first) == {"returned_cents": 200}
    (voided,) = [event for event in first.events() if event.type == "round_voided"]
    assert voided.actor == "manager1"
    wait_until(lambda: get(second, "/api/v1/tables/t1")["phase"] == "idle", "the void at the standby")
    assert first.stop() == second.stop() == 0
    assert first.verified()


def test_acts_go_on_at_the_standby_after_the_owner_was_killed(pair):
    first, second, _ = pair
    first.kill()
    assert void_until_done(second) == {"returned_cents": 200}
    wait_until(lambda: owner_of(second) == (str(second.process.pid), []), "the takeover to be shown")
    assert len([event for event in second.events() if event.type == "round_voided"]) == 1
    wait_until(lambda: get(second, "/readyz")["ready"], "the survivor to be ready")
    findings = second.answer("doctor")["findings"]
    (says,) = [finding["says"] for finding in findings if finding["part"] == "controllers"]
    assert f":{second.process.pid}" in says
    assert "no controller stands by" in says
    assert second.stop() == 0
    assert second.verified()
