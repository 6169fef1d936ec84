"""`jackpot demo`: everything in one process tree on embedded defaults, with a simulated floor to watch."""

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
from hardware_sim.terminal import PlayOptions, new_screen, show
from hardware_sim.view import money, reconciliation
from jackpot.store.errors import StoreError
from jackpot.wire.broker import die_with_parent, free_port
from rules import Category

SITE: Final = "demo"
TITLE: Final = " Canberra Poker · progressive jackpot "
SPEED: Final = 6.0
TABLES: Final = 4
RIGS: Final = (Rig("t1", 3, "straight_flush", 3), Rig("t2", 5, "royal_flush", 7))
RIGGED: Final = (
    "The shoe is rigged for you: a straight flush at t1 in its 3rd round, a royal flush at t2 in its 7th; then honest."
)
READY_SECONDS: Final = 30.0
STOP_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 0.05
GONE_SECONDS: Final = 0.2
UNWATCHED_SECONDS: Final = 120.0
CONFIRM_SECONDS: Final = 8.0
"""How long a win waits for the demonstration's supervisor, so that one sees it wait."""

Act = Callable[[int, FrameType | None], object] | signal.Handlers
"""What a signal does."""


class Daemon(NamedTuple):
    """The demonstration's controller: where it is, and who may act."""

    serving: subprocess.Popen[bytes]
    config: Path
    broker: str
    http: str
    supervisor_token: str
    manager_tokens: tuple[str, str]

    def sign_in(self, token: str) -> str:
        """A link that signs its reader in; what stands behind the # is sent to nobody."""
        return f"{self.http}/sign-in#token={token}"

    async def gone(self) -> int:
        """How it ended, once it has ended by itself."""
        while (code := self.serving.poll()) is None:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(GONE_SECONDS)
        return code

    def query(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """What a command of ours answers."""
        return _jackpot(self.config, *arguments)


def demo(
    *,
    seconds: Annotated[float | None, typer.Option(help="End after so many seconds; else at Ctrl-C.")] = None,
    speed: Annotated[float, typer.Option(min=0.1, help="1 is a real table.")] = SPEED,
    tables: Annotated[int, typer.Option(min=2, max=50, help="How many tables.")] = TABLES,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cards.")] = 7,
) -> int:
    """Run a broker, a store, the controller and a simulated floor, and watch it. Nothing is left behind."""
    ended = asyncio.Event()
    screen = _screen(ended)
    limit = seconds if seconds is not None or screen.is_terminal else UNWATCHED_SECONDS
    with _signals(_interrupt):
        screen.print("Making a site, starting its broker and its controller …")
        with daemon(tables) as controller:
            screen.print(_links(controller), soft_wrap=True, highlight=False)
            supervisor = Supervisor(controller.http, controller.supervisor_token, CONFIRM_SECONDS)
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
            words = f"{RIGGED}\nConsole {controller.http} (sign-in links above)   Ctrl-C ends and reconciles"
            options = PlayOptions(TITLE, None, limit, ended, lambda: words)
            try:
                with ExitStack() as over:
                    return asyncio.run(_watch(floor, controller, screen, options, over))
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None


def _screen(ended: asyncio.Event) -> Console:
    """Where it is watched; when whoever reads has gone, as `head` does, nothing more is said and the play ends."""
    screen = new_screen()

    def end() -> None:
        screen.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ended.set()

    screen.on_broken_pipe = end  # type: ignore[method-assign] # rich's own leaves at once, from wherever it is
    return screen


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


async def _watch(floor: Floor, daemon: Daemon, screen: Console, options: PlayOptions, over: ExitStack) -> int:
    """Play and reconcile while the controller serves; the first signal ends the play, the next ends everything."""
    playing = asyncio.create_task(_play(floor, daemon, screen, options))
    gone = asyncio.create_task(daemon.gone())
    loop = asyncio.get_running_loop()

    def end() -> None:
        """Tidily at first, also while the devices connect; then everything, once: what ends is left to it."""
        if options.ended.is_set() and not playing.cancelling():
            playing.cancel()
        options.ended.set()
        floor.give_up()

    def told(*_of_signal: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(end)

    over.enter_context(_signals(told))
    await asyncio.wait([playing, gone], return_when=asyncio.FIRST_COMPLETED)
    if not gone.done():
        gone.cancel()
        return await playing
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    raise StoreError(f"the controller ended while the floor played ({_how(gone.result())}): nothing can be shown")


def _how(code: int) -> str:
    """How a process ended."""
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


async def _play(floor: Floor, daemon: Daemon, screen: Console, options: PlayOptions) -> int:
    async with floor:
        await show(floor, screen, options)
    if screen.quiet:
        return 1
    result = floor.reconcile(await read_controller_books(daemon.config, "main", floor.played))
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
    with _no_other_site(), _new_folder() as folder:
        config = folder / "jackpot.toml"
        made = _jackpot(config, "init", "--site", SITE, "--tables", str(tables), "--broker", "embedded")
        token, other = made["tokens"].values()
        added = _jackpot(config, "operator", "add", "supervisor", "--role", "supervisor", "--token", token)
        broker, http = free_port(), free_port()
        own = {"JACKPOT_EMBEDDED_PORT": str(broker), "JACKPOT_HTTP": f"127.0.0.1:{http}"}
        with (folder / "serve.log").open("wb") as log:
            serving = subprocess.Popen(  # noqa: S603 - our own
                [sys.executable, "-m", "jackpot", "serve", "--config", str(config)],
                cwd=folder, env={**os.environ, **own}, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it starts before any thread does
            )  # fmt: skip
        try:
            _wait_until_serving(serving, folder / "serve.log")
            yield Daemon(
                serving,
                config,
                f"mqtt://127.0.0.1:{broker}",
                f"http://127.0.0.1:{http}",
                added["token"],
                (token, other),
            )
        finally:
            with _signals(signal.SIG_IGN):
                _stop(serving)


@contextmanager
def _no_other_site() -> Iterator[None]:
    """Whoever watches may run a site of their own: nothing the environment says of it reaches us or our children."""
    theirs = {name: value for name, value in os.environ.items() if name.upper().startswith("JACKPOT_")}
    for name in theirs:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(theirs)


@contextmanager
def _new_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="jackpot-demo-")).absolute()
    try:
        yield folder
    finally:
        with _signals(signal.SIG_IGN):
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder in which a broker whose controller was killed may write a little longer."""
    until = time.monotonic() + STOP_SECONDS
    while folder.exists() and time.monotonic() < until:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(LOOK_SECONDS)


def _stop(serving: subprocess.Popen[bytes]) -> None:
    serving.terminate()
    try:
        serving.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        serving.kill()
        serving.wait()


@contextmanager
def _signals(act: Act) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a terminal that is closed do this meanwhile; those that were ignored stay ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heard:
        signal.signal(number, act)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End everything at once, as Ctrl-C does: what was made is unmade on the way."""
    raise KeyboardInterrupt


def _wait_until_serving(serving: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and serving.poll() is None:
        if '"serving"' in log.read_text(encoding="utf-8", errors="replace"):
            return
        time.sleep(LOOK_SECONDS)
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
    raise StoreError(f"the controller did not start: {' '.join(last)}")


def _jackpot(config: Path, *arguments: str) -> Any:  # noqa: ANN401 - JSON
    """What one of our commands answers, asked as anybody would."""
    command = [sys.executable, "-m", "jackpot", *arguments, "--config", str(config), "--json"]
    done = subprocess.run(command, cwd=config.parent, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise StoreError(done.stderr.strip().removeprefix("jackpot: "))
    return json.loads(done.stdout)
