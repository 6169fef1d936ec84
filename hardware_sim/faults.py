"""Faults on demand: random ones at seeded rates for every message, and forced ones for one device."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from hardware_sim.messages import JsonObject, encode


class FaultError(ValueError):
    """Invalid fault or rate."""


class Fault(StrEnum):
    """The faults between a device and the controller."""

    DUPLICATE = "duplicate"
    """A message is sent twice."""
    DELAY = "delay"
    """A wager is held back and sent into the next round."""
    DROP = "drop"
    """A message is lost, and the device does not notice."""
    REORDER = "reorder"
    """A wager arrives for the first time after its pad's next one.

    A dealer terminal sends a command only after the last is answered; its held message arrives late, as a repeat.
    """
    GARBAGE = "garbage"
    """A malformed message is sent before the right one."""
    DISCONNECT = "disconnect"
    """The socket breaks right after a message, and the broker publishes the will."""
    POWER_CYCLE = "power_cycle"
    """A device loses its memory except its counter right after a message, and starts again."""


class Faults:
    """Decides which faults occur; each device has its own random numbers, so that the order of events does not matter.

    A pad is called `t1/3`, a dealer terminal `t1/dealer`.
    """

    def __init__(self, rates: Mapping[str, float] | None = None, *, seed: int = 0) -> None:
        self._rates = {_fault(name): _rate(name, rate) for name, rate in (rates or {}).items()}
        self._seed = seed
        self._randoms: dict[str, random.Random] = {}
        self._forced: Counter[tuple[Fault, str]] = Counter()
        self.counts: Counter[Fault] = Counter()

    @classmethod
    def parse(cls, text: str, *, seed: int = 0) -> Faults:
        """Read rates such as `duplicate=0.01,garbage=0.02`; `all=0.01` sets the rate of every fault."""
        rates: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, rate = part.partition("=")
            try:
                value = float(rate)
            except ValueError:
                raise FaultError(f"{part!r} is not valid: write fault=rate, like duplicate=0.01") from None
            rates.update(dict.fromkeys(Fault, value) if name == "all" else {name: value})
        return cls(rates, seed=seed)

    def force(self, fault: str, device: str, times: int = 1) -> None:
        """Make a fault occur at a device's next occasions."""
        self._forced[_fault(fault), device] += times

    def occurs(self, fault: Fault, device: str) -> bool:
        """Return True if a fault occurs now; each call is one occasion."""
        occurs = self._forced[fault, device] > 0
        if occurs:
            self._forced[fault, device] -= 1
        else:
            rate = self._rates.get(fault, 0.0)
            occurs = rate > 0 and self.random_of(device).random() < rate
        self.counts[fault] += occurs
        return occurs

    def random_of(self, device: str) -> random.Random:
        """Return the device's own random number generator."""
        if device not in self._randoms:
            self._randoms[device] = random.Random(f"{self._seed}/{device}/faults")  # noqa: S311 - repeatable faults
        return self._randoms[device]


def garbage(message: JsonObject, new_id: str, generator: random.Random) -> bytes:
    """Return a malformed variant of a message, with a new id so that its answer is not taken for the message's."""
    own_id = "wager_id" if "wager_id" in message else "command_id"
    return generator.choice(_GARBAGE)({**message, own_id: new_id}, own_id)


def _fault(name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        raise FaultError(f"{name!r} is not a fault: use one of {', '.join(Fault)}") from None


def _rate(name: str, rate: float) -> float:
    if not 0 <= rate <= 1:
        raise FaultError(f"the rate of {name} must be from 0 to 1, not {rate}")
    return rate


def _without_the_rest(message: JsonObject, own_id: str) -> bytes:
    return encode({own_id: message[own_id]})


def _cut_short(message: JsonObject, _own_id: str) -> bytes:
    return encode(message)[:-9]


def _everything_quoted(message: JsonObject, own_id: str) -> bytes:
    quoted = {name: value if name == own_id else str(value) for name, value in message.items() if name != "type"}
    return encode({**quoted, "type": "deal_again"})


def _wrong_id(message: JsonObject, own_id: str) -> bytes:
    return encode({**message, own_id: "not an id / at all"})


def _too_long(message: JsonObject, _own_id: str) -> bytes:
    return encode({**message, "firmware": "x" * 5_000})


def _not_an_object(message: JsonObject, _own_id: str) -> bytes:
    return json.dumps([message]).encode()


def _bytes(payload: bytes) -> Callable[[JsonObject, str], bytes]:
    return lambda _message, _own_id: payload


_GARBAGE: Final[tuple[Callable[[JsonObject, str], bytes], ...]] = (
    _without_the_rest, _cut_short, _everything_quoted, _wrong_id, _too_long, _not_an_object,
    _bytes(b""), _bytes(b"\xff\xfe\x00"), _bytes(b"null"), _bytes(b"[" * 2_000), _bytes(b'{"wager_id":NaN}'),
)  # fmt: skip
