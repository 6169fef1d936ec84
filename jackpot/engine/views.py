"""The values that MQTT and HTTP both show, as plain dictionaries: table state, meter, payouts, pending wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jackpot.core.state import Jackpot, Payout, PayoutStatus, Phase, Table
from jackpot.engine.committed_state import CommittedState

Plain = dict[str, Any]


def table_state(committed: CommittedState, table: Table) -> Plain:
    """Return a table's round and phase, enough to start again mid-round; payouts stay until the next round opens."""
    jackpot, played = committed.jackpot, table.round
    playing = played if table.phase is not Phase.IDLE else None
    version = playing.config_version if playing else jackpot.version
    return {
        "round": table.number,
        "phase": table.phase.value,
        "jackpot": jackpot.id,
        "wager_cents": jackpot.configs[version].wager_cents,
        "boxes": table.boxes,
        "lit": playing.lit if playing else [],
        "folded": sorted(playing.folded) if playing else [],
        "declared": {str(box): list(hand.cards) for box, hand in sorted(playing.declared.items())} if playing else {},
        "payouts": [table_payout(payout) for payout in played.payouts] if played else [],
        "suspended": table.suspended or ("store" if committed.store_failed else None),
        "epoch": committed.position.epoch,
        "seq": committed.position.seq,
    }


def table_payout(payout: Payout) -> Plain:
    """Return a prize as a table's state shows it."""
    return {
        "box": payout.box,
        "hand": payout.hand,
        "amount_cents": payout.amount_cents,
        "status": payout.status.value,
        "clause": payout.clause,
    }


def meter(committed: CommittedState, as_of: str) -> Plain:
    """Return the meter with the prizes that await confirmation."""
    jackpot = committed.jackpot
    return {
        "jackpot": jackpot.id,
        "amount_cents": jackpot.meter_cents,
        "text": dollars(jackpot.meter_cents),
        "state": _meter_state(committed),
        "pending": [
            {"table": table, "round": number, "box": p.box, "hand": p.hand, "amount_cents": p.amount_cents}
            for table, number, p in pending_payouts(jackpot)
        ],
        "epoch": committed.position.epoch,
        "seq": committed.position.seq,
        "as_of": as_of,
    }


def _meter_state(committed: CommittedState) -> str:
    """Suspended when no table can take a wager: the store has failed, or every table is suspended."""
    if committed.jackpot.retired:
        return "retired"
    tables = [table for table in committed.jackpot.tables.values() if not table.unlinked]
    none_plays = bool(tables) and all(table.suspended for table in tables)
    return "suspended" if committed.store_failed or none_plays else "live"


def dollars(cents: int) -> str:
    """Return an amount in dollars, as people read it: "$1,234.50"."""
    sign, whole = ("-" if cents < 0 else ""), abs(cents)
    return f"{sign}${whole // 100:,}.{whole % 100:02d}"


def pending_payouts(jackpot: Jackpot) -> Iterator[tuple[str, int, Payout]]:
    """Yield every prize that awaits confirmation, with its table and round."""
    for table in jackpot.tables.values():
        if table.phase is Phase.PENDING and table.round is not None:
            for payout in table.round.payouts:
                if payout.status is PayoutStatus.PENDING:
                    yield table.id, table.number, payout
