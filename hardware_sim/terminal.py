"""Where a floor is shown while it plays: a live view in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from hardware_sim import view
from hardware_sim.floor import Floor, Snapshot

FRAMES_A_SECOND: Final = 6
LOG_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.1
PLAIN_WIDTH: Final = 110
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


class PlayOptions(NamedTuple):
    """What is played, how long, and the words under it."""

    title: str
    rounds: int | None
    seconds: float | None
    ended: asyncio.Event
    words: Callable[[], str] = lambda: ""


def new_screen() -> Console:
    """A screen wide enough for a floor, also where nobody watches."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=max(screen.width, PLAIN_WIDTH))


async def show(floor: Floor, screen: Console, programme: PlayOptions) -> None:
    """Play the programme to its end, and have every wager answered."""
    watch = asyncio.create_task(
        _live(floor, screen, programme) if screen.is_terminal else _log(floor, screen, programme)
    )
    try:
        await floor.play(programme.rounds, until=programme.ended, seconds=programme.seconds)
        await floor.stop()
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch


async def _live(floor: Floor, screen: Console, programme: PlayOptions) -> None:
    def frame() -> RenderableType:
        now = floor.snapshot()
        words = "\n".join(filter(None, [programme.words(), *_alone(floor, now)]))
        lines = words.count("\n") + 2 if words else 0
        drawn = view.drawn(now, programme.title, screen.height - lines)
        return Group(drawn, Text(), Text(words, "grey74")) if words else drawn

    with Live(frame(), console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        try:
            while True:
                await asyncio.sleep(1 / FRAMES_A_SECOND)
                live.update(frame(), refresh=True)
        finally:
            live.update(frame(), refresh=True)


async def _log(floor: Floor, screen: Console, programme: PlayOptions) -> None:
    """A line now and then, and what has to be said at once."""
    said: set[str] = set()
    due = 0.0
    while True:
        now = floor.snapshot()
        words = {programme.words(), *_alone(floor, now)} - {""}
        for news in sorted(words - said):
            screen.print(news, soft_wrap=True, markup=False)
        said = words
        if now.seconds >= due:
            screen.print(view.progress(now), soft_wrap=True, markup=False)
            due = now.seconds + LOG_SECONDS
        await asyncio.sleep(LOOK_SECONDS)


def _alone(floor: Floor, now: Snapshot) -> list[str]:
    """What waits, where nobody of this floor is called to it."""
    if floor.is_supervised:
        return []
    return [f"{told}: it waits for a supervisor, at the console or by --console" for told in view.waiting(now)]


@contextlib.contextmanager
def ended_by_signals(ended: asyncio.Event, floor: Floor) -> Iterator[None]:
    """The first Ctrl-C ends the play tidily, or the connecting before it; the second ends everything at once."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        ended.set()
        floor.give_up()
        ignore()

    def ignore() -> None:
        for number in _ENDING:
            loop.remove_signal_handler(number)

    for number in _ENDING:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        ignore()
