"""How a command ends: a decision with events and an answer, or a refusal with a code and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from jackpot.core.events import Event


class WagerRejection(StrEnum):
    """Why a wager is rejected, in the order in which reasons are looked for; `malformed` is the shell's."""

    MALFORMED = "malformed"
    UNKNOWN_BOX = "unknown_box"
    WAGER_ID_REUSED = "wager_id_reused"
    TABLE_SUSPENDED = "table_suspended"
    TOURNAMENT = "tournament"
    NO_OPEN_ROUND = "no_open_round"
    STALE_ROUND = "stale_round"
    WAGERS_CLOSED = "wagers_closed"
    NO_ANTE = "no_ante"
    WRONG_AMOUNT = "wrong_amount"
    BOX_ALREADY_WAGERED = "box_already_wagered"


class CommandError(StrEnum):
    """Why a command is refused, in the order in which errors are looked for; the last ones are for operators' acts."""

    MALFORMED = "malformed"
    COMMAND_ID_REUSED = "command_id_reused"
    TABLE_SUSPENDED = "table_suspended"
    WRONG_ROUND = "wrong_round"
    NEEDS_SUPERVISOR = "needs_supervisor"
    WRONG_PHASE = "wrong_phase"
    UNKNOWN_BOX = "unknown_box"
    NO_WAGER = "no_wager"
    FOLDED = "folded"
    WRONG_CARDS = "wrong_cards"
    CARD_ALREADY_DECLARED = "card_already_declared"
    UNKNOWN_TABLE = "unknown_table"
    FORBIDDEN = "forbidden"
    UNKNOWN_PROPOSAL = "unknown_proposal"
    SAME_PERSON = "same_person"
    CONFLICT = "conflict"
    INSUFFICIENT = "insufficient"


class Decision(NamedTuple):
    """Carried out: what happened, and the answer. A repeat of something carried out has no events."""

    events: tuple[Event, ...]
    answer: Mapping[str, Any]


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not an error of the program
    """Not carried out, and nothing changed."""

    def __init__(self, code: WagerRejection | CommandError, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
