"""A PostgreSQL cluster under Patroni: one etcd and three database nodes, each on a machine of its own."""

import json
import os
import shutil
import signal
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import psycopg
import yaml

from tests.faults import processes
from tests.faults.namespaces import PREFIX, machine
from tests.faults.processes import ROOT, wait_until
from tests.faults.stores import program

CONFIG = ROOT / "deploy" / "ha" / "patroni.yml"
PATRONI = ROOT / ".venv-ha" / "bin" / "python"
PASSWORD = "for-this-run-only"
READY_SECONDS = 120


class DatabaseNode:
    """A machine with Patroni and PostgreSQL."""

    def __init__(self, folder, name, number, etcd):
        self.machine, self.name = machine(name, number), name
        self.folder = folder / name
        self.folder.mkdir()
        shutil.chown(self.folder, "postgres", "postgres")
        self._config = self.folder / "patroni.yml"
        self._config.write_text(yaml.safe_dump(self._settings(etcd)))
        shutil.chown(self._config, "postgres", "postgres")
        self._config.chmod(0o600)

    def _settings(self, etcd):
        """Return the settings of `deploy/ha/patroni.yml`, with the addresses and folders of this run."""
        config, address = yaml.safe_load(CONFIG.read_text()), self.machine.address
        config["name"] = self.name
        config["restapi"] = {"listen": f"{address}:8008", "connect_address": f"{address}:8008"}
        config["etcd3"] = {"hosts": [f"{etcd}:2379"]}
        database = config["postgresql"]
        database |= {"listen": f"{address}:5432", "connect_address": f"{address}:5432"}
        database |= {"data_dir": str(self.folder / "data"), "pgpass": str(self.folder / "pgpass")}
        database["bin_dir"] = str(_programs())
        database["parameters"]["unix_socket_directories"] = str(self.folder)
        database["pg_hba"] = [rule.replace("10.0.0.", PREFIX) for rule in database["pg_hba"]]
        for user in database["authentication"].values():
            user["password"] = PASSWORD
        config["watchdog"] = {"mode": "off"}
        return config

    def start(self):
        """Start Patroni as the user postgres, who may read the Python of this run wherever it is."""
        user = ("--reuid=postgres", "--regid=postgres", "--clear-groups")
        reads = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
        command = ("setpriv", *user, *reads, PATRONI, "-P", "-m", "patroni", self._config)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        processes.start(*self.machine.command(*command), log=self.folder / "log", cwd="/", env=environment)

    def postmaster(self):
        """Return the process id of PostgreSQL."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def kill(self):
        """Kill Patroni and PostgreSQL."""
        self.machine.signal_all(signal.SIGKILL)
        wait_until(lambda: not self.machine.processes(), "the end of a node")


class Cluster:
    """The nodes, and what Patroni says of them; all files are in the memory of these namespaces."""

    port = None

    def __init__(self):
        if not PATRONI.exists():
            raise RuntimeError("Patroni is not installed: run `make .venv-ha/.installed`")
        self.folder = Path(tempfile.mkdtemp(prefix="patroni-", dir="/run"))
        self.folder.chmod(0o755)
        self._etcd = machine("etcd", 10)
        self._start_etcd()
        self.nodes = [DatabaseNode(self.folder, f"db{n}", 10 + n, self._etcd.address) for n in (1, 2, 3)]
        for node in self.nodes:
            node.start()
        self.wait_healthy()
        self._create_database()
        self.url = self._url("jackpot", "jackpot")

    def _start_etcd(self):
        address = self._etcd.address
        client, peer = f"http://{address}:2379", f"http://{address}:2380"
        command = (
            "etcd", "--name", "etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"etcd={peer}",
        )  # fmt: skip
        processes.start(*self._etcd.command(*command), log=self.folder / "etcd.log")
        wait_until(lambda: processes.takes_connections(2379, address), "etcd")

    def _create_database(self):
        with psycopg.connect(self._url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE ROLE jackpot LOGIN PASSWORD '{PASSWORD}'")
            connection.execute("CREATE DATABASE jackpot OWNER jackpot")

    def _url(self, user, database):
        hosts = ",".join(node.machine.address for node in self.nodes)
        return f"postgresql://{user}:{PASSWORD}@{hosts}/{database}?target_session_attrs=read-write&connect_timeout=2"

    # What Patroni says.

    def members(self):
        """Return the members by name, as any node's Patroni reports them; empty if none answers."""
        for node in self.nodes:
            try:
                with urllib.request.urlopen(f"http://{node.machine.address}:8008/cluster", timeout=2) as reply:
                    return {member["name"]: member for member in json.load(reply)["members"]}
            except (OSError, ValueError, KeyError):
                continue
        return {}

    def is_healthy(self):
        """Return True if there is a leader, a synchronous standby, and another one that streams."""
        members = self.members().values()
        roles = sorted(member["role"] for member in members)
        states = {member["state"] for member in members}
        return roles == ["leader", "replica", "sync_standby"] and states <= {"running", "streaming"}

    def wait_healthy(self):
        wait_until(self.is_healthy, "a cluster of three nodes", READY_SECONDS)

    def primary(self):
        """Return the node that is the leader."""
        leader = next(name for name, member in self.members().items() if member["role"] == "leader")
        return next(node for node in self.nodes if node.name == leader)

    def switch_over(self):
        """Ask Patroni for a planned switch-over."""
        leader = self.primary()
        body = json.dumps({"leader": leader.name}).encode()
        request = urllib.request.Request(
            f"http://{leader.machine.address}:8008/switchover", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            reply.read()

    def answers(self):
        try:
            with psycopg.connect(self.url) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.Error:
            return False

    def close(self):
        """Kill every node; the namespaces go with this process."""
        for node in self.nodes:
            node.kill()
        self._etcd.signal_all(signal.SIGKILL)
        time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)


def _programs():
    """Return the folder with all programs of PostgreSQL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_isready"), reverse=True)
    return (found[0] if found else Path(program("pg_isready")).resolve()).parent
