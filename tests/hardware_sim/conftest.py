"""Fixtures: one Mosquitto for each test session, on its own port, and controllers that end with their test."""

import shutil
import socket
import subprocess
import time

import pytest

from hardware_sim import timing
from hardware_sim.connection import Broker
from tests.support.daemon import Site

READY_SECONDS = 30


@pytest.fixture(autouse=True)
def short_retries(monkeypatch):
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
    process = subprocess.Popen([program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + READY_SECONDS
    while not _accepts_connections(port):
        assert time.monotonic() < limit, "mosquitto does not accept connections"
        time.sleep(0.02)
    yield Broker("127.0.0.1", port)
    process.terminate()
    process.wait()


@pytest.fixture
def new_site(broker, tmp_path):
    """Return a function that creates a site and starts its controller."""
    sites = []

    def create(**options):
        folder = tmp_path / f"site{len(sites)}"
        folder.mkdir()
        sites.append(Site(folder, str(broker), **options))
        sites[-1].start()
        return sites[-1]

    yield create
    for site in sites:
        site.stop()


def _accepts_connections(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
