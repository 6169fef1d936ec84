"""A process that imports the controller once and forks for each `jackpot` command or daemon of the tests.

Starting Python and importing the controller takes seconds, and the tests do it hundreds of times. A forked child has
its own arguments, environment, folder, output, user and exit code, can be killed, and ends like any interpreter. Some
tests start `python -m jackpot` nevertheless.
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
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


class Child:
    """A forked process, with the methods of `subprocess.Popen`."""

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
            assert time.monotonic() < until, "the exit code was not reported"
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


class ForkServer:
    """The process that has imported the controller, as the tests see it."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="jackpot-fork-server-")
        self._process = subprocess.Popen(
            [sys.executable, __file__, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUTF8": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        self._lock = Lock()

    def start(self, folder, *arguments, environment, out=os.devnull, err=os.devnull, user=None, max_file_bytes=None):
        """Start a command; its output is appended to the files."""
        status = Path(self._folder.name) / uuid.uuid4().hex
        request = {
            "arguments": [str(argument) for argument in arguments],
            "folder": str(folder),
            "environment": environment,
            "out": str(out),
            "err": str(err),
            "user": user,
            "max_file_bytes": max_file_bytes,
            "status": str(status),
        }
        with self._lock:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            pid = int(self._process.stdout.readline())
        return Child(pid, status)

    def run(self, folder, *arguments, **options):
        """Run a command and return its result."""
        with tempfile.TemporaryDirectory(dir=self._folder.name) as kept:
            out, err = Path(kept) / "out", Path(kept) / "err"
            code = self.start(folder, *arguments, out=out, err=err, **options).wait()
            return Done(code, out.read_text(), err.read_text())

    def close(self):
        self._process.communicate()
        self._folder.cleanup()


def fork_server():
    """Return the fork server of this process, which ends with it."""
    with _making:
        if not _made:
            _made.append(ForkServer())
            atexit.register(_made[0].close)
    return _made[0]


_made, _making = [], Lock()


# The code of the server process.


def serve(folder):
    """Fork for each request and write each child's exit code to a file; kill all children at the end."""
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()
    ended, wake = os.pipe()
    for end in (ended, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    living, unread = {}, b""
    while True:
        ready = select.select([0, ended], [], [])[0]
        if ended in ready:
            os.read(ended, 1 << 16)
            _report_ended(folder, living)
        if 0 not in ready:
            continue
        more = os.read(0, 1 << 16)
        if not more:
            break
        *lines, unread = (unread + more).split(b"\n")
        for request in map(json.loads, lines):
            child = os.fork()
            if child == 0:
                return request, (ended, wake)
            living[child] = Path(request["status"])
            os.write(1, f"{child}\n".encode())
    for child in living:
        os.kill(child, signal.SIGKILL)
    return None


def _report_ended(folder, living):
    for child, status in list(living.items()):
        pid, status_code = os.waitpid(child, os.WNOHANG)
        if pid:
            del living[child]
            written = Path(folder) / f"{child}.new"
            written.write_text(str(os.waitstatus_to_exitcode(status_code)))
            written.rename(status)


def become(request, pipe):
    """Run the command in the child, as if Python had just been started for it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for end in pipe:
        os.close(end)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, request["out"]), (2, request["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    if request["max_file_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["max_file_bytes"], request["max_file_bytes"]))
    if request["user"]:
        os.setgroups([])
        os.setgid(request["user"])
        os.setuid(request["user"])
    sys.argv = ["jackpot", *request["arguments"]]
    importlib.import_module("jackpot.cli").main()


if __name__ == "__main__":
    forked = serve(sys.argv[1])
    if forked is not None:
        become(*forked)
