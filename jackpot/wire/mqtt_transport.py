"""The bytes of one MQTT connection: PUBLISH and PUBACK packets are handled here, all others by paho.

A wager is a PUBLISH in, a PUBLISH and a PUBACK out, a PUBACK in. paho reads a packet in three system calls, writes each
in one, and keeps records of messages that we never repeat. So these packets are taken out of the received bytes before
paho sees them, and are sent together, as many as are ready: `bench/wire.py` shows what that gains over aiomqtt's own
client. Connecting, subscribing, keepalive and disconnecting stay with paho, which reads the remaining bytes through
`_sock_recv`, the seam.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import structlog
from paho.mqtt.client import Client as Paho

from jackpot.wire import private_api

MAX_READ: Final = 1 << 16
MAX_PACKETS_PER_WRITE: Final = 32
"""How many packets go into one system call: more gains nothing and delays the first ones."""
MAX_QUEUED: Final = 50_000
PUBLISH: Final = 0x30
PUBACK: Final = 0x40
REFUSED: Final = 128
_KIND, _RETAIN, _QOS_1, _QOS_2, _SHORT = 0xF0, 0x01, 0x02, 0x04, 0x80
_LONGEST_LENGTH: Final = 4

log = structlog.get_logger()

DeliveryCallback = Callable[[bool], None]
"""Called with True when the broker has acknowledged a message, with False if the connection was lost before."""


def _ignore_delivery(_delivered: bool) -> None:
    """Ignore an acknowledgement: retained state is published again, and devices repeat what is not answered."""


class ReceivedMessage(NamedTuple):
    """A received message, with what its acknowledgement needs."""

    topic: str
    payload: bytes
    retained: bool
    mid: int
    qos: int
    connection: int


class ProtocolError(ValueError):
    """The broker sent bytes that are not MQTT."""


class MqttTransport:
    """Reads and writes for one paho client, from before it connects until its connection ends."""

    def __init__(
        self, paho: Paho, *, is_mqtt_5: bool, connection: int, on_message: Callable[[ReceivedMessage], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._paho = paho
        self._is_mqtt_5 = is_mqtt_5
        self._connection = connection
        self._on_message = on_message
        self._socket: Any = None
        self.received_at = time.monotonic()
        """When the broker last sent something."""
        self._unread, self._wanted = bytearray(), 0
        self._unread_by_paho, self._ended = bytearray(), False
        self._unsent: list[bytes] = []
        self._beyond_window: deque[bytes] = deque()
        self._in_flight = 0
        self._on_delivery: dict[int, DeliveryCallback] = {}
        self._logged_refusal = False
        self.window = 0
        """How many unacknowledged messages the broker takes; 0 if unknown."""
        private_api.replace_receive(paho, self._read_by_paho)
        paho.on_socket_open = partial(self._opened, paho.on_socket_open)

    # Receiving.

    def _opened(self, on_socket_open: Any, paho: Paho, userdata: Any, sock: Any) -> None:  # noqa: ANN401 - paho's callback
        """Replace aiomqtt's reader of the socket; called in the thread that connects, before any byte can arrive."""
        self._socket = sock
        on_socket_open(paho, userdata, sock)
        self._loop.call_soon_threadsafe(self._loop.add_reader, sock.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            self._read()
            while isinstance(self._socket, ssl.SSLSocket) and not self._is_closed and self._socket.pending():
                self._read()
        except Exception:
            log.exception("connection closed: a message from the broker could not be handled")
            self._end()

    def _read(self) -> None:
        try:
            data = self._socket.recv(MAX_READ)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self._end()

    def _end(self) -> None:
        """Let paho see the end of the connection, so that it disconnects."""
        self._ended = True
        self._let_paho_read()

    @property
    def _is_closed(self) -> bool:
        return self._paho.socket() is not self._socket

    def _take(self, data: bytes) -> None:
        """Handle the complete packets, keep the rest."""
        private_api.note_received(self._paho)
        self.received_at = time.monotonic()
        if self._unread:
            self._unread += data
            if len(self._unread) < self._wanted:
                return
            data = bytes(self._unread)
            self._unread.clear()
        at, size, self._wanted = 0, len(data), 0
        while size - at > 1:
            length, body = _length(data, at + 1)
            end = body + length
            if not body or end > size:
                self._wanted = end - at if body else 0
                break
            self._packet(data, at, body, end)
            if self._is_closed:
                return
            at = end
        if at < size:
            self._unread += data[at:]

    def _packet(self, data: bytes, at: int, body: int, end: int) -> None:
        first = data[at]
        kind = first & _KIND
        if kind == PUBLISH and not first & _QOS_2:
            self._on_message(self._message(data, first, body, end))
        elif kind == PUBACK:
            self._acknowledged(data, body, end)
        else:
            self._unread_by_paho += data[at:end]
            self._let_paho_read()

    def _message(self, data: bytes, first: int, body: int, end: int) -> ReceivedMessage:
        at = body + 2 + (data[body] << 8 | data[body + 1])
        topic = data[body + 2 : at].decode(errors="replace")
        mid, qos = 0, first & _QOS_1
        if qos:
            mid = data[at] << 8 | data[at + 1]
            at += 2
        if self._is_mqtt_5:
            length, at = _length(data, at)
            at += length
        return ReceivedMessage(topic, data[at:end], bool(first & _RETAIN), mid, qos >> 1, self._connection)

    def _acknowledged(self, data: bytes, body: int, end: int) -> None:
        mid = data[body] << 8 | data[body + 1]
        if end - body > 2 and data[body + 2] >= REFUSED and not self._logged_refusal:
            self._logged_refusal = True
            log.warning("the broker refuses our messages", reason=data[body + 2])
        if self._on_delivery:
            self._on_delivery.pop(mid, _ignore_delivery)(True)
        if self._beyond_window:
            self._send(self._beyond_window.popleft())
        elif self._in_flight:
            self._in_flight -= 1

    def _let_paho_read(self) -> None:
        while not self._is_closed and (self._unread_by_paho or self._ended):
            self._paho.loop_read()

    def _read_by_paho(self, most: int) -> bytes:
        """Return the bytes that paho gets instead of reading the socket."""
        if not self._unread_by_paho and not self._ended:
            raise BlockingIOError
        given = bytes(self._unread_by_paho[:most])
        del self._unread_by_paho[:most]
        return given

    # Sending.

    def publish(
        self, topic: str, payload: str | bytes, *, retain: bool, on_delivery: DeliveryCallback | None = None
    ) -> bool:
        """Publish at QoS 1; return False if too many messages are unacknowledged already."""
        if self._in_flight + len(self._beyond_window) >= MAX_QUEUED:
            return False
        mid = private_api.next_packet_id(self._paho)
        body = payload.encode() if isinstance(payload, str) else payload
        name = _named(topic)
        properties = b"\0" if self._is_mqtt_5 else b""
        length = len(name) + 2 + len(properties) + len(body)
        head = bytes((PUBLISH | _QOS_1 | retain, *_written(length)))
        packet = b"".join((head, name, mid.to_bytes(2), properties, body))
        if self.window and self._in_flight >= self.window:
            self._beyond_window.append(packet)
        else:
            self._in_flight += 1
            self._send(packet)
        if on_delivery is not None:
            self._on_delivery[mid] = on_delivery
        return True

    def ping(self) -> None:
        """Ask the broker for a sign of life."""
        if not self._is_closed:
            self._send(b"\xc0\x00")

    def end(self) -> None:
        """End a connection on which the broker is silent."""
        if not self._is_closed:
            self._end()

    def acknowledge(self, mid: int) -> None:
        """Acknowledge a message to the broker."""
        self._send(b"\x40\x02" + mid.to_bytes(2))

    def _send(self, packet: bytes) -> None:
        self._unsent.append(packet)
        if len(self._unsent) == 1:
            self._loop.call_soon(self._flush)
        elif len(self._unsent) > MAX_PACKETS_PER_WRITE:
            self._flush()

    def _flush(self) -> None:
        """Hand all packets to paho as if they were one; paho keeps the bytes that the socket does not take yet."""
        if not self._unsent or self._is_closed:
            self._unsent.clear()
            return
        together = b"".join(self._unsent)
        self._unsent.clear()
        is_writing = self._paho.want_write()  # then the loop writes this too, as soon as the socket takes more
        private_api.queue_bytes(self._paho, together)
        if not is_writing:
            self._paho.loop_write()

    def close(self) -> None:
        """Report the messages that the broker has not acknowledged as lost."""
        lost, self._on_delivery = self._on_delivery, {}
        for on_delivery in lost.values():
            on_delivery(False)


@lru_cache(maxsize=1 << 14)
def _named(topic: str) -> bytes:
    name = topic.encode()
    return len(name).to_bytes(2) + name


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length in MQTT's encoding and where it ends; (0, 0) if it is not complete."""
    first = data[at]
    if first < _SHORT:
        return first, at + 1
    length = 0
    for n in range(_LONGEST_LENGTH):
        if at + n >= len(data):
            return 0, 0
        byte = data[at + n]
        length |= (byte & 0x7F) << 7 * n
        if byte < _SHORT:
            return length, at + n + 1
    raise ProtocolError("a packet's length has more than four bytes")


@lru_cache(maxsize=1 << 10)
def _written(length: int) -> bytes:
    written = bytearray()
    while True:
        length, low = length >> 7, length & 0x7F
        written.append(low | _SHORT if length else low)
        if not length:
            return bytes(written)
