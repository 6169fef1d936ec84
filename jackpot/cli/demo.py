"""`jackpot demo`: a broker, a store, the controller and a simulated floor in one process tree, shown live."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final, NamedTuple

import typer
from rich.console import Console

from hardware_sim import Broker, Floor, Rig, Shoe, Supervisor, read_controller_books
from hardware_sim.controller_books import JACKPOT
from hardware_sim.terminal import PlayOptions, new_screen, play_and_show
from hardware_sim.view import money, reconciliation
from jackpot.store.errors import StoreError
from jackpot.wire.embedded_broker import die_with_parent, free_port
from rules import Category

SITE: Final = "demo"
TITLE: Final = " Canberra Poker · progressive jackpot "
SPEED: Final = 6.0
TABLES: Final = 4
RIGS: Final = (Rig("t1", 3, "straight_flush", 3), Rig("t2", 5, "royal_flush", 7))
RIGGED: Final = (
    "The shoe is rigged for you: a straight flush at t1 in its 3rd round, a royal flush at t2 in its 7th."
    " All other cards are random."
)
READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
POLL_SECONDS: Final = 0.05
EXIT_POLL_SECONDS: Final = 0.2
UNATTENDED_SECONDS: Final = 120.0
"""Duration where the output is not a terminal and no duration is given."""
CONFIRM_SECONDS: Final = 8.0
"""Delay before the demonstration's supervisor confirms a win, so that a person can see the win pending."""

SignalHandler = Callable[[int, FrameType | None], object] | signal.Handlers


class DemoController(NamedTuple):
    """The demonstration's controller process, its addresses and its operators' tokens."""

    process: subprocess.Popen[bytes]
    config: Path
    broker: str
    http: str
    supervisor_token: str
    manager_tokens: tuple[str, str]

    def sign_in_link(self, token: str) -> str:
        """Return a link that signs its reader in; browsers never send the part after the # to a server."""
        return f"{self.http}/sign-in#token={token}"

    async def wait_for_exit(self) -> int:
        """Wait until the process ends by itself; return its exit code."""
        while (code := self.process.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(EXIT_POLL_SECONDS)
        return code

    def query(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """Run a `jackpot` command on the demonstration's site; return its JSON output."""
        return _run_jackpot(self.config, *arguments)


def demo(
    *,
    seconds: Annotated[float | None, typer.Option(help="End after so many seconds; else at Ctrl-C.")] = None,
    speed: Annotated[float, typer.Option(min=0.1, help="1 is a real table.")] = SPEED,
    tables: Annotated[int, typer.Option(min=2, max=50, help="How many tables.")] = TABLES,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cards.")] = 7,
) -> int:
    """Run a broker, a store, the controller and a simulated floor, and watch it. Nothing is left behind."""
    ended = asyncio.Event()
    screen = _new_screen(ended)
    limit = seconds if seconds is not None or screen.is_terminal else UNATTENDED_SECONDS
    with _handle_signals(_interrupt):
        screen.print("Creating a site, starting its broker and its controller …")
        with running_controller(tables) as controller:
            screen.print(_links(controller), soft_wrap=True, highlight=False)
            supervisor = Supervisor(controller.http, controller.supervisor_token, CONFIRM_SECONDS)
            floor = Floor(
                [f"t{number}" for number in range(1, tables + 1)],
                site=SITE,
                broker=Broker.of(controller.broker),
                speed=speed,
                seed=seed,
                shoe=Shoe(seed, RIGS),
                confirm_win=supervisor.confirm,
                resume_table=supervisor.resume,
            )
            footer = f"{RIGGED}\nConsole {controller.http} (sign-in links above)   Ctrl-C ends and reconciles"
            options = PlayOptions(TITLE, None, limit, ended, footer)
            try:
                with ExitStack() as cleanup:
                    return asyncio.run(_play_until_end(floor, controller, screen, options, cleanup))
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None


def _new_screen(ended: asyncio.Event) -> Console:
    """Return the output console; when its reader has gone, as with `| head`, print nothing more and end the play."""
    screen = new_screen()

    def end() -> None:
        screen.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ended.set()

    screen.on_broken_pipe = end  # type: ignore[method-assign] # rich's own exits at once, with no cleanup
    return screen


def _links(controller: DemoController) -> str:
    """Return the sign-in links and addresses; two managers, because a change of money takes two."""
    first, second = controller.manager_tokens
    return (
        f"Console, signed in as a manager:   {controller.sign_in_link(first)}\n"
        f"… as the other manager:            {controller.sign_in_link(second)}\n"
        f"… as a supervisor:                 {controller.sign_in_link(controller.supervisor_token)}\n"
        f"Meter display:                     {controller.http}/display/main\n"
        f"Devices (MQTT):                    {controller.broker}"
    )


async def _play_until_end(
    floor: Floor, controller: DemoController, screen: Console, options: PlayOptions, cleanup: ExitStack
) -> int:
    """Play and reconcile while the controller serves; the first signal ends the play, the next ends everything."""
    playing = asyncio.create_task(_play(floor, controller, screen, options))
    exited = asyncio.create_task(controller.wait_for_exit())
    loop = asyncio.get_running_loop()

    def end() -> None:
        """End the play at the first signal; cancel everything at the second, and only once, so that cleanup ends."""
        if options.ended.is_set() and not playing.cancelling():
            playing.cancel()
        options.ended.set()
        floor.stop_connecting()

    def on_signal(*_arguments: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(end)

    cleanup.enter_context(_handle_signals(on_signal))
    await asyncio.wait([playing, exited], return_when=asyncio.FIRST_COMPLETED)
    if not exited.done():
        exited.cancel()
        return await playing
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    raise StoreError(f"the controller ended during play ({_describe_exit(exited.result())}); no result can be shown")


def _describe_exit(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


async def _play(floor: Floor, controller: DemoController, screen: Console, options: PlayOptions) -> int:
    """Play, then print the reconciliation, the pools, the prizes and the audit result; return the exit code."""
    async with floor:
        await play_and_show(floor, screen, options)
    if screen.quiet:
        return 1
    result = floor.reconcile(await read_controller_books(controller.config, "main", floor.played))
    screen.print(reconciliation(result))
    (pools,) = await asyncio.to_thread(controller.query, "pools")
    screen.print(f"Meter {money(pools['meter_cents'])}, reserve {money(pools['reserve_cents'])}.", style="bold")
    screen.print(f"Prizes: {_prizes(await asyncio.to_thread(controller.query, 'wins', '--limit', '1000'))}.")
    verified = await asyncio.to_thread(controller.query, "audit", "verify")
    events = sum(chain["events"] for chain in verified)
    screen.print(f"The audit trail verifies: {events} events, hash-chained, replayed to the same pools.")
    return 0 if result.is_equal else 1


def _prizes(wins: list[dict[str, Any]]) -> str:
    """Return the number of wins by hand, the rarest hands first, and their sum."""
    standing = [win for win in wins if win["status"] != "corrected"]
    counts = Counter(win["hand"] for win in standing)
    hands = [f"{counts[hand]} {hand.replace('_', ' ')}" for hand in reversed(Category) if counts[hand]]
    return f"{', '.join(hands)}; {money(sum(win['amount_cents'] for win in standing))}" if hands else "none"


@contextmanager
def running_controller(tables: int) -> Iterator[DemoController]:
    """Create a site in a temporary folder and serve it from a child process; remove both at the end."""
    with _without_site_environment(), _temporary_folder() as folder:
        config = folder / "jackpot.toml"
        created = _run_jackpot(config, "init", "--site", SITE, "--tables", str(tables), "--broker", "embedded")
        token, other = created["tokens"].values()
        added = _run_jackpot(config, "operator", "add", "supervisor", "--role", "supervisor", "--token", token)
        broker, http = free_port(), free_port()
        addresses = {"JACKPOT_EMBEDDED_PORT": str(broker), "JACKPOT_HTTP": f"127.0.0.1:{http}"}
        with (folder / "serve.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [*JACKPOT, "serve", "--config", str(config)],
                cwd=folder, env={**os.environ, **addresses}, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - no thread has been started yet
            )  # fmt: skip
        try:
            _wait_until_serving(process, folder / "serve.log")
            yield DemoController(
                process,
                config,
                f"mqtt://127.0.0.1:{broker}",
                f"http://127.0.0.1:{http}",
                added["token"],
                (token, other),
            )
        finally:
            with _handle_signals(signal.SIG_IGN):
                _stop(process)


@contextmanager
def _without_site_environment() -> Iterator[None]:
    """Remove the JACKPOT_ variables meanwhile: they may belong to a real site, which the demonstration must not use."""
    removed = {name: value for name, value in os.environ.items() if name.upper().startswith("JACKPOT_")}
    for name in removed:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(removed)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="jackpot-demo-")).absolute()
    try:
        yield folder
    finally:
        with _handle_signals(signal.SIG_IGN):
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder, again where a broker whose controller was killed has written to it meanwhile."""
    until = time.monotonic() + STOP_SECONDS
    while folder.exists() and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(POLL_SECONDS)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _handle_signals(handler: SignalHandler) -> Iterator[None]:
    """Handle SIGINT, SIGTERM and SIGHUP by this handler meanwhile.

    SIGINT and SIGTERM are handled even if they were ignored at the start, as in a background job of a shell script.
    Child processes then start with their default action, because only ignored signals are inherited. An ignored SIGHUP
    stays ignored, for children too: `nohup` asks for that.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End everything at once as Ctrl-C does; the context managers clean up."""
    raise KeyboardInterrupt


def _wait_until_serving(process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if '"serving"' in log.read_text(encoding="utf-8", errors="replace"):
            return
        time.sleep(POLL_SECONDS)
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
    raise StoreError(f"the controller did not start: {' '.join(last)}")


def _run_jackpot(config: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """Run a `jackpot` command as a user would; return its JSON output."""
    command = [*JACKPOT, *arguments, "--config", str(config), "--json"]
    done = subprocess.run(command, cwd=config.parent, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise StoreError(done.stderr.strip().removeprefix("jackpot: "))
    return json.loads(done.stdout)
