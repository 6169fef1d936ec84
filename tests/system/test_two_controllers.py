"""Two controllers on one database: one owns the jackpot, the other stands by and takes over within seconds."""

import json
import signal
import time

import pytest
from sqlalchemy import select

from jackpot.core.events import EventType
from jackpot.store import tables
from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, mosquitto, wait_until

TAKEOVER_SECONDS = 5
LAG_SECONDS = 10
"""What a loaded machine may add; the bound itself is measured by `make faults` on an idle one."""


@pytest.fixture
def pair(new_site, mosquitto_port, postgres_url, new_client):
    """Two controllers of one site, the first of which owns the jackpot, and a client with an open round at t1."""
    first = new_site(mosquitto_port, database=postgres.new_postgres_database(postgres_url))
    second = first.twin()
    first.start()
    second.start()
    client = new_client(mosquitto_port, first.id, "tables/+/pads/+/lamp", "tables/+/state", "tables/+/dealer/reply",
                        "jackpots/+/controller", "jackpots/+/meter")  # fmt: skip
    assert client.command("t1", "open", "open_round")["ok"]
    yield first, second, client
    for site in (first, second):
        if site.process.poll() is None:
            site.process.send_signal(signal.SIGCONT)
            site.kill()


def ownership(site):
    """Return the owner's process number, "" if there is none, and the epoch."""
    c = tables.chains.c
    row = site.rows(select(c.owner, c.epoch).where(c.chain == "main"))[0]
    return row.owner.split(":")[1] if row.owner else "", row.epoch


def owns(site):
    return ownership(site)[0] == str(site.process.pid)


def wager_until_accepted(client, box, wager_id):
    """Repeat a wager as a pad does, until its lamp answers; return the answer and the seconds it took."""
    began = time.monotonic()
    message = {"wager_id": wager_id, "round": 1, "amount_cents": 200, "ante": True}
    while time.monotonic() - began < LIMIT_SECONDS:
        client.publish(f"tables/t1/pads/{box}/wager", message)
        until = time.monotonic() + 1
        while time.monotonic() < until:
            lamp = client.last(f"tables/t1/pads/{box}/lamp")
            if lamp and lamp["answer"] and lamp["answer"]["wager_id"] == wager_id:
                return lamp["answer"]["verdict"], time.monotonic() - began
            time.sleep(0.02)
    raise AssertionError(f"{wager_id} was not answered")


def assert_posted_once(site, *wager_ids):
    posted = [event.data["wager_id"] for event in site.events() if event.type is EventType.WAGER_ACCEPTED]
    assert sorted(posted) == sorted(wager_ids)
    assert not [event for event in site.events() if event.type is EventType.TABLE_SUSPENDED]
    assert site.verified()


def test_the_second_controller_stands_by_and_both_are_ready(pair):
    first, second, client = pair
    assert owns(first)
    assert wager_until_accepted(client, 1, "w1")[0] == "accepted"
    assert ownership(first)[1] == json.loads(json.dumps(client.last("jackpots/main/controller")))["epoch"]
    assert second.process.poll() is None
    assert not owns(second)


def test_a_killed_owner_is_replaced_within_seconds_and_no_table_is_suspended(pair):
    first, second, client = pair
    assert wager_until_accepted(client, 1, "w1")[0] == "accepted"
    epoch = ownership(first)[1]
    first.kill()
    verdict, seconds = wager_until_accepted(client, 2, "w2")
    assert verdict == "accepted"
    assert seconds < TAKEOVER_SECONDS + LAG_SECONDS
    assert owns(second)
    assert ownership(second)[1] > epoch
    assert second.stop() == 0
    assert_posted_once(second, "w1", "w2")


def test_a_stopped_owner_is_replaced_and_writes_and_publishes_nothing_when_it_wakes(pair):
    first, second, client = pair
    assert wager_until_accepted(client, 1, "w1")[0] == "accepted"
    first.process.send_signal(signal.SIGSTOP)
    verdict, seconds = wager_until_accepted(client, 2, "w2")
    assert (verdict, owns(second)) == ("accepted", True)
    assert seconds < TAKEOVER_SECONDS + LAG_SECONDS
    epoch = ownership(second)[1]
    received = len(client.all)
    first.process.send_signal(signal.SIGCONT)
    wait_until(lambda: "standing by" in first.log, "the first controller to notice")
    assert wager_until_accepted(client, 3, "w3")[0] == "accepted"
    assert owns(second)
    late = [body for topic, body in list(client.all)[received:] if isinstance(body, dict) and "epoch" in body]
    assert late
    assert {body["epoch"] for body in late} == {epoch}
    assert first.stop() == 0
    assert second.stop() == 0
    assert_posted_once(second, "w1", "w2", "w3")


def test_a_stop_hands_over_at_once_and_the_other_goes_on(pair):
    first, second, client = pair
    assert wager_until_accepted(client, 1, "w1")[0] == "accepted"
    assert first.stop() == 0
    verdict, seconds = wager_until_accepted(client, 2, "w2")
    assert (verdict, owns(second)) == ("accepted", True)
    assert seconds < TAKEOVER_SECONDS + LAG_SECONDS
    assert set(controllers(second)) == {str(second.process.pid)}
    assert second.stop() == 0
    assert_posted_once(second, "w1", "w2")


def controllers(site):
    """Return the names of the controllers that have reported, by process number."""
    return {row.name.split(":")[1]: row.name for row in site.rows(select(tables.controllers))}


def ready(site):
    """Return the process numbers of the controllers that have reported the broker as connected."""
    return {row.name.split(":")[1] for row in site.rows(select(tables.controllers)) if row.broker}


def test_a_handover_moves_the_jackpot_and_back_without_a_lost_answer(pair):
    first, second, client = pair
    wait_until(
        lambda: ready(first) == set(controllers(first)) == {str(s.process.pid) for s in pair[:2]}, "both reports"
    )
    arguments = ("handover", "--token", first.tokens[0], "--reason", "update of the first machine")
    answer = first.answer(*arguments)
    assert answer["owner"] == controllers(first)[str(second.process.pid)]
    assert wager_until_accepted(client, 1, "w1")[0] == "accepted"
    answer = first.answer(*arguments, "--to", controllers(first)[str(first.process.pid)])
    assert answer["before"] == controllers(first)[str(second.process.pid)]
    assert wager_until_accepted(client, 2, "w2")[0] == "accepted"
    assert owns(first)
    assert [row.type for row in first.rows(requests())] == ["handover_requested"] * 2
    refused = first.run(*arguments, "--to", "elsewhere:1")
    assert (refused.code, "no such controller stands by" in refused.err) == (1, True)
    assert first.stop() == 0
    assert second.stop() == 0
    assert_posted_once(first, "w1", "w2")


def requests():
    e = tables.events.c
    return select(e.type).where(e.chain == "site", e.type == "handover_requested")


def test_a_rolling_restart_under_load_loses_no_answer(pair):
    first, second, client = pair
    verdicts = []
    for box, site in ((1, first), (2, second), (3, first)):
        assert site.stop() == 0
        verdicts.append(wager_until_accepted(client, box, f"w{box}")[0])
        site.start()
    assert verdicts == ["accepted"] * 3
    assert_posted_once(first, "w1", "w2", "w3")


def test_two_controllers_that_start_at_once_settle_at_once(pair):
    first, second, client = pair
    for site in (first, second):
        assert site.stop() == 0
    assert ownership(first)[0] == ""
    epoch = ownership(first)[1]
    for site in (first, second):
        site.start(wait=False)
    for site in (first, second):
        site.wait_ready()
    assert wager_until_accepted(client, 1, "w1")[0] == "accepted"
    assert owns(first) != owns(second)
    assert ownership(first)[1] == epoch + 1
    assert_posted_once(first, "w1")


def test_a_controller_gets_the_jackpot_that_it_prefers_and_keeps_it(new_site, mosquitto_port, postgres_url):
    first = new_site(mosquitto_port, database=postgres.new_postgres_database(postgres_url))
    second = first.twin()
    second.settings["PREFER"] = "main"
    first.start()
    assert owns(first)
    second.start()
    wait_until(lambda: owns(second), "the hand-over to the preferred controller")
    epoch = ownership(second)[1]
    wait_until(lambda: first.log.count("standing by") == 1, "the first controller to stand by")
    assert (owns(second), ownership(second)[1]) == (True, epoch)
    assert second.stop() == 0
    wait_until(lambda: owns(first), "the first controller to take over again")
    assert first.stop() == 0


def test_a_fenced_owner_without_a_wager_notices_it_and_leaves_no_online_status(
    new_site, new_client, mosquitto_port, tmp_path
):
    """Two brokers, one SQLite file: the first controller learns of the second from the store alone."""
    first = new_site(mosquitto_port)
    first.start()
    client = new_client(mosquitto_port, first.id, "jackpots/main/controller")
    wait_until(lambda: (client.last("jackpots/main/controller") or {}).get("state") == "online", "the first")
    with mosquitto(tmp_path) as other_port:
        second = first.twin()
        second.settings["BROKER"] = f"mqtt://127.0.0.1:{other_port}"
        second.start()
        assert first.process.wait(timeout=LIMIT_SECONDS) == 1
        assert client.last("jackpots/main/controller")["state"] == "offline"
        assert "another controller has taken over" in first.log
        assert second.stop() == 0
