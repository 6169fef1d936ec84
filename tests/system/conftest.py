"""Fixtures of the system tests."""

import pytest

from tests.conftest import BROKERS


@pytest.fixture(params=BROKERS)
def port(request):
    """The port of a broker: Mosquitto, Mosquitto with MQTT 5, and the embedded broker."""
    return request.getfixturevalue("embedded_port" if request.param == "embedded" else "mosquitto_port")
