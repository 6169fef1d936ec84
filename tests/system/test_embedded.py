"""The embedded broker: a child of the daemon, and never another server at its port."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from jackpot.wire import embedded_broker
from jackpot.wire.embedded_broker import BrokerError, EmbeddedBroker, embedded
from tests.support.daemon import LIMIT_SECONDS, Client, Site, free_port, takes_connections, wait_until

CONNECT, CONNACK = b"\x10\x0d\0\4MQTT\4\2\0\x3c\0\1a", b"\x20\2\0\0"


@pytest.fixture
def new_site(tmp_path):
    """Return a function that creates a site with an embedded broker; its daemon ends with the test."""
    made = []

    def make(port):
        made.append(Site(tmp_path, "embedded", embedded_port=port))
        return made[-1]

    yield make
    for site in made:
        if site.process is not None and site.process.poll() is None:
            site.kill()


@pytest.mark.parametrize("where", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_refused_with_one_sentence_and_a_remedy(new_site, where):
    with socket.create_server((where, 0)) as taken:
        port = taken.getsockname()[1]
        site = new_site(port)
        done = site.run("serve")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"jackpot: the embedded broker cannot use port {port} on 127.0.0.1 (Address already")
    assert f'broker = "mqtt://127.0.0.1:{port}"' in done.err
    assert "embedded_port" in done.err


def test_another_server_at_the_port_is_not_mistaken_for_the_broker(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded_broker, "_require_free", lambda _port: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = pytest.raises(BrokerError, match=r"did not start: .*address already in use")
        with refused, embedded(tmp_path, taken.getsockname()[1]):
            pass


def test_closed_connections_do_not_block_the_port(tmp_path):
    port = free_port()
    for _ in range(2):
        with embedded(tmp_path, port):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(CONNECT)
            assert client.recv(4) == CONNACK
        assert client.recv(1) == b""  # the broker closed first, so the system holds the port for a while
        client.close()
    assert not takes_connections(port)


def is_answer(lamp, wager_id):
    return lamp["answer"] is not None and lamp["answer"]["wager_id"] == wager_id


def repeat(client, topic, message, answered_on, is_answered):
    """Repeat a message as devices do until it is answered: a broker that was killed may have lost it."""
    until = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < until:
        client.publish(f"tables/t1/{topic}", message)
        try:
            return client.wait(f"tables/t1/{answered_on}", is_answered, seconds=2)
        except AssertionError:
            continue
    raise AssertionError(f"{message} was not answered")


def play_voided_round(client, number):
    """Open a round, wager at box 3, and void the round."""

    def command(kind, **fields):
        message = {"command_id": f"{kind}-{number}", "type": kind, **fields}
        is_reply = lambda reply: reply["command_id"] == message["command_id"]  # noqa: E731
        assert repeat(client, "dealer/command", message, "dealer/reply", is_reply)["ok"]

    command("open_round")
    wager = {"wager_id": f"w{number}", "round": number, "amount_cents": 200, "ante": True}
    lamp = repeat(client, "pads/3/wager", wager, "pads/3/lamp", lambda lamp: is_answer(lamp, f"w{number}"))
    assert lamp["answer"]["verdict"] == "accepted"
    command("void_round", round=number, reason="misdeal")


def test_a_killed_broker_is_restarted_and_all_state_is_published_again(new_site):
    port = free_port()
    site = new_site(port)
    site.start()
    for kills in (1, 2):
        os.kill(broker_of(site), signal.SIGKILL)
        wait_until(lambda kills=kills: site.log.count('"embedded broker restarted"') == kills, "another broker")
        client = Client(port, site.id, "tables/#")
        client.wait("tables/t1/state")
        play_voided_round(client, kills)
        client.close()
    assert site.log.count('"embedded broker ended"') == 2
    assert site.stop() == 0
    assert not takes_connections(port)


def test_a_restarted_broker_still_has_its_retained_messages(new_site):
    port = free_port()
    site = new_site(port)
    site.start()
    client = Client(port, site.id)
    client.publish("kept", {"by": "the broker"}, retain=True)
    client.close()
    wait_until(lambda: is_on_disk(site.folder, b"the broker"), "the retained message on disk")
    os.kill(broker_of(site), signal.SIGKILL)
    wait_until(lambda: '"embedded broker restarted"' in site.log, "another broker")
    wait_until(lambda: retained(port, site.id, "kept"), "the retained message")


def test_retained_state_is_on_disk_before_it_is_acknowledged_and_passing_messages_do_not_wait(tmp_path, monkeypatch):
    monitor, config = free_port(), embedded_broker._config
    monkeypatch.setattr(embedded_broker, "_config", lambda *of: f'{config(*of)}http: "127.0.0.1:{monitor}"\n')
    with EmbeddedBroker(tmp_path) as monitored:
        wait_until(lambda: takes_connections(monitor), "its monitor")
        client = Client(monitored.port, "casino", "kept")
        client.publish("kept", {"by": "the broker"}, retain=True)
        client.wait("kept")
        client.close()
        asked = f"http://127.0.0.1:{monitor}/jsz?streams=true&config=true"
        with urllib.request.urlopen(asked, timeout=LIMIT_SECONDS) as answer:
            found = json.load(answer)
    assert found["config"]["sync_always"] is True
    (account,) = found["account_details"]
    modes = {one["name"]: one["config"].get("persist_mode", "default") for one in account["stream_detail"]}
    assert (modes["$MQTT_rmsgs"], modes["$MQTT_msgs"]) == ("default", "async")


def test_no_broker_outlives_a_killed_daemon(new_site):
    port = free_port()
    site = new_site(port)
    site.start()
    site.kill()
    wait_until(lambda: not takes_connections(port), "the end of the first broker")
    site.start()
    os.kill(broker_of(site), signal.SIGKILL)
    wait_until(lambda: '"embedded broker restarted"' in site.log, "another broker")
    site.kill()
    wait_until(lambda: not takes_connections(port), "the end of the other broker")


def test_a_broker_whose_port_was_taken_is_started_when_the_port_is_free(new_site):
    site, port = site_without_its_broker(new_site)
    with socket.create_server(("127.0.0.1", port)):
        wait_until(lambda: f"the embedded broker cannot use port {port}" in site.log, "the refusal")
    wait_until(lambda: '"embedded broker restarted"' in site.log, "another broker")
    assert site.stop() == 0


def test_a_daemon_ends_cleanly_while_its_broker_is_down(new_site):
    site, port = site_without_its_broker(new_site)
    with socket.create_server(("127.0.0.1", port)):
        wait_until(lambda: "embedded broker not started" in site.log, "the refusal")
        assert site.stop() == 0


def test_a_broker_that_cannot_be_started_is_tried_again_with_growing_waits(tmp_path, monkeypatch):
    waits = []

    async def wait(seconds):
        waits.append(seconds)
        if len(waits) == 8:
            raise asyncio.CancelledError

    monkeypatch.setattr(embedded_broker.asyncio, "sleep", wait)
    with socket.create_server(("127.0.0.1", 0)) as taken, subprocess.Popen(["true"]) as ended:
        ended.wait()
        own = EmbeddedBroker(tmp_path, taken.getsockname()[1])
        own._process = ended
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(own.keep_running())
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]


def test_a_broker_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded_broker, "STOP_SECONDS", 0.2)
    with EmbeddedBroker(tmp_path) as own:
        os.kill(own._process.pid, signal.SIGSTOP)
    assert own._process.returncode == -signal.SIGKILL


def site_without_its_broker(new_site):
    """Return a daemon whose broker was killed, and the broker's port."""
    port = free_port()
    site = new_site(port)
    site.start()
    os.kill(broker_of(site), signal.SIGKILL)
    wait_until(lambda: not takes_connections(port), "the end of the broker")
    return site, port


def retained(port, site, topic):
    """Return the retained message for a new client; this broker loads it only after its first client connects."""
    client = Client(port, site, topic)
    try:
        return client.wait(topic, seconds=1)
    except AssertionError:
        return None
    finally:
        client.close()


def is_on_disk(folder, words):
    return any(words in block.read_bytes() for block in folder.glob("jackpot-broker/store/**/$MQTT_rmsgs/**/*.blk"))


def broker_of(site):
    """Return the process id of the daemon's broker."""
    pid = site.process.pid
    (found,) = [child for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split() if is_broker(child)]
    return int(found)


def is_broker(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].endswith(b"nats-server")
