"""The embedded broker: a NATS server that speaks MQTT, from what pip installed, on loopback; for demonstrations.

Production uses the site's own broker. Where the package is missing, a `nats-server` on the PATH will do.
"""

from __future__ import annotations

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
from typing import Final

READY_SECONDS: Final = 20.0
ACK_WAIT: Final = "5s"
"""When a message that was not acknowledged is sent again: soon after a crash, not while a batch is being written."""
MOST_PENDING: Final = 1_000
MEMORY: Final = {"GOGC": "400", "GOMEMLIMIT": "256MiB"}
"""How its runtime looks for garbage: a fourth as often as by itself, for a lamp waits meanwhile."""
_SET_DEATH_SIGNAL: Final = 1


class BrokerError(RuntimeError):
    """The embedded broker cannot be started."""


@contextmanager
def embedded(folder: Path, port: int = 0) -> Iterator[int]:
    """Run a broker on loopback; says its port. What it keeps is kept in the folder."""
    chosen = port or free_port()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "broker.conf"
    config.write_text(_config(folder, chosen), encoding="utf-8")
    with (folder / "broker.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [program(), "-c", str(config)],
            env={**MEMORY, **os.environ},
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it starts before any thread does
        )
    try:
        _wait_until_ready(process, chosen, folder / "broker.log")
        yield chosen
    finally:
        process.terminate()
        process.wait()


def die_with_parent() -> None:
    """A process must not outlive one that was killed beside it: Linux can see to that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)


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
listen: "127.0.0.1:{free_port()}"
jetstream {{ store_dir: {json.dumps(str(folder / "store"))} }}
mqtt {{
  listen: "127.0.0.1:{port}"
  ack_wait: "{ACK_WAIT}"
  max_ack_pending: {MOST_PENDING}
}}
"""


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until it takes connections, or say why it does not."""
    until = time.monotonic() + READY_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
    raise BrokerError(f"the embedded broker did not start: {' '.join(last) or 'no reason given'}")
