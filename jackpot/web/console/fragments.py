"""Live fragments of the console's pages, rendered once per change for all subscribers."""

from __future__ import annotations

from typing import Any

from jackpot.core.state import PayoutStatus, Phase, Table
from jackpot.engine import views
from jackpot.web.live_view import JackpotView, LiveView, Subject
from jackpot.web.templates import rendered

KINDS = ("bar", "card", "lamps", "pending", "waiting", "wins")
"""The fragments that the console's pages subscribe to; `wins` only signals that a list of prizes is out of date."""


def install(live: LiveView) -> None:
    """Add these fragments to the live view of every jackpot."""
    live.add("bar", bar, (Subject.ANYTHING, Subject.STATUS))
    live.add("pending", pending, (Subject.WINS, Subject.TABLES))
    live.add("waiting", waiting, (Subject.WINS, Subject.TABLES, Subject.STATUS, Subject.CONFIG))
    live.add_for_tables("card", card)


def bar(view: JackpotView) -> str:
    """Render the figures at the top of every page."""
    jackpot = view.jackpot
    meter = views.meter(view.committed, "")
    return rendered(
        "console/bar.html",
        jackpot=jackpot,
        state=_state(view, meter["state"]),
        pending=meter["pending"],
        suspended=[table.id for table in _tables(view) if table.suspended],
        proposals=len(jackpot.proposals),
        balances={account.value: cents for account, cents in jackpot.balances.items()},
    )


def pending(view: JackpotView) -> str:
    """Render the prizes that await confirmation, with their cards."""
    return rendered("console/pending.html", rounds=_pending(view))


def waiting(view: JackpotView) -> str:
    """Render what needs an operator: prizes to confirm, suspended tables, proposals.

    The number of decided proposals is part of it, so that it also changes after one that was made and approved
    between two renders.
    """
    suspended = [table for table in _tables(view) if table.suspended]
    return rendered(
        "console/waiting.html",
        jackpot=view.id,
        rounds=_pending(view),
        suspended=suspended,
        proposals=list(view.jackpot.proposals.values()),
        decided=view.jackpot.next_proposal - 1 - len(view.jackpot.proposals),
        store_failed=view.store_failed,
        connected=view.connected,
        has_owner=view.has_owner,
    )


def _pending(view: JackpotView) -> list[dict[str, Any]]:
    return [
        {
            "table": table.id,
            "number": table.number,
            "prizes": [p for p in table.round.payouts if p.status is PayoutStatus.PENDING],
            "declared": {box: hand.cards for box, hand in sorted(table.round.declared.items())},
        }
        for table in _tables(view)
        if table.phase is Phase.PENDING and table.round is not None
    ]


def card(view: JackpotView, table: Table) -> str:
    """Render one table: its round, its boxes and their lamps."""
    playing = table.round if table.phase is not Phase.IDLE else None
    boxes = [
        {
            "number": box,
            "lit": playing is not None and playing.standing(box) is not None,
            "folded": playing is not None and box in playing.folded,
            "cards": playing.declared[box].cards if playing is not None and box in playing.declared else (),
            "offline": view.pads.is_offline(table.id, box),
        }
        for box in range(1, table.boxes + 1)
    ]
    last = table.round.payouts if table.round is not None else ()
    return rendered(
        "console/card.html",
        jackpot=view.id,
        table=table,
        boxes=boxes,
        dealer_online=view.pads.dealer_online(table.id),
        payouts=last,
        store_failed=view.store_failed,
    )


def _tables(view: JackpotView) -> list[Table]:
    return [table for table in view.jackpot.tables.values() if not table.unlinked]


def _state(view: JackpotView, state: str) -> str:
    if view.store_failed:
        return "store"
    if not view.has_owner:
        return "owner"
    return state if state != "live" or view.connected else "broker"
