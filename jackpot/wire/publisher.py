"""Publishes one jackpot's committed state: lamps, table states, meter, wins, and its controller's status."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from jackpot import metrics
from jackpot.clock import now
from jackpot.core.events import Event, EventType
from jackpot.core.state import Jackpot, Table
from jackpot.engine import views
from jackpot.engine.committed_state import CommittedState, NumberedEvents
from jackpot.engine.devices import Displays
from jackpot.engine.round_ends import is_round_end
from jackpot.wire import payloads
from jackpot.wire.payloads import Plain, WagerAnswer, encoded
from jackpot.wire.topics import Topics

BETWEEN_STATES_SECONDS: Final = 0.25
"""Where only wagers change a table, its state is published at most this often."""
BETWEEN_TABLES_SECONDS: Final = 0.02
"""Waiting states go out one table at a time: a floor that wagers all at once must not delay its own lamps."""

MAX_QUEUED_WINS: Final = 100
MAX_UNKNOWN_BOXES: Final = 100
"""Per table: lamps of more boxes that the table does not have are not retained."""

Publish = Callable[..., bool]
CallLater = Callable[[float, Callable[[], None]], object]


class Publisher:
    """Publishes what is durable, never more."""

    def __init__(self, topics: Topics, committed: CommittedState, displays: Displays, call_later: CallLater) -> None:
        self._topics = topics
        self._committed = committed
        self._displays = displays
        self._call_later = call_later
        self._publish: Publish = lambda *_args, **_options: False
        self.on_published: Callable[[str, bytes], None] = lambda _topic, _payload: None
        """Called with each message on a topic that is watched."""
        self._round_wins: dict[str, list[Plain]] = {}
        """The wins of each table's last round, as last published."""
        self._queued_wins: deque[Plain] = deque(maxlen=MAX_QUEUED_WINS)
        self._unknown_boxes: dict[str, set[int]] = {}
        self._state_at: dict[str, float] = {}
        self._waiting_states: dict[str, None] = {}

    @property
    def _jackpot(self) -> Jackpot:
        return self._committed.jackpot

    def publish_through(self, publish: Publish) -> None:
        """Use this session's publish from now on."""
        self._publish = publish

    def publish_own(self, topic: str, payload: str | bytes) -> bool:
        """Publish retained state on a topic that is watched; return False if it could not be published."""
        data = payload.encode() if isinstance(payload, str) else payload
        if not self._publish(topic, data, retain=True):
            return False
        self.on_published(topic, data)
        return True

    def publish_all_retained(self) -> None:
        """Publish all retained state afresh, and the wins that wait."""
        self.online()
        for table in self._jackpot.tables.values():
            if table.unlinked:
                self.clear(table)
            else:
                self.table(table)
                self.lamps(table, range(1, table.boxes + 1))
        self.meter()
        queued = list(self._queued_wins)
        self._queued_wins.clear()
        self._publish_wins(queued)

    def publish_changes(self, events: NumberedEvents) -> None:
        """Publish what these events changed: lamps, wins and table states."""
        only_wagers: dict[str, bool] = {}
        for seq, event in events:
            if event.type is EventType.WAGER_ACCEPTED:
                only_wagers.setdefault(event.table or "", True)
                continue
            if event.type is EventType.CONFIG_APPROVED:
                only_wagers.update(dict.fromkeys(self._jackpot.tables, False))  # the next round's wager is another
            if event.table is None:
                continue
            only_wagers[event.table] = False
            self._publish_event_lamps(event)
            self._publish_event_wins(seq, event)
        for name, may_wait in only_wagers.items():
            self._publish_table(name, may_wait=may_wait)

    def publish_waiting(self) -> None:
        """Publish now what would be published in a moment: the controller stops."""
        for name in list(self._waiting_states):
            self._publish_table(name, may_wait=False)
        self.meter()

    # Controller and meter.

    def online(self) -> None:
        """Publish that the controller is online."""
        self.publish_own(self._topics.controller(self._jackpot.id), self.status("online"))

    def status(self, state: str) -> str:
        """Return the controller's status message."""
        return encoded({"state": state, "epoch": self._committed.position.epoch})

    def meter(self) -> None:
        """Publish the meter."""
        payload = views.meter(self._committed, now())
        if self.publish_own(self._topics.meter(self._jackpot.id), encoded(payload)):
            published_at = time.monotonic()
            self._committed.displayed_cents = payload["amount_cents"]
            self._committed.meter_published_at = published_at
            self._displays.add_published(self._committed.position, payload["amount_cents"], published_at)

    # Tables.

    def table(self, table: Table) -> None:
        """Publish a table's round and phase."""
        self._state_at[table.id] = time.monotonic()
        self._waiting_states.pop(table.id, None)
        self.publish_own(self._topics.state(table.id), encoded(views.table_state(self._committed, table)))

    def clear(self, table: Table) -> None:
        """Clear everything retained of a table that was removed."""
        self.publish_own(self._topics.state(table.id), b"")
        for box in range(1, table.boxes + 1):
            self.publish_own(self._topics.lamp(table.id, box), b"")
        for box in self._unknown_boxes.pop(table.id, ()):
            self._publish(self._topics.lamp(table.id, box), b"", retain=True)

    def _publish_table(self, name: str, *, may_wait: bool) -> None:
        """Publish a table's state at once, or, where only wagers changed it, after a short while."""
        table = self._jackpot.tables.get(name)
        if table is None or table.unlinked:
            return
        if not may_wait:
            self.table(table)
        elif name not in self._waiting_states:
            if not self._waiting_states:
                self._call_later(0.0, self._publish_next_waiting)
            self._waiting_states[name] = None

    def _publish_next_waiting(self) -> None:
        """Publish the waiting state that has waited longest."""
        ready = time.monotonic() - BETWEEN_STATES_SECONDS
        name = next((name for name in self._waiting_states if self._state_at.get(name, 0.0) <= ready), None)
        if name is not None:
            self._publish_table(name, may_wait=False)
            self._waiting_states.pop(name, None)
        if self._waiting_states:
            self._call_later(BETWEEN_TABLES_SECONDS, self._publish_next_waiting)

    # Lamps.

    def lamp(self, table: Table, box: int, answer: WagerAnswer | None) -> bool:
        """Publish one lamp, with the answer to the pad's message; return False if it could not be published."""
        payload = payloads.lamp(table, box, answer, self._committed.position)
        topic = self._topics.lamp(table.id, box)
        if 1 <= box <= table.boxes:
            return self.publish_own(topic, payload)
        return self._publish(topic, payload, retain=self._add_unknown_box(table.id, box))

    def lamps(self, table: Table, boxes: Iterable[int]) -> None:
        """Publish the lamps of these boxes, changed by something other than their pad's message."""
        for box in boxes:
            self.lamp(table, box, None)

    def load_lamps(self, lamps: Iterable[tuple[str, int]]) -> None:
        """Note the lamps retained by an earlier controller, so that unknown boxes are cleared with their table."""
        for name, box in lamps:
            table = self._jackpot.tables.get(name)
            if table is not None and not 1 <= box <= table.boxes:
                self._add_unknown_box(name, box)

    def _add_unknown_box(self, table: str, box: int) -> bool:
        """Note a box that the table does not have; return True if its lamp can be cleared later."""
        unknown = self._unknown_boxes.setdefault(table, set())
        if len(unknown) < MAX_UNKNOWN_BOXES:
            unknown.add(box)
        return box in unknown

    def _publish_event_lamps(self, event: Event) -> None:
        table = self._jackpot.tables.get(event.table or "")
        if table is None:
            return
        if event.type in (EventType.ROUND_OPENED, EventType.TABLE_LINKED):
            self.lamps(table, range(1, table.boxes + 1))
        elif event.type is EventType.HAND_VOIDED:
            self.lamp(table, event.data["box"], None)
        elif event.type is EventType.TABLE_UNLINKED:
            self.clear(table)
        elif is_round_end(event) and table.round is not None:
            self.lamps(table, sorted({wager.box for wager in table.round.wagers.values()}))

    # Replies and wins.

    def reply(self, table: str, payload: Plain) -> bool:
        """Publish the reply to one command; return False if it could not be published."""
        return self._publish(self._topics.reply(table), encoded(payload))

    def load_wins(self, table: str, wins: list[Plain]) -> None:
        """Take in a round's pending wins from before this controller began."""
        self._round_wins[table] = wins
        self.queue_wins(wins)

    def queue_wins(self, wins: list[Plain]) -> None:
        """Publish these at the next connect; receivers act once on each, so a repeat is harmless."""
        self._queued_wins.extend(wins)

    def _publish_wins(self, wins: list[Plain]) -> None:
        """Publish each; one that cannot be published now, or is lost on its way, is published at the next connect."""
        for win in wins:
            payload = encoded({**win, **self._committed.position._asdict()})
            on_delivery = partial(self._win_delivered, win)
            if not self._publish(self._topics.wins(self._jackpot.id), payload, on_delivery=on_delivery):
                self._queued_wins.append(win)

    def _win_delivered(self, win: Plain, delivered: bool) -> None:
        if not delivered:
            self._queued_wins.append(win)

    def _publish_event_wins(self, seq: int, event: Event) -> None:
        name = event.table or ""
        if event.type is EventType.ROUND_OPENED:
            self._round_wins.pop(name, None)
        earlier = self._round_wins.get(name, [])
        wins = payloads.wins(self._jackpot.id, seq, event, earlier, self._committed.position)
        self._publish_wins(wins)
        if wins:
            self._round_wins[name] = [win for win in wins if win["status"] != "corrected"]
        if is_round_end(event):
            confirmed = event.type is EventType.PAYOUTS_CONFIRMED
            self._count_payouts(earlier if confirmed else self._round_wins.get(name, []))

    def _count_payouts(self, wins: list[Plain]) -> None:
        """Count prizes when their round ends: until then they may be corrected or voided."""
        for win in wins:
            metrics.PAYOUTS.labels(self._jackpot.id, win["hand"]).inc()
            metrics.PAYOUT_CENTS.labels(self._jackpot.id, win["hand"]).inc(win["amount_cents"])
