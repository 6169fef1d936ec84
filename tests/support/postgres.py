"""A real PostgreSQL server for the tests, in a temporary folder."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg

from jackpot.store.database import Database


def _program(name):
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    if found is None:
        raise RuntimeError(f"PostgreSQL's {name} is not installed: apt-get install postgresql")
    return found


def _run(*command):
    """Run a command; as root, run it as the user of the package, because PostgreSQL refuses to run as root."""
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    subprocess.run([*as_user, *command], check=True, capture_output=True, cwd="/")


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server on its own port, which can be stopped and started again."""

    def __init__(self, folder):
        self._folder, self._data, self._port = folder, folder / "data", _free_port()
        self.url = f"postgresql://jackpot@127.0.0.1:{self._port}/postgres"
        _run(_program("initdb"), "-D", str(self._data), "-U", "jackpot", "-A", "trust", "-E", "UTF8", "--no-locale")

    def start(self, **settings):
        """Start it with these settings of postgresql.conf."""
        options = f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
        options += "".join(f" -c {name}={value}" for name, value in settings.items())
        log = str(self._folder / "log")
        _run(_program("pg_ctl"), "-D", str(self._data), "-l", log, "-w", "-o", options, "start")
        self.is_running = True

    def stop(self):
        _run(_program("pg_ctl"), "-D", str(self._data), "-m", "immediate", "-w", "stop")
        self.is_running = False


@contextmanager
def restartable():
    """Start a server for this context; the test may stop and start it."""
    folder = Path(tempfile.mkdtemp(prefix="jackpot-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        made = Server(folder)
        made.start()
        try:
            yield made
        finally:
            if made.is_running:
                made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server():
    """Start a server for this context and return its address."""
    with restartable() as made:
        yield made.url


def new_postgres_database(server_url, *options):
    """Create an empty database on a server and return its address."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(" ".join([f"CREATE DATABASE {name}", *options]))
    return f"{server_url.rpartition('/')[0]}/{name}"


def empty_database(kind, folder, request):
    """Return an empty database: "sqlite" in the folder, or "postgresql" on the session's server."""
    if kind == "sqlite":
        return Database(f"sqlite:///{folder / uuid4().hex}.db")
    return Database(new_postgres_database(request.getfixturevalue("postgres_url")))
