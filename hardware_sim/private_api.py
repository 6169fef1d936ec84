"""The one private name of aiomqtt that the simulator uses; checked with aiomqtt 2.5.1."""

from __future__ import annotations

import aiomqtt
from paho.mqtt.client import Client as Paho


def paho_of(client: aiomqtt.Client) -> Paho:
    """Return the paho client inside an aiomqtt client (`aiomqtt.Client._client`).

    Devices take messages in its callback, publish without waiting, and break its socket to simulate faults.
    """
    return client._client  # noqa: SLF001
