"""Fixtures that tests of several packages share: servers for the session, sites and clients for a test."""

import signal

import pytest
from hypothesis import settings

from jackpot.store.schema import migrate
from jackpot.wire.embedded_broker import embedded
from tests.support import postgres
from tests.support.daemon import Client, Site, mosquitto
from tests.support.webhook_receiver import receiving

settings.register_profile("jackpot", deadline=None, print_blob=True)
settings.load_profile("jackpot")  # no deadlines: a slow machine is no failure

BROKERS = {"mosquitto": "3.1.1", "mosquitto by MQTT 5": "5", "embedded": "3.1.1"}


@pytest.fixture(scope="session")
def postgres_url():
    """The address of a real PostgreSQL server."""
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """An empty store with the newest schema, in SQLite and in PostgreSQL."""
    made = postgres.empty_database(request.param, tmp_path, request)
    migrate(made)
    yield made
    made.close()


@pytest.fixture(scope="session")
def mosquitto_port(tmp_path_factory):
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as port:
        yield port


@pytest.fixture(scope="session")
def embedded_port(tmp_path_factory):
    with embedded(tmp_path_factory.mktemp("embedded")) as port:
        yield port


@pytest.fixture
def new_site(tmp_path, request):
    """Make sites, each with an id of its own on the shared broker, and end their daemons."""
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
    """Make MQTT clients of a site, and disconnect them."""
    made = []

    def make(port, *topics, **options):
        made.append(Client(port, *topics, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def receiver():
    """An HTTP server that receives webhook notices."""
    with receiving() as made:
        yield made


@pytest.fixture(scope="session", autouse=True)
def child_processes_start_with_default_signals():
    """Replace ignored signals, as `nohup` or a shell's background job leaves them, by a handler that does nothing.

    A child process inherits ignored signals, and would not end by them; a handled signal has its default action there.
    """
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
