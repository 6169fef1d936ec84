"""The protocol's messages, as devices read and write them; a message that cannot be read is None."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

CACHED_STATES: Final = 512

JsonObject = dict[str, Any]
T = TypeVar("T")


class MessagePosition(NamedTuple):
    """The version of the state in a message: the controller's epoch and the jackpot's audit sequence number."""

    epoch: int
    seq: int


NO_POSITION = MessagePosition(-1, -1)


class ReceivedAnswer(NamedTuple):
    """A lamp's answer to a pad's wager."""

    wager_id: str | None
    verdict: str
    reason: str | None


class ReceivedLamp(NamedTuple):
    """The lamp of a box: lit or dark, for which wager, with the last answer."""

    round: int
    lit: bool
    wager_id: str | None
    answer: ReceivedAnswer | None
    position: MessagePosition


class ReceivedPayout(NamedTuple):
    """A prize in a table's state or in a reply."""

    box: int
    hand: str
    amount_cents: int
    status: str


class ReceivedState(NamedTuple):
    """A table's state: its round, phase, boxes and payouts."""

    round: int
    phase: str
    jackpot: str
    wager_cents: int
    boxes: int
    lit: tuple[int, ...]
    folded: tuple[int, ...]
    declared: Mapping[int, tuple[str, ...]]
    payouts: tuple[ReceivedPayout, ...]
    suspended: str | None
    position: MessagePosition


class ReceivedReply(NamedTuple):
    """The answer to one command."""

    command_id: str
    ok: bool
    error: str | None
    message: str | None
    result: JsonObject


class ReceivedMeter(NamedTuple):
    """The meter, with the number of prizes that await confirmation."""

    amount_cents: int
    text: str
    state: str
    pending: int
    position: MessagePosition


class ReceivedWin(NamedTuple):
    """A win, as displays show it."""

    win_id: str
    table: str
    round: int
    box: int
    hand: str
    amount_cents: int
    status: str


class ReceivedStatus(NamedTuple):
    """The status of a jackpot's controller."""

    online: bool
    epoch: int


def encode(message: JsonObject) -> bytes:
    """Return a message as bytes for the wire."""
    return json.dumps(message, separators=(",", ":")).encode()


def now() -> str:
    """Return the current time in the protocol's form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_lamp(payload: bytes) -> ReceivedLamp | None:
    """Read a lamp message."""
    return _read(payload, _lamp)


@lru_cache(maxsize=CACHED_STATES)
def read_state(payload: bytes) -> ReceivedState | None:
    """Read a table's state; cached, because every device of a table reads the same one."""
    return _read(payload, _state)


def read_reply(payload: bytes) -> ReceivedReply | None:
    """Read a reply to a dealer terminal."""
    return _read(payload, _reply)


def read_meter(payload: bytes) -> ReceivedMeter | None:
    """Read a meter message."""
    return _read(payload, _meter)


def read_win(payload: bytes) -> ReceivedWin | None:
    """Read a win message."""
    return _read(payload, lambda m: ReceivedWin(*(m[name] for name in ReceivedWin._fields)))


def read_controller(payload: bytes) -> ReceivedStatus | None:
    """Read a controller's status, published by itself or by its will."""
    return _read(payload, lambda m: ReceivedStatus(m["state"] == "online", int(m["epoch"])))


def read_payouts(rows: list[JsonObject]) -> tuple[ReceivedPayout, ...]:
    """Read prizes; the order is kept."""
    return tuple(ReceivedPayout(row["box"], row["hand"], row["amount_cents"], row["status"]) for row in rows)


def _read(payload: bytes, build: Callable[[JsonObject], T]) -> T | None:
    try:
        return build(json.loads(payload))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _position(message: JsonObject) -> MessagePosition:
    return MessagePosition(int(message["epoch"]), int(message["seq"]))


def _lamp(message: JsonObject) -> ReceivedLamp:
    row = message["answer"]
    answer = ReceivedAnswer(row["wager_id"], row["verdict"], row["reason"]) if row else None
    return ReceivedLamp(message["round"], message["lit"], message["wager_id"], answer, _position(message))


def _state(message: JsonObject) -> ReceivedState:
    return ReceivedState(
        round=int(message["round"]),
        phase=message["phase"],
        jackpot=message["jackpot"],
        wager_cents=int(message["wager_cents"]),
        boxes=int(message["boxes"]),
        lit=tuple(message["lit"]),
        folded=tuple(message["folded"]),
        declared={int(box): tuple(cards) for box, cards in message["declared"].items()},
        payouts=read_payouts(message["payouts"]),
        suspended=message["suspended"],
        position=_position(message),
    )


def _reply(message: JsonObject) -> ReceivedReply:
    return ReceivedReply(message["command_id"], message["ok"], message.get("error"), message.get("message"), message)


def _meter(message: JsonObject) -> ReceivedMeter:
    return ReceivedMeter(
        int(message["amount_cents"]), message["text"], message["state"], len(message["pending"]), _position(message)
    )
