"""Faults strike as often as they are told, and garbage is never a message."""

import json
import random

import pytest

from hardware_sim.faults import Fault, FaultError, Faults, garbage
from hardware_sim.retrying_sender import RetryingSender

WAGER = {"wager_id": "t1b3-1", "round": 4, "amount_cents": 200, "ante": True, "sent_at": "now"}
COMMAND = {"command_id": "t1d-1", "type": "declare", "round": 4, "box": 3, "cards": ["As", "Ks", "Qs", "Js", "Ts"]}


class Line:
    """A connection that remembers what was said."""

    def __init__(self):
        self.said = []

    def publish(self, _topic, payload):
        self.said.append(json.loads(payload)["n"] if payload.startswith(b'{"n"') else "garbage")
        return True


def said(faults, *numbers):
    line = Line()
    sender = RetryingSender("t1/3", line, "topic", faults)
    for number in numbers:
        sender.say({"n": number, "command_id": "x"}, "x")
    return line.said


def test_a_rate_is_kept_and_repeats_with_its_seed():
    seeded = [Faults({"drop": 0.2}, seed=seed) for seed in (1, 1, 2)]
    runs = [[faults.occurs(Fault.DROP, "t1/3") for _ in range(2000)] for faults in seeded]
    assert runs[0] == runs[1] != runs[2]
    assert 300 < sum(runs[0]) < 500
    assert seeded[0].counts[Fault.DROP] == sum(runs[0])


def test_one_device_does_not_change_the_luck_of_another():
    alone, together = Faults({"drop": 0.5}), Faults({"drop": 0.5})
    one = [alone.occurs(Fault.DROP, "t1/3") for _ in range(50)]
    two = [(together.occurs(Fault.DROP, "t1/4"), together.occurs(Fault.DROP, "t1/3"))[1] for _ in range(50)]
    assert one == two


def test_an_order_strikes_the_next_occasion_of_its_device_only():
    faults = Faults()
    faults.order("drop", "t1/3", times=2)
    assert not faults.occurs(Fault.DROP, "t1/4")
    assert [faults.occurs(Fault.DROP, "t1/3") for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("fault", "heard"),
    [
        ("duplicate", [1, 1, 2, 3]),
        ("drop", [2, 3]),
        ("reorder", [2, 1, 3]),
        ("garbage", ["garbage", 1, 2, 3]),
    ],
)
def test_what_a_fault_does_to_messages(fault, heard):
    faults = Faults()
    faults.order(fault, "t1/3")
    assert said(faults, 1, 2, 3) == heard


@pytest.mark.parametrize("message", [WAGER, COMMAND])
def test_garbage_never_carries_the_right_id_and_content(message):
    luck = random.Random(1)
    for _ in range(500):
        payload = garbage(message, "new-id", luck)
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
def test_faults_that_are_not_understood_are_refused(text):
    with pytest.raises(FaultError):
        Faults.parse(text)
