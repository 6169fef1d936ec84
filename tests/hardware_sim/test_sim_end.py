"""A floor ends when it is asked to: while its devices connect, in play, and however its end comes."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager

import pytest
from scripted_controller import controller, reached

from hardware_sim import Broker, Floor, FloorError
from hardware_sim.connection import DeviceConnection

LIMIT_SECONDS = 10


@asynccontextmanager
async def silent_broker():
    """Takes connections and answers nothing; how many it took."""
    taken = []
    server = await asyncio.start_server(lambda _reader, writer: taken.append(writer), "127.0.0.1", 0)
    async with server:
        yield Broker(port=server.sockets[0].getsockname()[1]), taken
        for writer in taken:
            writer.close()


def no_device_is_left():
    return not [task for task in asyncio.all_tasks() if task.get_name().startswith("casino-")]


@pytest.mark.parametrize("answer", ["on_connect", "on_publish", "on_subscribe"])
def test_a_connection_ends_where_it_is_cancelled_in_the_tick_of_the_brokers_answer(broker, answer, monkeypatch):
    made = DeviceConnection._new_client

    def new_client(connection):
        client = made(connection)
        heard = getattr(client._client, answer)

        def hear(*told):
            heard(*told)
            connection._task.cancel()

        setattr(client._client, answer, hear)
        return client

    async def ends():
        connection = DeviceConnection(
            broker, "casino-cancelled", status_topic="cancelled/status", topics=["cancelled/lamp"],
            on_message=lambda *_: None, on_connect=lambda: None,
        )  # fmt: skip
        connection.start()
        await reached(connection._task.done)
        assert connection._task.cancelled()

    monkeypatch.setattr(DeviceConnection, "_new_client", new_client)
    asyncio.run(ends())


def test_a_floor_that_is_cancelled_while_it_connects_leaves_no_device():
    async def cancelled():
        async with silent_broker() as (broker, taken):
            entering = asyncio.create_task(Floor(["t1"], broker=broker).__aenter__())
            await reached(lambda: taken)
            entering.cancel()
            await reached(entering.done)
            assert entering.cancelled()
            assert no_device_is_left()

    asyncio.run(cancelled())


def test_a_floor_that_is_given_up_while_it_connects_says_so_and_leaves_no_device():
    async def given_up():
        async with silent_broker() as (broker, taken):
            floor = Floor(["t1"], broker=broker)
            entering = asyncio.create_task(floor.__aenter__())
            await reached(lambda: taken)
            floor.give_up()
            await reached(entering.done)
            with pytest.raises(FloorError, match="stopped before the devices were connected"):
                entering.result()
            assert no_device_is_left()

    asyncio.run(given_up())


async def started(*words):
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hardware_sim", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )


async def ended(running):
    async with asyncio.timeout(LIMIT_SECONDS):
        out, problem = await running.communicate()
    return running.returncode, out.decode(), problem.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_line_ends_while_its_devices_connect(number):
    async def whole():
        async with silent_broker() as (broker, taken):
            running = await started("--broker", str(broker), "--tables", "1")
            await reached(lambda: taken, LIMIT_SECONDS)
            running.send_signal(number)
            assert await ended(running) == (
                2, "", "stopped before the devices were connected: nothing was played\n"
            )  # fmt: skip

    asyncio.run(whole())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_line_ends_in_play_and_reconciles(broker, number):
    async def whole():
        site = f"ends-{number.name}"
        async with controller(broker, site, ["t1"]) as scripted:
            words = ("--broker", str(broker), "--site", site, "--speed", "100", "--tables", "1")
            running = await started(*words)
            await reached(lambda: scripted.tables["t1"].round > 1, LIMIT_SECONDS)
            running.send_signal(number)
            code, out, problem = await ended(running)
            assert (code, problem) == (0, "")
            assert "Equal to the cent on the wire" in out
            assert "Equal to the cent:" not in out
            assert scripted.tables["t1"].phase == "idle"
            assert set(scripted.statuses.values()) == {"offline"}

    asyncio.run(whole())
