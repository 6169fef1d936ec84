"""What system tests share: a broker of each kind, and sites whose daemons end with their test."""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "store")]
from machinery import Client, Site, mosquitto

from jackpot.wire.broker import embedded


@pytest.fixture(scope="session")
def mosquitto_port(tmp_path_factory):
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as port:
        yield port


@pytest.fixture(scope="session")
def embedded_port(tmp_path_factory):
    with embedded(tmp_path_factory.mktemp("embedded")) as port:
        yield port


BROKERS = {"mosquitto": "3.1.1", "mosquitto by MQTT 5": "5", "embedded": "3.1.1"}


@pytest.fixture(params=BROKERS)
def port(request):
    """A broker's port; three ways to speak to one."""
    return request.getfixturevalue("embedded_port" if request.param == "embedded" else "mosquitto_port")


@pytest.fixture
def new_site(tmp_path, request):
    """Makes sites, each with an id of its own on the shared broker, and ends their daemons."""
    made = []
    chosen = request.node.callspec.params.get("port") if hasattr(request.node, "callspec") else None
    version = BROKERS.get(chosen, "3.1.1")

    def make(port, **options):
        folder = tmp_path / f"site{len(made)}"
        folder.mkdir()
        site = Site(folder, f"mqtt://127.0.0.1:{port}", mqtt_version=version, **options)
        made.append(site)
        return site

    yield make
    for site in made:
        if site.process is not None and site.process.poll() is None:
            site.kill()


@pytest.fixture
def new_client():
    made = []

    def make(port, *topics, **options):
        made.append(Client(port, *topics, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()
