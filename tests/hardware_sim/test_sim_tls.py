"""A floor at a broker with TLS from a private certificate authority, and a password."""

import asyncio
import shutil
import subprocess
import sys

import pytest

from hardware_sim import Broker, BrokerAddressError
from tests.support.certificates import certificate
from tests.support.daemon import free_port, takes_connections, wait_until
from tests.support.scripted_controller import controller

READY_SECONDS = 60


@pytest.fixture
def secured_broker(tmp_path):
    """Run a Mosquitto that requires TLS and a password; yield its address with the password, and its authority."""
    _, public, private = certificate(tmp_path)
    passwords, config, port = tmp_path / "passwords", tmp_path / "mosquitto.conf", free_port()
    passwords.touch(0o600)
    subprocess.run(["mosquitto_passwd", "-b", passwords, "floor", "p@ss/word"], check=True, capture_output=True)
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\nset_tcp_nodelay true\n"
        f"persistence false\nlog_type error\nuser root\ncertfile {public}\nkeyfile {private}\n"
    )
    process = subprocess.Popen([shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", str(config)])
    wait_until(lambda: takes_connections(port), "mosquitto with TLS", READY_SECONDS)
    yield f"mqtts://floor:p%40ss%2Fword@localhost:{port}", public
    process.kill()
    process.wait()


async def command_line(*arguments):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hardware_sim", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


ROUND = ("--site", "tls", "--tables", "1", "--speed", "200", "--rounds", "1")


def test_a_floor_plays_over_tls_with_a_private_authority_and_a_password(secured_broker):
    address, authority = secured_broker

    async def play():
        async with controller(Broker.of(address, str(authority)), "tls", ["t1"]):
            faults = ("--faults", "disconnect=0.3")
            return await command_line("--broker", address, "--ca-file", str(authority), *faults, *ROUND)

    code, out, err = asyncio.run(play())
    assert (code, err) == (0, "")
    assert "Equal to the cent on the wire" in out


@pytest.mark.parametrize(
    ("trusts", "password", "reason"),
    [(False, "p%40ss", "certificate verify failed"), (True, "guess", "Not authorized")],
    ids=["unknown authority", "wrong password"],
)
def test_an_unknown_authority_or_a_wrong_password_is_refused_in_one_sentence(secured_broker, trusts, password, reason):
    address, authority = secured_broker
    trusted = ("--ca-file", str(authority)) if trusts else ()
    address = address.replace("p%40ss", password)
    code, out, err = asyncio.run(command_line("--broker", address, *trusted, *ROUND))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert reason in err
    assert "word" not in err


def test_a_ca_file_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "empty.pem").touch()
    for url, file, reason in [
        ("mqtt://localhost", "empty.pem", "needs a broker with TLS"),
        ("mqtts://localhost", "empty.pem", "contains no certificate"),
        ("mqtts://localhost", "none.pem", "No such file"),
    ]:
        with pytest.raises(BrokerAddressError, match=reason):
            Broker.of(url, str(tmp_path / file))


def test_the_help_describes_tls_and_passwords():
    _, out, _ = asyncio.run(command_line("--help"))
    assert "mqtts://" in out
    assert "user:password@" in out
    assert "--ca-file" in out
