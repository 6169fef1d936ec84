"""Everything around a trial: store, broker, controllers as processes, the floor, and a supervisor."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from tests.faults import processes
from tests.faults.brokers import BROKERS
from tests.faults.floor import Floor
from tests.faults.processes import ROOT, free_port, jackpot, wait_until
from tests.faults.stores import STORES
from tests.faults.tcp_proxy import TcpProxy

TABLES = ("t1", "t2", "t3", "t4")
HTTP_SECONDS = 2.0
POLL_SECONDS = 0.25
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


class Controller:
    """One `jackpot serve`, on a machine of its own if it has one, with its proxies to the store and to the broker."""

    def __init__(self, folder, environment, *, machine=None, store_proxy=None, broker_proxy=None):
        self.folder, self.machine = folder, machine
        self.store_proxy, self.broker_proxy = store_proxy, broker_proxy
        self.address = f"{machine.address if machine else '127.0.0.1'}:{free_port()}"
        self.environment = {**environment, "JACKPOT_HTTP": self.address}
        self.process, self.log_file = None, folder / "serve.log"

    def start(self):
        command = _with_hostname(self.folder.name, jackpot("serve"))
        command = self.machine.command(*command) if self.machine else command
        self.process = processes.start(*command, log=self.log_file, cwd=self.folder, env=self.environment)

    def kill(self):
        processes.kill(self.process)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self, seconds):
        """Stop by SIGTERM; return how long it took, or None if it had to be killed."""
        began = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        return time.monotonic() - began

    def readiness(self):
        """Return the status of /readyz; None if nothing answers."""
        return _status(f"http://{self.address}/readyz")

    @property
    def log(self):
        return self.log_file.read_text(errors="replace")

    def close(self):
        self.kill()
        for proxy in (self.store_proxy, self.broker_proxy):
            if proxy is not None:
                proxy.close()


class Surroundings:
    """A site on a store and a broker, with its controllers and a floor that plays."""

    def __init__(self, store="sqlite", broker="mosquitto", *, controllers=1, clock=False, **store_options):
        self._open = contextlib.ExitStack()
        try:
            self._build(store, broker, controllers, clock, store_options)
        except BaseException:
            self._open.close()
            raise

    def _build(self, store, broker, controllers, clock, store_options):
        self.folder = Path(tempfile.mkdtemp(prefix="jackpot-faults-site-"))
        self._open.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = self._make_store(store, store_options)
        self._open.callback(self.store.close)
        self.broker = self._make_broker(broker)
        self._open.callback(self.broker.close)
        self.site = f"faults-{uuid.uuid4().hex[:8]}"
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "JACKPOT_VERIFY_MINUTES": "0"}
        self.clock_file = self.folder / "clock" if clock else None
        self.tokens = self._init()
        self.controllers = [self._controller(number) for number in range(1, controllers + 1)]
        self.readiness, self.resume_statuses = [], set()
        self._ended = threading.Event()
        self.floor = None

    def _make_store(self, name, options):
        return STORES[name](**options)

    def _make_broker(self, name):
        return BROKERS[name]()

    def _init(self):
        first = self.folder / "c1"
        first.mkdir()
        options = ("--site", self.site, "--tables", str(len(TABLES)), "--database", self.store.url)
        broker = ("--broker", f"mqtt://{self.broker.host}:{self.broker.port}")
        done = subprocess.run(
            jackpot("init", *options, *broker, "--json"),
            cwd=first, env=self.environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)["tokens"]

    def _controller(self, number):
        folder = self.folder / f"c{number}"
        if number > 1:
            folder.mkdir()
            for name in ("jackpot.toml", "jackpot.key"):
                shutil.copy2(self.folder / "c1" / name, folder / name)
        made = self._make_controller(number, folder)
        self._open.callback(made.close)
        return made

    def _make_controller(self, _number, folder):
        """Make a controller that reaches the store and the broker by proxies of its own."""
        broker = TcpProxy(*self.broker.controller_ports)
        environment = {**self.environment, **self._clock(), "JACKPOT_BROKER": f"mqtt://127.0.0.1:{broker.port}"}
        store = TcpProxy(self.store.port) if self.store.port else None
        if store is not None:
            environment["JACKPOT_DATABASE"] = self.store.url.replace(f":{self.store.port}/", f":{store.port}/")
        return Controller(folder, environment, store_proxy=store, broker_proxy=broker)

    def _clock(self):
        """Return the environment in which a file sets the clock."""
        if self.clock_file is None:
            return {}
        if not FAKETIME.exists():
            raise RuntimeError("libfaketime is not installed: apt-get install libfaketime")
        self.clock_file.write_text("+0\n")
        return {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(self.clock_file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    @property
    def controller(self):
        return self.controllers[0]

    def begin(self, accepted=50):
        """Start the controllers, then the floor, and wait until it plays."""
        self.controller.start()
        wait_until(lambda: self._ready(self.controller), "the first controller", 90)
        for other in self.controllers[1:]:
            other.start()
            wait_until(lambda other=other: self._ready(other), "another controller", 90)
        addresses = [(self.broker.host, port) for port in self.broker.client_ports]
        self.floor = Floor(self.site, addresses, TABLES)
        self._open.callback(self._end_floor)
        for work in (self._supervise, self._watch_readiness):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._open.callback(thread.join)
        self._open.callback(self._ended.set)
        wait_until(lambda: len(self.floor.record.accepted_at) >= accepted, "the play", 90)

    def _ready(self, controller):
        if controller.process.poll() is not None:
            raise RuntimeError(f"the controller has ended: {controller.log[-1_500:]}")
        return controller.readiness() == 200

    def _end_floor(self):
        with contextlib.suppress(Exception):
            self.floor.close()

    # Threads beside the floor.

    def _supervise(self):
        """Resume each suspended table, as a supervisor does who has seen to it."""
        while not self._ended.wait(POLL_SECONDS):
            for table in self.floor.suspended():
                self.resume_statuses.add(self.act(f"tables/{table}/resume", {"note": "the fault is over"}))

    def _watch_readiness(self):
        """Note when everything looks well: a controller is ready, and no table is suspended."""
        while not self._ended.wait(POLL_SECONDS):
            is_ready = any(controller.readiness() == 200 for controller in self.controllers)
            self.readiness.append((time.monotonic(), is_ready and not self.floor.suspended()))

    def act(self, path, body):
        """Send a manager's act to the first controller that carries it out; return its status."""
        data = json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.tokens['manager1']}", "Content-Type": "application/json"}
        status = None
        for controller in self.controllers:
            request = urllib.request.Request(f"http://{controller.address}/api/v1/{path}", data, headers)
            status = _status(request)
            if status == 200:
                break
        return status

    # For faults and the judgement.

    def await_play(self, since, wagers=20, seconds=60.0):
        """Wait until this number of wagers was accepted, and every earlier one answered; return False if not."""
        record = self.floor.record

        def goes_on():
            accepted, _ = record.accepted_since(since)
            return accepted >= wagers and all(wager.sent_at > since for wager in record.unanswered())

        with contextlib.suppress(TimeoutError):
            return wait_until(goes_on, "play", seconds)
        return False

    def settle(self, seconds=1.0):
        """Play on for a while, so that the next fault finds a controller at work."""
        self.await_play(time.monotonic() + seconds, seconds=60.0 + seconds)

    def why_stuck(self):
        """Return what is known about a floor that does not play."""
        phases = {table.name: (table.phase, table.suspended) for table in self.floor.tables.values()}
        unanswered = len(self.floor.record.unanswered())
        return f"tables {phases}, {unanswered} wagers unanswered, resume answered {self.resume_statuses}"

    def last_log(self, controller):
        """Return the last line that a controller has logged."""
        lines = controller.log.strip().splitlines()
        return lines[-1][:300] if lines else ""

    def silent_seconds(self, begin, until):
        """Return the longest time without an accepted wager in which everything looked well."""
        longest = current = 0.0
        accepted = [at for at in list(self.floor.record.accepted_at) if begin - POLL_SECONDS <= at <= until]
        before = begin
        for at, ready in self.readiness:
            if not begin <= at <= until:
                continue
            is_quiet = not any(before <= moment <= at for moment in accepted)
            current = current + (at - before) if ready and is_quiet else 0.0
            longest, before = max(longest, current), at
        return longest

    def verify_command(self):
        return jackpot("audit", "verify")

    def close(self):
        self._open.close()


def _with_hostname(name, command):
    """Return a command that runs under another host name, so that controllers take each other for other machines."""
    if os.geteuid() != 0:
        return command
    return ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', name, *command]


def _status(request):
    try:
        with urllib.request.urlopen(request, timeout=HTTP_SECONDS) as reply:
            reply.read()
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError):
        return None
