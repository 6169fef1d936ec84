"""A session with the broker that reconnects for ever and acknowledges messages on request.

aiomqtt acknowledges a message on arrival, and its queue drops messages when full. Here each message goes straight to a
callback, and is acknowledged when it is durable. Publishing does not wait: retained state is published again after
every connect, and devices repeat until they are answered.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import aiomqtt
import structlog
from paho.mqtt.client import Client as Paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from jackpot.wire.mqtt_transport import REFUSED, DeliveryCallback, MqttTransport, ReceivedMessage
from jackpot.wire.private_api import paho_of

KEEPALIVE_SECONDS: Final = 10
CONNECT_SECONDS: Final = 10
FIRST_WAIT_SECONDS: Final = 0.2
LONGEST_WAIT_SECONDS: Final = 10.0
STEADY_SECONDS: Final = 5.0
"""The wait before a reconnect grows until a connection lasts this long."""
PING_SECONDS: Final = 1.0
MAX_SILENT_PINGS: Final = 5
"""A connection on which the broker answers none of so many pings is lost, although it is open."""
MAX_IN_FLIGHT: Final = 1_000
MAX_EARLY: Final = 10_000
OTHER_ID_SECONDS: Final = 600.0
"""How long a client id of its own is used where another client has taken ours."""
SESSION_SECONDS: Final = 7 * 24 * 3600
MQTT_5: Final = 5

log = structlog.get_logger()


class AddressError(ValueError):
    """A broker address that cannot be parsed."""


class Address(NamedTuple):
    """The broker's address, credentials, TLS settings and protocol version."""

    host: str
    port: int
    username: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None
    version: int = 4

    @classmethod
    def of(cls, url: str, version: str = "3.1.1", ca_file: str = "") -> Address:
        """Parse a URL: mqtt://host:1883 or mqtts://user:password@host:8883."""
        parts = urlsplit(url)
        ports = {"mqtt": 1883, "mqtts": 8883}
        try:
            port = parts.port or ports[parts.scheme]
        except (KeyError, ValueError):
            raise AddressError("the broker address is not valid: write mqtt://host:1883 or mqtts://…") from None
        if not parts.hostname:
            raise AddressError("the broker address has no host: write mqtt://host:1883")
        name = unquote(parts.username) if parts.username else None
        word = unquote(parts.password) if parts.password else None
        tls = ssl.create_default_context(cafile=ca_file or None) if parts.scheme == "mqtts" else None
        return cls(parts.hostname, port, name, word, tls, {"3.1.1": 4, "5": 5}[version])

    @property
    def shown(self) -> str:
        """The address without its credentials."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"


class Will(NamedTuple):
    """The message that the broker publishes when the connection is lost."""

    topic: str
    payload: bytes


class MqttSession:
    """One client id's connection, made again whenever it is lost."""

    def __init__(  # noqa: PLR0913 - address, identity and callbacks
        self,
        address: Address,
        client_id: str,
        *,
        will: Will | None = None,
        on_message: Callable[[ReceivedMessage], None],
        on_connect: Callable[[], Awaitable[None]],
        before_connect: Callable[[], Awaitable[None]] | None = None,
        on_lost: Callable[[], None] = lambda: None,
        is_displaced: Callable[[], bool] = lambda: False,
        clean: bool = False,
    ) -> None:
        self._address = address
        self._client_id = client_id
        self._will = will
        self._on_message = on_message
        self._on_connect = on_connect
        self._before_connect = before_connect
        self._on_lost = on_lost
        self._is_displaced = is_displaced
        self._other_id: str | None = None
        self._asked_to_reconnect = False
        self._clean = clean
        self._client: aiomqtt.Client | None = None
        self._paho: Paho | None = None
        self._transport: MqttTransport | None = None
        self._connection = 0
        self._early: list[ReceivedMessage] | None = None
        self.connected = False
        self._lost_at = time.monotonic()

    async def run(self) -> None:
        """Stay connected until cancelled; each new connection begins with `on_connect`.

        `before_connect` may block: connecting displaces another client with the same client id. `is_displaced` is asked
        when the broker has closed a connection; if another client has our id, an id of its own is used for a while.
        """
        wait = FIRST_WAIT_SECONDS
        while True:
            if self._before_connect is not None:
                await self._before_connect()
            began = time.monotonic()
            try:
                await self._run_connection()
                wait = FIRST_WAIT_SECONDS
            except (aiomqtt.MqttError, OSError) as error:
                if time.monotonic() - began > STEADY_SECONDS:
                    wait = FIRST_WAIT_SECONDS
                log.warning("broker lost", broker=self._address.shown, client=self._client_id, problem=str(error))
            finally:
                if self._end_connection():
                    wait = FIRST_WAIT_SECONDS
            await asyncio.sleep(random.uniform(wait / 2, wait))  # noqa: S311 - spreads reconnects, keeps no secret
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _end_connection(self) -> bool:
        """Clean up after a connection; return True if the next one is to be made at once, with another client id."""
        was_connected, asked = self.connected, self._asked_to_reconnect
        self.connected, self._client, self._paho, self._asked_to_reconnect = False, None, None, False
        if self._transport is not None:
            self._transport.close()
        if not was_connected:
            return False
        self._lost_at = time.monotonic()
        self._on_lost()
        if asked or self._other_id is not None or not self._is_displaced():
            return False
        self._other_id = f"{self._client_id}-{secrets.token_hex(4)}"
        log.error("client id taken by another client", client=self._client_id, instead=self._other_id)
        asyncio.get_running_loop().call_later(OTHER_ID_SECONDS, self._use_own_id)
        return True

    def _use_own_id(self) -> None:
        self._other_id = None
        self.reconnect()

    async def _run_connection(self) -> None:
        self._early = []
        async with self._new_client() as client:
            _raise_if_cancelled()
            if paho_of(client).socket() is None:  # aiomqtt forgets a connection that is lost before it returns
                raise aiomqtt.MqttError("the connection was lost as soon as it was made")
            self._client, self.connected = client, True
            log.info("broker connected", broker=self._address.shown, client=self._client_id)
            await self._on_connect()
            _raise_if_cancelled()
            self._take_early()
            pinging = asyncio.create_task(self._ping(), name=f"ping-{self._client_id}")
            try:
                async for _ in client.messages:  # no message arrives here; it ends with the connection
                    pass
            finally:
                pinging.cancel()

    async def _ping(self) -> None:
        """Ping every second, and end a connection on which the broker is silent; the keepalive would take longer.

        Pings are counted, not seconds: a process that was stopped itself has the answers still to read.
        """
        unanswered = 0
        while self._transport is not None:
            asked_at = time.monotonic()
            self._transport.ping()
            await asyncio.sleep(PING_SECONDS)
            unanswered = unanswered + 1 if self._transport.received_at < asked_at else 0
            if unanswered >= MAX_SILENT_PINGS:
                log.warning("broker silent", broker=self._address.shown, client=self._client_id)
                self._transport.end()

    def silent_seconds(self) -> float:
        """Return how long nothing has arrived from the broker, which is pinged every second."""
        if not self.connected or self._transport is None:
            return time.monotonic() - self._lost_at
        return time.monotonic() - self._transport.received_at

    def _take(self, message: ReceivedMessage) -> None:
        """Keep messages that arrive before `on_connect` has finished: they could not be answered yet."""
        if self._early is None:
            self._on_message(message)
        elif len(self._early) < MAX_EARLY:
            self._early.append(message)

    def _take_early(self) -> None:
        early, self._early = self._early or [], None
        try:
            for message in early:
                self._on_message(message)
        except Exception as error:
            log.exception("connection closed: a message from the broker could not be handled")
            raise aiomqtt.MqttError("a message from the broker could not be handled") from error

    def _new_client(self) -> aiomqtt.Client:
        clean = self._clean or self._other_id is not None
        persistent: dict[str, Any] = {"clean_session": clean}
        if self._address.version == MQTT_5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 0 if clean else SESSION_SECONDS
            properties.ReceiveMaximum = MAX_IN_FLIGHT
            persistent = {"clean_start": clean, "properties": properties}
        client = aiomqtt.Client(
            self._address.host,
            self._address.port,
            username=self._address.username,
            password=self._address.password,
            identifier=self._other_id or self._client_id,
            protocol=aiomqtt.ProtocolVersion(self._address.version),
            will=aiomqtt.Will(self._will.topic, self._will.payload, qos=1, retain=True) if self._will else None,
            keepalive=KEEPALIVE_SECONDS,
            timeout=CONNECT_SECONDS,
            tls_context=self._address.tls,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            **persistent,
        )
        self._connection += 1
        self._paho = paho = paho_of(client)
        is_mqtt_5 = self._address.version == MQTT_5
        self._transport = MqttTransport(paho, is_mqtt_5=is_mqtt_5, connection=self._connection, on_message=self._take)
        if is_mqtt_5:
            paho.on_connect = partial(_set_window, self._transport, paho.on_connect)
        return client

    def reconnect(self, will: Will | None = None) -> None:
        """Connect again, with a new will if given; the broker then redelivers what was not acknowledged."""
        self._will = will or self._will
        if self._paho is not None:
            self._asked_to_reconnect = True
            self._paho.disconnect()

    @property
    def local_address(self) -> str:
        """Our own end of the connection, as the broker sees it unless addresses are translated on the way."""
        found = self._paho.socket() if self._paho is not None else None
        if not isinstance(found, socket.socket):
            return ""
        host, port = found.getsockname()[:2]
        return f"{host}:{port}"

    def certificate_ends(self) -> float | None:
        """Return when the broker's certificate expires, in seconds since 1970; None without TLS."""
        found = self._paho.socket() if self._paho is not None else None
        certificate = found.getpeercert() if isinstance(found, ssl.SSLSocket) else None
        return ssl.cert_time_to_seconds(str(certificate["notAfter"])) if certificate else None

    async def subscribe(self, filters: list[str], qos: int = 1) -> None:
        """Subscribe to these filters; raise `MqttError` if the broker refuses one."""
        if self._client is None:
            return
        granted = await self._client.subscribe([(topic, qos) for topic in filters])
        refused = [topic for topic, code in zip(filters, granted, strict=True) if _code(code) >= REFUSED]
        if refused:
            raise aiomqtt.MqttError(f"the broker refuses subscriptions to {', '.join(refused)}")

    def publish(
        self, topic: str, payload: str | bytes, *, retain: bool = False, on_delivery: DeliveryCallback | None = None
    ) -> bool:
        """Publish without waiting; return False if it cannot be sent now."""
        if not self.connected or self._transport is None:
            return False
        return self._transport.publish(topic, payload, retain=retain, on_delivery=on_delivery)

    async def publish_now(self, topic: str, payload: str | bytes, *, retain: bool = False) -> None:
        """Publish and wait for the broker's acknowledgement; raise `ConnectionError` if the connection is lost."""
        delivered: asyncio.Queue[bool] = asyncio.Queue()
        if (
            not self.publish(topic, payload, retain=retain, on_delivery=delivered.put_nowait)
            or not await delivered.get()
        ):
            raise ConnectionError("the connection was lost before the broker acknowledged the message")

    def acknowledge(self, message: ReceivedMessage) -> None:
        """Acknowledge a message; the broker redelivers those of an earlier connection anyway."""
        if message.qos and message.connection == self._connection and self._transport is not None:
            self._transport.acknowledge(message.mid)


def _raise_if_cancelled() -> None:
    """Raise a cancellation that `asyncio.wait_for`, used by aiomqtt, lost (Python 3.11)."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _set_window(transport: MqttTransport, on_connect: Any, *of_paho: Any) -> None:  # noqa: ANN401 - paho's callback
    """Take over an MQTT 5 broker's limit of unacknowledged messages: it disconnects a client that sends more."""
    transport.window = getattr(of_paho[-1], "ReceiveMaximum", 0)
    on_connect(*of_paho)


def _code(granted: Any) -> int:  # noqa: ANN401 - a number, or paho's reason code
    return int(getattr(granted, "value", granted))
