"""A database that stops to answer, without an error, is a store failure within seconds: nothing hangs silently."""

import os
import signal
import time
from contextlib import contextmanager

import psycopg
import pytest

from tests.support import postgres
from tests.support.daemon import wait_until

PROGRESS_SECONDS = 30
"""A generous limit for what takes 3 to 4 s on an idle machine."""
STOP_SECONDS = 10


@pytest.fixture
def stalled_site(new_site, mosquitto_port, postgres_url):
    """Return a function that starts a daemon on PostgreSQL with an open round, and its client."""

    def make(new_client):
        site = new_site(mosquitto_port, database=postgres.new_postgres_database(postgres_url))
        client = new_client(mosquitto_port, site.id, "tables/+/pads/+/lamp", "tables/+/state", "jackpots/main/meter")
        client_replies = new_client(mosquitto_port, site.id, "tables/+/dealer/reply")
        site.start()
        assert client_replies.command("t1", "open", "open_round")["ok"]
        return site, client

    return make


@contextmanager
def stopped_backends(database):
    """Stop every server process of the controller's writers for the time of this context."""
    with psycopg.connect(database, autocommit=True) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'jackpot-writer' AND datname = %s"
        found = [row[0] for row in connection.execute(query, (database.rpartition("/")[2],))]
    assert found
    for process in found:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in found:
            os.kill(process, signal.SIGCONT)


@contextmanager
def locked_events(database):
    """Lock the table of events by another session for the time of this context."""
    with psycopg.connect(database) as connection:
        connection.execute("LOCK TABLE events")
        yield


def send_wager(client, wager_id):
    client.publish("tables/t1/pads/1/wager", {"wager_id": wager_id, "round": 1, "amount_cents": 200, "ante": True})


def is_failure_shown(site, client):
    """Return True if meter, table states, readiness and metrics all show the failure."""
    states = client.last("tables/t1/state")
    meter = client.last("jackpots/main/meter")
    return (
        states is not None
        and states["suspended"] == "store"
        and meter["state"] == "suspended"
        and site.metric('jackpot_store_failing{jackpot="main"}') == 1
        and site.metric('jackpot_oldest_waiting_seconds{jackpot="main"}') > 0
        and site.metric('jackpot_alarm{code="store_failed",jackpot="main"}') == 1
    )


@pytest.mark.parametrize("stall", [stopped_backends, locked_events])
def test_a_stalled_store_suspends_the_tables_and_the_wager_is_answered_once_afterwards(stall, stalled_site, new_client):
    site, client = stalled_site(new_client)
    with stall(site.database):
        send_wager(client, "w1")
        wait_until(lambda: is_failure_shown(site, client), "the failure", PROGRESS_SECONDS)
        assert not [body for topic, body in client.all if topic.endswith("pads/1/lamp") and body["lit"]]
    lamp = client.wait("tables/t1/pads/1/lamp", lambda body: body["answer"] and body["answer"]["wager_id"] == "w1")
    assert lamp["answer"]["verdict"] in ("accepted", "rejected")
    wait_until(lambda: site.metric('jackpot_store_failing{jackpot="main"}') == 0, "the recovery")
    suspended = [event for event in site.events() if event.type == "table_suspended"]
    assert {event.data["cause"] for event in suspended} == {"store"}
    accepted = [event for event in site.events() if event.type == "wager_accepted"]
    assert len(accepted) == (lamp["answer"]["verdict"] == "accepted")
    assert site.stop() == 0
    assert site.verified()


def test_a_stop_ends_in_time_while_the_store_stalls(stalled_site, new_client):
    site, client = stalled_site(new_client)
    with stopped_backends(site.database):
        send_wager(client, "w1")
        wait_until(lambda: is_failure_shown(site, client), "the failure", PROGRESS_SECONDS)
        began = time.monotonic()
        site.process.terminate()
        site.process.wait(timeout=STOP_SECONDS)
        assert time.monotonic() - began < STOP_SECONDS
