"""Parts of system tests: real brokers, the daemon as a process, and an MQTT client that waits for messages."""

import contextlib
import copy
import json
import os
import queue
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from contextlib import contextmanager
from pathlib import Path

import paho.mqtt.client as paho
from sqlalchemy import select

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.event_rows import event_from_row
from jackpot.store.signed_notes import Signer
from tests.support.fork_server import fork_server

LIMIT_SECONDS = 60
"""Far more than anything here takes, so that a slow machine is no failure."""
REPO = Path(__file__).parent.parent.parent


def free_port():
    """Return a free port below the range from which the system takes ports for outgoing connections."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.SystemRandom().randrange(10_000, 32_000)))
            return probe.getsockname()[1]


def wait_until(condition, what="it", seconds=LIMIT_SECONDS):
    """Wait until a condition is true, and return its value."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what} did not happen within {seconds} s")


@contextmanager
def mosquitto(folder, port=None, settings="log_type error\n"):
    """Start Debian's Mosquitto on its own port, and kill it at the end."""
    port = port or free_port()
    config = Path(folder) / f"mosquitto-{port}.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\npersistence false\n"
        f"max_inflight_messages 500\nmax_queued_messages 20000\n{settings}"
    )
    process = subprocess.Popen(
        [shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", str(config)], stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: takes_connections(port), "mosquitto")
        yield port
    finally:
        process.kill()
        process.wait()


def broker_process(port):
    """Return the process id of the Mosquitto on this port."""
    config = f"mosquitto-{port}.conf".encode()
    return next(int(one.parent.name) for one in Path("/proc").glob("[0-9]*/cmdline") if config in one.read_bytes())


def takes_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


class _ReadPositions(dict):
    """The position in the messages from which each topic is read next."""

    def __init__(self, start):
        super().__init__()
        self.start = start

    def get(self, topic, _default):
        return super().get(topic, self.start)


class Client:
    """An MQTT client of a test, which keeps all received messages in order."""

    def __init__(self, port, site, *topics, client_id="", clean=True, will=None):
        self._begin(site)
        self.paho = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=client_id, clean_session=clean)
        self.paho.on_message = self._on_message
        self._subscribed = queue.Queue()
        self.paho.on_subscribe = lambda *_: self._subscribed.put(True)
        if will is not None:
            self.paho.will_set(f"{self.root}/{will[0]}", json.dumps(will[1]), 1, retain=True)
        self.paho.connect("127.0.0.1", port, 60)
        self.paho.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.paho.loop_start()
        for topic in topics:
            self.paho.subscribe(f"{self.root}/{topic}", 1)
            self._subscribed.get(timeout=LIMIT_SECONDS)

    def _begin(self, site):
        self.root = f"jackpot/v1/{site}"
        self.all, self._read, self._changed = [], _ReadPositions(0), threading.Condition()
        self.received_at = []

    def _on_message(self, _client, _userdata, message):
        self._receive(message.topic, message.payload)

    def _receive(self, topic, payload):
        try:
            body = json.loads(payload)
        except ValueError:
            body = None
        with self._changed:
            self.all.append((topic.removeprefix(f"{self.root}/"), body))
            self.received_at.append(time.monotonic())
            self._changed.notify_all()

    def publish(self, topic, body, retain=False):
        payload = body if isinstance(body, str | bytes) else json.dumps(body)
        self.paho.publish(f"{self.root}/{topic}", payload, 1, retain).wait_for_publish(LIMIT_SECONDS)

    def wait(self, topic, holds=lambda _body: True, seconds=LIMIT_SECONDS):
        """Return the next message on this topic for which this holds, after the one returned last."""
        until = time.monotonic() + seconds
        at = self._read.get(topic, 0)
        with self._changed:
            while True:
                while at < len(self.all):
                    found, body = self.all[at]
                    at += 1
                    if found == topic and body is not None and holds(body):
                        self._read[topic] = at
                        return body
                if not self._changed.wait(until - time.monotonic()):
                    received = [body for found, body in self.all if found == topic]
                    raise AssertionError(f"no such message on {topic} within {seconds} s; received {received[-5:]}")

    def command(self, table, command_id, kind, **fields):
        """Send a dealer's command and return the reply."""
        self.publish(f"tables/{table}/dealer/command", {"command_id": command_id, "type": kind, **fields})
        return self.wait(f"tables/{table}/dealer/reply", lambda reply: reply["command_id"] == command_id)

    def play(self, table, number, cards):
        """Play a round with one hand, at box 3."""
        name = f"{table}-{number}"
        self.command(table, f"{name}-open", "open_round")
        self.wager(table, 3, f"{name}-w", number)
        self.command(table, f"{name}-close", "close_wagers", round=number)
        self.command(table, f"{name}-declare", "declare", round=number, box=3, cards=cards)
        self.command(table, f"{name}-settle", "settle", round=number)

    def wager(self, table, box, wager_id, number, **other):
        """Send a wager and return the lamp message that answers it."""
        body = {"wager_id": wager_id, "round": number, "amount_cents": 200, "ante": True, **other}
        self.publish(f"tables/{table}/pads/{box}/wager", body)
        return self.lamp(table, box, wager_id)

    def lamp(self, table, box, wager_id):
        answered = lambda lamp: lamp["answer"] and lamp["answer"]["wager_id"] == wager_id  # noqa: E731
        return self.wait(f"tables/{table}/pads/{box}/lamp", answered)

    def last(self, topic):
        """Return the newest message on this topic; None if there was none."""
        with self._changed:
            return next((body for found, body in reversed(self.all) if found == topic), None)

    def times(self, topic):
        """Return each message on this topic with the time it was received."""
        with self._changed:
            return [(at, body) for at, (found, body) in zip(self.received_at, self.all, strict=True) if found == topic]

    def skip(self):
        """Ignore all messages received so far."""
        with self._changed:
            self._read = _ReadPositions(len(self.all))

    def break_connection(self):
        """Close the socket without DISCONNECT, so that the broker publishes the will."""
        self.paho.loop_stop()
        self.paho.socket().shutdown(socket.SHUT_RDWR)

    def close(self):
        self.paho.disconnect()
        self.paho.loop_stop()


class Tools(Client):
    """A client that publishes with mosquitto_pub and receives with mosquitto_sub."""

    def __init__(self, port, site, *topics):
        self._begin(site)
        self._where = ["-h", "127.0.0.1", "-p", str(port), "-q", "1"]
        filters = [part for topic in topics for part in ("-t", f"{self.root}/{topic}")]
        self._listener = subprocess.Popen(
            ["mosquitto_sub", *self._where, *filters, "-F", "%t %p"], stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._listen)
        self._reader.start()

    def _listen(self):
        for line in self._listener.stdout:
            self._receive(*line.split(" ", 1))

    def publish(self, topic, body, retain=False):
        options = ["-t", f"{self.root}/{topic}", "-m", json.dumps(body), *(["-r"] if retain else [])]
        subprocess.run(["mosquitto_pub", *self._where, *options], check=True, timeout=LIMIT_SECONDS)

    def close(self):
        self._listener.kill()
        self._listener.wait()
        self._reader.join()
        self._listener.stdout.close()


class Site:
    """A site in a folder and its daemon as a process, by default forked from one that has imported the controller."""

    def __init__(self, folder, broker, *, tables=3, database=None, forked=True, **settings):
        self.forked = forked
        self.folder, self.http, self.metrics = Path(folder), free_port(), free_port()
        self.settings = {"HTTP": f"127.0.0.1:{self.http}", "METRICS": f"127.0.0.1:{self.metrics}", **settings}
        self.process, self.starts, self.id = None, 0, f"casino-{uuid.uuid4().hex[:8]}"
        self.log_file = self.folder / "serve.log"
        database = database or "sqlite:///jackpot.db"
        in_folder = f"sqlite:///{self.folder.absolute()}/"
        self.database = database.replace("sqlite:///", in_folder) if database.startswith("sqlite") else database
        made = self.run(
            "init", "--site", self.id, "--tables", str(tables), "--broker", broker, "--database", database, "--json"
        )
        assert made.code == 0, made.err
        self.tokens = list(json.loads(made.out)["tokens"].values())

    @property
    def environment(self):
        own = {f"JACKPOT_{name.upper()}": str(value) for name, value in self.settings.items()}
        return {**os.environ, "PYTHONPATH": str(REPO), **own}

    def run(self, *arguments):
        return fork_server().run(self.folder, *arguments, environment=self.environment)

    def answer(self, *arguments):
        done = self.run(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    @property
    def log(self):
        return self.log_file.read_text()

    def twin(self):
        """Return the same site for a second daemon."""
        other = copy.copy(self)
        other.http, other.metrics, other.process, other.starts = free_port(), free_port(), None, 0
        other.settings = {**self.settings, "HTTP": f"127.0.0.1:{other.http}", "METRICS": f"127.0.0.1:{other.metrics}"}
        other.log_file = self.folder / f"serve-{other.http}.log"
        return other

    def start(self, *, wait=True):
        """Start the daemon; it is ready when it has logged "serving" after this start."""
        self.starts += 1
        self.process = self._start_process()
        if wait:
            self.wait_ready()
        return self.process

    def _start_process(self):
        self.log_file.touch()
        if self.forked:
            return fork_server().start(self.folder, "serve", environment=self.environment, err=self.log_file)
        with self.log_file.open("a") as log:
            command = [sys.executable, "-m", "jackpot", "serve"]
            return subprocess.Popen(command, cwd=self.folder, env=self.environment, stderr=log)

    def wait_ready(self):
        def ready():
            assert self.process.poll() is None, self.log[-2_000:]
            return self.log.count('"serving"') >= self.starts and takes_connections(self.http)

        wait_until(ready, "the daemon")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Stop the daemon by SIGTERM and return its exit code."""
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.terminate()
        return self.process.wait(timeout=LIMIT_SECONDS)

    def act(self, path, body=None, token=0, **headers):
        """Send an operator's act by HTTP and return (status, answer)."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}/api/v1/{path}",
            json.dumps(body or {}).encode(),
            {"Authorization": f"Bearer {self.tokens[token]}", "Content-Type": "application/json", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def metric(self, name):
        """Return the sum of the metrics whose lines begin with this."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=LIMIT_SECONDS) as reply:
            lines = [line for line in reply.read().decode().splitlines() if line.startswith(name)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def events(self, chain="main"):
        """Return all events of a chain, the oldest first."""
        query = select(tables.events).where(tables.events.c.chain == chain).order_by(tables.events.c.seq)
        return [event_from_row(row) for row in self.rows(query)]

    def rows(self, query):
        """Return the rows of a query to the site's database."""
        database = Database(self.database)
        try:
            with database.reader() as connection:
                return connection.execute(query).all()
        finally:
            database.close()

    def change(self, statement):
        """Change the site's database without its daemon."""
        database = Database(self.database)
        try:
            with database.transaction() as connection:
                connection.execute(statement)
        finally:
            database.close()

    def head(self, chain="main"):
        """Return the number of events in a chain."""
        return self.rows(select(tables.chains.c.seq).where(tables.chains.c.chain == chain))[0].seq

    @property
    def verifier(self):
        """The site's public key."""
        return Signer.of((self.folder / "jackpot.key").read_text().strip()).verifier

    def verified(self):
        """Verify the trail, and that the state is that of its events."""
        done = self.run("audit", "verify")
        assert done.code == 0, done.out + done.err
        return True
