"""One device's connection to the broker: reconnects for ever, with an offline status as its will.

Messages are received in the callback of aiomqtt's inner paho client and published without waiting for the broker's
acknowledgement: important messages are repeated until answered, the others are retained and sent again after a connect.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import aiomqtt
from paho.mqtt.client import MQTT_ERR_SUCCESS
from paho.mqtt.client import Client as Paho
from paho.mqtt.enums import MQTTErrorCode

from hardware_sim.messages import encode
from hardware_sim.private_api import paho_of

KEEPALIVE_SECONDS: Final = 10
CONNECT_SECONDS: Final = 10
CLOSE_SECONDS: Final = 10
FIRST_WAIT_SECONDS: Final = 0.1
MAX_WAIT_SECONDS: Final = 5.0
CUT_SECONDS: Final = 0.01
ONLINE: Final = encode({"state": "online"})
OFFLINE: Final = encode({"state": "offline"})

MessageCallback = Callable[[str, bytes], None]

_log: Final = logging.getLogger("hardware_sim")
_log.addHandler(logging.NullHandler())
_log.propagate = False
"""Silent, because connections break on purpose here; `DeviceConnection.problem` holds the last reason."""


class BrokerAddressError(ValueError):
    """Invalid broker address or CA file."""


class Broker(NamedTuple):
    """A broker's address and the credentials for it."""

    host: str = "127.0.0.1"
    port: int = 1883
    username: str | None = None
    password: str | None = None
    tls: bool = False
    ca_file: str | None = None
    """The certificate authorities to trust for TLS; None for the system's."""

    @classmethod
    def of(cls, url: str, ca_file: str | None = None) -> Broker:
        """Return the broker at a URL: mqtt://host:1883 or mqtts://user:password@host:8883."""
        parts = urlsplit(url)
        ports = {"mqtt": 1883, "mqtts": 8883}
        try:
            port = parts.port or ports[parts.scheme]
        except (KeyError, ValueError):
            raise BrokerAddressError("invalid broker address: write mqtt://host:1883 or mqtts://…") from None
        if not parts.hostname:
            raise BrokerAddressError("the broker address has no host: write mqtt://host:1883")
        username = unquote(parts.username) if parts.username else None
        password = unquote(parts.password) if parts.password else None
        broker = cls(parts.hostname, port, username, password, parts.scheme == "mqtts", ca_file)
        if ca_file is not None and not broker.tls:
            raise BrokerAddressError("a CA file needs a broker with TLS: write mqtts://host:8883")
        broker.tls_context()
        return broker

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context for this broker; None without TLS."""
        if not self.tls:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            why = "it contains no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            raise BrokerAddressError(f"the CA file {self.ca_file} cannot be used: {why}") from None

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"


class DeviceConnection:
    """One client id at the broker, reconnected whenever the connection breaks."""

    def __init__(  # noqa: PLR0913 - one argument for each property of a connection
        self,
        broker: Broker,
        client_id: str,
        *,
        status_topic: str,
        topics: list[str],
        on_message: MessageCallback,
        on_connect: Callable[[], None],
    ) -> None:
        self._broker = broker
        self._client_id = client_id
        self._status_topic = status_topic
        self._topics = topics
        self._on_message = on_message
        self._on_connect = on_connect
        self._client: aiomqtt.Client | None = None
        self._away_until = 0.0
        self._is_cut = False
        self._task: asyncio.Task[None] | None = None
        self.online = asyncio.Event()
        self.connects = 0
        self.problem = ""

    def start(self) -> None:
        """Start to connect, and to reconnect whenever the connection breaks."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._client_id)

    async def close(self) -> None:
        """Publish the offline status and disconnect; the broker does not publish the will then."""
        if self._task is None:
            return
        if self._client is not None and self.online.is_set():
            with contextlib.suppress(aiomqtt.MqttError):
                await self._client.publish(self._status_topic, OFFLINE, qos=1, retain=True, timeout=CLOSE_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = None

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> bool:
        """Publish a message; return False if it cannot be sent now."""
        paho = self._paho
        if paho is None or self._is_cut or not paho.is_connected():
            return False
        return paho.publish(topic, payload, 1, retain).rc == MQTT_ERR_SUCCESS

    def cut(self, *, away_seconds: float = 0.0) -> None:
        """Break the socket so that the broker publishes the will; do not reconnect for so many seconds.

        The socket breaks a moment later, so that earlier messages are still sent: losing a message is another fault.
        """
        loop = asyncio.get_running_loop()
        self._away_until = loop.time() + away_seconds
        self._is_cut = True
        self.online.clear()
        sock = self._paho.socket() if self._paho is not None else None
        if isinstance(sock, socket.socket):
            loop.call_later(CUT_SECONDS, _shut_down, sock)

    @property
    def _paho(self) -> Paho | None:
        return paho_of(self._client) if self._client is not None else None

    async def _run(self) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                await self._connect_once()
            except (aiomqtt.MqttError, OSError) as error:
                self.problem = str(error)
            _raise_if_cancelled()
            if self.online.is_set() or self._client is not None:
                wait = FIRST_WAIT_SECONDS
            self.online.clear()
            self._client = None
            away = self._away_until - asyncio.get_running_loop().time()
            await asyncio.sleep(max(away, random.uniform(wait / 2, wait)))  # noqa: S311 - spreads reconnects
            wait = min(2 * wait, MAX_WAIT_SECONDS)

    async def _connect_once(self) -> None:
        async with self._connected_client() as client:
            _raise_if_cancelled()
            self._client, self._is_cut = client, False
            self.connects += 1
            await client.publish(self._status_topic, ONLINE, qos=1, retain=True)
            await client.subscribe([(topic, 1) for topic in self._topics])
            _raise_if_cancelled()
            self.online.set()
            self._on_connect()
            async for _ in client.messages:  # yields nothing; ends when the connection ends
                pass

    @contextlib.asynccontextmanager
    async def _connected_client(self) -> AsyncIterator[aiomqtt.Client]:
        client = self._new_client()
        attempt = _ConnectAttempt(paho_of(client))
        try:
            await client.__aenter__()
        except BaseException:
            await attempt.discard()
            raise
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_exit(client)
            yield client

    def _new_client(self) -> aiomqtt.Client:
        client = aiomqtt.Client(
            self._broker.host,
            self._broker.port,
            username=self._broker.username,
            password=self._broker.password,
            identifier=self._client_id,
            logger=_log,
            clean_session=True,
            will=aiomqtt.Will(self._status_topic, OFFLINE, qos=1, retain=True),
            keepalive=KEEPALIVE_SECONDS,
            timeout=CONNECT_SECONDS,
            tls_context=self._broker.tls_context(),
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )
        paho_of(client).on_message = self._receive
        return client

    def _receive(self, _client: Any, _userdata: Any, message: Any) -> None:  # noqa: ANN401 - paho's callback
        if not self._is_cut:
            self._on_message(message.topic, bytes(message.payload))


class _ConnectAttempt:
    """The call of paho's blocking `connect` in aiomqtt's thread.

    A cancelled task does not end that thread, and aiomqtt does not close the socket that it may still open.
    """

    def __init__(self, paho: Paho) -> None:
        self._paho = paho
        self._connect = paho.connect
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._is_started = False
        self._is_discarded = False
        self._finished = asyncio.Event()
        paho.connect = self._run  # type: ignore[method-assign, assignment]

    def _run(self, *arguments: Any) -> MQTTErrorCode:  # noqa: ANN401 - paho's arguments
        with self._lock:
            if self._is_discarded:
                raise OSError("the connection was closed before it was opened")
            self._is_started = True
        try:
            return self._connect(*arguments)
        finally:
            self._loop.call_soon_threadsafe(self._finished.set)

    async def discard(self) -> None:
        """Prevent the call or wait for its end, then close the socket; this also ends aiomqtt's task for it."""
        with self._lock:
            self._is_discarded = True
        if self._is_started:
            await self._finished.wait()
        self._paho.on_connect = self._paho.on_disconnect = None
        while isinstance(sock := self._paho.socket(), socket.socket):
            _shut_down(sock)
            self._paho.loop_read()  # reads the end of the stream, and closes the socket


def _raise_if_cancelled() -> None:
    """Raise a cancellation that was lost.

    On Python 3.11 `wait_for`, which aiomqtt uses, loses one that comes in the same loop iteration as its result.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
