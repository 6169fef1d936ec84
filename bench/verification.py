"""Wager to lamp while the trail is verified, beside the same without: python bench/watch.py [--turns 5]

A daemon on SQLite, with a trail of some ten thousand events, takes 200 wagers a second from the load generator of
bench/wire.py. In every other turn the process that verifies (jackpot/watch/beside.py) verifies all of it, again and
again.
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
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table
from wire import Controller, Load, Timing, mosquitto

from jackpot.store.signed_notes import Signer
from jackpot.verification.verifier_process import VerificationRequest

HERE = Path(__file__).parent
FILL, PER_SECOND, SECONDS = 10, 200, 8


@contextmanager
def verifying(folder: Path) -> Iterator[None]:
    """The process beside the daemon, started again for everything whenever it is done."""
    key = Signer.of((folder / "jackpot.key").read_text().strip()).verifier
    order = json.dumps(VerificationRequest(f"sqlite:///{folder}/jackpot.db", str(key), 0.0)._asdict()).encode() + b"\n"
    ended = threading.Event()
    again = threading.Thread(target=_again, args=(order, ended))
    again.start()
    try:
        yield
    finally:
        ended.set()
        again.join()


def _again(order: bytes, ended: threading.Event) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    while not ended.is_set():
        with subprocess.Popen(
            [sys.executable, "-m", "jackpot.verification.verifier_process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        ) as process:  # fmt: skip
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("both are pipes")
            process.stdin.write(order)
            process.stdin.flush()
            for line in process.stdout:
                if json.loads(line)["verified"]["problem"]:
                    raise RuntimeError(f"the trail is wrong: {line!r}")


async def race(port: int, folder: Path, turns: int) -> dict[bool, list[Timing]]:
    """Timings without and with verification, in turns."""
    load = Load(port, plays=True)
    await load.connect()
    for _ in range(FILL):
        await load.throughput()
    found: dict[bool, list[Timing]] = {False: [], True: []}
    for _ in range(turns):
        for watched, timings in found.items():
            with verifying(folder) if watched else nullcontext():
                await asyncio.sleep(2)
                timings.append(await load.paced(PER_SECOND, SECONDS))
    load.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    os.environ["JACKPOT_VERIFY_MINUTES"] = "0"
    with tempfile.TemporaryDirectory() as name, mosquitto(Path(name)) as port:
        controller = Controller(Path(name) / "site", port, "sqlite:///jackpot.db")
        with controller.serving():
            found = asyncio.run(race(port, controller.folder, turns))
    table = Table(title=f"Wager to lamp at {PER_SECOND} a second, median of {turns} turns", title_justify="left")
    for column in ("", "p50 ms", "p99 ms"):
        table.add_column(column, justify="right" if column else "left")
    for watched, timings in found.items():
        middle = [statistics.median(getattr(t, name) for t in timings) for name in ("p50_ms", "p99_ms")]
        table.add_row("while the trail is verified" if watched else "alone", *(f"{ms:.2f}" for ms in middle))
    Console().print(table)


if __name__ == "__main__":
    main()
