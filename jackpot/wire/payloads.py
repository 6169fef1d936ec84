"""Payloads of the controller's own messages: lamps and wins. Pure: a state in, text or plain dictionaries out."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple

from jackpot.core.events import Event, EventType
from jackpot.core.state import Phase, Table
from jackpot.engine.committed_state import Position

Plain = dict[str, Any]
MAX_TEXT: Final = 3_500
"""How many bytes of a payload's 4 KiB text written by a person or a device may take."""

_MAX_BYTES_PER_CHARACTER: Final = 6
"""A character in JSON may need this many bytes: \\u0007."""

encoded: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Write a plain value as compact JSON."""


class WagerAnswer(NamedTuple):
    """The answer to a pad's message."""

    wager_id: str | None
    verdict: str
    reason: str | None


def lamp(table: Table, box: int, answer: WagerAnswer | None, position: Position) -> str:
    """Return a box's lamp message as JSON; between rounds the lamp is dark and carries the last round.

    Formatted by hand, because there is one for every wager: `json` takes 3 times as long (`bench/hot_path.py`).
    """
    standing = table.round.standing(box) if table.round and table.phase is not Phase.IDLE else None
    answered = "null"
    if answer is not None:
        wager_id, verdict, reason = answer
        answered = (
            f'{{"wager_id":{_text(wager_id)},"verdict":"{verdict}","reason":{_text(reason and shorten(reason))}}}'
        )
    lit = f'"lit":true,"wager_id":{_text(standing.wager_id)}' if standing else '"lit":false,"wager_id":null'
    return f'{{"round":{table.number},{lit},"answer":{answered},"epoch":{position.epoch},"seq":{position.seq}}}'


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def shorten(text: str) -> str:
    """Cut a text so that it fits into a payload; the audit trail has all of it."""
    kept, shortened = text, text
    while (excess := len(_text(shortened).encode()) - MAX_TEXT) > 0:
        kept = kept[: -(excess // _MAX_BYTES_PER_CHARACTER + 1)]
        shortened = f"{kept}…"
    return shortened


def wins(jackpot: str, seq: int, event: Event, earlier: list[Plain], position: Position) -> list[Plain]:
    """Return the win messages of an event; `earlier` are the round's wins as last published, which it may change."""
    match event.type:
        case EventType.ROUND_SETTLED:
            return _new_wins(jackpot, seq, event, position)
        case EventType.ROUND_CORRECTED:
            return [*_changed(earlier, "corrected", position), *_new_wins(jackpot, seq, event, position)]
        case EventType.ROUND_VOIDED:
            return _changed(earlier, "corrected", position)
        case EventType.PAYOUTS_CONFIRMED:
            return _changed([win for win in earlier if win["status"] == "pending"], "paid", position)
        case _:
            return []


def win_of_row(jackpot: str, row: Plain) -> Plain:
    """Return the win message of a payouts row, without its position."""
    return {
        "win_id": f"{jackpot}-{row['seq']}-{row['box']}",
        "table": row["table_id"],
        "round": row["round"],
        "box": row["box"],
        "hand": row["hand"],
        "amount_cents": row["amount_cents"],
        "status": row["status"],
    }


def _new_wins(jackpot: str, seq: int, event: Event, position: Position) -> list[Plain]:
    of_round = {"seq": seq, "table_id": event.table, "round": event.round}
    return [
        {**win_of_row(jackpot, {**payout, **of_round, "status": str(payout["status"])}), **position._asdict()}
        for payout in event.data["payouts"]
    ]


def _changed(earlier: list[Plain], status: str, position: Position) -> list[Plain]:
    return [{**win, "status": status, **position._asdict()} for win in earlier]
