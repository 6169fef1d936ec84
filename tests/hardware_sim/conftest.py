"""A real Mosquitto for each test session, on a port of its own, and real controllers that end with their test."""

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "system"))
from machinery import Site

from hardware_sim import timing
from hardware_sim.connection import Broker


@pytest.fixture(autouse=True)
def impatient_devices(monkeypatch):
    monkeypatch.setattr(timing, "MIN_RETRY_SECONDS", 0.1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if program is None:
        pytest.fail("mosquitto is not installed: apt-get install mosquitto")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = tmp_path_factory.mktemp("mosquitto") / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n")
    running = subprocess.Popen([program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 5
    while not _answers(port):
        assert time.monotonic() < limit, "mosquitto does not answer"
        time.sleep(0.02)
    yield Broker("127.0.0.1", port)
    running.terminate()
    running.wait()


@pytest.fixture
def new_site(broker, tmp_path):
    """Makes sites with a daemon that serves each."""
    made = []

    def make(**options):
        folder = tmp_path / f"site{len(made)}"
        folder.mkdir()
        made.append(Site(folder, str(broker), **options))
        made[-1].start()
        return made[-1]

    yield make
    for site in made:
        site.stop()


def _answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
