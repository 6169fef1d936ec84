"""What is live on the console's pages, rendered once a change for all who look: the bar, table cards, what waits."""

from __future__ import annotations

from typing import Any

from jackpot.core.state import PayoutStatus, Phase, Table
from jackpot.engine import views
from jackpot.web.live_view import JackpotView, LiveView, Subject
from jackpot.web.templates import rendered

KINDS = ("bar", "card", "lamps", "pending", "waiting", "wins")
"""What the console's pages hear; `wins` only tells them that a list of prizes is old."""


def install(live: LiveView) -> None:
    """Have these fragments of every jackpot."""
    live.add("bar", bar, (Subject.ANYTHING, Subject.STATUS))
    live.add("pending", pending, (Subject.WINS, Subject.TABLES))
    live.add("waiting", waiting, (Subject.WINS, Subject.TABLES, Subject.STATUS, Subject.CONFIG))
    live.add_for_tables("card", card)


def bar(board: JackpotView) -> str:
    """The figures at the top of every page."""
    jackpot = board.jackpot
    meter = views.meter(board.committed, "")
    return rendered(
        "console/bar.html",
        jackpot=jackpot,
        state=_state(board, meter["state"]),
        pending=meter["pending"],
        suspended=[table.id for table in _tables(board) if table.suspended],
        proposals=len(jackpot.proposals),
        balances={account.value: cents for account, cents in jackpot.balances.items()},
    )


def pending(board: JackpotView) -> str:
    """Prizes that await confirmation, with their cards."""
    return rendered("console/pending.html", rounds=_pending(board))


def waiting(board: JackpotView) -> str:
    """All that waits for somebody: prizes to confirm, suspended tables, proposals.

    It also tells how many proposals there were: one that was made and approved between two looks changes pages, too.
    """
    suspended = [table for table in _tables(board) if table.suspended]
    return rendered(
        "console/waiting.html",
        jackpot=board.id,
        rounds=_pending(board),
        suspended=suspended,
        proposals=list(board.jackpot.proposals.values()),
        decided=board.jackpot.next_proposal - 1 - len(board.jackpot.proposals),
        store_failed=board.store_failed,
        connected=board.connected,
    )


def _pending(board: JackpotView) -> list[dict[str, Any]]:
    return [
        {
            "table": table.id,
            "number": table.number,
            "prizes": [p for p in table.round.payouts if p.status is PayoutStatus.PENDING],
            "declared": {box: told.cards for box, told in sorted(table.round.declared.items())},
        }
        for table in _tables(board)
        if table.phase is Phase.PENDING and table.round is not None
    ]


def card(board: JackpotView, table: Table) -> str:
    """One table: its round, its boxes and their lamps."""
    playing = table.round if table.phase is not Phase.IDLE else None
    boxes = [
        {
            "number": box,
            "lit": playing is not None and playing.standing(box) is not None,
            "folded": playing is not None and box in playing.folded,
            "cards": playing.declared[box].cards if playing is not None and box in playing.declared else (),
            "offline": board.pads.is_offline(table.id, box),
        }
        for box in range(1, table.boxes + 1)
    ]
    last = table.round.payouts if table.round is not None else ()
    return rendered(
        "console/card.html",
        jackpot=board.id,
        table=table,
        boxes=boxes,
        dealer_online=board.pads.dealer_online(table.id),
        payouts=last,
        store_failed=board.store_failed,
    )


def _tables(board: JackpotView) -> list[Table]:
    return [table for table in board.jackpot.tables.values() if not table.unlinked]


def _state(board: JackpotView, state: str) -> str:
    if board.store_failed:
        return "store"
    return state if state != "live" or board.connected else "broker"
