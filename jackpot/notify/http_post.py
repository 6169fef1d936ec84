"""One POST: sent, answered by a status, and over; redirects are not followed, certificates are checked."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Final

import h11

from jackpot.notify.webhook import Webhook

POST_SECONDS: Final = 10.0
"""For all of it: looking the name up, connecting, sending, and the answer's first line."""


class PostError(Exception):
    """There was no answer; the sentence says why."""


async def post(hook: Webhook, headers: list[tuple[str, str]], body: bytes, seconds: float = POST_SECONDS) -> int:
    """Post a body; says the status of the answer."""
    try:
        async with asyncio.timeout(seconds):
            return await _post(hook, headers, body)
    except TimeoutError:
        raise PostError(f"no answer within {seconds:g} s") from None
    except h11.RemoteProtocolError as error:
        raise PostError(f"what answers does not speak HTTP: {error}") from None
    except ssl.SSLError as error:
        raise PostError(f"the certificate is not trusted, or TLS failed: {error.reason or error}") from None
    except OSError as error:
        said = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise PostError(said) from None


async def _post(hook: Webhook, headers: list[tuple[str, str]], body: bytes) -> int:
    reader, writer = await asyncio.open_connection(hook.host, hook.port, ssl=hook.tls)
    try:
        speaking = h11.Connection(h11.CLIENT)
        length, close = ("content-length", str(len(body))), ("connection", "close")
        request = h11.Request(
            method="POST", target=hook.target, headers=[("host", _host(hook)), *headers, length, close]
        )
        for part in (request, h11.Data(data=body), h11.EndOfMessage()):
            writer.write(speaking.send(part) or b"")
        while True:
            heard = speaking.next_event()
            if isinstance(heard, h11.Response):
                return heard.status_code
            if heard is h11.NEED_DATA:
                data = await reader.read(4_096)
                if not data:
                    raise PostError("the connection was closed without an answer")
                speaking.receive_data(data)
    finally:
        writer.close()


def _host(hook: Webhook) -> str:
    name = f"[{hook.host}]" if ":" in hook.host else hook.host
    return name if hook.port == (443 if hook.tls else 80) else f"{name}:{hook.port}"
