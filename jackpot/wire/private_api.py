"""Every private name of paho and aiomqtt that the controller uses, and the check that the installed versions fit.

Checked with paho-mqtt 2.2.0 and aiomqtt 2.5.1; `docs/decisions/0004-mqtt-seam.md` says why they are used. Each name
has a contract test in `tests/wire/test_private_api.py`. Neither package is imported before its version has been
checked: a version that does not fit may lack what this module or another needs.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import aiomqtt
    from paho.mqtt.client import Client as Paho


class UnsupportedVersionError(RuntimeError):
    """An installed package whose private names do not fit."""


class Supported(NamedTuple):
    """The versions of a package whose private names fit: from `first`, below `limit`; `checked` is tested."""

    package: str
    first: str
    limit: str
    checked: str


SUPPORTED: Final = (
    Supported("paho-mqtt", "2.2", "2.3", "2.2.0"),
    Supported("aiomqtt", "2.5", "3", "2.5.1"),
)
"""The same ranges as in pyproject.toml; a test compares them."""


def paho_of(client: aiomqtt.Client) -> Paho:
    """Return the paho client inside an aiomqtt client (`aiomqtt.Client._client`)."""
    return client._client  # noqa: SLF001


def replace_receive(paho: Paho, receive: Callable[[int], bytes]) -> None:
    """Let paho read from `receive` instead of its socket (`Client._sock_recv`).

    `receive` returns at most as many bytes as requested, none at the end of the stream, and raises BlockingIOError if
    there is nothing to read yet.
    """
    paho._sock_recv = receive  # type: ignore[assignment,method-assign]  # noqa: SLF001


def note_received(paho: Paho) -> None:
    """Record that bytes have arrived (`Client._last_bytes_received`), so that the keepalive check sees no silence."""
    paho._last_bytes_received = time.monotonic()  # noqa: SLF001


def next_packet_id(paho: Paho) -> int:
    """Return the next packet id, from 1 to 65535 (`Client._mid_generate`): paho's own packets use the same sequence."""
    return paho._mid_generate()  # noqa: SLF001


def queue_bytes(paho: Paho, data: bytes) -> None:
    """Append PUBLISH and PUBACK packets to paho's output queue (`Client._out_packet`) as if they were one packet.

    The queue's entry names a PUBLISH at QoS 1, for which paho has nothing to do once it is written. `_packet_queue`
    would also wake the event loop for each entry.
    """
    paho._out_packet.append(  # noqa: SLF001
        {"command": 0x30, "mid": 0, "qos": 1, "pos": 0, "to_process": len(data), "packet": data, "info": None}
    )


def require_supported() -> None:
    """Raise UnsupportedVersionError unless the installed paho-mqtt and aiomqtt have every private name used here."""
    for supported in SUPPORTED:
        _require_version(supported)
    missing = ", ".join(_missing_names())
    if missing:
        found = " and ".join(f"{each.package} {metadata.version(each.package)}" for each in SUPPORTED)
        raise UnsupportedVersionError(f"{found} do not have {missing}, which the controller needs: {_install()}")


def _require_version(supported: Supported) -> None:
    try:
        installed = metadata.version(supported.package)
    except metadata.PackageNotFoundError:
        raise UnsupportedVersionError(f"{supported.package} is not installed: {_install()}") from None
    if not _numbers(supported.first) <= _numbers(installed) < _numbers(supported.limit):
        raise UnsupportedVersionError(
            f"{supported.package} {installed} is installed, but the controller works with {supported.first} or newer "
            f"and below {supported.limit}: {_install()}"
        )


def _install() -> str:
    """The command that installs versions that fit."""
    return "run pip install " + " ".join(f"{each.package}=={each.checked}" for each in SUPPORTED)


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers a version begins with: (2, 2, 0) for "2.2.0rc1"."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in leading.group().split(".")) if leading else ()


def _missing_names() -> Iterator[str]:
    """The private names that are absent, or are not of the expected kind."""
    client = asyncio.run(_new_aiomqtt_client())
    paho = getattr(client, "_client", None)
    if paho is None:
        yield "aiomqtt.Client._client"
        return
    if not callable(getattr(paho, "_sock_recv", None)):
        yield "paho.Client._sock_recv"
    if not isinstance(getattr(paho, "_last_bytes_received", None), float):
        yield "paho.Client._last_bytes_received"
    if not callable(getattr(paho, "_mid_generate", None)):
        yield "paho.Client._mid_generate"
    if not isinstance(getattr(paho, "_out_packet", None), deque):
        yield "paho.Client._out_packet"


async def _new_aiomqtt_client() -> aiomqtt.Client:
    """A client that is not connected; aiomqtt creates one only while an event loop is running."""
    import aiomqtt  # noqa: PLC0415 - its version has been checked by now

    return aiomqtt.Client("localhost")
