"""Faults occur at their rates, and garbage is never a valid message."""

import json
import random

import pytest

from hardware_sim.faults import Fault, FaultError, Faults, garbage
from hardware_sim.retrying_sender import RetryingSender

WAGER = {"wager_id": "t1b3-1", "round": 4, "amount_cents": 200, "ante": True, "sent_at": "now"}
COMMAND = {"command_id": "t1d-1", "type": "declare", "round": 4, "box": 3, "cards": ["As", "Ks", "Qs", "Js", "Ts"]}


class FakeConnection:
    """A connection that records what is published."""

    def __init__(self):
        self.published = []

    def publish(self, _topic, payload):
        self.published.append(json.loads(payload)["n"] if payload.startswith(b'{"n"') else "garbage")
        return True


def published(faults, *numbers):
    connection = FakeConnection()
    sender = RetryingSender("t1/3", connection, "topic", faults)
    for number in numbers:
        sender.send({"n": number, "command_id": "x"}, "x")
    return connection.published


def test_a_rate_is_kept_and_repeats_with_its_seed():
    seeded = [Faults({"drop": 0.2}, seed=seed) for seed in (1, 1, 2)]
    runs = [[faults.occurs(Fault.DROP, "t1/3") for _ in range(2000)] for faults in seeded]
    assert runs[0] == runs[1] != runs[2]
    assert 300 < sum(runs[0]) < 500
    assert seeded[0].counts[Fault.DROP] == sum(runs[0])


def test_one_device_does_not_change_the_faults_of_another():
    alone, together = Faults({"drop": 0.5}), Faults({"drop": 0.5})
    one = [alone.occurs(Fault.DROP, "t1/3") for _ in range(50)]
    two = [(together.occurs(Fault.DROP, "t1/4"), together.occurs(Fault.DROP, "t1/3"))[1] for _ in range(50)]
    assert one == two


def test_a_forced_fault_occurs_at_the_next_occasions_of_its_device_only():
    faults = Faults()
    faults.force("drop", "t1/3", times=2)
    assert not faults.occurs(Fault.DROP, "t1/4")
    assert [faults.occurs(Fault.DROP, "t1/3") for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("duplicate", [1, 1, 2, 3]),
        ("drop", [2, 3]),
        ("reorder", [2, 1, 3]),
        ("garbage", ["garbage", 1, 2, 3]),
    ],
)
def test_each_fault_changes_the_messages_in_its_way(fault, expected):
    faults = Faults()
    faults.force(fault, "t1/3")
    assert published(faults, 1, 2, 3) == expected


@pytest.mark.parametrize("message", [WAGER, COMMAND])
def test_garbage_never_carries_the_right_id_and_content(message):
    generator = random.Random(1)
    for _ in range(500):
        payload = garbage(message, "new-id", generator)
        assert message.get("wager_id", message.get("command_id")).encode() not in payload
        try:
            read = json.loads(payload)
        except (ValueError, RecursionError):
            continue
        wrong = not isinstance(read, dict) or len(payload) > 4096 or " " in str(read.get("wager_id", ""))
        whole = isinstance(read, dict) and all(
            type(read.get(name)) is type(value) and (name != "type" or read[name] == value)
            for name, value in message.items()
        )
        assert wrong or not whole or " " in read.get("command_id", "")


def test_rates_are_read_from_text():
    faults = Faults.parse("drop=1, garbage=0", seed=3)
    assert faults.occurs(Fault.DROP, "x")
    assert not faults.occurs(Fault.GARBAGE, "x")
    everything = Faults.parse("all=1")
    assert all(everything.occurs(fault, "x") for fault in Fault)


@pytest.mark.parametrize("text", ["drop", "drop=often", "drop=2", "fire=0.1"])
def test_invalid_faults_are_refused(text):
    with pytest.raises(FaultError):
        Faults.parse(text)
