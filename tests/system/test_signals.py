"""The daemon, the demonstration and the simulator end on SIGINT and SIGTERM even if they started with them ignored.

`nohup` and a shell's background job start a process with some signals ignored.
"""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.support.daemon import REPO

LIMIT_SECONDS = 180
INTERRUPTED = 130
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)


@contextmanager
def started_with_ignored_signals(*arguments, folder, **environment):
    """Start a Python module with all of these signals ignored; kill it at the end."""
    environment = {**os.environ, "PYTHONPATH": str(REPO), **environment}
    before = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", *map(str, arguments)],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_until(stream, word):
    """Read a stream up to the first line with this word."""
    assert any(word in line for line in stream), f"it ended without printing {word!r}"


@SIGNALS
def test_the_demonstration_ends_and_reconciles_even_if_signals_were_ignored(tmp_path, number):
    command = ("jackpot", "demo", "--speed", "30", "--seconds", "600")
    with started_with_ignored_signals(*command, folder=tmp_path, TMPDIR=str(tmp_path)) as demonstration:
        read_until(demonstration.stdout, "rounds")
        demonstration.send_signal(number)
        out, err = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, err) == (0, "")
    assert "Equal to the cent" in out
    assert list(tmp_path.iterdir()) == []


@SIGNALS
def test_the_daemon_ends_cleanly_even_if_signals_were_ignored(mosquitto_port, new_site, number):
    site = new_site(mosquitto_port)
    with started_with_ignored_signals("jackpot", "serve", folder=site.folder, **site.environment) as daemon:
        read_until(daemon.stderr, '"serving"')
        daemon.send_signal(number)
        _, log = daemon.communicate(timeout=LIMIT_SECONDS)
    assert daemon.returncode == 0
    assert '"stopped"' in log


def test_a_sigint_during_the_start_of_the_daemon_is_not_lost(tmp_path):
    config = tmp_path / "jackpot.toml"
    os.mkfifo(config)
    starting = started_with_ignored_signals("jackpot", "serve", folder=tmp_path)
    with starting as daemon, config.open("w"):  # opening it waits until the daemon reads its configuration
        daemon.send_signal(signal.SIGINT)
        _, err = daemon.communicate(timeout=LIMIT_SECONDS)
    assert (daemon.returncode, err) == (INTERRUPTED, "")


@SIGNALS
def test_the_simulator_ends_even_if_signals_were_ignored(mosquitto_port, tmp_path, number):
    broker = f"mqtt://127.0.0.1:{mosquitto_port}"
    command = ("hardware_sim", "--broker", broker, "--site", f"signals-{number.name}", "--tables", "1")
    with started_with_ignored_signals(*command, folder=tmp_path) as simulator:
        read_until(simulator.stdout, "rounds")
        simulator.send_signal(number)
        _, err = simulator.communicate(timeout=LIMIT_SECONDS)
    assert simulator.returncode == 2
    assert err == "no round was played: stopped before a round was opened\n"
