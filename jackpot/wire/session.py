"""A session with the broker that is kept for ever: messages taken in the callback, acknowledged when we say so.

aiomqtt acknowledges a message on arrival, and its own queue drops what it cannot hold; here each message comes straight
to us, and the broker hears of it only when it is durable. What is published is not waited for: retained state is said
again after every connect, and devices repeat until they are answered.
"""

from __future__ import annotations

import asyncio
import random
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

from jackpot.wire.private_api import paho_of
from jackpot.wire.stream import REFUSED, Fate, Letter, Stream

KEEPALIVE_SECONDS: Final = 10
CONNECT_SECONDS: Final = 10
FIRST_WAIT_SECONDS: Final = 0.2
LONGEST_WAIT_SECONDS: Final = 10.0
STEADY_SECONDS: Final = 5.0
"""A connection that lasted so long was one: whoever is thrown out sooner comes back later and later."""
MOST_IN_FLIGHT: Final = 1_000
MOST_EARLY: Final = 10_000
SESSION_SECONDS: Final = 7 * 24 * 3600
MQTT_5: Final = 5

log = structlog.get_logger()


class AddressError(ValueError):
    """A broker's address that is not understood."""


class Address(NamedTuple):
    """Where a broker is, and how to speak to it."""

    host: str
    port: int
    username: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None
    version: int = 4

    @classmethod
    def of(cls, url: str, version: str = "3.1.1", ca_file: str = "") -> Address:
        """The address a URL names: mqtt://host:1883 or mqtts://user:password@host:8883."""
        parts = urlsplit(url)
        ports = {"mqtt": 1883, "mqtts": 8883}
        try:
            port = parts.port or ports[parts.scheme]
        except (KeyError, ValueError):
            raise AddressError("the broker's address is not understood: write mqtt://host:1883 or mqtts://…") from None
        if not parts.hostname:
            raise AddressError("the broker's address names no host: write mqtt://host:1883")
        name = unquote(parts.username) if parts.username else None
        word = unquote(parts.password) if parts.password else None
        tls = ssl.create_default_context(cafile=ca_file or None) if parts.scheme == "mqtts" else None
        return cls(parts.hostname, port, name, word, tls, {"3.1.1": 4, "5": 5}[version])

    @property
    def shown(self) -> str:
        """The address without its password."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"


class Will(NamedTuple):
    """What the broker says for us when we go without a word."""

    topic: str
    payload: bytes


class Session:
    """One client id's connection, made again whenever it breaks."""

    def __init__(  # noqa: PLR0913 - where, who, and what to do
        self,
        address: Address,
        client_id: str,
        *,
        will: Will | None = None,
        on_letter: Callable[[Letter], None],
        on_connect: Callable[[], Awaitable[None]],
        before_connect: Callable[[], Awaitable[None]] | None = None,
        on_lost: Callable[[], None] = lambda: None,
        clean: bool = False,
    ) -> None:
        self._address = address
        self._client_id = client_id
        self._will = will
        self._on_letter = on_letter
        self._on_connect = on_connect
        self._before_connect = before_connect
        self._on_lost = on_lost
        self._clean = clean
        self._client: aiomqtt.Client | None = None
        self._paho: Paho | None = None
        self._stream: Stream | None = None
        self._connection = 0
        self._early: list[Letter] | None = None
        self.connected = False

    async def run(self) -> None:
        """Be connected until cancelled; each new connection begins with `on_connect`.

        `before_connect` may keep us from it: to connect is to displace whoever has the same client id.
        """
        wait = FIRST_WAIT_SECONDS
        while True:
            if self._before_connect is not None:
                await self._before_connect()
            began = time.monotonic()
            try:
                await self._once()
                wait = FIRST_WAIT_SECONDS
            except (aiomqtt.MqttError, OSError) as error:
                if time.monotonic() - began > STEADY_SECONDS:
                    wait = FIRST_WAIT_SECONDS
                log.warning("broker lost", broker=self._address.shown, client=self._client_id, problem=str(error))
            finally:
                was_connected = self.connected
                self.connected, self._client, self._paho = False, None, None
                if self._stream is not None:
                    self._stream.close()
                if was_connected:
                    self._on_lost()
            await asyncio.sleep(random.uniform(wait / 2, wait))  # noqa: S311 - spreads reconnects, keeps no secret
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    async def _once(self) -> None:
        self._early = []
        async with self._new_client() as client:
            _end_if_cancelled()
            if paho_of(client).socket() is None:  # aiomqtt forgets a connection that is lost before it returns
                raise aiomqtt.MqttError("the connection was lost as soon as it was made")
            self._client, self.connected = client, True
            log.info("broker connected", broker=self._address.shown, client=self._client_id)
            await self._on_connect()
            _end_if_cancelled()
            self._take_early()
            async for _ in client.messages:  # nothing comes this way; it ends when the connection does
                pass

    def _take(self, letter: Letter) -> None:
        """Letters that come before all is said and heard wait: they could not be answered yet."""
        if self._early is None:
            self._on_letter(letter)
        elif len(self._early) < MOST_EARLY:
            self._early.append(letter)

    def _take_early(self) -> None:
        early, self._early = self._early or [], None
        try:
            for letter in early:
                self._on_letter(letter)
        except Exception as error:
            log.exception("connection given up: what waited at the broker could not be handled")
            raise aiomqtt.MqttError("what waited at the broker could not be handled") from error

    def _new_client(self) -> aiomqtt.Client:
        persistent: dict[str, Any] = {"clean_session": self._clean}
        if self._address.version == MQTT_5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = 0 if self._clean else SESSION_SECONDS
            properties.ReceiveMaximum = MOST_IN_FLIGHT
            persistent = {"clean_start": self._clean, "properties": properties}
        client = aiomqtt.Client(
            self._address.host,
            self._address.port,
            username=self._address.username,
            password=self._address.password,
            identifier=self._client_id,
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
        self._stream = Stream(paho, is_mqtt_5=is_mqtt_5, connection=self._connection, on_letter=self._take)
        if is_mqtt_5:
            paho.on_connect = partial(_heed_receive_maximum, self._stream, paho.on_connect)
        return client

    def reconnect(self, will: Will | None = None) -> None:
        """Connect anew, with another will perhaps; what was not acknowledged comes again then."""
        self._will = will or self._will
        if self._paho is not None:
            self._paho.disconnect()

    def certificate_ends(self) -> float | None:
        """When the broker's certificate ends, in seconds since 1970; None where the connection has none."""
        found = self._paho.socket() if self._paho is not None else None
        certificate = found.getpeercert() if isinstance(found, ssl.SSLSocket) else None
        return ssl.cert_time_to_seconds(str(certificate["notAfter"])) if certificate else None

    async def subscribe(self, filters: list[str]) -> None:
        """Listen to these topics; a broker that does not grant them all is as good as lost."""
        if self._client is None:
            return
        granted = await self._client.subscribe([(topic, 1) for topic in filters])
        refused = [topic for topic, code in zip(filters, granted, strict=True) if _code(code) >= REFUSED]
        if refused:
            raise aiomqtt.MqttError(f"the broker does not let us listen to {', '.join(refused)}")

    def publish(self, topic: str, payload: str | bytes, *, retain: bool = False, fate: Fate | None = None) -> bool:
        """Say something; False where it cannot be said now, which retained state does not mind."""
        if not self.connected or self._stream is None:
            return False
        return self._stream.publish(topic, payload, retain=retain, fate=fate)

    async def publish_now(self, topic: str, payload: str | bytes, *, retain: bool = False) -> None:
        """Say something and wait until the broker has it; an error where it is lost before that."""
        fared: asyncio.Queue[bool] = asyncio.Queue()
        if not self.publish(topic, payload, retain=retain, fate=fared.put_nowait) or not await fared.get():
            raise ConnectionError("the broker was lost before it had it")

    def acknowledge(self, letter: Letter) -> None:
        """Tell the broker that a message need not be sent again; one of an earlier connection it sends again anyway."""
        if letter.qos and letter.connection == self._connection and self._stream is not None:
            self._stream.acknowledge(letter.mid)


def _end_if_cancelled() -> None:
    """A cancellation in the very moment of the broker's answer is lost in `asyncio.wait_for`, which aiomqtt uses."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _heed_receive_maximum(stream: Stream, told: Any, *of_paho: Any) -> None:  # noqa: ANN401 - paho's callback
    """An MQTT 5 broker says how many messages it takes unacknowledged; more, and it hangs up."""
    stream.window = getattr(of_paho[-1], "ReceiveMaximum", 0)
    told(*of_paho)


def _code(granted: Any) -> int:  # noqa: ANN401 - a number, or paho's reason code
    return int(getattr(granted, "value", granted))
