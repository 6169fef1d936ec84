"""Runs `jackpot` commands and daemons, each a process of its own, without importing everything each time.

To start Python and import the controller takes seconds of a core, and the tests start it hundreds of times; so one
process imports it once and forks for each. The child has its own arguments, environment, folder, output, user and exit
code, can be killed, and ends as any interpreter does. Some tests start `python -m jackpot` all the same.
"""

import atexit
import gc
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from threading import Lock
from typing import NamedTuple

LIMIT_SECONDS = 120
COMMANDS = ("audit", "floor", "operators", "queries", "serve", "setup")
IMPORTED = (
    "rich.table",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "jackpot.app",
    *(f"jackpot.cli.{command}" for command in COMMANDS),
)


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Child:
    """A process that was forked for us, with what `subprocess.Popen` offers."""

    def __init__(self, pid, status):
        self.pid, self.returncode, self._status = pid, None, status
        try:
            self._ended = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = None

    def poll(self):
        if self.returncode is None and (self._ended is None or select.select([self._ended], [], [], 0)[0]):
            self.wait()
        return self.returncode

    def wait(self, timeout=LIMIT_SECONDS):
        if self.returncode is not None:
            return self.returncode
        if self._ended is not None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("jackpot", timeout)
            os.close(self._ended)
            self._ended = None
        until = time.monotonic() + LIMIT_SECONDS
        while not self._status.exists():
            assert time.monotonic() < until, "nobody says how it ended"
            time.sleep(0.001)
        self.returncode = int(self._status.read_text())
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class Forking:
    """The process that has imported everything, seen from the tests."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="jackpot-forking-")
        self._process = subprocess.Popen(
            [sys.executable, __file__, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUTF8": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        self._asking = Lock()

    def start(self, folder, *arguments, environment, out=os.devnull, err=os.devnull, user=None, most_bytes=None):
        """Begin a command; its output is added to the files."""
        status = Path(self._folder.name) / uuid.uuid4().hex
        asked = {
            "arguments": [str(argument) for argument in arguments],
            "folder": str(folder),
            "environment": environment,
            "out": str(out),
            "err": str(err),
            "user": user,
            "most_bytes": most_bytes,
            "status": str(status),
        }
        with self._asking:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            pid = int(self._process.stdout.readline())
        return Child(pid, status)

    def run(self, folder, *arguments, **options):
        """A command, once it has ended."""
        with tempfile.TemporaryDirectory(dir=self._folder.name) as kept:
            out, err = Path(kept) / "out", Path(kept) / "err"
            code = self.start(folder, *arguments, out=out, err=err, **options).wait()
            return Done(code, out.read_text(), err.read_text())

    def close(self):
        self._process.communicate()
        self._folder.cleanup()


def forking():
    """The one of this process; it ends with it."""
    with _making:
        if not _made:
            _made.append(Forking())
            atexit.register(_made[0].close)
    return _made[0]


_made, _making = [], Lock()


# The process itself.


def serve(folder):
    """Fork for each line that is asked; tell in a file how each child ended; at the end, end them all."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()
    ended, tell = os.pipe()
    for end in (ended, tell):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(tell)
    living, unread = {}, b""
    while True:
        ready = select.select([0, ended], [], [])[0]
        if ended in ready:
            os.read(ended, 1 << 16)
            _tell_of_ended(folder, living)
        if 0 not in ready:
            continue
        more = os.read(0, 1 << 16)
        if not more:
            break
        *lines, unread = (unread + more).split(b"\n")
        for asked in map(json.loads, lines):
            child = os.fork()
            if child == 0:
                return asked, (ended, tell)
            living[child] = Path(asked["status"])
            os.write(1, f"{child}\n".encode())
    for child in living:
        os.kill(child, signal.SIGKILL)
    return None


def _tell_of_ended(folder, living):
    for child, status in list(living.items()):
        pid, how = os.waitpid(child, os.WNOHANG)
        if pid:
            del living[child]
            written = Path(folder) / f"{child}.new"
            written.write_text(str(os.waitstatus_to_exitcode(how)))
            written.rename(status)


def become(asked, pipe):
    """In the child: be the command, as if Python had just been started for it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for end in pipe:
        os.close(end)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, asked["out"]), (2, asked["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    if asked["most_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["most_bytes"], asked["most_bytes"]))
    if asked["user"]:
        os.setgroups([])
        os.setgid(asked["user"])
        os.setuid(asked["user"])
    sys.argv = ["jackpot", *asked["arguments"]]
    importlib.import_module("jackpot.cli").main()


if __name__ == "__main__":
    forked = serve(sys.argv[1])
    if forked is not None:
        become(*forked)
