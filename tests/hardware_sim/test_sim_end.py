"""A floor ends on request: while its devices connect and during play, by cancellation and by signals."""

import asyncio
import signal
import sys
import threading
from contextlib import asynccontextmanager

import pytest
from paho.mqtt.client import Client as Paho

from hardware_sim import Broker, Floor, FloorError
from hardware_sim.connection import DeviceConnection
from tests.support.scripted_controller import controller, reached

LIMIT_SECONDS = 120
"""Far more than a process takes to start or end, so that a slow machine is no failure."""
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)


@asynccontextmanager
async def silent_broker():
    """Accept connections and answer nothing; yield the address and the list of connections."""
    accepted = []
    server = await asyncio.start_server(lambda _reader, writer: accepted.append(writer), "127.0.0.1", 0)
    async with server:
        try:
            yield Broker(port=server.sockets[0].getsockname()[1]), accepted
        finally:
            for writer in accepted:
                writer.close()


def new_connection(broker):
    return DeviceConnection(
        broker, "casino-cancelled", status_topic="cancelled/status", topics=["cancelled/lamp"],
        on_message=lambda *_: None, on_connect=lambda: None,
    )  # fmt: skip


def no_device_is_left():
    return not [task for task in asyncio.all_tasks() if task.get_name().startswith("casino-")]


@pytest.mark.parametrize("callback", ["on_connect", "on_publish", "on_subscribe"])
def test_a_connection_ends_if_it_is_cancelled_at_the_moment_of_the_brokers_answer(broker, callback, monkeypatch):
    original = DeviceConnection._new_client

    def new_client(connection):
        client = original(connection)
        on_answer = getattr(client._client, callback)

        def cancel_after_answer(*arguments):
            on_answer(*arguments)
            connection._task.cancel()

        setattr(client._client, callback, cancel_after_answer)
        return client

    async def ends():
        connection = new_connection(broker)
        connection.start()
        await reached(connection._task.done)
        assert connection._task.cancelled()

    monkeypatch.setattr(DeviceConnection, "_new_client", new_client)
    asyncio.run(ends())


def test_a_connection_closed_while_its_thread_opens_the_socket_leaves_no_task_and_no_socket(monkeypatch):
    connect, started, go_on = Paho.connect, [], threading.Event()

    def slow_connect(client, *arguments):
        started.append(client)
        go_on.wait(LIMIT_SECONDS)
        return connect(client, *arguments)

    async def closed():
        async with silent_broker() as (broker, accepted):
            before = asyncio.all_tasks()
            connection = new_connection(broker)
            connection.start()
            await reached(lambda: started)
            closing = asyncio.create_task(connection.close())
            for _ in range(100):
                await asyncio.sleep(0)
            go_on.set()
            await closing
            assert started[0].socket() is None
            await reached(lambda: accepted and asyncio.all_tasks() == before)

    monkeypatch.setattr(Paho, "connect", slow_connect)
    asyncio.run(closed())


def test_a_floor_that_is_cancelled_while_it_connects_leaves_no_device():
    async def cancelled():
        async with silent_broker() as (broker, accepted):
            entering = asyncio.create_task(Floor(["t1"], broker=broker).__aenter__())
            await reached(lambda: accepted)
            entering.cancel()
            await reached(entering.done)
            assert entering.cancelled()
            assert no_device_is_left()

    asyncio.run(cancelled())


def test_a_floor_that_stops_connecting_raises_an_error_and_leaves_no_device():
    async def stopped():
        async with silent_broker() as (broker, accepted):
            floor = Floor(["t1"], broker=broker)
            entering = asyncio.create_task(floor.__aenter__())
            await reached(lambda: accepted)
            floor.stop_connecting()
            await reached(entering.done)
            with pytest.raises(FloorError, match="stopped before the devices were connected"):
                entering.result()
            assert no_device_is_left()

    asyncio.run(stopped())


async def start_simulator(*arguments):
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hardware_sim", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def result_of(process):
    async with asyncio.timeout(LIMIT_SECONDS):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@SIGNALS
def test_a_signal_ends_the_command_line_while_its_devices_connect(number):
    async def whole():
        async with silent_broker() as (broker, accepted):
            process = await start_simulator("--broker", str(broker), "--tables", "1")
            await reached(lambda: accepted, LIMIT_SECONDS)
            process.send_signal(number)
            sentence = "stopped before the devices were connected: nothing was played\n"
            assert await result_of(process) == (2, "", sentence)

    asyncio.run(whole())


@SIGNALS
def test_a_signal_ends_the_play_of_the_command_line_and_it_reconciles(broker, number):
    async def whole():
        site = f"ends-{number.name}"
        async with controller(broker, site, ["t1"]) as scripted:
            arguments = ("--broker", str(broker), "--site", site, "--speed", "100", "--tables", "1")
            process = await start_simulator(*arguments)
            await reached(lambda: scripted.tables["t1"].round > 1, LIMIT_SECONDS)
            process.send_signal(number)
            code, out, err = await result_of(process)
            assert (code, err) == (0, "")
            assert "Equal to the cent on the wire" in out
            assert "Equal to the cent:" not in out
            assert scripted.tables["t1"].phase == "idle"
            await reached(lambda: set(scripted.statuses.values()) == {"offline"})

    asyncio.run(whole())
