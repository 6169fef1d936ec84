"""Wagers from pads to lamps, compared with echoes, in one run: python bench/wire.py [--memory] [--no-postgres]

One load generator (raw sockets, 20 connections with 5 wagers in flight each) uses, through the same broker: a client on
raw sockets that answers each wager with a lamp message; aiomqtt's client doing the same in paho's callback; the
controller's MQTT session doing the same; and the controller, which commits each wager first. All run at the same time
and are loaded in turns for short periods, so that other activity of the machine affects them equally; rounds are opened
and settled between the timed periods. The time of a wager beyond that of an echo is compared with commits of one row by
the driver alone, measured between the periods: its p99 must be within three p99 of such a commit. The processor use
shows what limits each result.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import processors
from raw_mqtt import RawClient
from rich.console import Console
from rich.table import Table

from jackpot.wire.embedded_broker import embedded, free_port
from jackpot.wire.private_api import paho_of

HERE = Path(__file__).parent
SITE = "bench"
TABLES, BOXES = 100, 20
CONNECTIONS, IN_FLIGHT = 20, 5
LIMIT_SECONDS = 20.0
REST_SECONDS = 1.0
WARM_UPS = 3
PER_SECOND, PACED_SECONDS = 200, 2
BEFORE = " before"
"""Suffix of the name of a controller from another checkout."""
PACED = "aiomqtt", "SQLite", "PostgreSQL", f"SQLite{BEFORE}", f"PostgreSQL{BEFORE}"
"""Responders whose lamps are also timed at a steady rate."""
NO_DELAY = socket.IPPROTO_TCP, socket.TCP_NODELAY, 1


def root_of(site: str) -> str:
    """Return the root of a site's topics."""
    return f"jackpot/v1/{site}"


class Timing(NamedTuple):
    """The rate and latencies of a measured period."""

    per_second: float
    p50_ms: float
    p99_ms: float


class Pads:
    """The pads of some tables on one connection, with a few wagers in flight."""

    def __init__(self, name: str, tables: list[str], site: str) -> None:
        self.name = f"{site}-{name}"
        self.tables = tables
        self._root = root_of(site)
        self.answered = asyncio.Event()
        self.opened = asyncio.Event()
        self.await_lamps(1)
        self.took: list[float] = []
        self._sent: dict[bytes, float] = {}
        self._waiting: Iterator[tuple[bytes, bytes, bytes]] = iter(())
        self._paced: tuple[int, list[tuple[bytes, bytes, bytes]]] = 0, []
        self._left = 0

    async def connect(self, port: int) -> None:
        self.client = await RawClient.connect(port, f"load-{self.name}-{os.getpid()}", self._on_message)
        await self.client.subscribe(*(f"{self._root}/tables/{table}/pads/+/lamp" for table in self.tables))

    def begin(self, number: int, count: int) -> None:
        """Place this number of wagers on a round, over all boxes."""
        self._waiting = iter(self._wagers(number)[:count])
        self.expect(count)
        for _ in range(IN_FLIGHT):
            self._next()

    def await_lamps(self, number: int) -> None:
        """Start to count the lamp messages of a new round."""
        self._new_round = b'{"round":%d,' % number
        self._lamps = 0
        self.opened.clear()

    def expect(self, count: int) -> None:
        """Start to count answers."""
        self._left, self.took, self._sent = count, [], {}
        self.answered.clear()

    def place(self, number: int, index: int) -> None:
        """Place one wager, the index-th of this round, now."""
        if self._paced[0] != number:
            self._paced = number, self._wagers(number)
        self._waiting = iter([self._paced[1][index]])
        self._next()

    def _wagers(self, number: int) -> list[tuple[bytes, bytes, bytes]]:
        return [
            (
                f"{self._root}/tables/{table}/pads/{box}/wager".encode(),
                f"{table}b{box}-{number:06d}".encode(),
                b'{"wager_id":"%s","round":%d,"amount_cents":200,"ante":true,"sent_at":"2026-11-15T09:30:00Z"}'
                % (f"{table}b{box}-{number:06d}".encode(), number),
            )
            for box in range(1, BOXES + 1)
            for table in self.tables
        ]

    def _next(self) -> None:
        found = next(self._waiting, None)
        if found is not None:
            topic, wager_id, payload = found
            self._sent[wager_id] = time.perf_counter()
            self.client.publish(topic, payload)

    def _on_message(self, _topic: bytes, payload: bytes) -> None:
        at = payload.find(b'"answer":{"wager_id":"')
        if at < 0:
            self._lamps += payload.startswith(self._new_round)
            if self._lamps == len(self.tables) * BOXES:
                self.opened.set()
            return
        wager_id = payload[at + 22 : payload.index(b'"', at + 22)]
        sent = self._sent.pop(wager_id, None)
        if sent is None:
            return
        if b'"accepted"' not in payload:
            raise RuntimeError(f"a wager was not accepted: {payload!r}")
        self.took.append(time.perf_counter() - sent)
        self._left -= 1
        if self._left <= 0:
            self.answered.set()
        self._next()


class Dealers:
    """The dealer terminals of all tables on one connection; used between the timed periods."""

    _count = 0

    async def connect(self, port: int, tables: list[str], site: str) -> None:
        self.tables = tables
        self._root = root_of(site)
        self._wanted: set[str] = set()
        self._done = asyncio.Event()
        self.client = await RawClient.connect(port, f"dealers-{site}-{os.getpid()}", self._on_message)
        await self.client.subscribe(f"{self._root}/tables/+/dealer/reply")

    def _on_message(self, _topic: bytes, payload: bytes) -> None:
        reply = json.loads(payload)
        if not reply["ok"]:
            raise RuntimeError(f"a command was refused: {reply}")
        self.last = reply
        self._wanted.discard(reply["command_id"])
        if not self._wanted:
            self._done.set()

    async def all(self, kind: str, **fields: int) -> None:
        """Send a command for every table and wait for the replies."""
        self._done.clear()
        for table in self.tables:
            self._count += 1
            command_id = f"{kind}-{os.getpid()}-{self._count}"
            self._wanted.add(command_id)
            body = json.dumps({"command_id": command_id, "type": kind, **fields}).encode()
            self.client.publish(f"{self._root}/tables/{table}/dealer/command".encode(), body)
        async with asyncio.timeout(LIMIT_SECONDS):
            await self._done.wait()


class Load:
    """The load generator, against one responder."""

    def __init__(
        self, port: int, *, plays: bool, site: str = SITE, usage: processors.Usage = processors.NOT_MEASURED
    ) -> None:
        self._port = port
        self._usage = usage
        self._site = site
        self._plays = plays
        names = [f"t{n}" for n in range(1, TABLES + 1)]
        self.pads = [Pads(str(n), names[n::CONNECTIONS], site) for n in range(CONNECTIONS)]
        self.dealers = Dealers()
        self._names = names
        self.number = 0

    async def connect(self) -> None:
        for pads in self.pads:
            await pads.connect(self._port)
        if self._plays:
            await self.dealers.connect(self._port, self._names, self._site)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Connect for this context."""
        await self.connect()
        try:
            yield
        finally:
            self.close()

    @property
    def took(self) -> list[float]:
        """The seconds to each lamp in the last period."""
        return [took for pads in self.pads for took in pads.took]

    async def open(self) -> None:
        """Open a round at every table, and wait for the lamp messages of all boxes."""
        self.number += 1
        if self._plays:
            for pads in self.pads:
                pads.await_lamps(self.number)
            await self.dealers.all("open_round")
            if self.dealers.last["round"] != self.number:
                raise RuntimeError(f"round {self.number} was expected, not {self.dealers.last['round']}")
            async with asyncio.timeout(LIMIT_SECONDS):
                for pads in self.pads:
                    await pads.opened.wait()

    async def end(self) -> None:
        if self._plays:
            await self.dealers.all("close_wagers", round=self.number)
            await self.dealers.all("settle", round=self.number)

    async def throughput(self) -> Timing:
        """Place one wager at every box of all tables as fast as they are answered."""
        await self.open()
        each = len(self.pads[0].tables) * BOXES
        used = self._usage.read()
        start = time.perf_counter()
        for pads in self.pads:
            pads.begin(self.number, each)
        async with asyncio.timeout(LIMIT_SECONDS):
            for pads in self.pads:
                await pads.answered.wait()
        seconds = time.perf_counter() - start
        self._usage.add(used, self._usage.read(), seconds)
        timing = _timing(self.took, seconds)
        await self.end()
        return timing

    async def paced(self, per_second: int, seconds: float, rest: float = REST_SECONDS) -> Timing:
        """Place wagers at a steady rate, after a pause that follows the opening of the tables."""
        await self.open()
        await asyncio.sleep(rest)
        each = len(self.pads[0].tables) * BOXES
        count = min(int(per_second * seconds), each * CONNECTIONS)
        for n, pads in enumerate(self.pads):
            pads.expect(len(range(n, count, CONNECTIONS)))
        start = time.perf_counter()
        for n in range(count):
            wait = start + n / per_second - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            self.pads[n % CONNECTIONS].place(self.number, n // CONNECTIONS)
        async with asyncio.timeout(LIMIT_SECONDS):
            for pads in self.pads:
                await pads.answered.wait()
        timing = _timing(self.took, time.perf_counter() - start)
        await self.end()
        return timing

    def close(self) -> None:
        for pads in self.pads:
            pads.client.close()
        if self._plays:
            self.dealers.client.close()


def _timing(took: list[float], seconds: float) -> Timing:
    ordered = sorted(took)
    return Timing(len(took) / seconds, ordered[len(took) // 2] * 1e3, ordered[int(len(took) * 0.99)] * 1e3)


# Responders, each in its own process.


def lamp_for(topic: bytes, payload: bytes) -> tuple[bytes, bytes]:
    """Return the topic and payload of a lamp message that accepts this wager."""
    at = payload.index(b'"wager_id":"') + 12
    wager_id = payload[at : payload.index(b'"', at)]
    body = (
        b'{"round":1,"lit":true,"wager_id":"%s","answer":{"wager_id":"%s","verdict":"accepted","reason":null},'
        b'"epoch":1,"seq":1}' % (wager_id, wager_id)
    )
    return topic[:-5] + b"lamp", body


async def raw_echo(port: int) -> None:
    """Respond with raw sockets."""
    client = await RawClient.connect(
        port, "raw-echo", lambda topic, payload: client.publish(*lamp_for(topic, payload), retain=True)
    )
    await client.subscribe(_wagers("raw"))
    _write_ready()
    await asyncio.Event().wait()


async def aiomqtt_echo(port: int) -> None:
    """Respond with aiomqtt's client at its fastest: in the callback, without waiting."""
    import aiomqtt

    client = aiomqtt.Client(
        "127.0.0.1", port, identifier="aiomqtt-echo", max_inflight_messages=0, socket_options=[NO_DELAY]
    )  # fmt: skip
    paho = paho_of(client)

    def on_message(_client: Any, _userdata: Any, message: Any) -> None:
        topic, body = lamp_for(message.topic.encode(), message.payload)
        paho.publish(topic.decode(), body, 1, retain=True)

    paho.on_message = on_message
    async with client:
        await client.subscribe(_wagers("aiomqtt"), 1)
        _write_ready()
        await asyncio.Event().wait()


async def session_echo(port: int) -> None:
    """Respond with the controller's MQTT session alone."""
    from jackpot.wire.mqtt_session import Address, MqttSession
    from jackpot.wire.mqtt_transport import ReceivedMessage

    def on_message(message: ReceivedMessage) -> None:
        topic, body = lamp_for(message.topic.encode(), message.payload)
        session.publish(topic.decode(), body, retain=True)
        session.acknowledge(message)

    async def connected() -> None:
        await session.subscribe([_wagers("session")])
        _write_ready()

    session = MqttSession(
        Address("127.0.0.1", port), "session-echo", on_message=on_message, on_connect=connected, clean=True
    )
    await session.run()


ECHOES = {"raw": raw_echo, "aiomqtt": aiomqtt_echo, "session": session_echo}


def echo_site(kind: str) -> str:
    """Return the site id of an echo."""
    return f"{SITE}-{kind}"


def _wagers(kind: str) -> str:
    return f"{root_of(echo_site(kind))}/tables/+/pads/+/wager"


def _write_ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


@contextmanager
def responder(kind: str, port: int) -> Iterator[subprocess.Popen[str]]:
    """Start an echo as a process."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--respond", kind, "--port", str(port)], stdout=subprocess.PIPE, text=True
    )
    try:
        if process.stdout is None or "ready\n" not in iter(process.stdout.readline, ""):
            raise RuntimeError(f"the {kind} echo does not start")
        yield process
    finally:
        process.kill()
        process.wait()


class Controller:
    """A site and its daemon as a process."""

    def __init__(  # noqa: PLR0913 - a place, a broker, a store, and options
        self,
        folder: Path,
        port: int,
        database: str,
        site: str = SITE,
        checkout: Path | None = None,
        *,
        tables: int = TABLES,
    ) -> None:
        self.folder = folder
        folder.mkdir()
        self._python = str(checkout / ".venv" / "bin" / "python") if checkout else sys.executable
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(checkout or HERE.parent),
            "JACKPOT_HTTP": os.environ.get("BENCH_HTTP", ""),
            "JACKPOT_LOG_LEVEL": "info",
        }
        where = ["--site", site, "--tables", str(tables), "--boxes", str(BOXES), "--database", database]
        made = self._run("init", *where, "--broker", f"mqtt://127.0.0.1:{port}", "--json")
        self.token = next(iter(json.loads(made)["tokens"].values()))

    def _run(self, *arguments: str) -> str:
        command = [self._python, "-m", "jackpot", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[bytes]]:
        log = self.folder / "serve.log"
        log.write_text("")
        with log.open("wb") as file:
            process = subprocess.Popen(
                [self._python, "-m", "jackpot", "serve"], cwd=self.folder, env=self._environment, stderr=file
            )
        until = time.monotonic() + LIMIT_SECONDS
        while '"serving"' not in log.read_text():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the controller does not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def memory_kib(process: subprocess.Popen[bytes]) -> int:
    with Path(f"/proc/{process.pid}/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Result(NamedTuple):
    """One responder: its throughput in each turn, and the milliseconds of each lamp at 200 wagers a second."""

    quick: list[float]
    lamps: list[float]

    def ratio_to(self, other: Result) -> float:
        """Return the median of the ratios of throughput, turn by turn."""
        return statistics.median(mine / its for mine, its in zip(self.quick, other.quick, strict=True))

    def summary(self) -> str:
        quick = f"{statistics.median(self.quick):,.0f}/s"
        if not self.lamps:
            return quick
        return f"{quick}; at {PER_SECOND}/s p50 {_at(self.lamps, 0.5):.1f}, p99 {_at(self.lamps, 0.99):.1f} ms"


def _at(took: list[float], share: float) -> float:
    return sorted(took)[int(len(took) * share)]


async def _in_turn(loads: dict[str, Load], commits: dict[str, Commits], turns: int) -> dict[str, Result]:
    """Load every responder for a short period, in turns; the others are not connected.

    A connected load costs the embedded broker time for every message, even if it sends nothing.
    """
    found = {name: Result([], []) for name in loads}
    for load in loads.values():
        async with load.connected():
            for _ in range(WARM_UPS):
                await load.throughput()
    for _ in range(turns):
        for name, load in loads.items():
            async with load.connected():
                found[name].quick.append((await load.throughput()).per_second)
    for _ in range(turns):
        for name, load in loads.items():
            if name in PACED:
                async with load.connected():
                    await load.paced(PER_SECOND, PACED_SECONDS)
                found[name].lamps.extend(took * 1e3 for took in load.took)
        for commit in commits.values():
            commit.measure_period()
    return found


class Commits:
    """Durable commits of one row each with the driver alone, at the rate of the wagers, on the same database."""

    def __init__(self, database: str, folder: Path) -> None:
        self.took: list[float] = []
        if database.startswith("sqlite"):
            self._connection: Any = sqlite3.connect(folder / "commit.db", isolation_level=None)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
        else:
            import psycopg

            self._connection = psycopg.connect(database, autocommit=True)
        self._connection.execute("CREATE TABLE one_row (x INTEGER)")

    def servers(self) -> list[int]:
        """Return the processes of the database server; SQLite has none."""
        if isinstance(self._connection, sqlite3.Connection):
            return []
        server = processors.parent(self._connection.info.backend_pid)
        return [server, *processors.children(server)]

    def measure_period(self) -> None:
        start = time.perf_counter()
        for n in range(PACED_SECONDS * PER_SECOND):
            time.sleep(max(0.0, start + n / PER_SECOND - time.perf_counter()))
            began = time.perf_counter()
            self._connection.execute(f"INSERT INTO one_row VALUES ({n})")
            self.took.append((time.perf_counter() - began) * 1e3)


@contextmanager
def mosquitto(folder: Path) -> Iterator[int]:
    port = free_port()
    config = folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\npersistence false\n"
        "max_inflight_messages 500\nmax_queued_messages 20000\nlog_type error\n"
    )
    program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
    process = subprocess.Popen([program, "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait()


Row = tuple[str, str, str, bool | None]
TITLES = {
    "raw": "raw-socket echo", "aiomqtt": "aiomqtt's client, echo", "session": "our session, echo",
    "SQLite": "controller, SQLite", f"SQLite{BEFORE}": "other checkout, SQLite",
    "PostgreSQL": "controller, PostgreSQL", f"PostgreSQL{BEFORE}": "other checkout, PostgreSQL",
}  # fmt: skip


def measure(  # noqa: PLR0913, PLR0917 - all that a run depends on
    name: str, port: int, databases: dict[str, str], folder: Path, turns: int, against: Path | None
) -> list[Row]:
    """Measure all responders with one broker."""
    brokers = processors.children(os.getpid())
    loads, usages, commits = {}, {}, {}

    def loaded(kind: str, site: str, process: subprocess.Popen[Any], *, plays: bool) -> None:
        groups = {"load": [os.getpid()], "broker": brokers, "controller" if plays else "echo": [process.pid]}
        usages[kind] = processors.Usage(groups)
        loads[kind] = Load(port, plays=plays, site=site, usage=usages[kind])

    with ExitStack() as running:
        for kind in ECHOES:
            loaded(kind, echo_site(kind), running.enter_context(responder(kind, port)), plays=False)
        for kind, database in databases.items():
            site, place = f"{SITE}-{kind.lower().replace(' ', '-')}", folder / f"{name}-{kind}"
            checkout = against if kind.endswith(BEFORE) else None
            controller = Controller(place, port, database, site, checkout)
            loaded(kind, site, running.enter_context(controller.serving()), plays=True)
            commits[kind] = Commits(database, place)
            usages[kind].groups["database"] = commits[kind].servers()
        found = asyncio.run(_in_turn(loads, commits, turns))
    lines: list[Row] = []
    for kind, title in TITLES.items():
        if kind in found:
            lines.append((f"{name}: {title}", found[kind].summary(), "", None))
            lines.append(("  limited by", usages[kind].summary(), "", None))
        if kind in databases:
            lines += _throughput(found, kind, needs_raw=name == "embedded" and kind == "SQLite")
            lines.append(_latency(found["aiomqtt"].lamps, found[kind].lamps, commits[kind].took))
        before = found.get(f"{kind}{BEFORE}")
        if before is not None:
            lines += _comparison(found[kind], before)
    return lines


def _comparison(ours: Result, before: Result) -> list[Row]:
    """Compare this checkout with the other one, turn by turn."""
    ratio = ours.ratio_to(before)
    ours_ms, before_ms = _at(ours.lamps, 0.99), _at(before.lamps, 0.99)
    return [
        ("  throughput to the other checkout", f"{ratio:.0%}", "≥ 95%", ratio >= 0.95),
        (f"  p99 at {PER_SECOND} wagers/s", f"{ours_ms:.1f} ms, other checkout {before_ms:.1f} ms", "", None),
    ]


def _throughput(found: dict[str, Result], kind: str, *, needs_raw: bool) -> list[Row]:
    to_echo, to_raw, to_session = (found[kind].ratio_to(found[other]) for other in ("aiomqtt", "raw", "session"))
    wanted = 0.7 if kind.startswith("SQLite") else 0.6
    target = ("≥ 35%", to_raw >= 0.35) if needs_raw else ("", None)
    return [
        ("  throughput to aiomqtt's echo", f"{to_echo:.0%}", f"≥ {wanted:.0%}", to_echo >= wanted),
        ("  throughput to the raw echo", f"{to_raw:.0%}", *target),
        ("  throughput to our session's echo", f"{to_session:.0%}", "", None),
    ]


def _latency(echo: list[float], ours: list[float], commits: list[float]) -> Row:
    echo_ms, ours_ms, commit_ms, median_ms = _at(echo, 0.99), _at(ours, 0.99), _at(commits, 0.99), _at(commits, 0.5)
    allowed = echo_ms + 3 * commit_ms
    return (
        f"  p99 at {PER_SECOND} wagers/s",
        f"{ours_ms:.1f} ms (echo + {(ours_ms - echo_ms) / median_ms:.1f} × {median_ms:.2f})",
        f"≤ {allowed:.1f} ms ({echo_ms:.1f} + 3 × {commit_ms:.2f})",
        ours_ms <= allowed,
    )


async def _wager_on(port: int, process: subprocess.Popen[bytes], marks: tuple[int, int]) -> list[int]:
    load = Load(port, plays=True)
    await load.connect()
    found, done = [], 0
    for mark in marks:
        while done < mark:
            await load.throughput()
            done += TABLES * BOXES
        found.append(memory_kib(process))
    load.close()
    return found


def memory(port: int, folder: Path) -> Row:
    """Measure the growth of the controller's memory from wager 100,000 to 500,000."""
    controller = Controller(folder / "memory", port, "sqlite:///jackpot.db")
    with controller.serving() as process:
        early, late = asyncio.run(_wager_on(port, process, (100_000, 500_000)))
    grown = (late - early) / 1024
    return "memory from wager 100,000 to 500,000", f"{early / 1024:.0f} MB, {grown:+.1f} MB", "< 5 MB more", grown < 5


@contextmanager
def postgres() -> Iterator[str]:
    sys.path.insert(0, str(HERE.parent))  # a script has only its own folder on the path
    from tests.support.postgres import server

    with server() as url:
        yield url


def _databases(postgres_url: str | None, name: str, against: Path | None) -> dict[str, str]:
    found = {}
    for suffix in ("", BEFORE) if against else ("",):
        found[f"SQLite{suffix}"] = "sqlite:///jackpot.db"
        if postgres_url is not None:
            import psycopg

            database = f"{name}{suffix.replace(' ', '_')}"
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {database}")
            found[f"PostgreSQL{suffix}"] = postgres_url.replace("/postgres", f"/{database}")
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description="Wagers from pads through the controller to lamps.")
    arguments.add_argument("--turns", type=int, default=9)
    arguments.add_argument(
        "--memory", action="store_true", help="also measure the controller's memory over 500,000 wagers"
    )
    arguments.add_argument("--no-postgres", action="store_true")
    arguments.add_argument("--only", choices=("embedded", "mosquitto", "memory"))
    arguments.add_argument("--against", type=Path, help="another checkout with its .venv, measured in the same run")
    arguments.add_argument("--respond", choices=tuple(ECHOES), help=argparse.SUPPRESS)
    arguments.add_argument("--port", type=int, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.respond:
        asyncio.run(ECHOES[chosen.respond](chosen.port))
        return 0
    lines: list[Row] = []
    with ExitStack() as things:
        folder = Path(things.enter_context(tempfile.TemporaryDirectory(prefix="jackpot-bench-")))
        url = None if chosen.no_postgres else things.enter_context(postgres())
        brokers: dict[str, Any] = {
            "embedded": lambda: embedded(folder / "broker"),
            "mosquitto": lambda: mosquitto(folder),
        }
        for name, start in brokers.items():
            if chosen.only in (None, name):
                with start() as port:
                    databases = _databases(url, name, chosen.against)
                    lines += measure(name, port, databases, folder, chosen.turns, chosen.against)
        if chosen.memory or chosen.only == "memory":
            with mosquitto(folder) as port:
                lines.append(memory(port, folder))
    table = Table(title="Wire: 20 connections, 5 wagers in flight each", title_justify="left")
    for column in ("measurement", "result", "target", ""):
        table.add_column(column)
    for name, result, target, met in lines:
        table.add_row(name, result, target, "" if met is None else "met" if met else "MISSED")
    Console(width=150, highlight=False).print(table)
    return 1 if any(met is False for *_, met in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
