"""Connections of a real server: none is kept for nothing, and whoever is answered or fed is left alone."""

import asyncio
import contextlib
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI, Response
from starlette.background import BackgroundTask

from jackpot import metrics
from jackpot.store.database import Database
from jackpot.web import http_protocol, sse
from jackpot.web.health import Health
from jackpot.web.http_protocol import HttpProtocol
from jackpot.web.server import listening, serve
from jackpot.web.sse import Feed
from jackpot.web.startup import StartupRouter
from tests.support.feed_client import JackpotView

LIMIT_SECONDS = 20
SHORT_SECONDS = 0.3
WHOLE = b"GET /answer HTTP/1.1\r\nHost: x\r\n\r\n"
FED = b"GET /feed HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(http_protocol, "TAKING_SECONDS", SHORT_SECONDS)
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(sse, "LOOK_SECONDS", 0.05)


def application(news=()):
    app = FastAPI()
    app.state.feed = Feed("1")
    app.add_api_route("/answer", lambda: Response("answered"))
    app.add_api_route("/much", lambda: Response(b"x" * 50_000_000))
    app.add_api_route("/feed", lambda: app.state.feed.stream(JackpotView(*news), (), None))
    app.state.may_end = asyncio.Event()
    app.add_api_route("/lingers", lambda: Response("answered", background=BackgroundTask(app.state.may_end.wait)))
    return app


@asynccontextmanager
async def serving(tmp_path, news=()):
    """A server of a small application; gives what connects to it."""
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    porch = StartupRouter(Health(database, {}, {}))
    app = application(news)
    porch.route_to(app)
    where = listening("127.0.0.1", 0)
    port = where.getsockname()[1]
    task = asyncio.create_task(serve(porch, where))
    made = []

    async def connect(said=b""):
        connect.app = app
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 14)
        made.append(writer)
        writer.write(said)
        return reader, writer

    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            yield connect
    finally:
        for writer in made:
            writer.close()
        task.cancel()
        await asyncio.wait((task,))
        database.close()


async def everything(reader):
    """Whatever comes until the connection ends."""
    with contextlib.suppress(ConnectionError):
        return await reader.read(-1)
    return b""


async def trickle(reader, writer, text):
    """Say something byte by byte, again and again, until the connection ends; says what came."""
    heard = asyncio.create_task(everything(reader))
    while not heard.done():
        for n in range(len(text)):
            writer.write(text[n : n + 1])
            await asyncio.wait((heard,), timeout=SHORT_SECONDS / 20)
    return heard.result()


async def answer(reader):
    """The status of one answer, whose body is short."""
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
    return int(head[9:12])


def ended(reason):
    return metrics.ENDED_CONNECTIONS.labels(reason)._value.get()


def test_a_connection_that_says_nothing_or_half_a_request_is_ended_and_counted(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            silent, _ = await connect()
            half, _ = await connect(b"GET /answer HTTP/1.1\r\nHost:")
            assert await asyncio.gather(everything(silent), everything(half)) == [b"", b""]
            assert await trickle(*await connect(b"GET /answer HTTP/1.1\r\n"), b"X-Word: some\r\n") == b""

    before = ended("slow")
    asyncio.run(run())
    assert ended("slow") == before + 3


def test_a_feed_goes_on_when_what_was_asked_before_it_on_the_same_connection_ends_late(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect(WHOLE.replace(b"answer", b"lingers"))
            assert await answer(reader) == 200
            writer.write(FED)
            await reader.readuntil(b"hello")
            connect.app.state.may_end.set()
            heard = asyncio.create_task(everything(reader))
            await asyncio.wait((heard,), timeout=3 * SHORT_SECONDS)
            assert not heard.done()

    asyncio.run(run())


def test_a_second_request_on_a_connection_must_come_whole_in_time_too(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect(WHOLE)
            assert await answer(reader) == 200
            writer.write(WHOLE)
            assert await answer(reader) == 200
            assert await trickle(reader, writer, b"GET /answer HTTP/1.1\r\n" + b"X-Word: some\r\n" * 100) == b""
            two, writer = await connect(WHOLE + WHOLE + b"GET /answer HTTP")
            assert [await answer(two), await answer(two)] == [200, 200]
            assert await trickle(two, writer, b"/1.1\r\n" + b"X-Word: some\r\n" * 100) == b""

    asyncio.run(run())


def test_the_rest_of_a_request_that_was_answered_is_not_waited_for_for_ever(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect(b"GET /answer HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            assert await answer(reader) == 200
            assert await trickle(reader, writer, b"x") == b""

    asyncio.run(run())


def test_a_request_that_comes_slowly_but_in_time_is_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", LIMIT_SECONDS)

    async def run():
        async with serving(tmp_path) as connect:
            reader, writer = await connect()
            for n in range(len(WHOLE)):
                writer.write(WHOLE[n : n + 1])
                await writer.drain()
                await asyncio.sleep(0.001)
            assert await answer(reader) == 200

    asyncio.run(run())


def test_whoever_is_fed_is_fed_for_as_long_as_it_stays(tmp_path):
    async def run():
        async with serving(tmp_path) as connect:
            reader, _ = await connect(FED)
            began = asyncio.get_running_loop().time()
            beats = 0
            while beats < 3 or asyncio.get_running_loop().time() - began < 4 * SHORT_SECONDS:
                beats += (await reader.readline()).startswith(b"event: heartbeat")

    asyncio.run(run())


def test_where_too_many_are_open_whoever_has_asked_nothing_for_longest_makes_room(tmp_path, monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", LIMIT_SECONDS)
    monkeypatch.setattr(http_protocol, "MAX_CONNECTIONS", 3)

    async def run():
        async with serving(tmp_path) as connect:
            fed, _ = await connect(FED)
            assert b"200 OK" in await fed.readline()
            answered, writer = await connect(WHOLE)
            assert await answer(answered) == 200
            silent, _ = await connect()
            writer.write(WHOLE)
            assert await answer(answered) == 200  # it has asked since the silent one came
            new, _ = await connect(WHOLE)
            assert await everything(silent) == b""
            assert await answer(new) == 200
            assert b"\n" in await fed.readline()

    before = ended("crowded")
    asyncio.run(run())
    assert ended("crowded") == before + 1


def test_where_everybody_is_being_answered_one_more_is_ended_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", LIMIT_SECONDS)
    monkeypatch.setattr(http_protocol, "MAX_CONNECTIONS", 2)

    async def run():
        async with serving(tmp_path) as connect:
            fed = [(await connect(FED))[0] for _ in range(2)]
            for reader in fed:
                assert b"200 OK" in await reader.readline()
            late, _ = await connect(WHOLE)
            assert await everything(late) == b""
            for reader in fed:
                await reader.readuntil(b"event: heartbeat")

    asyncio.run(run())


@pytest.mark.parametrize("path", [b"/much", b"/feed"])
def test_an_answer_that_nobody_takes_in_is_given_up(tmp_path, monkeypatch, path):
    monkeypatch.setattr(sse, "STUCK_SECONDS", 0.1)
    lost, connection_lost = asyncio.Event(), HttpProtocol.connection_lost

    def noted(self, exc):
        connection_lost(self, exc)
        lost.set()

    monkeypatch.setattr(HttpProtocol, "connection_lost", noted)

    async def run():
        async with serving(tmp_path, [b"x" * 1_000_000]) as connect:
            _, writer = await connect()
            writer.transport.pause_reading()
            writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            await lost.wait()

    asyncio.run(run())
