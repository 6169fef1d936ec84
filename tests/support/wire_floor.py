"""One jackpot's wire side without broker and store: a core floor behind a publisher and an inbound, all recorded."""

import json
from types import SimpleNamespace

from jackpot.core.results import Refused
from jackpot.engine.committed_state import CommittedState, Position
from jackpot.engine.equipment import EquipmentMonitor
from jackpot.engine.quarantine import new_quarantine
from jackpot.wire.inbound import Inbound
from jackpot.wire.mqtt_transport import ReceivedMessage
from jackpot.wire.publisher import Publisher
from jackpot.wire.topics import Topics
from tests.support.core_floor import Floor

ROOT = "jackpot/v1/casino/"


class Published:
    """A published message."""

    def __init__(self, topic, payload, retain, on_delivery):
        self.topic, self.retain, self.on_delivery = topic.removeprefix(ROOT), retain, on_delivery
        text = payload.decode() if isinstance(payload, bytes) else payload
        self.body = json.loads(text) if text else None


class WireFloor:
    """Publisher and inbound on a core floor; commands wait in `queue` until `carry_out`."""

    def __init__(self, **options):
        self.floor = Floor(**options)
        self.topics = Topics("casino")
        self.published, self.acknowledged, self.queue, self.calls = [], [], [], []
        self.connected = True
        self.committed = CommittedState(self.floor.jackpot, self.position())
        self.equipment = EquipmentMonitor(self.committed, self.enqueue)
        self.publisher = Publisher(self.topics, self.committed, self.equipment.displays, self.call_later)
        self.publisher.publish_through(self.publish)
        service = SimpleNamespace(
            id="main",
            committed=self.committed,
            equipment=self.equipment,
            quarantine=new_quarantine(),
            enqueue=self.enqueue,
        )
        self.service = service
        self.inbound = Inbound(service=service, publisher=self.publisher, acknowledge=self.acknowledged.append)
        self._delivered = len(self.floor.events)

    def position(self):
        return Position(7, len(self.floor.events))

    def publish(self, topic, payload, *, retain=False, on_delivery=None):
        if self.connected:
            self.published.append(Published(topic, payload, retain, on_delivery))
        return self.connected

    def call_later(self, seconds, call):
        self.calls.append((seconds, call))

    def enqueue(self, command, reply):
        self.queue.append((command, reply))

    def receive(self, topic, body):
        """A message from a device; `body` is bytes, or a value that is written as JSON."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        message = ReceivedMessage(f"{ROOT}{topic}", payload, retained=False, mid=1, qos=1, connection=1)
        self.inbound.receive(message, self.topics.source(message.topic))
        return message

    def commit(self):
        """Commit what happened on the floor."""
        self.committed.jackpot, self.committed.position = self.floor.jackpot, self.position()
        events = list(enumerate(self.floor.events, 1))[self._delivered :]
        self._delivered = len(self.floor.events)
        return events

    def carry_out(self):
        """Decide and commit every waiting command, and answer it, as the writer and the service do."""
        waiting, self.queue[:] = list(self.queue), []
        answers = []
        for command, reply in waiting:
            try:
                answers.append((reply, self.floor.decision(command)))
            except Refused as refused:
                answers.append((reply, refused))
        events = self.commit()
        for reply, answer in answers:
            reply(answer)
        self.publisher.publish_changes(events)

    def bodies(self, topic):
        """The bodies published on a topic so far, oldest first."""
        return [message.body for message in self.published if message.topic == topic]

    def topics_published(self):
        return [message.topic for message in self.published]
