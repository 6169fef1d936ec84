"""The protocol: every topic with its sender and receiver, every dealer command with its result."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

from jackpot.engine import view_models
from jackpot.engine.view_models import StrictModel
from jackpot.wire import messages
from jackpot.wire.messages import CommandDoneMessage, DealerCommand

ROOT: Final = "jackpot/v1/{site}"
QOS: Final = 1

Action = Literal["send", "receive"]


class Topic(NamedTuple):
    """A topic below the root, with its messages and what the controller does there."""

    name: str
    below_root: str
    sender: str
    receiver: str
    retained: bool
    what: str
    messages: tuple[type[StrictModel], ...]
    actions: tuple[Action, ...]

    @property
    def address(self) -> str:
        """The whole topic, with its parameters in braces."""
        return f"{ROOT}/{self.below_root}"


class DealerCommandInfo(NamedTuple):
    """A dealer's command: the phase it needs, its result, and a note for the dealer."""

    message: type[StrictModel]
    phase: str
    result: type[CommandDoneMessage]
    note: str


COMMANDS: Final = (
    DealerCommandInfo(
        messages.OpenRoundMessage, "idle", messages.RoundOpened, "Opens the table's next round for wagers."
    ),
    DealerCommandInfo(
        messages.CloseWagersMessage,
        "open",
        messages.WagersClosed,
        "The first card is dealt: no wager is taken any more, and the lamps stay as they are.",
    ),
    DealerCommandInfo(
        messages.FoldMessage,
        "closed",
        CommandDoneMessage,
        "The box gives up its hand and can win nothing; a declaration it has made is dropped.",
    ),
    DealerCommandInfo(
        messages.UnfoldMessage,
        "closed",
        CommandDoneMessage,
        "Takes a fold back; a declaration that the fold dropped has to be made again.",
    ),
    DealerCommandInfo(
        messages.DeclareMessage,
        "closed",
        messages.HandDeclared,
        "States the cards of a box; a second declaration takes the place of the first.",
    ),
    DealerCommandInfo(
        messages.SettleMessage,
        "closed",
        messages.RoundSettled,
        "Locks the pools and works out every prize of the round; a `pending` one awaits a supervisor.",
    ),
    DealerCommandInfo(
        messages.VoidRoundMessage,
        "open",
        messages.WagersReturned,
        "Gives every wager back and ends the round.",
    ),
    DealerCommandInfo(
        messages.VoidHandMessage,
        "open",
        messages.WagersReturned,
        "Gives one box's wager back; the box may wager again, with a new id.",
    ),
    DealerCommandInfo(
        messages.ReportMalfunctionMessage,
        "any",
        CommandDoneMessage,
        "Suspends the table until a supervisor resumes it; the round in play can still be finished.",
    ),
)  # fmt: skip
"""The commands of a dealer terminal, in the order of a round."""

_STATUS: Final = "its status; the will is `offline`"

TOPICS: Final = (
    Topic(
        "wager", "tables/{table}/pads/{box}/wager", "pad", "controller", False,
        "a wager, repeated until the lamp answers it", (messages.WagerMessage,), ("receive",),
    ),
    Topic(
        "lamp", "tables/{table}/pads/{box}/lamp", "controller", "pad", True,
        "the state of the box", (messages.LampMessage,), ("send",),
    ),
    Topic(
        "pad_status", "tables/{table}/pads/{box}/status", "pad", "all", True,
        _STATUS, (messages.StatusMessage,), ("receive",),
    ),
    Topic(
        "pad_shown", "tables/{table}/pads/{box}/shown", "pad", "controller", True,
        "what the lamp shows; optional", (messages.PadShownMessage,), ("receive",),
    ),
    Topic(
        "dealer_command", "tables/{table}/dealer/command", "dealer terminal", "controller", False,
        "a command", get_args(DealerCommand), ("receive",),
    ),
    Topic(
        "dealer_reply", "tables/{table}/dealer/reply", "controller", "dealer terminal", False,
        "the answer to one command", (CommandDoneMessage, messages.CommandRefusedMessage), ("send",),
    ),
    Topic(
        "dealer_status", "tables/{table}/dealer/status", "dealer terminal", "all", True,
        _STATUS, (messages.StatusMessage,), ("receive",),
    ),
    Topic(
        "table_state", "tables/{table}/state", "controller", "all", True,
        "the table's round and phase", (view_models.TableStateMessage,), ("send",),
    ),
    Topic(
        "meter", "jackpots/{jackpot}/meter", "controller", "displays", True,
        "the meter", (view_models.MeterMessage,), ("send",),
    ),
    Topic(
        "wins", "jackpots/{jackpot}/wins", "controller", "displays", False,
        "a prize, for the celebration", (messages.WinMessage,), ("send",),
    ),
    Topic(
        "display_status", "displays/{display}/status", "display", "all", True,
        _STATUS, (messages.StatusMessage,), ("receive",),
    ),
    Topic(
        "display_shown", "displays/{display}/shown", "display", "controller", False,
        "what it shows now", (messages.DisplayShownMessage,), ("receive",),
    ),
    Topic(
        "controller", "jackpots/{jackpot}/controller", "controller", "all", True,
        "the status of the jackpot's controller; its will is `offline`",
        (messages.ControllerMessage,), ("send", "receive"),
    ),
    Topic(
        "mark", "jackpots/{jackpot}/mark", "controller", "controllers", True,
        "the jackpot's last durable event, signed; internal to controllers", (messages.MarkMessage,), ("send",),
    ),
)  # fmt: skip
"""Every topic of the protocol."""
