"""The stores under test: a SQLite file, and a PostgreSQL server that can be killed, stopped and filled up."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tests.faults import processes
from tests.faults.processes import as_postgres, free_port, wait_until

DISK_MIB = 256
_FILLER = "filler"


class Disk:
    """A folder, or a small file system of its own that can be filled."""

    def __init__(self, *, small):
        self.folder, self._small = Path(tempfile.mkdtemp(prefix="jackpot-faults-")), small
        self.folder.chmod(0o755)
        if small:
            options = f"size={DISK_MIB}m,mode=755"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)], check=True)

    def fill(self):
        """Use every free byte."""
        with (self.folder / _FILLER).open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def free(self):
        (self.folder / _FILLER).unlink(missing_ok=True)

    def close(self):
        if self._small:
            subprocess.run(["umount", "-l", str(self.folder)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class SqliteStore:
    """A SQLite file."""

    def __init__(self, *, small_disk=False):
        self.disk = Disk(small=small_disk)
        self.file = self.disk.folder / "jackpot.db"
        self.url = f"sqlite:///{self.file}"
        self.port = None

    def close(self):
        self.disk.close()


class PostgresStore:
    """A PostgreSQL server on loopback."""

    def __init__(self, *, small_disk=False, **settings):
        self.disk = Disk(small=small_disk)
        self.data, self.port, self._settings = self.disk.folder / "data", free_port(), settings
        self._log = self.disk.folder.parent / f"{self.disk.folder.name}.log"
        self.url = f"postgresql://jackpot@127.0.0.1:{self.port}/postgres"
        self.process = None
        if os.geteuid() == 0:
            shutil.chown(self.disk.folder, "postgres", "postgres")
        initdb = (program("initdb"), "-D", self.data, "-U", "jackpot", "-A", "trust", "-E", "UTF8", "--no-locale")
        subprocess.run(as_postgres(*map(str, initdb)), check=True, capture_output=True, cwd="/")
        self.start()

    def start(self, *, wait=True):
        """Start the server, and wait until it takes connections."""
        folder = self.disk.folder
        options = {"listen_addresses": "127.0.0.1", "max_wal_size": "64MB", "min_wal_size": "32MB", **self._settings}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        command = as_postgres(program("postgres"), "-D", self.data, "-p", str(self.port), "-k", folder, *settings)
        self.process = processes.start(*command, log=self._log, cwd="/")
        if wait:
            self.wait_ready()

    def wait_ready(self):
        wait_until(self.answers, "PostgreSQL")

    def answers(self):
        try:
            with psycopg.connect(self.url, connect_timeout=2) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.Error:
            return False

    def kill(self):
        """Kill the postmaster, and wait until its children have ended too."""
        self.process.kill()
        self.process.wait(processes.LIMIT_SECONDS)
        wait_until(lambda: not self._children(), "the end of PostgreSQL's processes")

    def stop(self):
        """Stop the server as `systemctl stop` does: sessions are ended, and data is written."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(processes.LIMIT_SECONDS)

    def _children(self):
        """Return the processes that still use the data folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cwd").readlink() == self.data:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def connect(self):
        return psycopg.connect(self.url, autocommit=True, connect_timeout=10)

    def writers_backend(self):
        """Return the process id of the backend that last advanced a jackpot's head."""
        query = (
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " AND query LIKE '%advance_head%' AND query NOT LIKE '%pg_stat_activity%' ORDER BY state_change DESC"
        )
        with self.connect() as connection:
            return wait_until(lambda: connection.execute(query).fetchone(), "a commit")[0]

    def close(self):
        if self.process is not None and self.process.poll() is None:
            for child in self._children():
                _signal(child, signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                processes.kill(self.process)
        self._log.unlink(missing_ok=True)
        self.disk.close()


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def program(name):
    """Return the path of a PostgreSQL program."""
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    if found is None:
        raise RuntimeError(f"PostgreSQL's {name} is not installed: apt-get install postgresql")
    return found


STORES = {"sqlite": SqliteStore, "postgresql": PostgresStore}
