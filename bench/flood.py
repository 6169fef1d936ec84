"""Good wagers during a flood of malformed messages: python bench/flood.py [--messages 1000000] [--only mosquitto]

A process of its own sends malformed messages at full speed, at QoS 1, on every topic that the controller listens to:
texts that are not JSON, JSON of another shape, missing fields, wrong types, long payloads, bytes that are not UTF-8.
Meanwhile pads place good wagers at a steady rate, and repeat each after a second without an answer. Measured are the
time from a good wager to its lamp, wagers without an answer, and the growth of the controller's memory.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import processors
from raw_mqtt import RawClient
from rich.console import Console
from rich.table import Table
from wire import Controller, memory_kib, mosquitto, root_of

from jackpot.wire.embedded_broker import embedded

SITE = "flood"
TABLES, BOXES = 10, 20
PER_SECOND = 50
WINDOW = 200
REPEAT_SECONDS = 1.0
LIMIT_SECONDS = 30.0
MAX_P99_MS, MAX_GROWTH_MB = 250, 20
READ_BYTES = 1 << 16
TOPICS = (
    "tables/t{n}/pads/{box}/wager", "tables/t{n}/dealer/command", "tables/t{n}/pads/{box}/status",
    "tables/t{n}/pads/{box}/shown", "tables/t{n}/dealer/status", "displays/d{n}/status", "displays/d{n}/shown",
)  # fmt: skip
PAYLOADS = (
    b"", b"{", b"\xff\xfe\x00", b"[1,2,3]", b"null", b'{"wager_id":"w1"}',
    b'{"wager_id":"w1","round":"1","amount_cents":200,"ante":true}', b'{"command_id":"c1","type":"no_such"}',
    b'{"state":"perhaps"}', b'{"round":1.5,"lit":"yes"}', b'{"a":' * 400, b"y" * 4_000,
)  # fmt: skip
"""Each is malformed on every one of these topics."""


def packets(site: str) -> Iterator[bytes]:
    """Yield PUBLISH packets at QoS 1 for ever: every payload on every topic of every table and box."""
    mid = 0
    for box in itertools.cycle(range(1, BOXES + 1)):
        for n, topic, payload in itertools.product(range(1, TABLES + 1), TOPICS, PAYLOADS):
            mid = mid % 65_535 + 1
            name = f"{root_of(site)}/{topic.format(n=n, box=box)}".encode()
            body = len(name).to_bytes(2, "big") + name + mid.to_bytes(2, "big") + payload
            size, low = divmod(len(body), 128)
            length = bytes([low | 128, size]) if size else bytes([low])
            yield b"\x32" + length + body


def flood(port: int, site: str, messages: int) -> None:
    """Send malformed messages as fast as the broker acknowledges them."""
    client = b"\0\x04MQTT\x04\x02\0\0" + b"\0\x0bflood-flood"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"\x10" + bytes([len(client)]) + client)
        connection.recv(4)
        unacknowledged, acks = 0, b""
        source = packets(site)
        while messages or unacknowledged:
            some = min(WINDOW - unacknowledged, messages)
            if some > 0:
                connection.sendall(b"".join(itertools.islice(source, some)))
                messages, unacknowledged = messages - some, unacknowledged + some
            received = connection.recv(READ_BYTES)
            if not received:
                raise ConnectionError("the broker closed the connection")
            acks += received
            unacknowledged -= len(acks) // 4
            acks = acks[len(acks) // 4 * 4 :]


class GoodPads:
    """Pads that place one wager after another, each at a box of its own in the open round."""

    def __init__(self, site: str) -> None:
        self._root = root_of(site)
        self._sent: dict[bytes, float] = {}
        self._waiting: dict[bytes, asyncio.Event] = {}
        self.took: list[float] = []
        self.repeated = self.unanswered = 0

    async def connect(self, port: int) -> None:
        self._client = await RawClient.connect(port, f"good-{os.getpid()}", self._on_message)
        await self._client.subscribe(f"{self._root}/tables/+/pads/+/lamp", f"{self._root}/tables/+/dealer/reply")

    def _on_message(self, topic: bytes, payload: bytes) -> None:
        message = json.loads(payload)
        answer = message if topic.endswith(b"reply") else message["answer"]
        found = answer and (answer.get("wager_id") or answer.get("command_id"))
        waiting = self._waiting.pop(found.encode(), None) if found else None
        if waiting is not None:
            self.took.append(time.perf_counter() - self._sent[found.encode()])
            waiting.set()

    async def send(self, topic: str, name: str, body: dict[str, Any]) -> None:
        """Send a message until it is answered."""
        key = name.encode()
        self._sent[key], self._waiting[key] = time.perf_counter(), asyncio.Event()
        answered = self._waiting[key]
        until = self._sent[key] + LIMIT_SECONDS
        while time.perf_counter() < until:
            self._client.publish(f"{self._root}/{topic}".encode(), json.dumps(body).encode())
            try:
                async with asyncio.timeout(REPEAT_SECONDS):
                    await answered.wait()
            except TimeoutError:
                self.repeated += 1
                continue
            return
        self.unanswered += 1

    async def wager(self, n: int) -> None:
        """Place the n-th wager; a box that has one already is answered, too."""
        table, box = n // BOXES % TABLES + 1, n % BOXES + 1
        body = {"wager_id": f"good-{n}", "round": 1, "amount_cents": 200, "ante": True}
        await self.send(f"tables/t{table}/pads/{box}/wager", f"good-{n}", body)


async def play(port: int, site: str, messages: int) -> GoodPads:
    """Place good wagers at a steady rate until the flood ends."""
    pads = GoodPads(site)
    await pads.connect(port)
    for n in range(1, TABLES + 1):
        await pads.send(f"tables/t{n}/dealer/command", f"open-{n}", {"command_id": f"open-{n}", "type": "open_round"})
    pads.took.clear()
    flooder = [sys.executable, __file__, "--flood", site, "--port", str(port), "--messages", str(messages)]
    process = await asyncio.create_subprocess_exec(*flooder)
    start, sending = time.perf_counter(), []
    for n in itertools.count():
        wait = start + n / PER_SECOND - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        if process.returncode is not None:
            break
        sending.append(asyncio.create_task(pads.wager(n)))
    await asyncio.gather(*sending)
    if process.returncode:
        raise RuntimeError("the flood ended with an error")
    return pads


def measure(name: str, port: int, folder: Path, messages: int) -> list[tuple[str, str, str, bool | None]]:
    """Measure good wagers with one broker, during a flood."""
    site = f"{SITE}-{name}"
    controller = Controller(folder / name, port, "sqlite:///jackpot.db", site, tables=TABLES)
    with controller.serving() as process:
        early, used = memory_kib(process), processors.seconds([process.pid])
        began = time.perf_counter()
        pads = asyncio.run(play(port, site, messages))
        seconds = time.perf_counter() - began
        used = processors.seconds([process.pid]) - used
        grown = (memory_kib(process) - early) / 1024
    took = sorted(pads.took)
    p50, p99 = (took[int(len(took) * share)] * 1e3 for share in (0.5, 0.99))
    return [
        (f"{name}: malformed messages", f"{messages:,} in {seconds:.0f} s ({messages / seconds:,.0f}/s)", "", None),
        ("  good wagers", f"{len(took)} answered, {pads.repeated} repeats", "none unanswered", pads.unanswered == 0),
        ("  good wager to lamp", f"p50 {p50:.1f}, p99 {p99:.1f} ms", f"p99 ≤ {MAX_P99_MS} ms", p99 <= MAX_P99_MS),
        ("  controller", f"{used / seconds:.0%} of a processor, {used / messages * 1e6:.0f} µs a message", "", None),
        ("  memory", f"{early / 1024:.0f} MB, {grown:+.1f} MB", f"≤ {MAX_GROWTH_MB} MB more", grown <= MAX_GROWTH_MB),
    ]


def main() -> int:
    arguments = argparse.ArgumentParser(description="Good wagers during a flood of malformed messages.")
    arguments.add_argument("--messages", type=int, default=100_000)
    arguments.add_argument("--only", choices=("embedded", "mosquitto"))
    arguments.add_argument("--flood", help=argparse.SUPPRESS)
    arguments.add_argument("--port", type=int, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.flood:
        flood(chosen.port, chosen.flood, chosen.messages)
        return 0
    table = Table(title="Flood of malformed messages", title_justify="left")
    for column in ("measurement", "result", "target", ""):
        table.add_column(column)
    missed = False
    with ExitStack() as things:
        folder = Path(things.enter_context(tempfile.TemporaryDirectory(prefix="jackpot-bench-")))
        brokers: dict[str, Any] = {
            "mosquitto": lambda: mosquitto(folder),
            "embedded": lambda: embedded(folder / "broker"),
        }
        for name, start in brokers.items():
            if chosen.only in (None, name):
                with start() as port:
                    for line, result, target, met in measure(name, port, folder, chosen.messages):
                        table.add_row(line, result, target, "" if met is None else "met" if met else "MISSED")
                        missed |= met is False
    Console(width=150, highlight=False).print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
