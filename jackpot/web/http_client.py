"""One HTTP request to another controller, over asyncio; redirects are not followed, certificates are verified."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import h11

MAX_BYTES: Final = 1_024 * 1_024
READ_BYTES: Final = 16_384


class HttpError(Exception):
    """A request without a complete response; the message says why."""


class HttpRequest(NamedTuple):
    """A request: method, path with query, headers and body."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class HttpResponse(NamedTuple):
    """A response; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def send_request(address: str, request: HttpRequest, seconds: float) -> HttpResponse:
    """Send a request to an address such as http://10.0.0.2:8080 and return the response."""
    try:
        async with asyncio.timeout(seconds):
            return await _send(address, request)
    except TimeoutError:
        raise HttpError(f"no answer within {seconds:.1f} s") from None
    except (h11.ProtocolError, ValueError) as error:
        raise HttpError(f"not HTTP: {error}") from None
    except OSError as error:
        raise HttpError(error.strerror or str(error)) from None


async def _send(address: str, request: HttpRequest) -> HttpResponse:
    parts = urlsplit(address)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or (443 if tls else 80), ssl=tls)
    try:
        connection = h11.Connection(h11.CLIENT)
        own = [("Host", parts.netloc), ("Connection", "close"), ("Content-Length", str(len(request.body)))]
        start = h11.Request(method=request.method, target=request.target, headers=[*own, *request.headers.items()])
        for part in (start, h11.Data(data=request.body), h11.EndOfMessage()):
            writer.write(connection.send(part) or b"")
        return await _response(connection, reader)
    finally:
        writer.close()


async def _response(connection: h11.Connection, reader: asyncio.StreamReader) -> HttpResponse:
    status, headers, body = 0, {}, bytearray()
    while True:
        received = connection.next_event()
        if received is h11.NEED_DATA:
            connection.receive_data(await reader.read(READ_BYTES))
        elif isinstance(received, h11.Response):
            status = received.status_code
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in received.headers}
        elif isinstance(received, h11.Data):
            body += received.data
            if len(body) > MAX_BYTES:
                raise HttpError(f"the answer has more than {MAX_BYTES} bytes")
        elif isinstance(received, h11.EndOfMessage):
            return HttpResponse(status, headers, bytes(body))
