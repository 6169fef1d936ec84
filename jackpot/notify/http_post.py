"""One HTTP POST that returns the status; redirects are not followed, certificates are verified."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Final

import h11

from jackpot.notify.webhook import Webhook

POST_SECONDS: Final = 10.0
"""The limit for the whole request: name lookup, connection, sending, and the status line."""


class PostError(Exception):
    """A request without a response; the message says why."""


async def post(webhook: Webhook, headers: list[tuple[str, str]], body: bytes, seconds: float = POST_SECONDS) -> int:
    """Post a body and return the status of the response."""
    try:
        async with asyncio.timeout(seconds):
            return await _post(webhook, headers, body)
    except TimeoutError:
        raise PostError(f"no answer within {seconds:g} s") from None
    except h11.RemoteProtocolError as error:
        raise PostError(f"the response is not HTTP: {error}") from None
    except ssl.SSLError as error:
        raise PostError(f"the certificate is not trusted, or TLS failed: {error.reason or error}") from None
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise PostError(problem) from None


async def _post(webhook: Webhook, headers: list[tuple[str, str]], body: bytes) -> int:
    reader, writer = await asyncio.open_connection(webhook.host, webhook.port, ssl=webhook.tls)
    try:
        connection = h11.Connection(h11.CLIENT)
        length, close = ("content-length", str(len(body))), ("connection", "close")
        request = h11.Request(
            method="POST", target=webhook.target, headers=[("host", _host(webhook)), *headers, length, close]
        )
        for part in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(connection.send(part) or b"")
        while True:
            received = connection.next_event()
            if isinstance(received, h11.Response):
                return received.status_code
            if received is h11.NEED_DATA:
                data = await reader.read(4_096)
                if not data:
                    raise PostError("the connection was closed without a response")
                connection.receive_data(data)
    finally:
        writer.close()


def _host(webhook: Webhook) -> str:
    name = f"[{webhook.host}]" if ":" in webhook.host else webhook.host
    return name if webhook.port == (443 if webhook.tls else 80) else f"{name}:{webhook.port}"
