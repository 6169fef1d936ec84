"""The fragments that displays and console share, as plain values: meter, wins, pools, lamps."""

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
    """Add these fragments to every jackpot's view."""
    live.add("meter", meter, (Subject.ANYTHING, Subject.STATUS))
    live.add("wins", wins, (Subject.WINS,))
    live.add("pools", pools, (Subject.ANYTHING,))
    live.add("lamps", lamps, (Subject.LAMPS, Subject.STATUS))


def meter(view: JackpotView) -> Plain:
    """Return the meter as displays receive it, and why it last fell, so that a page can explain a lower amount."""
    published = views.meter(view.committed, now())
    pending = [
        {**win, "hand_name": hand_name(win["hand"]), "text": money(win["amount_cents"])} for win in published["pending"]
    ]
    fall = view.fall._asdict() if view.fall else None
    return {**published, "pending": pending, "fall": fall, "unavailable": _unavailable(view, published["state"])}


def _unavailable(view: JackpotView, state: str) -> str | None:
    """Return why wagers do not move the meter at present; None if they do."""
    if view.store_failed:
        return "store"
    if state == "retired":
        return state
    return state if state != "live" else None if view.connected else "broker"


def wins(view: JackpotView) -> list[Plain]:
    """Return the newest prizes; a grand one is a share of the meter."""
    grand = prize_table(view.jackpot.instrument).percent
    return [
        {
            **win._asdict(),
            "win_id": f"{view.id}-{win.seq}-{win.box}",
            "hand_name": hand_name(win.hand),
            "text": money(win.amount_cents),
            "grand": win.hand in grand,
        }
        for win in view.wins
    ]


def pools(view: JackpotView) -> Plain:
    """Return every account's balance."""
    balances = {account.value: cents for account, cents in view.jackpot.balances.items()}
    return {"jackpot": view.id, "balances": balances, "epoch": view.position.epoch, "seq": view.position.seq}


def lamps(view: JackpotView) -> dict[str, list[int]]:
    """Return the lit boxes of each table."""
    return {
        name: table.round.lit if table.round is not None and table.phase is not Phase.IDLE else []
        for name, table in view.jackpot.tables.items()
        if not table.unlinked
    }
