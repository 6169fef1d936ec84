"""A connection that is lost before aiomqtt has returned from making it: it is made again."""

import asyncio
from contextlib import asynccontextmanager

import aiomqtt
import pytest

from hardware_sim.connection import Broker, DeviceConnection
from jackpot.wire.mqtt_session import Address, MqttSession

LIMIT_SECONDS = 20
CONNACK = b"\x20\x02\0\0"


@pytest.fixture
def busy_loop(monkeypatch):
    """Let aiomqtt's wait for the CONNACK end late, as in an event loop with much to do."""
    wait_for = aiomqtt.Client._wait_for

    async def wait_longer(self, *arguments, **options):
        result = await wait_for(self, *arguments, **options)
        await asyncio.sleep(0.2)
        return result

    monkeypatch.setattr(aiomqtt.Client, "_wait_for", wait_longer)


@asynccontextmanager
async def closing_the_first():
    """Run a broker that closes its first connection after the CONNACK; yield its port and the accepted connections."""
    accepted = []

    async def accept(reader, writer):
        accepted.append(writer)
        await reader.read(100)
        writer.write(CONNACK)
        if len(accepted) == 1:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], accepted
    finally:
        server.close()
        for writer in accepted:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in accepted), return_exceptions=True)


async def until(holds):
    async with asyncio.timeout(LIMIT_SECONDS):
        while not holds():  # noqa: ASYNC110 - the connection has no event for it
            await asyncio.sleep(0.01)


async def nothing():
    """Have nothing to do after connecting."""


@pytest.mark.usefixtures("busy_loop")
def test_the_controllers_session_connects_again():
    async def run():
        async with closing_the_first() as (port, accepted):
            session = MqttSession(Address("127.0.0.1", port), "tested", on_message=print, on_connect=nothing)
            running = asyncio.create_task(session.run())
            await until(lambda: len(accepted) == 2 and session.connected)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())


@pytest.mark.usefixtures("busy_loop")
def test_a_simulated_device_connects_again():
    async def run():
        async with closing_the_first() as (port, accepted):
            connection = DeviceConnection(
                Broker(port=port), "tested", status_topic="s", topics=["t"], on_message=print, on_connect=print
            )
            connection.start()
            await until(lambda: len(accepted) == 2)
            await connection.close()

    asyncio.run(run())
