"""Fixtures of the web tests: running sites, API clients, and a browser."""

import pytest

from tests.support.api_client import Api
from tests.support.browser import chromium, expected_errors, new_page  # noqa: F401
from tests.support.console_site import FLUSH, FULL_HOUSE, ConsoleSite


@pytest.fixture(scope="session")
def console_site(mosquitto_port, tmp_path_factory):
    """A site with two rounds played and an operator of each role, for tests that only read it."""
    made = ConsoleSite(tmp_path_factory.mktemp("console"), mosquitto_port, tables=2, TIMEZONE="Australia/Sydney")
    made.play("t1", 1, b1=FLUSH, b2=None, b3=None)
    made.play("t2", 1, b4=FULL_HOUSE)
    yield made
    made.close()


@pytest.fixture
def floor(mosquitto_port, new_site, new_client):
    """A daemon, and a client that hears everything it says."""
    site = new_site(mosquitto_port)
    client = new_client(mosquitto_port, site.id, "tables/#", "jackpots/#")
    site.start()
    return site, client


@pytest.fixture(scope="module")
def api(mosquitto_port, tmp_path_factory):
    """A site that a module's tests share."""
    made = Api(tmp_path_factory.mktemp("site"), mosquitto_port)
    yield made
    made.close()


@pytest.fixture
def own_api(mosquitto_port, tmp_path):
    """A site of a test's own, to be stopped, broken, or locked out of."""
    made = Api(tmp_path, mosquitto_port)
    yield made
    made.close()
