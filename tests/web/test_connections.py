"""Connections of a real server: idle ones are closed; those with a response or a feed in progress are not."""

import asyncio
import contextlib
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI, Response
from prometheus_client import REGISTRY
from starlette.background import BackgroundTask

from jackpot.engine.alarms import Alarms
from jackpot.store.database import Database
from jackpot.web import http_protocol, sse
from jackpot.web.health import Health
from jackpot.web.http_protocol import HttpProtocol
from jackpot.web.server import listening_socket, serve
from jackpot.web.sse import SseFeed
from jackpot.web.startup import StartupRouter
from tests.support.feed_client import FixedView

LIMIT_SECONDS = 60
SHORT_SECONDS = 0.3
ANSWER = b"GET /answer HTTP/1.1\r\nHost: x\r\n\r\n"
FEED = b"GET /feed HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(http_protocol, "CLOSING_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(sse, "POLL_SECONDS", 0.05)


def application(changes=()):
    app = FastAPI()
    app.state.sse_feed = SseFeed("1")
    app.add_api_route("/answer", lambda: Response("answered"))
    app.add_api_route("/much", lambda: Response(b"x" * 50_000_000))
    app.add_api_route("/feed", lambda: app.state.sse_feed.stream(FixedView(*changes), (), None))
    app.state.may_end = asyncio.Event()
    app.add_api_route("/lingers", lambda: Response("answered", background=BackgroundTask(app.state.may_end.wait)))
    return app


@asynccontextmanager
async def serving(tmp_path, changes=()):
    """Serve a small application; yield a function that connects to it."""
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    router = StartupRouter(Health(database, {}, {}, Alarms()))
    app = application(changes)
    router.route_to(app)
    listener = listening_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    task = asyncio.create_task(serve(router, listener))
    writers = []

    async def connect(request=b""):
        connect.app = app
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 14)
        writers.append(writer)
        writer.write(request)
        return reader, writer

    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            yield connect
    finally:
        for writer in writers:
            writer.close()
        task.cancel()
        await asyncio.wait((task,))
        database.close()


async def read_to_end(reader):
    """Return all bytes until the connection ends."""
    with contextlib.suppress(ConnectionError):
        return await reader.read(-1)
    return b""


async def trickle(reader, writer, text):
    """Send a text byte by byte, again and again, until the connection ends; return the received bytes."""
    received = asyncio.create_task(read_to_end(reader))
    while not received.done():
        for n in range(len(text)):
            writer.write(text[n : n + 1])
            await asyncio.wait((received,), timeout=SHORT_SECONDS / 20)
    return received.result()


async def status(reader):
    """Read one response and return its status."""
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
    return int(head[9:12])


def ended(reason):
    return REGISTRY.get_sample_value("jackpot_http_ended_connections_total", {"reason": reason})


def test_a_connection_without_a_complete_request_in_time_is_closed_and_counted(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            silent, _ = await connect()
            half, _ = await connect(b"GET /answer HTTP/1.1\r\nHost:")
            assert await asyncio.gather(read_to_end(silent), read_to_end(half)) == [b"", b""]
            assert await trickle(*await connect(b"GET /answer HTTP/1.1\r\n"), b"X-Word: some\r\n") == b""

    before = ended("slow")
    asyncio.run(run())
    assert ended("slow") == before + 3


def test_a_feed_continues_when_the_previous_request_on_its_connection_ends_late(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect(ANSWER.replace(b"answer", b"lingers"))
            assert await status(reader) == 200
            writer.write(FEED)
            await reader.readuntil(b"hello")
            connect.app.state.may_end.set()
            received = asyncio.create_task(read_to_end(reader))
            await asyncio.wait((received,), timeout=3 * SHORT_SECONDS)
            assert not received.done()

    asyncio.run(run())


def test_a_further_request_on_a_connection_must_be_complete_in_time(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect(ANSWER)
            assert await status(reader) == 200
            writer.write(ANSWER)
            assert await status(reader) == 200
            assert await trickle(reader, writer, b"GET /answer HTTP/1.1\r\n" + b"X-Word: some\r\n" * 100) == b""
            two, writer = await connect(ANSWER + ANSWER + b"GET /answer HTTP")
            assert [await status(two), await status(two)] == [200, 200]
            assert await trickle(two, writer, b"/1.1\r\n" + b"X-Word: some\r\n" * 100) == b""

    asyncio.run(run())


def test_the_rest_of_an_answered_request_must_arrive_in_time(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect(b"GET /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            assert await status(reader) == 200
            assert await trickle(reader, writer, b"x") == b""

    asyncio.run(run())


def test_a_slow_request_that_is_complete_in_time_is_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", LIMIT_SECONDS)

    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect()
            for n in range(len(ANSWER)):
                writer.write(ANSWER[n : n + 1])
                await writer.drain()
                await asyncio.sleep(0.001)
            assert await status(reader) == 200

    asyncio.run(run())


def test_a_feed_is_not_closed_by_the_time_limit(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, _ = await connect(FEED)
            began = asyncio.get_running_loop().time()
            beats = 0
            while beats < 3 or asyncio.get_running_loop().time() - began < 4 * SHORT_SECONDS:
                beats += (await reader.readline()).startswith(b"event: heartbeat")

    asyncio.run(run())


def test_over_the_limit_the_connection_that_was_idle_for_longest_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", LIMIT_SECONDS)
    monkeypatch.setattr(http_protocol, "MAX_CONNECTIONS", 3)

    async def run():
        async with serving(tmp_path) as connect:
            feed, _ = await connect(FEED)
            assert b"200 OK" in await feed.readline()
            answered, writer = await connect(ANSWER)
            assert await status(answered) == 200
            silent, _ = await connect()
            writer.write(ANSWER)
            assert await status(answered) == 200  # its last request is newer than the silent connection
            new, _ = await connect(ANSWER)
            assert await read_to_end(silent) == b""
            assert await status(new) == 200
            assert b"\n" in await feed.readline()

    before = ended("crowded")
    asyncio.run(run())
    assert ended("crowded") == before + 1


def test_over_the_limit_a_new_connection_is_closed_if_all_others_are_responding(tmp_path, monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", LIMIT_SECONDS)
    monkeypatch.setattr(http_protocol, "MAX_CONNECTIONS", 2)

    async def run():
        async with serving(tmp_path) as connect:
            feed = [(await connect(FEED))[0] for _ in range(2)]
            for reader in feed:
                assert b"200 OK" in await reader.readline()
            late, _ = await connect(ANSWER)
            assert await read_to_end(late) == b""
            for reader in feed:
                await reader.readuntil(b"event: heartbeat")

    asyncio.run(run())


@pytest.mark.parametrize("path", [b"/much", b"/feed"])
def test_a_response_that_is_not_read_is_given_up(tmp_path, monkeypatch, path):
    monkeypatch.setattr(sse, "SEND_SECONDS", 0.1)
    lost, connection_lost = asyncio.Event(), HttpProtocol.connection_lost

    def note_loss(self, exc):
        connection_lost(self, exc)
        lost.set()

    monkeypatch.setattr(HttpProtocol, "connection_lost", note_loss)

    async def run():
        async with serving(tmp_path, [b"x" * 1_000_000]) as connect:
            _, writer = await connect()
            writer.transport.pause_reading()
            writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            await lost.wait()

    asyncio.run(run())
