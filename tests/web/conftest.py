"""What the tests of the web share: a broker, and a site with its daemon for each module."""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "system")]
from asking import Api
from machinery import mosquitto


@pytest.fixture(scope="session")
def broker_port(tmp_path_factory):
    with mosquitto(tmp_path_factory.mktemp("mosquitto")) as port:
        yield port


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
