"""The fragments that every page may want, as plain values: meter, wins, pools, lamps."""

from __future__ import annotations

from typing import Any

from jackpot.clock import now
from jackpot.core.state import Phase
from jackpot.engine import views
from jackpot.web.formatting import hand_name, money
from jackpot.web.live_view import JackpotView, LiveView, Subject
from rules.odds import prize_table

Plain = dict[str, Any]


def install(live: LiveView) -> None:
    """Have these fragments of every jackpot."""
    live.add("meter", meter, (Subject.ANYTHING, Subject.STATUS))
    live.add("wins", wins, (Subject.WINS,))
    live.add("pools", pools, (Subject.ANYTHING,))
    live.add("lamps", lamps, (Subject.LAMPS, Subject.STATUS))


def meter(board: JackpotView) -> Plain:
    """The meter as displays hear it, and why it last fell: whoever has seen a later state knows that it may not."""
    told = views.meter(board.committed, now())
    pending = [
        {**win, "hand_name": hand_name(win["hand"]), "text": money(win["amount_cents"])} for win in told["pending"]
    ]
    fall = board.fall._asdict() if board.fall else None
    return {**told, "pending": pending, "fall": fall, "unavailable": _unavailable(board, told["state"])}


def _unavailable(board: JackpotView, state: str) -> str | None:
    """Why the meter must not be shown as if wagers moved it; None where they do."""
    if board.store_failed:
        return "store"
    if state == "retired":
        return state
    return state if state != "live" else None if board.connected else "broker"


def wins(board: JackpotView) -> list[Plain]:
    """The newest prizes; a grand one is a share of the meter."""
    grand = prize_table(board.jackpot.instrument).percent
    return [
        {
            **win._asdict(),
            "win_id": f"{board.id}-{win.seq}-{win.box}",
            "hand_name": hand_name(win.hand),
            "text": money(win.amount_cents),
            "grand": win.hand in grand,
        }
        for win in board.wins
    ]


def pools(board: JackpotView) -> Plain:
    """Every account's balance."""
    balances = {account.value: cents for account, cents in board.jackpot.balances.items()}
    return {"jackpot": board.id, "balances": balances, "epoch": board.position.epoch, "seq": board.position.seq}


def lamps(board: JackpotView) -> dict[str, list[int]]:
    """The lit boxes of each table."""
    return {
        name: table.round.lit if table.round is not None and table.phase is not Phase.IDLE else []
        for name, table in board.jackpot.tables.items()
        if not table.unlinked
    }
