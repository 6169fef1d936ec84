"""The bytes of one connection: what every wager costs is read and written here, the rest is paho's.

A wager is a PUBLISH in, a PUBLISH and a PUBACK out, a PUBACK in. paho reads a packet in three system calls, writes each
in one, and keeps records of what we never repeat; so those packets are taken out of what arrives before paho sees them,
and go out together, as many as are ready. Connecting, subscribing, keeping alive and ending stay with paho, which reads
what is left through `_sock_recv`, the seam.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import structlog
from paho.mqtt.client import Client as Paho

from jackpot.wire import private_api

MOST_READ: Final = 1 << 16
MOST_TOGETHER: Final = 32
"""How many packets wait for each other: more in one system call gains nothing and keeps the first ones back."""
MOST_QUEUED: Final = 50_000
PUBLISH: Final = 0x30
PUBACK: Final = 0x40
REFUSED: Final = 128
_KIND, _RETAIN, _QOS_1, _QOS_2, _SHORT = 0xF0, 0x01, 0x02, 0x04, 0x80
_LONGEST_LENGTH: Final = 4

log = structlog.get_logger()

Fate = Callable[[bool], None]
"""Who asks what became of a message: told whether the broker has it, or whether the connection was lost before that."""


def _nobody_asks(_has_it: bool) -> None:
    """The fate of nearly everything: what is retained is said again, what is answered is asked again."""


class Letter(NamedTuple):
    """A message that came, with what its acknowledgement needs."""

    topic: str
    payload: bytes
    retained: bool
    mid: int
    qos: int
    connection: int


class ProtocolError(ValueError):
    """The broker sends what is not MQTT."""


class Stream:
    """Reads and writes for a paho client that has not connected yet, from its first byte to its last."""

    def __init__(self, paho: Paho, *, is_mqtt_5: bool, connection: int, on_letter: Callable[[Letter], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._paho = paho
        self._is_mqtt_5 = is_mqtt_5
        self._connection = connection
        self._on_letter = on_letter
        self._socket: Any = None
        self._unread, self._wanted = bytearray(), 0
        self._for_paho, self._ended = bytearray(), False
        self._unsent: list[bytes] = []
        self._held: deque[bytes] = deque()
        self._in_flight = 0
        self._awaited: dict[int, Fate] = {}
        self._complained = False
        self.window = 0
        """How many unacknowledged messages the broker takes; 0: it has not said."""
        private_api.replace_receive(paho, self._read_by_paho)
        paho.on_socket_open = partial(self._opened, paho.on_socket_open)

    # In.

    def _opened(self, told: Any, paho: Paho, userdata: Any, sock: Any) -> None:  # noqa: ANN401 - paho's callback
        """In the thread that connects: read from now on, instead of whoever would; nothing can have come yet."""
        self._socket = sock
        told(paho, userdata, sock)
        self._loop.call_soon_threadsafe(self._loop.add_reader, sock.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            self._read()
            while isinstance(self._socket, ssl.SSLSocket) and not self._is_over and self._socket.pending():
                self._read()
        except Exception:
            log.exception("connection given up: what the broker sent could not be handled")
            self._end()

    def _read(self) -> None:
        try:
            data = self._socket.recv(MOST_READ)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            data = b""
        if data:
            self._take(data)
        else:
            self._end()

    def _end(self) -> None:
        """Let paho see the end of what there is to read; it knows what to do then."""
        self._ended = True
        self._let_paho_read()

    @property
    def _is_over(self) -> bool:
        return self._paho.socket() is not self._socket

    def _take(self, data: bytes) -> None:
        """Handle the packets that are complete, keep the rest."""
        private_api.note_received(self._paho)
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
            if self._is_over:
                return
            at = end
        if at < size:
            self._unread += data[at:]

    def _packet(self, data: bytes, at: int, body: int, end: int) -> None:
        first = data[at]
        kind = first & _KIND
        if kind == PUBLISH and not first & _QOS_2:
            self._on_letter(self._letter(data, first, body, end))
        elif kind == PUBACK:
            self._acknowledged(data, body, end)
        else:
            self._for_paho += data[at:end]
            self._let_paho_read()

    def _letter(self, data: bytes, first: int, body: int, end: int) -> Letter:
        at = body + 2 + (data[body] << 8 | data[body + 1])
        topic = data[body + 2 : at].decode(errors="replace")
        mid, qos = 0, first & _QOS_1
        if qos:
            mid = data[at] << 8 | data[at + 1]
            at += 2
        if self._is_mqtt_5:
            length, at = _length(data, at)
            at += length
        return Letter(topic, data[at:end], bool(first & _RETAIN), mid, qos >> 1, self._connection)

    def _acknowledged(self, data: bytes, body: int, end: int) -> None:
        mid = data[body] << 8 | data[body + 1]
        if end - body > 2 and data[body + 2] >= REFUSED and not self._complained:
            self._complained = True
            log.warning("the broker refuses what we say", reason=data[body + 2])
        if self._awaited:
            self._awaited.pop(mid, _nobody_asks)(True)
        if self._held:
            self._send(self._held.popleft())
        elif self._in_flight:
            self._in_flight -= 1

    def _let_paho_read(self) -> None:
        while not self._is_over and (self._for_paho or self._ended):
            self._paho.loop_read()

    def _read_by_paho(self, most: int) -> bytes:
        """What paho gets where it would read the socket."""
        if not self._for_paho and not self._ended:
            raise BlockingIOError
        given = bytes(self._for_paho[:most])
        del self._for_paho[:most]
        return given

    # Out.

    def publish(self, topic: str, payload: str | bytes, *, retain: bool, fate: Fate | None = None) -> bool:
        """Say something, at least once; False where too much is unacknowledged already. Its fate is told, if asked."""
        if self._in_flight + len(self._held) >= MOST_QUEUED:
            return False
        mid = private_api.next_packet_id(self._paho)
        body = payload.encode() if isinstance(payload, str) else payload
        name = _named(topic)
        properties = b"\0" if self._is_mqtt_5 else b""
        length = len(name) + 2 + len(properties) + len(body)
        head = bytes((PUBLISH | _QOS_1 | retain, *_written(length)))
        packet = b"".join((head, name, mid.to_bytes(2), properties, body))
        if self.window and self._in_flight >= self.window:
            self._held.append(packet)
        else:
            self._in_flight += 1
            self._send(packet)
        if fate is not None:
            self._awaited[mid] = fate
        return True

    def acknowledge(self, mid: int) -> None:
        """Tell the broker that a message need not be sent again."""
        self._send(b"\x40\x02" + mid.to_bytes(2))

    def _send(self, packet: bytes) -> None:
        self._unsent.append(packet)
        if len(self._unsent) == 1:
            self._loop.call_soon(self._flush)
        elif len(self._unsent) > MOST_TOGETHER:
            self._flush()

    def _flush(self) -> None:
        """Hand all of it to paho as if it were one packet; what the socket does not take yet stays with paho."""
        if not self._unsent or self._is_over:
            self._unsent.clear()
            return
        together = b"".join(self._unsent)
        self._unsent.clear()
        is_writing = self._paho.want_write()  # then the loop writes as soon as the socket takes more, this included
        private_api.queue_bytes(self._paho, together)
        if not is_writing:
            self._paho.loop_write()

    def close(self) -> None:
        """The connection is gone: what the broker has not acknowledged it may never have had."""
        lost, self._awaited = self._awaited, {}
        for fate in lost.values():
            fate(False)


@lru_cache(maxsize=1 << 14)
def _named(topic: str) -> bytes:
    name = topic.encode()
    return len(name).to_bytes(2) + name


def _length(data: bytes, at: int) -> tuple[int, int]:
    """A length as MQTT writes it and where it ends; (0, 0) where it is not complete."""
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
