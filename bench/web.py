"""The cost of 200 displays and consoles for the floor: python bench/web.py [--pairs 5]

Pads place 200 wagers a second through Mosquitto (or the embedded broker); of each pair of periods the second has
100 displays and 100 signed-in consoles connected to their live feeds, from a separate process. Measured are the time
from a wager to its lamp, and that every feed received events.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table
from wire import Controller, Load, Timing, mosquitto

from jackpot.wire.embedded_broker import embedded, free_port

DISPLAYS, CONSOLES = 100, 100
PER_SECOND, SECONDS = 200, 10.0
REST_SECONDS = 4.0
"""The pause after a hundred tables have opened at once, which every console shows."""
MAX_CHANGE = 0.20


async def subscribe(port: int, path: str, token: str | None, counts: list[int], n: int) -> None:
    """Read one live feed and count its events."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{authorization}\r\n".encode())
    status = await reader.readline()
    if b" 200 " not in status:
        raise RuntimeError(f"{path}: {status!r}")
    while data := await reader.read(1 << 16):
        counts[n] += data.count(b"\nevent: ") + data.startswith(b"event: ")


async def subscribe_all(port: int, token: str) -> None:
    """Run all subscribers until a line is read; write the number of events of each."""
    counts = [0] * (DISPLAYS + CONSOLES)
    tasks = []
    for n in range(DISPLAYS + CONSOLES):
        path, own = ("/display/main/feed", None) if n < DISPLAYS else ("/console/feed?jackpot=main", token)
        tasks.append(asyncio.create_task(subscribe(port, path, own, counts, n)))
    while min(counts) < 1:
        await asyncio.sleep(0.05)
        for task in tasks:
            if task.done():
                task.result()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    sys.stdout.write(json.dumps(counts) + "\n")


@contextmanager
def subscribers(port: int, token: str, found: list[int]):
    command = [sys.executable, __file__, "--watch", str(port)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TOKEN": token}
    )
    try:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the subscribers receive no events")
        time.sleep(1)
        yield
        process.stdin.write("\n")
        process.stdin.flush()
        found.append(min(json.loads(process.stdout.readline())))
    finally:
        process.kill()
        process.communicate()


def measure(port: int, http: int, token: str, pairs: int) -> tuple[list[Timing], list[Timing], int]:
    """Measure without and with subscribers in turn; also return the fewest events of a subscriber."""
    without, connected, received = [], [], []
    with asyncio.Runner() as runner:
        load = Load(port, plays=True)
        runner.run(load.connect())
        runner.run(load.paced(PER_SECOND, SECONDS, REST_SECONDS))
        for _ in range(pairs):
            without.append(runner.run(load.paced(PER_SECOND, SECONDS, REST_SECONDS)))
            with subscribers(http, token, received):
                connected.append(runner.run(load.paced(PER_SECOND, SECONDS, REST_SECONDS)))
        load.close()
    return without, connected, min(received)


def main() -> int:
    arguments = argparse.ArgumentParser(description="The cost of 200 displays and consoles for the floor.")
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--embedded", action="store_true", help="through the embedded broker")
    arguments.add_argument("--watch", type=int, help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.watch:
        asyncio.run(subscribe_all(chosen.watch, os.environ["TOKEN"]))
        return 0
    with tempfile.TemporaryDirectory(prefix="jackpot-bench-") as name:
        folder = Path(name)
        with embedded(folder / "broker") if chosen.embedded else mosquitto(folder) as port:
            http = free_port()
            os.environ["BENCH_HTTP"] = f"127.0.0.1:{http}"
            controller = Controller(folder / "site", port, "sqlite:///jackpot.db")
            with controller.serving():
                without, connected, received = measure(port, http, controller.token, chosen.pairs)
    changes = [b.p99_ms / a.p99_ms - 1 for a, b in zip(without, connected, strict=True)]
    table = Table(title=f"{DISPLAYS} displays and {CONSOLES} consoles with {PER_SECOND} wagers/s", title_justify="left")
    for column in ("pair", "alone p50", "alone p99", "with p50", "with p99", "change of p99"):
        table.add_column(column, justify="right")
    for n, (a, b, change) in enumerate(zip(without, connected, changes, strict=True), 1):
        table.add_row(str(n), *(f"{ms:.2f} ms" for ms in (a.p50_ms, a.p99_ms, b.p50_ms, b.p99_ms)), f"{change:+.0%}")
    middle = statistics.median(changes)
    met = middle < MAX_CHANGE
    console = Console(width=110, highlight=False)
    console.print(table)
    console.print(f"median change of p99 {middle:+.0%} (target < {MAX_CHANGE:.0%}): {'met' if met else 'MISSED'}")
    console.print(f"every subscriber received at least {received} events in a period")
    return 0 if met and received > SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
