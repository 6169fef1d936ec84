"""`jackpot demo`: an example round on the terminal."""

from __future__ import annotations

import json
from typing import Any, Final

from jackpot import calculator
from jackpot.cli.output import console
from jackpot.cli.settle import show

EXAMPLE: Final[dict[str, Any]] = {
    "rules": "canberra-poker-2016",
    "pools": {"jackpot_cents": 4_876_543, "reserve_cents": 2_000_000},
    "approved": {"fixed_prizes_from": "reserve", "reset_cents": 1_000_000},
    "dealer": "Ah Kd 9c 5s 2d",
    "max_payout_cents": 5_000_000,
    "players": [
        {"box": 7, "cards": "As Ks Qs Js Ts"},
        {"box": 6, "cards": "9h 8h 7h 6h 5h"},
        {"box": 5, "cards": "Kh Jh 4h 3h 2h"},
        {"box": 3, "cards": "Jc Tc 9s 4d 2s"},
        {"box": 2, "cards": "9d 8d 7d 6d 5d"},
        {"box": 1, "cards": "Ac Kc Qc Jd Th"},
    ],
}


def example() -> str:
    """The round as the JSON text that `jackpot settle` takes."""
    wagers = {"ante_cents": 1_000, "bet_cents": 2_000, "jackpot_wager": True}
    return json.dumps(EXAMPLE | {"players": [player | wagers for player in EXAMPLE["players"]]})


def demo() -> None:
    """Settle an example round: a royal flush, two straight flushes and a flush at one table."""
    screen = console()
    screen.print("A round with a royal flush, two straight flushes and a flush, pools as at the lock:")
    show(calculator.settle(calculator.read(example())), screen)
    screen.print("Ask more: jackpot hand, jackpot odds, jackpot rules, jackpot settle --help")
