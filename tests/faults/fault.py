"""A fault: when it began and ended, and how its kind is described."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

DICE = random.Random(2016)  # the same moments in every run, as far as the machine allows
ALL = (("sqlite", "mosquitto"), ("sqlite", "nats"), ("postgresql", "mosquitto"), ("postgresql", "nats"))
ON_POSTGRES = (("postgresql", "mosquitto"), ("postgresql", "nats"))
ON_SQLITE = (("sqlite", "mosquitto"),)


class Fault(NamedTuple):
    """One fault that was injected; recovery is measured from a moment, or is the longest time without a wager."""

    began: float
    ended: float
    measured_from: float | None

    @classmethod
    def since(cls, began):
        """A fault from which recovery is measured from its beginning: something died."""
        return cls(began, time.monotonic(), began)

    @classmethod
    def planned(cls, began):
        """A planned act, whose own duration does not matter: recovery is the longest time without a wager."""
        return cls(began, time.monotonic(), None)

    @classmethod
    def stall(cls, began):
        """A fault from which recovery is measured from its end: nothing can go on before it ends."""
        ended = time.monotonic()
        return cls(began, ended, ended)


@dataclass(frozen=True)
class Kind:
    """A kind of fault during play: how to inject it, on which (store, broker), and how soon play must go on."""

    name: str
    inject: Callable
    on: tuple = ALL
    controllers: int = 1
    limit_seconds: float = 10.0
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Forgery:
    """A kind of change to the store or to the broker that must be noticed; `attempt` returns True if it was."""

    name: str
    attempt: Callable
    on: tuple = ON_SQLITE
    options: dict = field(default_factory=dict)


def a_moment():
    """Wait for a random moment, so that faults hit every phase of a batch."""
    time.sleep(DICE.uniform(0, 0.05))
    return time.monotonic()
