"""Watches a jackpot's own topics on a connection of its own, and overwrites what others publish there.

The broker passes on messages of one topic in the order in which they came. So what arrives here is compared with what
was published and has not arrived yet; our own messages are recognised by their bytes, however late they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import aiomqtt
import structlog

from jackpot import metrics
from jackpot.core.state import Table
from jackpot.engine.alarms import AlarmCode
from jackpot.engine.committed_state import Position
from jackpot.engine.epoch_limit import is_believable
from jackpot.engine.service import JackpotService
from jackpot.store.errors import Fenced, StoreError
from jackpot.wire.client_id_theft import BROKER_LOG, ClientIdTheft
from jackpot.wire.messages import MAX_BYTES, MAX_EPOCH
from jackpot.wire.mqtt_session import Address, MqttSession
from jackpot.wire.mqtt_transport import ReceivedMessage
from jackpot.wire.publisher import Publisher
from jackpot.wire.topics import Topics

MAX_ON_THEIR_WAY: Final = 64
"""Per topic: over this the watch is too far behind to judge, and waits until it recognises a message again."""
KEPT_UNWATCHED: Final = 4
"""Per topic: as many are kept while the watch is not connected; one of them may be retained when it is back."""
BETWEEN_OVERWRITES_SECONDS: Final = 0.5
"""A topic is overwritten at most this often, so that two who overwrite each other do not flood the broker."""
MAX_OVERWRITES_AT_ONCE: Final = 100
PAUSE_SECONDS: Final = 0.05
EARLIER_OWNER_SECONDS: Final = 60.0
"""So long after the start, messages of a lower epoch may come from an earlier owner."""
LATE_WILL_SECONDS: Final = 60.0
"""So long after a connect, our own will may still arrive."""
QUIET_SECONDS: Final = 60.0
"""Alarms end this long after the last message that caused them."""
BETWEEN_RAISES_SECONDS: Final = 10.0
LOG_SECONDS: Final = 60.0
CHECK_SECONDS: Final = 1.0
LOGGED_BYTES: Final = 200
MAX_HOST: Final = 24
NOWHERE: Final = Position(-1, -1)

log = structlog.get_logger()


class _OwnMessages:
    """Our own messages on one topic: those that were published and have not arrived yet, and the last that has."""

    __slots__ = ("arrived", "is_behind", "on_their_way")

    def __init__(self) -> None:
        self.on_their_way: deque[bytes] = deque()
        self.arrived: bytes | None = None
        self.is_behind = False

    def include(self, payload: bytes) -> bool:
        """Take in a message that is not the next one expected; return True if it may be ours."""
        if payload == self.arrived:
            return True
        if payload in self.on_their_way:  # those before it were lost with a connection
            while self.on_their_way[0] != payload:
                self.on_their_way.popleft()
            self.arrived = self.on_their_way.popleft()
            self.is_behind = False
            return True
        return self.is_behind


class TopicWatch:
    """The second connection of a jackpot: it hears what displays and pads hear."""

    def __init__(
        self, address: Address, topics: Topics, service: JackpotService, publisher: Publisher, *, mark_epoch: int = 0
    ) -> None:
        self._topics = topics
        self._service = service
        self._id = service.id
        self._committed = service.committed
        self._publisher = publisher
        self._mark_epoch = mark_epoch
        self._own: dict[str, _OwnMessages] = {}
        self._truths: dict[str, tuple[str, Callable[[], object]]] = {
            topics.controller(self._id): ("controller", publisher.online),
            topics.meter(self._id): ("meter", publisher.meter),
        }
        self._session = MqttSession(
            address,
            watch_client_id(topics.client_id(self._id)),
            on_message=self._received,
            on_connect=self._connected,
            on_lost=self._lost,
            clean=True,
        )
        self.theft = ClientIdTheft(
            self._id, topics.client_id(self._id), service.alarms, lambda: self._connected_at or time.monotonic()
        )
        self._began = time.monotonic()
        self._connected_at: float | None = None
        self._lost_at: float | None = None
        self._all_published_at = 0.0
        self._due: dict[str, float] = {}
        self._foreign: set[str] = set()
        """Topics with a foreign message that is not overwritten yet."""
        self._wake = asyncio.Event()
        self._not_before: dict[str, float] = {}
        self._logged: dict[str, float] = {}
        self._last_seen: dict[AlarmCode, float] = {}
        self._ahead = NOWHERE
        self._raised_at = -BETWEEN_RAISES_SECONDS
        self._counters = {kind: metrics.FOREIGN.labels(self._id, kind) for kind in KINDS}
        publisher.on_published = self.published

    def add_topic(self, topic: str, kind: str, publish: Callable[[], object]) -> None:
        """Watch another topic of the jackpot, whose truth `publish` publishes through `Publisher.publish_own`."""
        self._truths[topic] = (kind, publish)

    # What we publish.

    def published(self, topic: str, payload: bytes) -> None:
        """Expect a message that was just published."""
        own = self._own.get(topic)
        if own is None:
            own = self._own[topic] = _OwnMessages()
        waiting = own.on_their_way
        waiting.append(payload)
        if len(waiting) > KEPT_UNWATCHED:
            if self._connected_at is None:
                waiting.popleft()
            elif len(waiting) > MAX_ON_THEIR_WAY:
                waiting.popleft()
                own.is_behind = True

    def all_published(self, own_address: str) -> None:
        """Note that the jackpot's session has connected and publishes everything afresh."""
        self._all_published_at = time.monotonic()
        self.theft.connected(own_address)

    # What arrives.

    async def _connected(self) -> None:
        filters = [self._topics.every_lamp, self._topics.state("+"), *self._truths]
        await self._session.subscribe(filters, qos=0)
        try:
            await self._session.subscribe([BROKER_LOG], qos=0)
        except aiomqtt.MqttError:
            log.info("the broker does not report connections", jackpot=self._id)
        for own in self._own.values():
            own.is_behind = False
        self._connected_at = time.monotonic()
        log.info("own topics watched", jackpot=self._id)
        if self._lost_at is not None and self._all_published_at < self._lost_at:
            self._publisher.publish_all_retained()  # a wipe that was missed cannot be seen any more

    def _lost(self) -> None:
        self._connected_at, self._lost_at = None, time.monotonic()
        for own in self._own.values():
            while len(own.on_their_way) > KEPT_UNWATCHED:
                own.on_their_way.popleft()

    def _received(self, message: ReceivedMessage) -> None:
        """Recognise our own message by its bytes: there is one for every lamp, so nothing is decoded."""
        topic, payload = message.topic, message.payload
        own = self._own.get(topic)
        if own is not None:
            waiting = own.on_their_way
            if waiting and waiting[0] == payload:
                own.arrived = waiting.popleft()
                own.is_behind = False
                return
            if own.include(payload):
                return
        if topic.startswith("$"):
            self.theft.read_log(payload)
            return
        found = self._truth(topic)
        if found is not None:
            self._unexpected(topic, found[0], payload)

    def _truth(self, topic: str) -> tuple[str, Callable[[], object]] | None:
        """Return the kind of one of our topics and what publishes its truth; None if it is not ours."""
        found = self._truths.get(topic)
        if found is not None:
            return found
        box = self._topics.box_of(topic)
        table = self._linked(box[0] if box else self._topics.table_of(topic))
        if table is None:
            return None
        if box is None:
            return "state", partial(self._publisher.table, table)
        return ("lamp", partial(self._publisher.lamp, table, box[1], None)) if 1 <= box[1] <= table.boxes else None

    def _linked(self, name: str | None) -> Table | None:
        table = self._committed.jackpot.tables.get(name or "")
        return None if table is None or table.unlinked else table

    def _unexpected(self, topic: str, kind: str, payload: bytes) -> None:
        """Overwrite a message that is not ours, and report it unless it is an earlier owner's or our late will."""
        if topic in self._foreign:
            self._counters[kind].inc()  # the topic is to be overwritten already: do not decode a flood
            return
        position, at = position_of(payload), time.monotonic()
        epoch = self._committed.position.epoch
        if position is not None and position.epoch < epoch and at - self._began < EARLIER_OWNER_SECONDS:
            self.overwrite(topic)
            return
        late = at - self._all_published_at < LATE_WILL_SECONDS
        if kind == "controller" and late and payload == self._publisher.status("offline").encode():
            self.overwrite(topic)
            return
        if position is not None and position > self._committed.position:
            self._ahead = max(self._ahead, position)
        self._report(topic, kind, payload, at)
        self._foreign.add(topic)
        self.overwrite(topic)

    def _report(self, topic: str, kind: str, payload: bytes, at: float) -> None:
        self._counters[kind].inc()
        self._last_seen[AlarmCode.FOREIGN_MESSAGE] = at
        what = "was cleared by another client" if not payload else "has a message of another client"
        says = f"{topic} {what}, which was overwritten: find the client, and give the broker access rules"
        self._service.alarms.raise_alarm(self._id, AlarmCode.FOREIGN_MESSAGE, says)
        if at - self._logged.get(topic, -LOG_SECONDS) >= LOG_SECONDS:
            self._logged[topic] = at
            shown = payload[:LOGGED_BYTES].decode(errors="replace")
            log.error("foreign message", jackpot=self._id, topic=topic, kind=kind, payload=shown)

    def refuse_epoch(self, seen_epoch: int) -> bool:
        """Return True for an epoch that no controller can have had: it is overwritten, with an alarm."""
        epoch = self._committed.position.epoch
        if is_believable(seen_epoch, lease_epoch=epoch, mark_epoch=self._mark_epoch):
            return False
        says = (
            f"a message on the broker has the epoch {seen_epoch}, far above {epoch}, and was overwritten: "
            "find the client that published it, and restart the displays and pads that ignore the controller now"
        )
        self._last_seen[AlarmCode.EPOCH_REFUSED] = time.monotonic()
        self._service.alarms.raise_alarm(self._id, AlarmCode.EPOCH_REFUSED, says)
        self.overwrite(self._topics.controller(self._id))
        return True

    # Overwriting.

    def overwrite(self, topic: str) -> None:
        """Publish the truth of this topic again, soon."""
        self._due.setdefault(topic, self._not_before.get(topic, 0.0))
        self._wake.set()

    async def run(self, raised: Callable[[], None]) -> None:
        """Watch until cancelled, once the jackpot serves; `raised` is called when the epoch was raised."""
        await self._service.listening.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._session.run(), name=f"watch-session-{self._id}")
            group.create_task(self._overwrite_due(raised), name=f"overwrite-{self._id}")
            group.create_task(self._end_alarms(), name=f"alarms-{self._id}")

    async def _overwrite_due(self, raised: Callable[[], None]) -> None:
        while True:
            await self._wake.wait()
            if self._ahead > self._committed.position and not await self._holds_lease():
                await asyncio.sleep(CHECK_SECONDS)
                continue
            self._raise_epoch(raised)
            at = time.monotonic()
            due = [topic for topic, since in self._due.items() if since <= at][:MAX_OVERWRITES_AT_ONCE]
            for topic in due:
                del self._due[topic]
                self._foreign.discard(topic)
                self._not_before[topic] = at + BETWEEN_OVERWRITES_SECONDS
                truth = self._truth(topic)
                if truth is not None:
                    truth[1]()
            if self._due:
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                self._wake.clear()

    async def _holds_lease(self) -> bool:
        """Return True if the jackpot is still ours: a higher epoch may be that of its next owner."""
        try:
            await asyncio.to_thread(self._service.require_lease)
        except Fenced as fenced:
            self._service.end(fenced)
            return False
        except StoreError as error:
            log.warning("lease not read", jackpot=self._id, problem=str(error))
            return False
        return True

    def _raise_epoch(self, raised: Callable[[], None]) -> None:
        """Go above a foreign position: receivers drop what is older than what they have seen."""
        ahead, self._ahead = self._ahead, NOWHERE
        at = time.monotonic()
        if ahead <= self._committed.position or self.refuse_epoch(ahead.epoch):
            return
        if at - self._raised_at >= BETWEEN_RAISES_SECONDS:
            self._raised_at = at
            self._service.raise_epoch(ahead.epoch, raised)

    async def _end_alarms(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            at = time.monotonic()
            for code, seen in list(self._last_seen.items()):
                if at - seen > QUIET_SECONDS:
                    del self._last_seen[code]
                    self._service.alarms.end_alarm(self._id, code)
            self.theft.check()


KINDS: Final = ("lamp", "state", "meter", "controller", "mark")


def watch_client_id(client_id: str) -> str:
    """Return the client id of the watch: it displaces nobody, and is gone with its process."""
    return f"{client_id}-watch-{socket.gethostname()[:MAX_HOST]}-{os.getpid()}"


def position_of(payload: bytes) -> Position | None:
    """Return the position that a message claims; None if it has none."""
    if len(payload) > MAX_BYTES:
        return None
    try:
        body = json.loads(payload)
        epoch, seq = body["epoch"], body.get("seq", 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if type(epoch) is not int or type(seq) is not int or not 0 <= epoch < MAX_EPOCH:
        return None
    return Position(epoch, seq)
