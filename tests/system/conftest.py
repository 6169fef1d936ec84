"""Fixtures of the system tests."""

import pytest

from tests.conftest import BROKERS


@pytest.fixture(params=BROKERS)
def port(request):
    """A broker's port: Mosquitto, Mosquitto by MQTT 5, and the embedded broker."""
    return request.getfixturevalue("embedded_port" if request.param == "embedded" else "mosquitto_port")
