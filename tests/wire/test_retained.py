"""The retained state of an earlier controller, read from a real broker before anything is overwritten."""

import asyncio
import json
from uuid import uuid4

import pytest

from jackpot.engine import views
from jackpot.wire.mqtt_session import Address
from jackpot.wire.retained import RetainedState, read_retained
from jackpot.wire.topics import Topics
from tests.support.wire_floor import WireFloor


@pytest.fixture
def topics():
    return Topics(f"casino-{uuid4().hex[:8]}")


@pytest.fixture
def left(topics, mosquitto_port, new_client):
    """Publishes retained messages as an earlier controller would."""
    client = new_client(mosquitto_port, topics.site)

    def publish(topic, body):
        client.publish(topic.removeprefix(f"{topics.root}/"), body, retain=True)

    return publish


def state(table, *, store_failed):
    wire = WireFloor()
    wire.committed.store_failed = store_failed
    return views.table_state(wire.committed, wire.committed.jackpot.tables[table])


def found(topics, port, tables=("t1", "t2")):
    probe = f"probe-{uuid4().hex[:8]}"
    return asyncio.run(read_retained(Address("127.0.0.1", port), topics, "main", tables, probe))


def test_nothing_is_found_where_nothing_is_retained(topics, mosquitto_port):
    assert found(topics, mosquitto_port) == RetainedState(0, {}, set())


def test_epoch_failed_tables_and_lamps_are_found(topics, mosquitto_port, left):
    left(topics.controller("main"), {"state": "offline", "epoch": 41})
    left(topics.state("t1"), state("t1", store_failed=True))
    left(topics.state("t2"), state("t2", store_failed=False))
    left(topics.lamp("t1", 3), {"lit": False})
    left(topics.lamp("t1", 99), {"lit": False})
    retained = found(topics, mosquitto_port)
    assert retained.epoch == 41
    assert retained.failed == {"t1": state("t1", store_failed=True)["seq"]}
    assert retained.lamps == {("t1", 3), ("t1", 99)}


def test_the_note_of_the_mark_and_the_highest_number_of_other_messages_are_found(topics, mosquitto_port, left):
    left(topics.mark("main"), {"note": "a note"})
    left(topics.state("t1"), {**state("t1", store_failed=False), "seq": 70})
    lamp = {"round": 1, "lit": False, "wager_id": None, "answer": None, "epoch": 1}
    left(topics.lamp("t1", 3), {**lamp, "seq": 90})
    left(topics.lamp("elsewhere", 3), {**lamp, "seq": 900})
    retained = found(topics, mosquitto_port)
    assert (retained.mark, retained.seq) == ("a note", 90)


def test_the_state_of_another_jackpots_table_is_not_ours(topics, mosquitto_port, left):
    left(topics.state("t1"), {**state("t1", store_failed=True), "jackpot": "other"})
    assert found(topics, mosquitto_port).failed == {}


@pytest.mark.parametrize("body", [{"state": "online", "epoch": 2**53}, {"state": "asleep", "epoch": 3}, ["x"]])
def test_a_message_that_is_not_of_the_protocol_is_ignored(topics, mosquitto_port, left, body):
    left(topics.controller("main"), json.loads(json.dumps(body)))
    assert found(topics, mosquitto_port).epoch == 0
