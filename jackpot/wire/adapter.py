"""One jackpot on the wire: connects its service with the broker, from start to a clean stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import structlog

from jackpot import metrics
from jackpot.engine.committed_state import NumberedEvents
from jackpot.engine.service import JackpotService
from jackpot.engine.writer import MAX_WAITING
from jackpot.store.errors import Fenced, StoreError
from jackpot.wire import messages
from jackpot.wire.inbound import Inbound
from jackpot.wire.mark_publisher import MarkPublisher, SignMark
from jackpot.wire.messages import Malformed
from jackpot.wire.meter_throttle import MeterThrottle
from jackpot.wire.mqtt_session import Address, MqttSession, Will
from jackpot.wire.mqtt_transport import ReceivedMessage
from jackpot.wire.payloads import win_of_row
from jackpot.wire.publisher import Publisher
from jackpot.wire.retained import RetainedState
from jackpot.wire.topic_watch import TopicWatch
from jackpot.wire.topics import InboundKind, Topics

LEASE_SECONDS: Final = 30.0
"""How long to wait for the store to confirm the lease before connecting all the same."""
RETRY_SECONDS: Final = 1.0
OFFLINE_SECONDS: Final = 2.0
SILENT_SECONDS: Final = 2.5
"""A broker that is pinged every second and silent for so long is not waited for at a stop."""
FEW_WAITING: Final = MAX_WAITING // 2
_DEVICE_REPORTS: Final = (InboundKind.PAD_STATUS, InboundKind.PAD_SHOWN, InboundKind.DEALER_STATUS)

log = structlog.get_logger()


class JackpotAdapter:
    """The MQTT side of one jackpot: publishes what was committed, submits what is received."""

    def __init__(
        self,
        address: Address,
        topics: Topics,
        service: JackpotService,
        sign_mark: SignMark | None = None,
        *,
        mark_epoch: int = 0,
    ) -> None:
        self.service = service
        self._committed = service.committed
        self._topics = topics
        self._closing = False
        self._leaving = asyncio.Event()
        self._store_failed = False
        loop = asyncio.get_running_loop()
        self.publisher = Publisher(topics, service.committed, service.equipment.displays, loop.call_later)
        self._throttle = MeterThrottle(self.publisher.meter)
        self._inbound = Inbound(service=service, publisher=self.publisher, acknowledge=self._acknowledge)
        self.watch = TopicWatch(address, topics, service, self.publisher, mark_epoch=mark_epoch)
        self._session = self._new_session(address)
        mark_topic = topics.mark(service.id)
        publish = partial(self._publish_while_owner, self._session)
        self._marks = MarkPublisher(mark_topic, lambda: self._committed.mark, sign_mark, publish)
        self._load_wins()
        self._committed.subscribe(self)
        metrics.CERTIFICATE.labels(service.id).set(0)
        metrics.CONNECTIONS.labels(service.id)

    def _new_session(self, address: Address) -> MqttSession:
        session = MqttSession(
            address,
            self._topics.client_id(self.service.id),
            will=self._will(),
            on_message=self._received,
            on_connect=self._connected,
            before_connect=self._require_lease,
            on_lost=self._lost,
            is_displaced=self.watch.theft.lost,
        )
        self.publisher.publish_through(partial(self._publish_while_owner, session))
        return session

    def _publish_while_owner(self, session: MqttSession, *args: Any, **options: Any) -> bool:  # noqa: ANN401 - as publish
        """Publish, unless the lease has lapsed and another controller may have taken over."""
        return self.service.may_publish() and session.publish(*args, **options)

    def _will(self) -> Will:
        return Will(self._topics.controller(self.service.id), self._status("offline").encode())

    def _status(self, state: str) -> str:
        return self.publisher.status(state)

    def _load_wins(self) -> None:
        """Reload pending wins and those that may not have been published."""
        recent = self.service.recent_wins
        for table in {row["table_id"] for row in recent.pending}:
            wins = [win_of_row(self.service.id, row) for row in recent.pending if row["table_id"] == table]
            self.publisher.load_wins(table, wins)
        self.publisher.queue_wins([win_of_row(self.service.id, row) for row in recent.changed])

    async def take_over(self, retained: RetainedState, *, store_failed: bool = True) -> None:
        """Take over what an earlier controller left with the broker.

        A store that failed only for that controller suspends no table here.
        """
        self.publisher.load_lamps(retained.lamps)
        self.watch.refuse_epoch(retained.epoch)
        if store_failed:
            await asyncio.to_thread(self.service.record_store_failures, dict(retained.failed))

    def leave(self) -> None:
        """Hand the jackpot over: finish what is in hand, publish offline, release the lease."""
        self._leaving.set()

    def broker_silent_seconds(self) -> float:
        """Return how long the broker has given no sign of life."""
        return self._session.silent_seconds()

    # Changes of the committed state.

    def on_commit(self, events: NumberedEvents) -> None:
        """Publish what a batch changed."""
        self.publisher.publish_changes(events)
        self._throttle.change()

    def on_status(self, table: str | None) -> None:
        """Publish everything afresh when the store fails or is back."""
        if table is None and self._store_failed != self._committed.store_failed:
            self._store_failed = self._committed.store_failed
            self.publisher.publish_all_retained()
            self._throttle.change()

    # From the broker.

    async def _require_lease(self) -> None:
        """Do not connect, which would displace its session, where another controller owns the jackpot.

        A store that does not answer is tried for a while; then connect all the same, to publish that it fails. Where
        other controllers may have taken over, the will has to say it.
        """
        until = time.monotonic() + (LEASE_SECONDS if self.service.listening.is_set() else 0)
        while True:
            try:
                await asyncio.to_thread(self.service.require_lease)
            except Fenced as fenced:
                self.service.end(fenced)
                await asyncio.Event().wait()
            except StoreError as error:
                log.warning("lease not read", jackpot=self.service.id, problem=str(error))
                if self.service.has_rivals or time.monotonic() < until:
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
            return

    async def _connected(self) -> None:
        metrics.CONNECTIONS.labels(self.service.id).inc()
        metrics.CERTIFICATE.labels(self.service.id).set(self._session.certificate_ends() or 0)
        self._committed.broker_connected = True
        self.watch.all_published(self._session.local_address)
        self.publisher.publish_all_retained()
        self._marks.publish()
        await self._session.subscribe(self._topics.subscriptions(self.service.id))
        self.service.listening.set()
        self._committed.notify_status()

    def _lost(self) -> None:
        self._committed.broker_connected = False
        self._committed.notify_status()

    def _received(self, message: ReceivedMessage) -> None:
        if self._closing:
            return  # not acknowledged: the broker delivers it to the next owner
        source = self._topics.source(message.topic)
        if source is None:
            self._acknowledge(message)
        elif source.kind is InboundKind.CONTROLLER:
            self._received_controller(message)
        elif self._inbound.receive(message, source) and source.kind in _DEVICE_REPORTS:
            self._committed.notify_status(source.name)

    def _acknowledge(self, message: ReceivedMessage) -> None:
        self._session.acknowledge(message)

    def _received_controller(self, message: ReceivedMessage) -> None:
        """Overwrite a late will on our own topic; raise our epoch above a higher one."""
        self._acknowledge(message)
        if message.payload in (b"", self._status("online").encode()):
            return
        try:
            found = messages.read(messages.ControllerMessage, message.payload)
        except Malformed:
            found = messages.ControllerMessage(state="offline", epoch=0)
        epoch = self._committed.position.epoch
        if self.watch.refuse_epoch(found.epoch):
            return
        if found.epoch > epoch:
            log.error("a higher epoch was seen", jackpot=self.service.id, mine=epoch, seen=found.epoch)
            self.service.raise_epoch(found.epoch, self._epoch_raised)
        elif found.epoch < epoch or found.state == "offline":
            self.watch.overwrite(message.topic)

    def _epoch_raised(self) -> None:
        """Connect again with a will of the new epoch."""
        self._session.reconnect(self._will())

    # From start to stop.

    async def run(self) -> None:
        """Serve until cancelled, or until `leave`; raises what ended the right to write."""
        name = self.service.id
        session = asyncio.create_task(self._session.run(), name=f"session-{name}")
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(self.service.run(), name=f"service-{name}"),
            asyncio.create_task(self.watch.run(self._epoch_raised), name=f"watch-{name}"),
            asyncio.create_task(self._throttle.run(), name=f"meter-{name}"),
            asyncio.create_task(self._fetch_untaken(), name=f"untaken-{name}"),
            asyncio.create_task(self._leaving.wait(), name=f"leaving-{name}"),
            asyncio.create_task(self._marks.run(), name=f"mark-{name}"),
        ]
        try:
            waited_for: list[asyncio.Future[Any]] = [session, *tasks, self.service.ended]
            await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            if self.service.ended.done():
                raise self.service.ended.result()
            for task in (session, *tasks):
                if task.done():
                    task.result()
        finally:
            await self._stop(session, tasks)

    async def _fetch_untaken(self) -> None:
        """Connect again when there is room for messages that were left with the broker, so that it redelivers them."""
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            if self._inbound.left_untaken and self.service.waiting < FEW_WAITING:
                self._inbound.left_untaken = False
                self._session.reconnect()

    async def _stop(self, session: asyncio.Task[None], tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Finish the batch in hand, sign the head, publish offline, release the lease.

        A new owner is not contradicted: the offline status carries the old epoch, which all receivers ignore then.
        """
        self._closing = True
        for task in tasks:
            task.cancel()
        await asyncio.to_thread(self.service.stop)
        await asyncio.sleep(0)  # the last batch's answers go out before the offline status
        ended = self.service.ended
        fenced = ended.done() and isinstance(ended.result(), Fenced)
        if not fenced:
            self.publisher.publish_waiting()
            self._marks.publish()
        await self._publish_offline()
        if not fenced and not self._committed.store_failed:
            await self._release_lease()
        session.cancel()
        await asyncio.gather(session, *tasks, return_exceptions=True)

    async def _publish_offline(self) -> None:
        """Publish offline; a broker that is silent publishes the will instead."""
        if self.broker_silent_seconds() > SILENT_SECONDS:
            return
        try:
            async with asyncio.timeout(OFFLINE_SECONDS):
                topic = self._topics.controller(self.service.id)
                await self._session.publish_now(topic, self._status("offline"), retain=True)
        except Exception as error:  # noqa: BLE001 - the broker publishes the will then
            log.warning("offline status not published", jackpot=self.service.id, problem=str(error))

    async def _release_lease(self) -> None:
        try:
            await asyncio.to_thread(self.service.release_lease)
        except StoreError as error:
            log.warning("lease not released", jackpot=self.service.id, problem=str(error))
