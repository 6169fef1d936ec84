"""The messages of the protocol, as models: what comes in is checked strictly, what goes out is written by them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

MOST_BYTES: Final = 4_096
"""A payload's limit, in either direction from a device."""
MOST_LOOKED_INTO: Final = 16 * MOST_BYTES
"""What is longer than this is not even looked into for the id of whoever waits for an answer."""
MOST_EPOCH: Final = 2**53
"""What every receiver's numbers can hold."""

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="1 to 64 of A-Z a-z 0-9 _ . -")]
Cents = Annotated[int, Field(description="integer cents")]
Reason = Annotated[str, Field(pattern=r"\S", description="why: it stays in the audit trail")]
Time = Annotated[str, Field(description="RFC 3339 UTC with Z")]
Epoch = Annotated[int, Field(description="grows with each takeover, restart or restore")]
Seq = Annotated[int, Field(description="the jackpot's audit sequence; drop what is older than (epoch, seq) seen")]


class Message(BaseModel):
    """Strict in types; unknown fields are ignored, so that firmware can grow."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


M = TypeVar("M", bound=Message)


class WagerMessage(Message):
    """A wager; repeated until the lamp answers it."""

    wager_id: Annotated[Id, Field(description="never repeats for one pad")]
    round: Annotated[int, Field(description="the round the pad read from the table's state")]
    amount_cents: Annotated[Cents, Field(ge=1)]
    ante: bool
    sent_at: Annotated[Any, Field(description="optional, not content")] = None


class Answer(Message):
    """The answer to a pad's last message."""

    wager_id: Id | None
    verdict: Literal["accepted", "rejected", "returned"]
    reason: Annotated[str | None, Field(description="why it was rejected, or the reason given for the void")]


class LampMessage(Message):
    """The whole truth about a box."""

    round: int
    lit: bool
    wager_id: Id | None
    answer: Annotated[Answer | None, Field(description="null when the lamp changed for another reason")]
    epoch: Epoch
    seq: Seq


class StatusMessage(Message):
    """Whether a device is there; the offline one is its will."""

    state: Literal["online", "offline"]


class PadShownMessage(Message):
    """What the lamp really shows."""

    round: int
    wager_id: Id | None = None
    lit: bool


class DisplayShownMessage(Message):
    """What a display now shows."""

    jackpot: Id
    amount_cents: Cents
    epoch: Epoch
    seq: Seq


class ControllerMessage(Message):
    """Whether a jackpot's controller is there; the offline one is its will, harmless when it comes late."""

    state: Literal["online", "offline"]
    epoch: Annotated[Epoch, Field(ge=0, lt=MOST_EPOCH)]


class _Command(Message):
    command_id: Annotated[Id, Field(description="unique per table")]


class OpenRoundMessage(_Command):
    """Open the next round."""

    type: Literal["open_round"]


class _OfRound(_Command):
    round: int


class CloseWagersMessage(_OfRound):
    """The first card is dealt."""

    type: Literal["close_wagers"]


class FoldMessage(_OfRound):
    """A box folds."""

    type: Literal["fold"]
    box: int
    reason: str = ""


class UnfoldMessage(_OfRound):
    """A fold is taken back."""

    type: Literal["unfold"]
    box: int
    reason: str = ""


class DeclareMessage(_OfRound):
    """A box's cards."""

    type: Literal["declare"]
    box: int
    cards: Annotated[list[str], Field(examples=[["As", "Ks", "Qs", "Js", "Ts"]])]


class SettleMessage(_OfRound):
    """Compute and post the round's prizes."""

    type: Literal["settle"]


class VoidRoundMessage(_OfRound):
    """Return every wager."""

    type: Literal["void_round"]
    reason: Reason


class VoidHandMessage(_OfRound):
    """Return one box's wager."""

    type: Literal["void_hand"]
    box: int
    reason: Reason


class ReportMalfunctionMessage(_Command):
    """Equipment fails."""

    type: Literal["report_malfunction"]
    equipment: str
    note: str


DealerCommand = (
    OpenRoundMessage | CloseWagersMessage | FoldMessage | UnfoldMessage | DeclareMessage | SettleMessage
    | VoidRoundMessage | VoidHandMessage | ReportMalfunctionMessage
)  # fmt: skip


class ReplyMessage(Message):
    """The answer to one command: its result beside `ok`, or an error with a sentence for a person."""

    model_config = ConfigDict(extra="allow")

    command_id: Id
    ok: bool
    error: str | None = None
    message: str | None = None


class ToldPayout(Message):
    """A prize as a table's state tells it."""

    box: int
    hand: str
    amount_cents: Cents
    status: Literal["paid", "pending"]
    clause: str


class TableStateMessage(Message):
    """A table's round and phase: enough for a dealer terminal to start again mid-round."""

    round: int
    phase: Literal["idle", "open", "closed", "pending"]
    jackpot: Id
    wager_cents: Cents
    boxes: int
    lit: list[int]
    folded: list[int]
    declared: dict[str, list[str]]
    payouts: list[ToldPayout]
    suspended: Literal["dealer_report", "pad_offline", "display", "store"] | None
    epoch: Epoch
    seq: Seq


class PendingWin(Message):
    """A prize that awaits confirmation."""

    table: Id
    round: int
    box: int
    hand: str
    amount_cents: Cents


class MeterMessage(Message):
    """The meter: at most ten a second, at least one every five seconds."""

    jackpot: Id
    amount_cents: Cents
    text: str
    state: Literal["live", "suspended", "retired"]
    pending: list[PendingWin]
    epoch: Epoch
    seq: Seq
    as_of: Time


class WinMessage(Message):
    """A prize, for the celebration; receivers act once on each (win_id, status)."""

    win_id: str
    table: Id
    round: int
    box: int
    hand: str
    amount_cents: Cents
    status: Literal["pending", "paid", "corrected"]
    epoch: Epoch
    seq: Seq


class Malformed(ValueError):  # noqa: N818 - what is wrong with a message, not with the program
    """A message that is not of the protocol; `device_id` is its wager or command id where a valid one could be read."""

    def __init__(self, problem: str, device_id: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.device_id = device_id


_COMMANDS: Final[TypeAdapter[DealerCommand]] = TypeAdapter(Annotated[DealerCommand, Field(discriminator="type")])
_AN_ID: Final[TypeAdapter[str]] = TypeAdapter(Id)
_TYPES: Final = frozenset(get_args(command.model_fields["type"].annotation)[0] for command in get_args(DealerCommand))
"""What a command's `type` may be: where something is wrong in one, pydantic puts that in front of the field."""


def read_wager(payload: bytes) -> WagerMessage:
    """A pad's wager, or `Malformed`."""
    try:
        return WagerMessage.model_validate_json(_bounded(payload, "wager_id"))
    except ValidationError as error:
        raise Malformed(_first(error), _id_in(payload, "wager_id")) from None


def read_command(payload: bytes) -> DealerCommand:
    """A dealer's command, or `Malformed`."""
    try:
        return _COMMANDS.validate_json(_bounded(payload, "command_id"))
    except ValidationError as error:
        raise Malformed(_first(error), _id_in(payload, "command_id")) from None


def read(model: type[M], payload: bytes) -> M:
    """Any other message, or `Malformed`."""
    try:
        return model.model_validate_json(_bounded(payload))
    except ValidationError as error:
        raise Malformed(_first(error)) from None


def _bounded(payload: bytes, name: str = "") -> bytes:
    """A payload that is not too long; one that is, but within reason, is looked into for its id of this name."""
    if len(payload) > MOST_BYTES:
        found = _id_in(payload, name) if len(payload) <= MOST_LOOKED_INTO else None
        raise Malformed(f"the payload has {len(payload)} bytes, more than {MOST_BYTES}", found)
    return payload


def _first(error: ValidationError) -> str:
    """What is wrong first, for a person."""
    found = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in found["loc"] if part not in _TYPES)
    match found["type"]:
        case "union_tag_invalid":
            return "type: there is no such command"
        case "union_tag_not_found":
            return "type is missing: a command says what it is"
        case "missing":
            return f"{where} is missing"
        case "json_invalid":
            return f"this is not JSON: {found['ctx']['error']}"
        case _:
            return f"{where}: {found['msg']}" if where else str(found["msg"])


def _id_in(payload: bytes, name: str) -> str | None:
    """The id of a message that is otherwise wrong, where a valid one can be read."""
    try:
        plain = json.loads(payload)
        return _AN_ID.validate_python(plain.get(name), strict=True) if isinstance(plain, dict) else None
    except (ValueError, RecursionError):
        return None
