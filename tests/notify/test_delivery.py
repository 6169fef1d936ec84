"""The notices of the outbox are delivered in order, at least once, with one id each, even if the receiver fails."""

import asyncio
import base64
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from jackpot.core.notices import Notice, NoticeType
from jackpot.notify import delivery
from jackpot.notify.delivery import NoticeSender
from jackpot.notify.webhook import Webhook
from jackpot.store import outbox
from jackpot.store.database import Database
from jackpot.store.schema import migrate
from tests.support.webhook_receiver import SECRET, receiving


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(delivery, "FIRST_WAIT_SECONDS", 0.02)
    monkeypatch.setattr(delivery, "MAX_WAIT_SECONDS", 0.2)
    monkeypatch.setattr(delivery, "POLL_SECONDS", 0.1)


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(made)
    yield made
    made.close()


def put(database, number, at=None):
    at = at or datetime.now(UTC) + timedelta(milliseconds=number)
    moment = at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    outbox.put(database, "casino", "main", number, Notice(NoticeType.TRAIL_WRONG, moment, {"problem": f"p{number}"}))


@asynccontextmanager
async def running(database, port):
    sender = NoticeSender(database, Webhook.of(f"http://127.0.0.1:{port}/", SECRET), "1.0")
    task = asyncio.create_task(sender.run())
    try:
        yield sender
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def delivered(database, port, seconds=60):
    """Run a sender until the outbox is empty."""

    async def run():
        async with running(database, port):
            until = time.monotonic() + seconds
            while outbox.depth(database).waiting:
                assert time.monotonic() < until, "not delivered"
                await asyncio.sleep(0.01)

    asyncio.run(run())


def seqs(posts):
    return [post.payload["data"]["seq"] for post in posts]


def test_waiting_notices_are_delivered_once_in_order_and_signed(database, receiver):
    for number in range(120):
        put(database, number)
    delivered(database, receiver.port)
    assert seqs(receiver.posts) == list(range(120))
    assert all(post.is_signed() for post in receiver.posts)
    assert len({post.id for post in receiver.posts}) == 120
    first = receiver.posts[0].headers
    assert (first["content-type"], first["user-agent"]) == ("application/json", "jackpot-controller/1.0")


def test_the_signature_does_not_match_a_changed_body_or_another_key(database, receiver):
    put(database, 1)
    delivered(database, receiver.port)
    (post,) = receiver.posts
    assert post.is_signed()
    assert not post._replace(body=post.body.replace(b"p1", b"p2")).is_signed()
    assert not post.is_signed(key=bytes(32))


@pytest.mark.parametrize("trouble", [500, 503, 429, 302, (200, {"hang_up": True})])
def test_a_failing_receiver_is_tried_again_with_the_same_id_and_in_order(database, receiver, trouble):
    for number in range(3):
        put(database, number)
    receiver.answers = [trouble if isinstance(trouble, int) else (trouble[0], dict(trouble[1])) for _ in range(3)]
    delivered(database, receiver.port)
    assert seqs(receiver.posts) == [0, 0, 0, 0, 1, 2]
    assert len({post.id for post in receiver.posts}) == 3
    assert all(post.is_signed() for post in receiver.posts)


def test_waits_between_attempts_grow_and_are_randomised(database, receiver, monkeypatch):
    limits = []

    def record(shortest, longest):
        limits.append((shortest, longest))
        return 0.0

    monkeypatch.setattr(delivery.random, "uniform", record)
    put(database, 1)
    receiver.answers = [500] * 5
    delivered(database, receiver.port)
    assert limits == [(longest / 2, longest) for longest in (0.02, 0.04, 0.08, 0.16, 0.2)]


def test_a_refused_notice_delays_no_other(database, receiver):
    for number in range(3):
        put(database, number)
    receiver.answers = [400, 204, 204, 422]
    delivered(database, receiver.port)
    assert seqs(receiver.posts) == [0, 1, 2, 0, 0]


def test_a_receiver_that_returns_gets_all_notices(database):
    for number in range(3):
        put(database, number)
    with receiving() as away:
        port = away.port
    failed = delivery.metrics.NOTICES.labels("failed")._value.get
    before = failed()

    async def run():
        async with running(database, port):
            while failed() == before:  # noqa: ASYNC110 - there is no event for this
                await asyncio.sleep(0.01)
            assert outbox.depth(database).waiting == 3
            with receiving(port=port) as back:
                await asyncio.to_thread(back.wait, 3)
                return seqs(back.posts)

    assert asyncio.run(run()) == [0, 1, 2]


def test_a_wake_delivers_a_new_notice_at_once(database, receiver, monkeypatch):
    monkeypatch.setattr(delivery, "POLL_SECONDS", 3600.0)

    async def run():
        async with running(database, receiver.port) as sender:
            await asyncio.sleep(0.1)
            put(database, 1)
            sender.wake()
            await asyncio.to_thread(receiver.wait, 1)

    asyncio.run(run())


def test_notices_older_than_a_week_are_discarded_and_counted(database, receiver):
    before = delivery.metrics.NOTICES.labels("given_up")._value.get()
    put(database, 1, datetime.now(UTC) - timedelta(days=8))
    put(database, 2)
    delivered(database, receiver.port)
    assert seqs(receiver.posts) == [2]
    assert delivery.metrics.NOTICES.labels("given_up")._value.get() == before + 1


def test_a_slow_receiver_does_not_block_the_event_loop(database, receiver):
    put(database, 1)
    receiver.answers = [(204, {"seconds": 3.0})]

    async def run():
        async with running(database, receiver.port):
            longest = 0.0
            while outbox.depth(database).waiting:
                began = time.perf_counter()
                await asyncio.sleep(0.001)
                longest = max(longest, time.perf_counter() - began)
            return longest

    assert asyncio.run(run()) < 1.5


def test_a_fault_in_posting_does_not_stop_delivery(database, receiver, monkeypatch):
    put(database, 1)
    faults = [RuntimeError("a fault"), ValueError("another")]
    post = delivery.post

    async def faulty(*arguments):
        if faults:
            raise faults.pop()
        return await post(*arguments)

    monkeypatch.setattr(delivery, "post", faulty)
    delivered(database, receiver.port)
    assert seqs(receiver.posts) == [1]


def test_neither_the_secret_nor_the_path_is_logged(database, receiver, capsys):
    put(database, 1)
    receiver.answers = [500, 404]

    async def run():
        sender = NoticeSender(database, Webhook.of(f"http://127.0.0.1:{receiver.port}/T0KEN", SECRET), "1.0")
        task = asyncio.create_task(sender.run())
        await asyncio.to_thread(receiver.wait, 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    logged = "".join(capsys.readouterr())
    assert "notice not delivered" in logged
    for secret in (SECRET, SECRET.removeprefix("whsec_"), base64.b64decode(SECRET[6:]).hex(), "T0KEN"):
        assert secret not in logged


def test_a_controller_leaves_the_notices_of_other_owners_to_them(database, receiver):
    put(database, 1)
    other = Notice(NoticeType.TRAIL_WRONG, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"), {"problem": "p2"})
    outbox.put(database, "casino", "side", 2, other)

    async def run():
        webhook = Webhook.of(f"http://127.0.0.1:{receiver.port}/", SECRET)
        sender = NoticeSender(database, webhook, "1.0", lambda chain: chain == "main")
        task = asyncio.create_task(sender.run())
        until = time.monotonic() + 60
        while outbox.depth(database).waiting > 1:
            assert time.monotonic() < until, "not delivered"
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert seqs(receiver.posts) == [1]
    assert [notice.chain for notice in outbox.waiting(database)] == ["side"]
