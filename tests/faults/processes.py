"""Child processes that end with this one, whatever happens to it."""

import atexit
import contextlib
import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 60
_LIBRARY = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
_children = []


def die_with_parent():
    """Let Linux kill this process when its parent ends."""
    _LIBRARY.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def start(*command, log=None, **options):
    """Start a program whose output goes to a file, and which is killed when this process ends."""
    with Path(log or os.devnull).open("ab") as file:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdout=file,
            stderr=file,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it waits for no other thread
            **options,
        )
    _children.append(child)
    return child


def end_in_order():
    """Let SIGTERM and SIGINT end this program like Ctrl-C, so that everything is closed."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)


def as_postgres(*command):
    """Return the command of a PostgreSQL program: as root, it runs as the user of the package."""
    if os.geteuid() != 0:
        return [*command]
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", *command]


def kill(child):
    """Kill a process, also one that is stopped, and wait for its end."""
    if child is not None and child.poll() is None:
        child.kill()
        child.wait(LIMIT_SECONDS)


@atexit.register
def kill_all():
    """Kill every child that still runs."""
    for child in _children:
        with contextlib.suppress(Exception):
            kill(child)


def jackpot(*arguments):
    """Return the command line of the controller."""
    return [sys.executable, "-P", "-m", "jackpot", *arguments]


def free_port():
    """Return a free port below the range from which the system takes ports for outgoing connections."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.SystemRandom().randrange(10_000, 32_000)))
            return probe.getsockname()[1]


def takes_connections(port, host="127.0.0.1"):
    """Return True if something listens on the port."""
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True


def wait_until(condition, what, seconds=LIMIT_SECONDS):
    """Wait until a condition is true and return its value; raise TimeoutError after the limit."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not happen within {seconds} s")
        time.sleep(0.02)
    return value
