"""What tests of the web share: a broker, sites whose daemons end with their test, clients, and a browser."""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent.parent / room) for room in ("web", "system", "store", "core")]
from asking import Api
from browser import chromium, forgiven, new_page  # noqa: F401
from machinery import Client, Site, mosquitto
from visiting import FLUSH, FULL_HOUSE, House


@pytest.fixture(scope="session")
def broker_port(tmp_path_factory):
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as port:
        yield port


@pytest.fixture(scope="session")
def house(broker_port, tmp_path_factory):
    """A floor on which two rounds were played, with an operator of each role, for tests that only look at it."""
    made = House(tmp_path_factory.mktemp("house"), broker_port, tables=2, TIMEZONE="Australia/Sydney")
    made.play("t1", 1, b1=FLUSH, b2=None, b3=None)
    made.play("t2", 1, b4=FULL_HOUSE)
    yield made
    made.close()


@pytest.fixture
def new_site(tmp_path):
    """Makes sites, each in a folder of its own, and ends their daemons."""
    made = []

    def make(port, **options):
        folder = tmp_path / f"site{len(made)}"
        folder.mkdir()
        made.append(Site(folder, f"mqtt://127.0.0.1:{port}", **options))
        return made[-1]

    yield make
    for site in made:
        if site.process is not None and site.process.poll() is None:
            site.kill()


@pytest.fixture
def new_client():
    made = []

    def make(port, site):
        made.append(Client(port, site.id, "tables/#", "jackpots/#"))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def floor(broker_port, new_site, new_client):
    """A daemon, and a client that hears everything it says."""
    site = new_site(broker_port)
    client = new_client(broker_port, site)
    site.start()
    return site, client


@pytest.fixture(scope="module")
def api(broker_port, tmp_path_factory):
    """A site that a module's tests share."""
    made = Api(tmp_path_factory.mktemp("site"), broker_port)
    yield made
    made.close()


@pytest.fixture
def own_api(broker_port, tmp_path):
    """A site of a test's own, to be stopped, broken, or locked out of."""
    made = Api(tmp_path, broker_port)
    yield made
    made.close()
