"""Show a floor in the terminal while it plays: a live view, or log lines where the output is not a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from hardware_sim import view
from hardware_sim.floor import Floor, Snapshot

FRAMES_A_SECOND: Final = 6
LOG_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.1
PLAIN_WIDTH: Final = 110
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class PlayOptions(NamedTuple):
    """The title, the limits of the play, the event that ends it, and a footer."""

    title: str
    rounds: int | None
    seconds: float | None
    ended: asyncio.Event
    footer: str = ""


def new_screen() -> Console:
    """Return a console that is wide enough for a floor, even if the output is not a terminal."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=max(screen.width, PLAIN_WIDTH))


async def play_and_show(floor: Floor, screen: Console, options: PlayOptions) -> None:
    """Play until the limits are reached, then wait until every wager is answered; show it meanwhile."""
    showing = asyncio.create_task(
        _show_live(floor, screen, options) if screen.is_terminal else _show_log(floor, screen, options)
    )
    try:
        await floor.play(options.rounds, until=options.ended, seconds=options.seconds)
        await floor.stop()
    finally:
        showing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await showing


async def _show_live(floor: Floor, screen: Console, options: PlayOptions) -> None:
    def frame() -> RenderableType:
        snapshot = floor.snapshot()
        footer = "\n".join(filter(None, [options.footer, *_unattended(floor, snapshot)]))
        lines = footer.count("\n") + 2 if footer else 0
        drawn = view.draw_floor(snapshot, options.title, screen.height - lines)
        return Group(drawn, Text(), Text(footer, "grey74")) if footer else drawn

    with Live(frame(), console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        try:
            while True:
                await asyncio.sleep(1 / FRAMES_A_SECOND)
                live.update(frame(), refresh=True)
        finally:
            live.update(frame(), refresh=True)


async def _show_log(floor: Floor, screen: Console, options: PlayOptions) -> None:
    """Print a progress line every few seconds, and each new notice at once."""
    printed: set[str] = set()
    due = 0.0
    while True:
        snapshot = floor.snapshot()
        notices = {options.footer, *_unattended(floor, snapshot)} - {""}
        for notice in sorted(notices - printed):
            screen.print(notice, soft_wrap=True, markup=False)
        printed = notices
        if snapshot.seconds >= due:
            screen.print(view.progress(snapshot), soft_wrap=True, markup=False)
            due = snapshot.seconds + LOG_SECONDS
        await asyncio.sleep(POLL_SECONDS)


def _unattended(floor: Floor, snapshot: Snapshot) -> list[str]:
    """Return a notice for each table that waits for a supervisor, if the floor has none."""
    if floor.has_supervisor:
        return []
    return [f"{table}; a supervisor must act, at the console or by --console" for table in view.waiting(snapshot)]


@contextlib.contextmanager
def end_on_signals(ended: asyncio.Event, floor: Floor) -> Iterator[None]:
    """End the play, or the connecting before it, at the first SIGINT or SIGTERM; the second ends the process.

    The signals are handled even if they were ignored at the start, as in a background job of a shell script.
    """
    loop = asyncio.get_running_loop()

    def end() -> None:
        ended.set()
        floor.stop_connecting()
        remove_handlers()

    def remove_handlers() -> None:
        for number in _STOP_SIGNALS:
            loop.remove_signal_handler(number)

    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        remove_handlers()
