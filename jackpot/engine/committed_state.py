"""The committed state of one jackpot, and the subscribers to its changes; used in the event loop's thread only."""

from __future__ import annotations

import time
from typing import NamedTuple, Protocol

from jackpot.core.events import Event
from jackpot.core.state import Jackpot
from jackpot.store.hash_chain import GENESIS
from jackpot.store.marks import ChainMark

NumberedEvents = list[tuple[int, Event]]
"""Events with their sequence numbers."""


class Position(NamedTuple):
    """The state a message speaks of: the controller's epoch and the jackpot's audit sequence."""

    epoch: int
    seq: int


class Subscriber(Protocol):
    """Called in the event loop's thread after a change; must be quick, or lamps light late."""

    def on_commit(self, events: NumberedEvents) -> None:
        """Take in the events of a batch that is durable."""

    def on_status(self, table: str | None) -> None:
        """Take in a change of the store or the broker, or, with a table's name, of a device at that table."""


class CommittedState:
    """The last committed state, with what both MQTT and HTTP show beside it."""

    def __init__(self, jackpot: Jackpot, position: Position) -> None:
        self.jackpot = jackpot
        self.position = position
        self.head_hash = GENESIS
        """The hash of the event at this position."""
        self.store_failed = False
        self.broker_connected = False
        self.displayed_cents: int | None = None
        """The amount of the last meter that was published; None before the first."""
        self.meter_published_at = time.monotonic()
        self._subscribers: list[Subscriber] = []

    @property
    def mark(self) -> ChainMark:
        """The last event that is durable, and the epoch."""
        return ChainMark(self.position.epoch, self.position.seq, self.head_hash)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Notify this subscriber, too, from now on."""
        self._subscribers.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Notify this subscriber no longer."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def notify_commit(self, events: NumberedEvents) -> None:
        """Notify subscribers of the events of a batch that is durable."""
        for subscriber in self._subscribers:
            subscriber.on_commit(events)

    def notify_status(self, table: str | None = None) -> None:
        """Notify subscribers of a change that is no event: store, broker, or a device at a table."""
        for subscriber in self._subscribers:
            subscriber.on_status(table)
