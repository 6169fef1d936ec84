"""The time from wager to lamp with and without verification of the trail: python bench/verification.py [--turns 5]

A daemon on SQLite, with a trail of some ten thousand events, takes 200 wagers a second from the load generator of
bench/wire.py. In every other turn the verification process (jackpot/verification/verifier_process.py) verifies all of
it repeatedly.
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
    """Run the verification process repeatedly, each time for the whole trail."""
    key = Signer.of((folder / "jackpot.key").read_text().strip()).verifier
    request = (
        json.dumps(VerificationRequest(f"sqlite:///{folder}/jackpot.db", str(key), 0.0)._asdict()).encode() + b"\n"
    )
    ended = threading.Event()
    thread = threading.Thread(target=_verify_repeatedly, args=(request, ended))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _verify_repeatedly(request: bytes, ended: threading.Event) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    while not ended.is_set():
        with subprocess.Popen(
            [sys.executable, "-m", "jackpot.verification.verifier_process"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        ) as process:  # fmt: skip
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the process has no pipes")
            process.stdin.write(request)
            process.stdin.flush()
            for line in process.stdout:
                if json.loads(line)["verified"]["problem"]:
                    raise RuntimeError(f"the trail is wrong: {line!r}")


async def race(port: int, folder: Path, turns: int) -> dict[bool, list[Timing]]:
    """Return the timings without and with verification, measured in turns."""
    load = Load(port, plays=True)
    await load.connect()
    for _ in range(FILL):
        await load.throughput()
    found: dict[bool, list[Timing]] = {False: [], True: []}
    for _ in range(turns):
        for verified, timings in found.items():
            with verifying(folder) if verified else nullcontext():
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
    for verified, timings in found.items():
        middle = [statistics.median(getattr(t, name) for t in timings) for name in ("p50_ms", "p99_ms")]
        table.add_row("while the trail is verified" if verified else "alone", *(f"{ms:.2f}" for ms in middle))
    Console().print(table)


if __name__ == "__main__":
    main()
