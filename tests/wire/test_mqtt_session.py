"""The MQTT session and transport against a broker that is only a socket: bytes split anywhere, in any order."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import aiomqtt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackpot.wire import mqtt_session
from jackpot.wire.mqtt_session import FIRST_WAIT_SECONDS, Address, MqttSession
from jackpot.wire.mqtt_transport import ReceivedMessage

LIMIT_SECONDS = 10
PINGREQ = 0xC0
DISCONNECT = 0xE0
CONNACK = {4: b"\x20\x02\0\0", 5: b"\x20\x06\0\0\x03\x21\0\x02"}
"""The CONNACK of MQTT 5 allows two unacknowledged messages."""


@pytest.fixture(autouse=True)
def no_pings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the session's own pings, which would stand between the packets that are compared."""

    async def never(_session: MqttSession) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(MqttSession, "_ping", never)


def publish(topic: str, payload: bytes, mid: int, version: int = 4) -> bytes:
    """A PUBLISH at QoS 1, as a broker writes it."""
    name = topic.encode()
    body = len(name).to_bytes(2) + name + mid.to_bytes(2) + (b"\0" if version == 5 else b"") + payload
    length, rest = b"", len(body)
    while True:
        rest, low = divmod(rest, 128)
        length += bytes([low | 0x80 if rest else low])
        if not rest:
            return b"\x32" + length + body


class Broker:
    """The other end of one connection, driven by the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def packet(self) -> tuple[int, bytes]:
        async with asyncio.timeout(LIMIT_SECONDS):
            first = (await self.reader.readexactly(1))[0]
            length = shift = 0
            while True:
                byte = (await self.reader.readexactly(1))[0]
                length |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return first, await self.reader.readexactly(length)

    async def say(self, *pieces: bytes) -> None:
        """Send pieces, each in a write of its own."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)


@asynccontextmanager
async def connected(
    messages: list[ReceivedMessage], version: int = 4, behind: bytes = b"", on_lost: Callable[[], None] = lambda: None
) -> AsyncIterator[tuple[MqttSession, Broker]]:
    """A session with a broker that sends `behind` right after its CONNACK."""
    arrived: asyncio.Queue[Broker] = asyncio.Queue()
    ready = asyncio.Event()
    writers: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker = Broker(reader, writer)
        writers.append(writer)
        await broker.packet()
        await broker.say(CONNACK[version] + behind)
        arrived.put_nowait(broker)

    async def begun() -> None:
        assert not messages, "nothing is taken before it can be answered"
        ready.set()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    address = Address("127.0.0.1", server.sockets[0].getsockname()[1], version=version)
    session = MqttSession(address, "tested", on_message=messages.append, on_connect=begun, on_lost=on_lost)
    running = asyncio.create_task(session.run())
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            broker = await arrived.get()
            await ready.wait()
        yield session, broker
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        server.close()
        await _closed(writers)


async def _closed(writers: list[asyncio.StreamWriter]) -> None:
    """Close all: from Python 3.12 on, a writer that is left open when its loop ends is an error."""
    for writer in writers:
        writer.close()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not holds():  # noqa: ASYNC110 - the session has no event for it
            await asyncio.sleep(0.001)


PAYLOADS = st.lists(st.binary(max_size=300) | st.integers(120, 70_000).map(bytes), min_size=1, max_size=8)


@given(payloads=PAYLOADS, cuts=st.lists(st.floats(0, 1), max_size=8), version=st.sampled_from((4, 5)))
@settings(max_examples=60, deadline=None)
def test_messages_arrive_whole_and_in_order_wherever_the_bytes_are_split(
    payloads: list[bytes], cuts: list[float], version: int
) -> None:
    stream = b"".join(publish(f"t/{n}", payload, n + 1, version) for n, payload in enumerate(payloads))
    at = sorted({0, len(stream), *(int(cut * len(stream)) for cut in cuts)})

    async def run() -> list[ReceivedMessage]:
        messages: list[ReceivedMessage] = []
        async with connected(messages, version) as (_, broker):
            await broker.say(*(stream[a:b] for a, b in pairwise(at)))
            await until(lambda: len(messages) == len(payloads))
        return messages

    received = asyncio.run(run())
    assert [(one.topic, one.payload, one.mid, one.qos) for one in received] == [
        (f"t/{n}", payload, n + 1, 1) for n, payload in enumerate(payloads)
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_messages_are_written_as_mqtt_for_every_size_of_length(version: int) -> None:
    sizes = [0, 1, 100, 117, 118, 119, 120, 127, 128, 16_370, 16_384, 70_000]

    async def run() -> list[bytes]:
        async with connected([], version) as (session, broker):
            found = []
            for size in sizes:
                assert session.publish("a/b", bytes(size), retain=True)
                first, body = await broker.packet()
                assert first == 0x33
                found.append(body)
                await broker.say(b"\x40\x02" + body[5:7])
            return found

    for size, body in zip(sizes, asyncio.run(run()), strict=True):
        assert body[:5] == b"\0\3a/b"
        assert body[7:] == (b"\0" if version == 5 else b"") + bytes(size)


def test_a_message_is_acknowledged_with_its_packet_id_and_only_when_requested() -> None:
    async def run() -> tuple[int, bytes]:
        messages: list[ReceivedMessage] = []
        async with connected(messages) as (session, broker):
            await broker.say(publish("t/1", b"x", 7), publish("t/2", b"y", 9))
            await until(lambda: len(messages) == 2)
            session.acknowledge(messages[1])
            return await broker.packet()

    assert asyncio.run(run()) == (0x40, b"\0\x09")


def test_no_more_messages_are_unacknowledged_than_an_mqtt_5_broker_takes() -> None:
    async def run() -> None:
        async with connected([], 5) as (session, broker):
            for n in range(5):
                assert session.publish(f"t/{n}", b"x")
            first, second = (await broker.packet())[1], (await broker.packet())[1]
            assert (first[2:5], second[2:5]) == (b"t/0", b"t/1")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await broker.reader.readexactly(1)
            for n in range(2, 5):
                await broker.say(b"\x40\x02" + first[5:7])
                first, second = second, (await broker.packet())[1]
                assert second[2:5] == f"t/{n}".encode()

    asyncio.run(run())


def test_publish_now_ends_with_the_acknowledgement_or_with_the_connection() -> None:
    async def run() -> None:
        async with connected([]) as (session, broker):
            sent = asyncio.create_task(session.publish_now("bye", b"x"))
            mid = (await broker.packet())[1][5:7]
            assert not sent.done()
            await broker.say(b"\x40\x02" + mid)
            async with asyncio.timeout(LIMIT_SECONDS):
                await sent
            lost = asyncio.create_task(session.publish_now("bye", b"x"))
            await broker.packet()
            broker.writer.close()
            await asyncio.wait({lost}, timeout=LIMIT_SECONDS)
            assert isinstance(lost.exception(), ConnectionError)  # no cancellation: the caller goes on

    asyncio.run(run())


def test_the_delivery_callback_reports_acknowledged_or_lost() -> None:
    async def run() -> None:
        fates: dict[str, bool] = {}
        async with connected([]) as (session, broker):
            for name in ("had", "lost", "lost too"):
                assert session.publish(name, b"x", on_delivery=partial(fates.__setitem__, name))
            await broker.say(b"\x40\x02" + (await broker.packet())[1][5:7])
            await until(lambda: fates == {"had": True})
            broker.writer.close()
            await until(lambda: fates == {"had": True, "lost": False, "lost too": False})
            assert list(fates) == ["had", "lost", "lost too"]

    asyncio.run(run())


async def nothing() -> None:
    """Do nothing when connected."""


def test_a_session_that_is_cancelled_while_it_connects_ends() -> None:
    """Python 3.11 loses a cancellation that comes in the same tick as the awaited result."""

    async def run() -> None:
        writers: list[asyncio.StreamWriter] = []

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            broker = Broker(reader, writer)
            await broker.packet()
            await broker.say(CONNACK[4])
            assert (await broker.packet())[0] == DISCONNECT
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        session = MqttSession(address, "tested", on_message=print, on_connect=nothing)
        made = session._new_client

        def new_client() -> aiomqtt.Client:
            client = made()
            on_connect = client._client.on_connect

            def answered(*arguments: Any) -> None:
                on_connect(*arguments)
                running.cancel()

            client._client.on_connect = answered
            return client

        session._new_client = new_client  # type: ignore[method-assign]
        running = asyncio.create_task(session.run())
        ended, _ = await asyncio.wait({running}, timeout=LIMIT_SECONDS)
        server.close()
        await _closed(writers)
        assert ended == {running}
        assert running.cancelled()

    asyncio.run(run())


def test_a_session_that_is_disconnected_at_once_waits_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def record(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(mqtt_session, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": record}))
    monkeypatch.setattr(mqtt_session, "STEADY_SECONDS", math.inf)  # however long this machine takes to connect

    async def run() -> None:
        writers: list[asyncio.StreamWriter] = []

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            broker = Broker(reader, writer)
            await broker.packet()
            await broker.say(CONNACK[4])
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        running = asyncio.create_task(MqttSession(address, "tested", on_message=print, on_connect=nothing).run())
        await until(lambda: len(waits) > 4)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        server.close()
        await _closed(writers)

    asyncio.run(run())
    longest = [FIRST_WAIT_SECONDS * 2**n for n in range(5)]
    assert all(limit / 2 <= wait <= limit for wait, limit in zip(waits, longest, strict=False)), waits


@pytest.mark.parametrize("nonsense", [b"\x30\xff\xff\xff\xff\x01", b"\x32\x02\0\x09", b"\xf0\0"])
def test_a_broker_that_sends_nonsense_is_disconnected_and_connected_again(nonsense: bytes) -> None:
    async def run() -> None:
        async with connected([]) as (session, broker):
            await broker.say(nonsense)
            async with asyncio.timeout(LIMIT_SECONDS):
                while not broker.reader.at_eof():
                    await broker.reader.read(100)
            await until(lambda: session.connected)

    asyncio.run(run())


def test_no_watch_on_the_socket_is_left_behind() -> None:
    """A reader that stays registered for a closed socket would steal the bytes of the next socket with its number."""

    async def run() -> None:
        async with connected([]) as (session, broker):
            assert session.publish("a", b"x")
            asking = session.subscribe(["t/+"])
            waiting = asking.send(None)  # the library queues its packet before ours has gone
            kinds = [await broker.packet(), await broker.packet()]
            assert [first & 0xF0 for first, _ in kinds] == [0x80, 0x30]
            socket = session._paho.socket()
            loop = asyncio.get_running_loop()
            for _ in range(10):
                await asyncio.sleep(0)
            assert loop._selector.get_key(socket).events == selectors.EVENT_READ
            waiting.cancel()
            asking.close()

    asyncio.run(run())


@pytest.mark.parametrize("version", [4, 5])
def test_messages_right_behind_the_connack_are_handled_when_they_can_be_answered(version: int) -> None:
    async def run() -> None:
        messages: list[ReceivedMessage] = []
        async with connected(messages, version, behind=publish("t/1", b"early", 7, version)) as (session, broker):
            await until(lambda: bool(messages))
            assert session.publish("answer", b"received")
            session.acknowledge(messages[0])
            first, body = await broker.packet()
            assert (first & 0xF0, body[2:8]) == (0x30, b"answer")
            assert (await broker.packet())[1][:2] == b"\0\x07"

    asyncio.run(run())


def test_a_silent_broker_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jackpot.wire.mqtt_session.KEEPALIVE_SECONDS", 1)

    async def run() -> None:
        lost: list[bool] = []
        async with connected([], on_lost=lambda: lost.append(True)) as (_, broker):
            assert (await broker.packet())[0] == PINGREQ
            await until(lambda: bool(lost))

    asyncio.run(run())


def test_a_busy_broker_may_answer_a_ping_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jackpot.wire.mqtt_session.KEEPALIVE_SECONDS", 1)

    async def run() -> None:
        messages: list[ReceivedMessage] = []
        lost: list[bool] = []
        async with connected(messages, on_lost=lambda: lost.append(True)) as (_, broker):
            pings = 0
            while pings < 3:  # none of which is answered
                await broker.say(publish("t/1", b"news", 1))
                try:
                    async with asyncio.timeout(0.1):
                        pings += (await broker.packet())[0] == PINGREQ
                except TimeoutError:
                    continue
            assert not lost

    asyncio.run(run())
