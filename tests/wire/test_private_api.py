"""The private names of paho and aiomqtt: each does what the transport relies on, and other versions are refused."""

from __future__ import annotations

import asyncio
import re
import socket
import time
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import aiomqtt
import pytest
from paho.mqtt.client import MQTT_ERR_CONN_LOST, CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.client import Client as Paho

import hardware_sim.private_api
from jackpot.cli import run
from jackpot.wire import private_api
from jackpot.wire.private_api import SUPPORTED, UnsupportedVersionError

ROOT = Path(__file__).parent.parent.parent
CONNACK = b"\x20\x02\0\0"
PINGRESP = b"\xd0\0"
PUBLISH = b"\x32\x06\0\1t\0\1x"
PUBACK = b"\x40\x02\0\1"


@pytest.fixture
def pair() -> Iterator[tuple[Paho, socket.socket]]:
    """A paho client and the other end of its connection, which has accepted it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        paho = Paho(CallbackAPIVersion.VERSION2)
        paho.connect("127.0.0.1", server.getsockname()[1], keepalive=60)
        broker, _ = server.accept()
    with broker:
        broker.settimeout(10)
        assert broker.recv(100)[0] == 0x10
        broker.sendall(CONNACK)
        while not paho.is_connected():
            paho.loop_read()
        yield paho, broker
        paho.disconnect()
        paho.loop_write()


# aiomqtt.Client._client


@pytest.mark.parametrize("paho_of", [private_api.paho_of, hardware_sim.private_api.paho_of])
def test_the_client_inside_an_aiomqtt_client_is_pahos(paho_of) -> None:
    async def run() -> None:
        client = aiomqtt.Client("localhost")
        assert isinstance(paho_of(client), Paho)

    asyncio.run(run())


# paho's Client._sock_recv


def test_paho_reads_from_the_replacement_and_not_from_its_socket(pair) -> None:
    paho, broker = pair
    requested = []
    stream = bytearray(PINGRESP)

    def receive(size: int) -> bytes:
        requested.append(size)
        taken = bytes(stream[:size])
        del stream[:size]
        return taken

    private_api.replace_receive(paho, receive)
    broker.sendall(PUBLISH)
    assert paho.loop_read() == MQTTErrorCode.MQTT_ERR_SUCCESS
    assert not stream
    assert requested == [1, 1]
    assert paho.socket().recv(100) == PUBLISH


def test_a_replacement_without_bytes_lets_paho_wait(pair) -> None:
    paho, _ = pair

    def nothing_yet(_size: int) -> bytes:
        raise BlockingIOError

    private_api.replace_receive(paho, nothing_yet)
    paho.loop_read()
    assert paho.is_connected()
    assert paho.socket() is not None


def test_a_replacement_at_its_end_ends_the_connection(pair) -> None:
    paho, _ = pair
    private_api.replace_receive(paho, lambda _size: b"")
    assert paho.loop_read() == MQTT_ERR_CONN_LOST
    assert paho.socket() is None


# paho's Client._last_bytes_received


@pytest.mark.parametrize(("notes", "is_kept"), [(True, True), (False, False)])
def test_a_connection_with_an_unanswered_ping_is_kept_only_if_bytes_arrived(pair, monkeypatch, notes, is_kept) -> None:
    paho, broker = pair
    late = time.monotonic() + 61
    monkeypatch.setattr("paho.mqtt.client.time_func", lambda: late)
    paho.loop_misc()
    paho.loop_write()
    assert broker.recv(100) == b"\xc0\0"
    later = late + 61
    monkeypatch.setattr("paho.mqtt.client.time_func", lambda: later)
    monkeypatch.setattr("jackpot.wire.private_api.time.monotonic", lambda: later)
    if notes:
        private_api.note_received(paho)
    paho.loop_misc()
    assert (paho.socket() is not None) == is_kept


# paho's Client._mid_generate


def test_packet_ids_continue_pahos_own_and_stay_between_1_and_65535(pair) -> None:
    paho, _ = pair
    first = private_api.next_packet_id(paho)
    assert paho.subscribe("t")[1] == first + 1
    assert private_api.next_packet_id(paho) == first + 2
    ids = {private_api.next_packet_id(paho) for _ in range(65_535)}
    assert (min(ids), max(ids), len(ids)) == (1, 65_535, 65_535)


# paho's Client._out_packet


def test_queued_bytes_are_written_unchanged_behind_what_paho_has_queued(pair) -> None:
    paho, broker = pair
    register = []
    paho.on_socket_register_write = lambda *_: register.append(True)
    paho.subscribe("t")
    private_api.queue_bytes(paho, PUBLISH + PUBACK)
    assert paho.want_write()
    assert register == [True], "only paho's own packet wakes the event loop"
    while paho.want_write():
        assert paho.loop_write() == MQTTErrorCode.MQTT_ERR_SUCCESS
    received = b""
    while not received.endswith(PUBLISH + PUBACK):
        received += broker.recv(100)
    assert received[:2] == b"\x82\x06"
    assert received[8:] == PUBLISH + PUBACK


def test_bytes_that_the_socket_does_not_take_yet_are_written_later(pair) -> None:
    paho, broker = pair
    big = bytes(8 << 20)
    private_api.queue_bytes(paho, big)
    paho.loop_write()
    assert paho.want_write()
    size = 0
    while size < len(big):
        size += len(broker.recv(1 << 20))
        paho.loop_write()
    assert not paho.want_write()


# The check at start.


def test_the_installed_versions_are_supported() -> None:
    private_api.require_supported()


def test_the_supported_versions_are_those_that_are_declared_and_pinned() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    for each in SUPPORTED:
        assert f"{each.package}>={each.first},<{each.limit}" in declared
        assert f"{each.package}=={each.checked}" in pinned


@pytest.fixture
def install(monkeypatch):
    """Pretend that other versions are installed."""

    def pretend(**versions: str | None) -> None:
        def version(package: str) -> str:
            found = versions.get(package.replace("-", "_"), metadata_version(package))
            if found is None:
                raise metadata.PackageNotFoundError(package)
            return found

        metadata_version = metadata.version
        monkeypatch.setattr(metadata, "version", version)

    return pretend


@pytest.mark.parametrize("version", ["2.1.0", "2.3.0", "2.3.0rc1", "3.0", "unknown"])
def test_another_version_is_refused_with_the_version_to_install(install, version) -> None:
    install(paho_mqtt=version)
    with pytest.raises(UnsupportedVersionError) as refused:
        private_api.require_supported()
    assert f"paho-mqtt {version} is installed" in str(refused.value)
    assert "pip install paho-mqtt==2.2.0 aiomqtt==2.5.1" in str(refused.value)


@pytest.mark.parametrize("version", ["2.2.0", "2.2.1", "2.2.10.post1"])
def test_a_version_within_the_range_is_accepted(install, version) -> None:
    install(paho_mqtt=version)
    private_api.require_supported()


def test_a_missing_package_is_refused_by_name(install) -> None:
    install(aiomqtt=None)
    with pytest.raises(UnsupportedVersionError, match="aiomqtt is not installed: run pip install"):
        private_api.require_supported()


@pytest.mark.parametrize("name", ["_sock_recv", "_mid_generate"])
def test_a_private_method_that_is_gone_is_refused_by_name(monkeypatch, name) -> None:
    monkeypatch.delattr(Paho, name)
    with pytest.raises(UnsupportedVersionError, match=rf"paho\.Client\.{name}"):
        private_api.require_supported()


@pytest.mark.parametrize("name", ["_last_bytes_received", "_out_packet"])
def test_a_private_attribute_of_another_kind_is_refused_by_name(monkeypatch, name) -> None:
    monkeypatch.setattr(Paho, name, property(lambda _self: None, lambda _self, _value: None), raising=False)
    with pytest.raises(UnsupportedVersionError, match=rf"paho\.Client\.{name}"):
        private_api.require_supported()


@pytest.mark.parametrize("command", [["serve"], ["demo"], ["doctor"], ["doctor", "--json"]])
def test_commands_that_use_mqtt_refuse_a_version_that_does_not_fit(install, capsys, command) -> None:
    install(paho_mqtt="2.1.0")
    assert run(command) == 1
    output = capsys.readouterr()
    assert not output.out
    assert re.fullmatch(
        r"jackpot: paho-mqtt 2\.1\.0 is installed, but .* run pip install paho-mqtt==2\.2\.0 .*\n", output.err
    )


def test_other_commands_work_with_any_version(install, capsys) -> None:
    install(paho_mqtt="2.1.0")
    assert run(["hand", "As Ks Qs Js Ts", "--json"]) == 0


def test_private_names_of_other_packages_are_used_in_one_module_only() -> None:
    allowed = {ROOT / "jackpot/wire/private_api.py", ROOT / "hardware_sim/private_api.py"}
    folders = ("jackpot", "rules", "hardware_sim", "migrations", "bench", "docs")
    users = {path for folder in folders for path in (ROOT / folder).rglob("*.py") if "SLF001" in path.read_text()}
    assert users == allowed
