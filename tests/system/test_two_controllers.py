"""Two controllers on one database: one owns the jackpot, the other stands by and takes over within seconds."""

import json
import signal
import time

import pytest
from sqlalchemy import select

from jackpot.core.events import EventType
from jackpot.store import tables
from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, wait_until

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
    assert second.stop() == 0
    assert_posted_once(second, "w1", "w2")
