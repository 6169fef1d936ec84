"""The watch of the jackpot's own topics, without a broker: what is foreign, and how often it is overwritten."""

import asyncio
import functools
import json
import time

import pytest
from structlog.testing import capture_logs

from jackpot import metrics
from jackpot.engine.alarms import AlarmCode, Alarms
from jackpot.engine.committed_state import Position
from jackpot.store.errors import Fenced
from jackpot.wire import client_id_theft, topic_watch
from jackpot.wire.client_id_theft import MANY_LOSSES, ClientIdTheft
from jackpot.wire.mqtt_session import Address
from jackpot.wire.mqtt_transport import ReceivedMessage
from jackpot.wire.topic_watch import MAX_ON_THEIR_WAY, TopicWatch, position_of
from tests.support.daemon import LIMIT_SECONDS
from tests.support.wire_floor import ROOT, WireFloor

LAMP = f"{ROOT}tables/t1/pads/3/lamp"


class Watched(WireFloor):
    """A wire floor with a watch; each published message can be passed on to it."""

    def __init__(self):
        super().__init__()
        self.sent, self.ended, self.raised = [], [], []
        self.service.alarms = Alarms()
        self.service.require_lease = lambda: None
        self.service.end = self.ended.append
        self.service.raise_epoch = lambda epoch, _raised: self.raised.append(epoch)
        self.watch = TopicWatch(Address("127.0.0.1", 1), self.topics, self.service, self.publisher)
        self.watch._connected_at = time.monotonic()
        self.count = lambda: sum(metrics.FOREIGN.labels("main", kind)._value.get() for kind in topic_watch.KINDS)
        self.before = self.count()

    def publish(self, topic, payload, *, retain=False, on_delivery=None):
        self.sent.append((topic, payload))
        return super().publish(topic, payload, retain=retain, on_delivery=on_delivery)

    def light(self):
        """Publish the lamp of box 3 with another seq, and return its bytes."""
        self.committed.position = Position(7, self.committed.position.seq + 1)
        self.publisher.lamp(self.table, 3, None)
        return self.sent[-1][1]

    @property
    def table(self):
        return self.committed.jackpot.tables["t1"]

    def hear(self, payload, topic=LAMP):
        self.watch._received(ReceivedMessage(topic, payload, False, 0, 0, 1))

    @property
    def foreign(self):
        return self.count() - self.before


@pytest.fixture
def floor():
    return Watched()


def in_loop(test):
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run(*of, **fixtures):
        asyncio.run(test(*of, **fixtures))

    return run


async def overwrite_until(floor, done):
    """Let the watch overwrite until something is done, and a moment longer; return what it published."""
    before = len(floor.sent)
    task = asyncio.create_task(floor.watch._overwrite_due(lambda: None))
    async with asyncio.timeout(LIMIT_SECONDS):
        while not done(len(floor.sent) - before):  # noqa: ASYNC110 - a condition has no event
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return floor.sent[before:]


async def overwrite(floor, count):
    """Let the watch overwrite until it has published this many messages, and a moment longer."""
    return await overwrite_until(floor, lambda published: published >= count)


def fake(epoch=7, seq=1):
    return json.dumps({"round": 1, "lit": True, "epoch": epoch, "seq": seq}).encode()


def test_own_messages_are_recognised_however_late_and_also_after_lost_ones(floor):
    first, _lost, third = floor.light(), floor.light(), floor.light()
    for payload in (first, third, third):
        floor.hear(payload)
    assert (floor.foreign, floor.watch._due) == (0, {})


def test_an_own_message_that_another_client_repeats_is_foreign(floor):
    first, second = floor.light(), floor.light()
    floor.hear(first)
    floor.hear(second)
    floor.hear(first)
    assert floor.foreign == 1


def test_own_clearing_is_not_foreign_and_anothers_is(floor):
    floor.publisher.publish_own(LAMP, b"")
    floor.hear(b"")
    assert floor.foreign == 0
    floor.hear(floor.light())
    floor.hear(b"")
    assert floor.foreign == 1
    (alarm,) = floor.service.alarms.all()
    assert (alarm.code, alarm.says.split(",")[0]) == (
        AlarmCode.FOREIGN_MESSAGE,
        f"{LAMP} was cleared by another client",
    )


def test_topics_of_other_jackpots_and_of_boxes_that_the_table_does_not_have_are_not_watched(floor):
    for topic in ("tables/other/pads/1/lamp", "tables/other/state", "tables/t1/pads/99/lamp", "jackpots/side/meter"):
        floor.hear(fake(), f"{ROOT}{topic}")
    assert (floor.foreign, floor.watch._due) == (0, {})


def test_an_earlier_owners_message_is_only_overwritten_until_a_minute_has_passed(floor, monkeypatch):
    floor.hear(fake(epoch=6))
    assert (floor.foreign, list(floor.watch._due)) == (0, [LAMP])
    monkeypatch.setattr(topic_watch, "EARLIER_OWNER_SECONDS", 0)
    floor.hear(fake(epoch=6))
    assert floor.foreign == 1


def test_our_own_late_will_is_only_overwritten_and_a_forged_one_is_foreign(floor):
    topic = f"{ROOT}jackpots/main/controller"
    floor.watch.all_published("127.0.0.1:1")
    floor.hear(b'{"state":"offline","epoch":7}', topic)
    assert (floor.foreign, list(floor.watch._due)) == (0, [topic])
    floor.watch._all_published_at -= topic_watch.LATE_WILL_SECONDS
    floor.hear(b'{"state":"offline","epoch":7}', topic)
    assert floor.foreign == 1


def test_a_watch_that_is_far_behind_does_not_judge_until_it_recognises_a_message(floor):
    sent = [floor.light() for _ in range(MAX_ON_THEIR_WAY + 5)]
    floor.hear(sent[0])
    assert floor.foreign == 0
    floor.hear(sent[-1])
    floor.hear(sent[0])
    assert floor.foreign == 1


def test_little_is_kept_while_the_watch_is_not_connected(floor):
    sent = [floor.light() for _ in range(20)]
    floor.watch._lost()
    sent += [floor.light() for _ in range(20)]
    assert len(floor.watch._own[LAMP].on_their_way) == topic_watch.KEPT_UNWATCHED
    floor.hear(sent[-1])
    assert floor.foreign == 0


@in_loop
async def test_a_flood_of_foreign_messages_is_overwritten_twice_a_second_and_the_truth_gets_out_last(
    floor, monkeypatch
):
    monkeypatch.setattr(topic_watch, "BETWEEN_OVERWRITES_SECONDS", 1_000)
    for _ in range(100):
        floor.hear(fake())
    assert [topic for topic, _ in await overwrite(floor, 1)] == [LAMP]
    floor.hear(fake())
    assert floor.foreign == 101
    assert await overwrite(floor, 0) == []
    floor.watch._due[LAMP] = 0.0
    (overwritten,) = await overwrite(floor, 1)
    assert json.loads(overwritten[1])["lit"] is False


@in_loop
async def test_a_message_of_the_next_owner_is_not_overwritten(floor):
    def fenced():
        raise Fenced("another controller took over")

    floor.service.require_lease = fenced
    floor.hear(fake(epoch=8))
    assert await overwrite_until(floor, lambda _: floor.ended) == []
    assert [str(error) for error in floor.ended] == ["another controller took over"]


@in_loop
async def test_the_epoch_goes_above_a_foreign_position_unless_no_controller_can_have_had_it(floor):
    floor.hear(fake(seq=10**6))
    assert len(await overwrite(floor, 1)) == 1
    assert floor.raised == [7]
    floor.hear(fake(epoch=7 + 1_001), f"{ROOT}tables/t1/state")
    overwritten = await overwrite(floor, 2)
    assert [topic.removeprefix(ROOT) for topic, _ in overwritten] == ["tables/t1/state", "jackpots/main/controller"]
    assert floor.raised == [7]
    assert AlarmCode.EPOCH_REFUSED in {alarm.code for alarm in floor.service.alarms.all()}


def test_an_epoch_is_believed_up_to_a_thousand_above_the_lease_or_the_mark(floor):
    assert not floor.watch.refuse_epoch(7 + 1_000)
    assert floor.watch.refuse_epoch(7 + 1_001)
    floor.watch._mark_epoch = 100
    assert not floor.watch.refuse_epoch(1_100)
    assert floor.watch.refuse_epoch(1_101)


@in_loop
async def test_alarms_end_when_nothing_foreign_came_for_a_while(floor, monkeypatch):
    monkeypatch.setattr(topic_watch, "CHECK_SECONDS", 0.01)
    floor.hear(fake())
    task = asyncio.create_task(floor.watch._end_alarms())
    await asyncio.sleep(0.1)
    assert floor.service.alarms.all()
    monkeypatch.setattr(topic_watch, "QUIET_SECONDS", 0)
    async with asyncio.timeout(LIMIT_SECONDS):
        while floor.service.alarms.all():  # noqa: ASYNC110 - alarms have no event
            await asyncio.sleep(0.01)
    task.cancel()


def test_foreign_messages_are_logged_once_a_minute_for_each_topic(floor):
    with capture_logs() as logs:
        for _ in range(3):
            floor.hear(fake())
            floor.watch._foreign.clear()
        floor.hear(fake(), f"{ROOT}tables/t1/state")
    assert [entry["kind"] for entry in logs if entry["event"] == "foreign message"] == ["lamp", "state"]


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[1]", b'{"epoch":"1"}', b'{"epoch":true}', b'{"epoch":1e3}', b"[" * 4_000, b"y" * 5_000]
)
def test_a_message_without_a_position_has_none(payload):
    assert position_of(payload) is None


def test_a_message_may_have_an_epoch_without_a_seq():
    assert position_of(b'{"state":"online","epoch":9}') == Position(9, 0)


@pytest.fixture
def theft():
    made = ClientIdTheft("main", "jackpot-casino-main", Alarms(), lambda: 0.0)
    made.connected("10.0.0.1:1000")
    return made


def test_the_third_loss_within_half_a_minute_is_a_theft_unless_the_broker_itself_was_away(theft):
    assert [theft.lost() for _ in range(MANY_LOSSES)] == [False, False, True]
    assert "an address that the broker does not report" in theft._alarms.all()[0].says
    away = ClientIdTheft("main", "jackpot-casino-main", Alarms(), time.monotonic)
    assert not any(away.lost() for _ in range(2 * MANY_LOSSES))


def test_the_address_is_the_other_clients_from_the_brokers_log(theft, monkeypatch):
    for _ in range(MANY_LOSSES):
        theft.lost()
    for line in (
        b"1763472000: New client connected from 10.6.6.6:4242 as jackpot-casino-main (p2, c1, k60).",
        b"1763472000: New client connected from 10.0.0.1:1000 as jackpot-casino-main (p2, c0, k10).",
        b"1763472000: New client connected from 10.7.7.7:1 as pad-1 (p2, c0, k10).",
    ):
        theft.read_log(line)
    assert "connects from 10.6.6.6:4242 with the client id jackpot-casino-main" in theft._alarms.all()[0].says
    monkeypatch.setattr(client_id_theft, "CALM_SECONDS", -1)
    theft.check()
    assert theft._alarms.all() == []
