"""The messages of the protocol as models; the ones that are received are checked strictly."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from jackpot.engine.view_models import Cents, Epoch, Id, Seq, StrictModel, TablePayout

MAX_BYTES: Final = 4_096
"""The largest payload, in either direction."""
MAX_PARSED_BYTES: Final = 16 * MAX_BYTES
"""A payload that is too long is parsed for the sender's id up to this length, so that it can be answered."""
MAX_EPOCH: Final = 2**53
"""The largest number that every receiver can hold exactly."""

VoidReason = Annotated[str, Field(pattern=r"\S", description="why: it stays in the audit trail")]

M = TypeVar("M", bound=StrictModel)


class WagerMessage(StrictModel):
    """A wager; repeated until the lamp answers it."""

    wager_id: Annotated[Id, Field(description="never repeats for one pad")]
    round: Annotated[int, Field(description="the round the pad read from the table's state")]
    amount_cents: Annotated[Cents, Field(ge=1)]
    ante: bool
    sent_at: Annotated[Any, Field(description="optional, not content")] = None


class LampAnswer(StrictModel):
    """The answer to a pad's last message."""

    wager_id: Id | None
    verdict: Literal["accepted", "rejected", "returned"]
    reason: Annotated[str | None, Field(description="why it was rejected, or the reason given for the void")]


class LampMessage(StrictModel):
    """The state of a box."""

    round: int
    lit: bool
    wager_id: Id | None
    answer: Annotated[LampAnswer | None, Field(description="null when the lamp changed for another reason")]
    epoch: Epoch
    seq: Seq


class StatusMessage(StrictModel):
    """A device's status; the offline one is its will."""

    state: Literal["online", "offline"]


class PadShownMessage(StrictModel):
    """A pad's report of its own lamp."""

    round: int
    wager_id: Id | None = None
    lit: bool


class DisplayShownMessage(StrictModel):
    """A display's report of the amount it shows."""

    jackpot: Id
    amount_cents: Cents
    epoch: Epoch
    seq: Seq


class ControllerMessage(StrictModel):
    """The status of a jackpot's controller; the offline one is its will, harmless when it comes late."""

    state: Literal["online", "offline"]
    epoch: Annotated[Epoch, Field(ge=0, lt=MAX_EPOCH)]


class MarkMessage(StrictModel):
    """A jackpot's last durable event in a note signed with the site's key; for its next controller only."""

    note: Annotated[str, Field(max_length=2_000)]


class _Command(StrictModel):
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
    reason: VoidReason


class VoidHandMessage(_OfRound):
    """Return one box's wager."""

    type: Literal["void_hand"]
    box: int
    reason: VoidReason


class ReportMalfunctionMessage(_Command):
    """Equipment fails."""

    type: Literal["report_malfunction"]
    equipment: str
    note: str


DealerCommand = (
    OpenRoundMessage | CloseWagersMessage | FoldMessage | UnfoldMessage | DeclareMessage | SettleMessage
    | VoidRoundMessage | VoidHandMessage | ReportMalfunctionMessage
)  # fmt: skip


class ReplyMessage(StrictModel):
    """The answer to one command: its result beside `ok`, or an error with a sentence for a person."""

    model_config = ConfigDict(extra="allow")

    command_id: Id
    ok: bool
    error: str | None = None
    message: str | None = None


class WinMessage(StrictModel):
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


class CommandDoneMessage(StrictModel):
    """Carried out; where a command has a result, it stands beside `ok`."""

    command_id: Annotated[Id, Field(description="the command that this answers")]
    ok: Literal[True]


class RoundOpened(CommandDoneMessage):
    """The round that is open now."""

    round: int


class WagersClosed(CommandDoneMessage):
    """The boxes that play for the jackpot in this round."""

    lit: Annotated[list[int], Field(description="boxes with a standing wager")]
    unconfirmed: Annotated[list[int], Field(description="those of them whose pad reports a dark lamp")]


class HandDeclared(CommandDoneMessage):
    """The hand of the declared cards, and its prize now if no other box won."""

    hand: str
    qualifies: bool
    amount_cents: Annotated[Cents, Field(description="integer cents; 0 where nothing would be paid")]


class RoundSettled(CommandDoneMessage):
    """The round's prizes."""

    payouts: Annotated[list[TablePayout], Field(description="in the order in which they are paid")]


class WagersReturned(CommandDoneMessage):
    """The amount that goes back to the players."""

    returned_cents: Cents


class CommandRefusedMessage(StrictModel):
    """Not carried out, and nothing changed."""

    command_id: Annotated[Id, Field(description="the command that this answers")]
    ok: Literal[False]
    error: Annotated[
        Literal[
            "malformed",
            "command_id_reused",
            "table_suspended",
            "wrong_round",
            "needs_supervisor",
            "wrong_phase",
            "unknown_box",
            "no_wager",
            "folded",
            "wrong_cards",
            "card_already_declared",
        ],
        Field(description="the first that applies, in the order of this list"),
    ]
    message: Annotated[str, Field(description="a sentence for a person")]


class Malformed(ValueError):  # noqa: N818 - a fault of the message, not of the program
    """A message that is not of the protocol; what is wrong with it is worked out only when it is read."""

    def __init__(self, problem: str | ValidationError, payload: bytes = b"", id_name: str = "") -> None:
        super().__init__(problem)
        self._problem = problem
        self._payload = payload
        self._id_name = id_name

    def __str__(self) -> str:
        return self.problem

    @property
    def problem(self) -> str:
        """What is wrong, as a sentence for a person."""
        return self._problem if isinstance(self._problem, str) else _first(self._problem)

    @property
    def device_id(self) -> str | None:
        """The wager or command id, where a valid one can be read."""
        return _id_in(self._payload, self._id_name) if len(self._payload) <= MAX_PARSED_BYTES else None


_COMMANDS: Final[TypeAdapter[DealerCommand]] = TypeAdapter(Annotated[DealerCommand, Field(discriminator="type")])
_AN_ID: Final[TypeAdapter[str]] = TypeAdapter(Id)
_TYPES: Final = frozenset(get_args(command.model_fields["type"].annotation)[0] for command in get_args(DealerCommand))
"""The types of command: pydantic puts the type in front of the field in its errors."""


def read_wager(payload: bytes) -> WagerMessage:
    """Decode a pad's wager, or raise `Malformed`."""
    try:
        return WagerMessage.model_validate_json(_bounded(payload, "wager_id"))
    except ValidationError as error:
        raise Malformed(error, payload, "wager_id") from None


def read_command(payload: bytes) -> DealerCommand:
    """Decode a dealer's command, or raise `Malformed`."""
    try:
        return _COMMANDS.validate_json(_bounded(payload, "command_id"))
    except ValidationError as error:
        raise Malformed(error, payload, "command_id") from None


def read(model: type[M], payload: bytes) -> M:
    """Decode any other message, or raise `Malformed`."""
    try:
        return model.model_validate_json(_bounded(payload))
    except ValidationError as error:
        raise Malformed(error) from None


def _bounded(payload: bytes, name: str = "") -> bytes:
    """Return the payload, or raise `Malformed` if it is too long."""
    if len(payload) > MAX_BYTES:
        raise Malformed(f"the payload has {len(payload)} bytes, more than {MAX_BYTES}", payload, name)
    return payload


def _first(error: ValidationError) -> str:
    """Return the first error as a sentence for a person."""
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
    """Return the id in a message that is otherwise wrong; None if there is no valid one."""
    try:
        plain = json.loads(payload)
        return _AN_ID.validate_python(plain.get(name), strict=True) if isinstance(plain, dict) else None
    except (ValueError, RecursionError):
        return None
