"""A minimal MQTT 3.1.1 client on asyncio sockets, to generate load and to compare with."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

OnMessage = Callable[[bytes, bytes], None]


class RawClient(asyncio.Protocol):
    """One connection; each message is passed to `on_message(topic, payload)` and acknowledged at once."""

    def __init__(self, client_id: str, on_message: OnMessage) -> None:
        self._client_id = client_id.encode()
        self._on_message = on_message
        self._unread = b""
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._mid = 0

    @classmethod
    async def connect(cls, port: int, client_id: str, on_message: OnMessage) -> RawClient:
        """Return a connected client."""
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: cls(client_id, on_message), "127.0.0.1", port)
        await client.ready
        return client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = b"\0\x04MQTT\x04\x02\0\x3c" + _text(self._client_id)
        self._write(b"\x10" + _length(len(body)) + body)

    def _write(self, data: bytes) -> None:
        self._transport.write(data)  # type: ignore[attr-defined]

    async def subscribe(self, *topics: str) -> None:
        """Subscribe to these topics."""
        self.ready = asyncio.get_running_loop().create_future()
        body = b"\0\x01" + b"".join(_text(topic.encode()) + b"\x01" for topic in topics)
        self._write(b"\x82" + _length(len(body)) + body)
        await self.ready

    def publish(self, topic: bytes, payload: bytes, *, retain: bool = False) -> None:
        """Publish a message at QoS 1."""
        self._mid = self._mid % 65_535 + 1
        body = _text(topic) + self._mid.to_bytes(2, "big") + payload
        self._write((b"\x33" if retain else b"\x32") + _length(len(body)) + body)

    def data_received(self, data: bytes) -> None:
        data = self._unread + data
        at, end, acks = 0, len(data), []
        while True:
            start, size = _packet(data, at, end)
            if start < 0 or start + size > end:
                break
            kind = data[at] >> 4
            if kind == 3:
                topic_end = start + 2 + int.from_bytes(data[start : start + 2], "big")
                body = topic_end
                if data[at] & 6:
                    acks.append(b"\x40\x02" + data[topic_end : topic_end + 2])
                    body += 2
                self._on_message(data[start + 2 : topic_end], data[body : start + size])
            elif kind in (2, 9) and not self.ready.done():
                self.ready.set_result(None)
            at = start + size
        self._unread = data[at:]
        if acks:
            self._write(b"".join(acks))

    def close(self) -> None:
        """Disconnect."""
        self._write(b"\xe0\0")
        self._transport.close()


def _text(value: bytes) -> bytes:
    return len(value).to_bytes(2, "big") + value


def _length(size: int) -> bytes:
    written = bytearray()
    while True:
        size, low = divmod(size, 128)
        written.append(low | (128 if size else 0))
        if not size:
            return bytes(written)


def _packet(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the start and size of the body, or (-1, 0) while the length is incomplete."""
    size, shift, here = 0, 0, at + 1
    while here < end:
        size |= (data[here] & 127) << shift
        here += 1
        if data[here - 1] < 128:
            return here, size
        shift += 7
    return -1, 0
