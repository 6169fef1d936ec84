"""Draw the README's pictures from the running program: python docs/pictures.py"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from hardware_sim import Broker, Floor, Rig, Shoe
from hardware_sim.view import draw_floor
from jackpot import calculator
from jackpot.cli.demo import running_controller
from jackpot.cli.settle import show

HERE: Final = Path(__file__).parent
ROUND: Final[dict[str, Any]] = {
    "rules": "canberra-poker-2016",
    "pools": {"jackpot_cents": 4_876_543, "reserve_cents": 2_000_000},
    "approved": {"fixed_prizes_from": "reserve", "reset_cents": 1_000_000},
    "dealer": "Ah Kd 9c 5s 2d",
    "max_payout_cents": 5_000_000,
    "players": [
        {"box": box, "cards": cards, "ante_cents": 1_000, "bet_cents": 2_000, "jackpot_wager": True}
        for box, cards in (
            (7, "As Ks Qs Js Ts"),
            (6, "9h 8h 7h 6h 5h"),
            (5, "Kh Jh 4h 3h 2h"),
            (3, "Jc Tc 9s 4d 2s"),
            (2, "9d 8d 7d 6d 5d"),
            (1, "Ac Kc Qc Jd Th"),
        )
    ],
}


def main() -> None:
    """Draw each picture into this folder."""
    screen = _screen(113)
    show(calculator.settle(calculator.read(json.dumps(ROUND))), screen)
    _save(screen, "settle", "jackpot settle")
    screen = _screen(112)
    with running_controller(8) as controller:
        asyncio.run(_draw_floor(screen, controller.broker))
    _save(screen, "floor", "make demo")


async def _draw_floor(screen: Console, broker: str) -> None:
    """Draw a floor after some rounds, with a straight flush awaiting confirmation."""
    tables = [f"t{number}" for number in range(1, 9)]
    rigs = [Rig("t3", 4, "flush", 2), Rig("t6", 2, "full_house", 2), Rig("t2", 5, "straight_flush", 3)]
    async with Floor(tables, site="demo", broker=Broker.of(broker), speed=12, seed=5, shoe=Shoe(5, rigs)) as floor:
        stop = asyncio.Event()
        playing = asyncio.create_task(floor.play(until=stop))
        await floor.wait_for(lambda: any(view.phase == "pending" for view in floor.snapshot().tables), 60)
        await asyncio.sleep(1)
        screen.print(draw_floor(floor.snapshot(), " Canberra Poker · progressive jackpot ", 24))
        stop.set()
        await playing


def _screen(width: int) -> Console:
    return Console(record=True, width=width, force_terminal=True, highlight=False)


def _save(screen: Console, name: str, title: str) -> None:
    (HERE / f"{name}.svg").write_text(screen.export_svg(title=title, code_format=_own_fonts_only()))


def _own_fonts_only() -> str:
    """Return Rich's template without its font downloads: the picture must not load anything."""
    start, end = CONSOLE_SVG_FORMAT.index("@font-face"), CONSOLE_SVG_FORMAT.index(".{unique_id}-matrix")
    return CONSOLE_SVG_FORMAT[:start] + CONSOLE_SVG_FORMAT[end:]


if __name__ == "__main__":
    main()
