"""Malformed messages in large numbers: all are counted, few are answered, and good wagers go on."""

import time

import pytest

from jackpot.wire.malformed_limit import MAX_ON_A_TOPIC
from tests.support.daemon import LIMIT_SECONDS, wait_until

MESSAGES = 3_000


@pytest.fixture
def floor(port, new_site, new_client):
    """A daemon with an open round, and a client that receives its lamps."""
    site = new_site(port)
    client = new_client(port, site.id, "tables/#")
    site.start()
    client.command("t1", "open", "open_round")
    return site, client


def test_a_flood_of_malformed_wagers_is_counted_and_answered_within_the_limit(floor, new_client, port):
    site, client = floor
    flooder = new_client(port, site.id)
    topic, began = f"{client.root}/tables/t1/pads/3/wager", time.monotonic()
    sent = [flooder.paho.publish(topic, b"{", 1) for _ in range(MESSAGES)]
    assert client.wager("t1", 4, "good", 1)["answer"]["verdict"] == "accepted"
    for one in sent:
        one.wait_for_publish(LIMIT_SECONDS)
    counted = 'jackpot_malformed_messages_total{jackpot="main",kind="wager"}'
    wait_until(lambda: site.metric(counted) == MESSAGES, "the count of all")
    assert client.wager("t1", 3, "w1", 1)["answer"]["verdict"] == "accepted"
    seconds = time.monotonic() - began
    answers = [lamp for _, lamp in client.times("tables/t1/pads/3/lamp") if is_malformed(lamp)]
    assert 0 < len(answers) <= MAX_ON_A_TOPIC * (seconds + 1)
    assert site.metric("jackpot_malformed_unanswered_messages_total") == MESSAGES - len(answers)
    assert site.log.count('"malformed message"') <= 1 + seconds / 60


def is_malformed(lamp):
    return lamp["answer"] is not None and lamp["answer"]["reason"] == "malformed"
