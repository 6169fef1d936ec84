"""`jackpot demo`: everything in one process tree on embedded defaults, with a simulated floor to watch."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from hardware_sim import Broker, Floor, FloorError, Operator, Rig, Shoe, ask_books
from hardware_sim.stage import Programme, ended_by_signals, new_screen, show
from hardware_sim.view import money, reconciliation
from jackpot.store.errors import StoreError
from jackpot.wire.broker import die_with_parent, free_port
from rules import Category

SITE: Final = "demo"
SPEED: Final = 6.0
TABLES: Final = 4
RIGS: Final = (Rig("t1", 3, "straight_flush", 3), Rig("t2", 5, "royal_flush", 7))
RIGGED: Final = (
    "The shoe is rigged for you: a straight flush at t1 in its 3rd round, a royal flush at t2 in its 7th; then honest."
)
READY_SECONDS: Final = 30.0
UNWATCHED_SECONDS: Final = 120.0
CONFIRM_SECONDS: Final = 8.0
"""How long a win waits for the demonstration's supervisor, so that one sees it wait."""


class Daemon(NamedTuple):
    """The demonstration's controller: where it is, and who may act."""

    folder: Path
    broker: str
    http: str
    supervisor_token: str
    manager_tokens: tuple[str, str]

    def sign_in(self, token: str) -> str:
        """A link that signs its reader in; what stands behind the # is sent to nobody."""
        return f"{self.http}/sign-in#token={token}"

    def query(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """What a command of ours answers."""
        return _jackpot(self.folder, *arguments)


def demo(
    *,
    seconds: Annotated[float | None, typer.Option(help="End after so many seconds; else at Ctrl-C.")] = None,
    speed: Annotated[float, typer.Option(min=0.1, help="1 is a real table.")] = SPEED,
    tables: Annotated[int, typer.Option(min=2, max=50, help="How many tables.")] = TABLES,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cards.")] = 7,
) -> int:
    """Run a broker, a store, the controller and a simulated floor, and watch it. Nothing is left behind."""
    screen = new_screen()
    limit = seconds if seconds is not None or screen.is_terminal else UNWATCHED_SECONDS
    screen.print("Making a site, starting its broker and its controller …")
    with daemon(tables) as controller:
        screen.print(_links(controller), soft_wrap=True, highlight=False)
        supervisor = Operator(controller.http, controller.supervisor_token, CONFIRM_SECONDS)
        floor = Floor(
            [f"t{number}" for number in range(1, tables + 1)],
            site=SITE,
            broker=Broker.of(controller.broker),
            speed=speed,
            seed=seed,
            shoe=Shoe(seed, RIGS),
            supervisor=supervisor.confirm,
            resume=supervisor.resume,
        )
        try:
            return asyncio.run(_watch(floor, controller, screen, limit))
        except FloorError as problem:
            raise StoreError(str(problem)) from None


def _links(controller: Daemon) -> str:
    """Where to look, and how to get in; two managers, because a change of money takes two."""
    first, second = controller.manager_tokens
    return (
        f"Console, signed in as a manager:   {controller.sign_in(first)}\n"
        f"… as the other manager:            {controller.sign_in(second)}\n"
        f"… as a supervisor:                 {controller.sign_in(controller.supervisor_token)}\n"
        f"Meter display:                     {controller.http}/display/main\n"
        f"Devices (MQTT):                    {controller.broker}"
    )


async def _watch(floor: Floor, daemon: Daemon, screen: Any, limit: float | None) -> int:  # noqa: ANN401 - rich's console
    ended = asyncio.Event()
    words = f"{RIGGED}\nConsole {daemon.http} (sign-in links above)   Ctrl-C ends and reconciles"
    with ended_by_signals(ended, floor):
        async with floor:
            await show(
                floor, screen, Programme(" Canberra Poker · progressive jackpot ", None, limit, ended, lambda: words)
            )
        result = floor.reconcile(await ask_books(daemon.folder / "jackpot.toml", "main", floor.played))
    screen.print(reconciliation(result))
    (pools,) = await asyncio.to_thread(daemon.query, "pools")
    screen.print(f"Meter {money(pools['meter_cents'])}, reserve {money(pools['reserve_cents'])}.", style="bold")
    screen.print(f"Prizes: {_prizes(await asyncio.to_thread(daemon.query, 'wins', '--limit', '1000'))}.")
    verified = await asyncio.to_thread(daemon.query, "audit", "verify")
    events = sum(chain["events"] for chain in verified)
    screen.print(f"The audit trail verifies: {events} events, hash-chained, replayed to the same pools.")
    return 0 if result.is_equal else 1


def _prizes(wins: list[dict[str, Any]]) -> str:
    """What was won, the rarest hands first."""
    standing = [win for win in wins if win["status"] != "corrected"]
    counts = Counter(win["hand"] for win in standing)
    told = [f"{counts[hand]} {hand.replace('_', ' ')}" for hand in reversed(Category) if counts[hand]]
    return f"{', '.join(told)}; {money(sum(win['amount_cents'] for win in standing))}" if told else "none"


@contextmanager
def daemon(tables: int) -> Iterator[Daemon]:
    """A site in a folder of its own, served by a child process; both go when the demonstration does."""
    folder = Path(tempfile.mkdtemp(prefix="jackpot-demo-"))
    try:
        made = _jackpot(folder, "init", "--site", SITE, "--tables", str(tables), "--broker", "embedded")
        token, other = made["tokens"].values()
        added = _jackpot(folder, "operator", "add", "supervisor", "--role", "supervisor", "--token", token)
        broker, http = free_port(), free_port()
        own = {"JACKPOT_EMBEDDED_PORT": str(broker), "JACKPOT_HTTP": f"127.0.0.1:{http}"}
        with (folder / "serve.log").open("wb") as log:
            serving = subprocess.Popen(
                [sys.executable, "-m", "jackpot", "serve"],
                cwd=folder, env={**os.environ, **own}, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it starts before any thread does
            )  # fmt: skip
        try:
            _wait_until_serving(serving, folder / "serve.log")
            yield Daemon(
                folder, f"mqtt://127.0.0.1:{broker}", f"http://127.0.0.1:{http}", added["token"], (token, other)
            )
        finally:
            serving.terminate()
            serving.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_serving(serving: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and serving.poll() is None:
        if '"serving"' in log.read_text(encoding="utf-8", errors="replace"):
            return
        time.sleep(0.05)
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
    raise StoreError(f"the controller did not start: {' '.join(last)}")


def _jackpot(folder: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """What one of our commands answers, asked as anybody would."""
    command = [sys.executable, "-m", "jackpot", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise StoreError(done.stderr.strip())
    return json.loads(done.stdout)
