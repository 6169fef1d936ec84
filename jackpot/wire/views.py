"""What a state looks like on the wire: lamps, tables, the meter, prizes. Pure: a state in, plain messages out."""

from __future__ import annotations

from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple

from jackpot.core.events import Event, EventType
from jackpot.core.state import Jackpot, Payout, PayoutStatus, Phase, Table

Plain = dict[str, Any]
MOST_TEXT: Final = 3_500
"""As many bytes of a payload's four thousand may be what a person, or a device, has written."""

_MOST_BYTES_EACH: Final = 6
"""A character in JSON may need so many: \\u0007."""


class Mark(NamedTuple):
    """Which state a message speaks of: the controller's epoch and the jackpot's audit sequence."""

    epoch: int
    seq: int


class Told(NamedTuple):
    """The answer to a pad's message."""

    wager_id: str | None
    verdict: str
    reason: str | None


def lamp(table: Table, box: int, told: Told | None, mark: Mark) -> str:
    """The whole truth about a box; between rounds the lamp is dark and carries the last round.

    Written by hand, because there is one for every wager.
    """
    standing = table.round.standing(box) if table.round and table.phase is not Phase.IDLE else None
    answer = "null"
    if told is not None:
        answer = f'{{"wager_id":{_text(told[0])},"verdict":"{told[1]}","reason":{_text(told[2] and brief(told[2]))}}}'
    shown = f'"lit":true,"wager_id":{_text(standing.wager_id)}' if standing else '"lit":false,"wager_id":null'
    return f'{{"round":{table.number},{shown},"answer":{answer},"epoch":{mark.epoch},"seq":{mark.seq}}}'


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def brief(text: str) -> str:
    """A text as a device gets it: a person may have written more than a payload holds; the trail has all of it."""
    kept, told = text, text
    while (excess := len(_text(told).encode()) - MOST_TEXT) > 0:
        kept = kept[: -(excess // _MOST_BYTES_EACH + 1)]
        told = f"{kept}…"
    return told


def table_state(jackpot: Jackpot, table: Table, mark: Mark, *, store_failed: bool = False) -> Plain:
    """A table's round and phase, enough to start again mid-round; payouts stay until the next round opens."""
    played = table.round
    playing = played if table.phase is not Phase.IDLE else None
    version = played.config_version if played and table.phase is not Phase.IDLE else jackpot.version
    return {
        "round": table.number,
        "phase": table.phase.value,
        "jackpot": jackpot.id,
        "wager_cents": jackpot.configs[version].wager_cents,
        "boxes": table.boxes,
        "lit": playing.lit if playing else [],
        "folded": sorted(playing.folded) if playing else [],
        "declared": {str(box): list(told.cards) for box, told in sorted(playing.declared.items())} if playing else {},
        "payouts": [told_payout(payout) for payout in played.payouts] if played else [],
        "suspended": table.suspended or ("store" if store_failed else None),
        "epoch": mark.epoch,
        "seq": mark.seq,
    }


def told_payout(payout: Payout) -> Plain:
    """A prize as it is told."""
    return {
        "box": payout.box,
        "hand": payout.hand,
        "amount_cents": payout.amount_cents,
        "status": payout.status.value,
        "clause": payout.clause,
    }


def meter(jackpot: Jackpot, mark: Mark, as_of: str, *, store_failed: bool = False) -> Plain:
    """The published value, with the prizes that await confirmation."""
    return {
        "jackpot": jackpot.id,
        "amount_cents": jackpot.meter_cents,
        "text": money(jackpot.meter_cents),
        "state": _meter_state(jackpot, store_failed=store_failed),
        "pending": [
            {"table": table, "round": number, "box": p.box, "hand": p.hand, "amount_cents": p.amount_cents}
            for table, number, p in pending(jackpot)
        ],
        "epoch": mark.epoch,
        "seq": mark.seq,
        "as_of": as_of,
    }


def _meter_state(jackpot: Jackpot, *, store_failed: bool) -> str:
    """Suspended when no table could take a wager: the store has failed, or every table is suspended."""
    if jackpot.retired:
        return "retired"
    tables = [table for table in jackpot.tables.values() if not table.unlinked]
    none_plays = bool(tables) and all(table.suspended for table in tables)
    return "suspended" if store_failed or none_plays else "live"


def money(cents: int) -> str:
    """An amount as people read it."""
    sign, whole = ("-" if cents < 0 else ""), abs(cents)
    return f"{sign}${whole // 100:,}.{whole % 100:02d}"


def pending(jackpot: Jackpot) -> Iterator[tuple[str, int, Payout]]:
    """Every prize that awaits confirmation, with its table and round."""
    for table in jackpot.tables.values():
        if table.phase is Phase.PENDING and table.round is not None:
            for payout in table.round.payouts:
                if payout.status is PayoutStatus.PENDING:
                    yield table.id, table.number, payout


ROUND_ENDS: Final = {
    EventType.ROUND_SETTLED,
    EventType.ROUND_CORRECTED,
    EventType.PAYOUTS_CONFIRMED,
    EventType.ROUND_VOIDED,
}
"""What may end a round; its lamps go dark then."""


def wins(jackpot: str, seq: int, event: Event, earlier: list[Plain], mark: Mark) -> list[Plain]:
    """The prizes an event tells of; `earlier` are the round's prizes as they were told last, which it may change."""
    match event.type:
        case EventType.ROUND_SETTLED:
            return _told_wins(jackpot, seq, event, mark)
        case EventType.ROUND_CORRECTED:
            return [*_changed(earlier, "corrected", mark), *_told_wins(jackpot, seq, event, mark)]
        case EventType.ROUND_VOIDED:
            return _changed(earlier, "corrected", mark)
        case EventType.PAYOUTS_CONFIRMED:
            return _changed([win for win in earlier if win["status"] == "pending"], "paid", mark)
        case _:
            return []


def _told_wins(jackpot: str, seq: int, event: Event, mark: Mark) -> list[Plain]:
    return [
        {
            "win_id": f"{jackpot}-{seq}-{payout['box']}",
            "table": event.table,
            "round": event.round,
            "box": payout["box"],
            "hand": payout["hand"],
            "amount_cents": payout["amount_cents"],
            "status": str(payout["status"]),
            "epoch": mark.epoch,
            "seq": mark.seq,
        }
        for payout in event.data["payouts"]
    ]


def _changed(earlier: list[Plain], status: str, mark: Mark) -> list[Plain]:
    return [{**win, "status": status, "epoch": mark.epoch, "seq": mark.seq} for win in earlier]
