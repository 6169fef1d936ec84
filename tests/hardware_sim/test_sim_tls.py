"""A floor at a broker with TLS by a private authority, and a password."""

import asyncio
import shutil
import subprocess
import sys

import pytest
from certificates import certificate
from machinery import free_port, takes_connections, wait_until
from scripted_controller import controller

from hardware_sim import Broker, BrokerAddressError


@pytest.fixture
def guarded(tmp_path):
    """A Mosquitto with TLS alone that wants a password: (its address with the password, its authority)."""
    _, public, private = certificate(tmp_path)
    passwords, config, port = tmp_path / "passwords", tmp_path / "mosquitto.conf", free_port()
    passwords.touch(0o600)
    subprocess.run(["mosquitto_passwd", "-b", passwords, "floor", "p@ss/word"], check=True, capture_output=True)
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\nset_tcp_nodelay true\n"
        f"persistence false\nlog_type error\nuser root\ncertfile {public}\nkeyfile {private}\n"
    )
    process = subprocess.Popen([shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", str(config)])
    wait_until(lambda: takes_connections(port), "mosquitto with TLS")
    yield f"mqtts://floor:p%40ss%2Fword@localhost:{port}", public
    process.kill()
    process.wait()


async def command_line(*words):
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hardware_sim", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, problem = await running.communicate()
    return running.returncode, out.decode(), problem.decode()


def test_a_floor_plays_by_tls_with_a_private_authority_and_a_password(guarded):
    address, authority = guarded

    async def whole():
        async with controller(Broker.of(address, str(authority)), "tls", ["t1"]):
            words = ("--site", "tls", "--tables", "1", "--speed", "200", "--rounds", "1")
            return await asyncio.gather(
                command_line("--broker", address, "--ca-file", str(authority), "--faults", "disconnect=0.3", *words),
                command_line("--broker", address, *words),
                command_line("--broker", address.replace("p%40ss", "guess"), "--ca-file", str(authority), *words),
            )

    trusted, untrusted, stranger = asyncio.run(whole())
    assert (trusted[0], trusted[2]) == (0, "")
    assert "Equal to the cent on the wire" in trusted[1]
    for (code, out, problem), why in ((untrusted, "certificate verify failed"), (stranger, "Not authorized")):
        assert (code, out) == (2, "")
        assert len(problem.splitlines()) == 1
        assert why in problem
        assert "word" not in problem


def test_a_ca_file_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "empty.pem").touch()
    for url, file, why in [
        ("mqtt://localhost", "empty.pem", "is for a broker with TLS"),
        ("mqtts://localhost", "empty.pem", "holds no certificate"),
        ("mqtts://localhost", "none.pem", "No such file"),
    ]:
        with pytest.raises(BrokerAddressError, match=why):
            Broker.of(url, str(tmp_path / file))


def test_the_help_tells_of_tls_and_passwords():
    _, out, _ = asyncio.run(command_line("--help"))
    assert "mqtts://" in out
    assert "user:password@" in out
    assert "--ca-file" in out
