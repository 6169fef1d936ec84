"""The result of a command: a decision with events and an answer, or a refusal with a code and a message."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from jackpot.core.events import Event


class WagerRejection(StrEnum):
    """The reasons for rejecting a wager, in the order in which they are checked; the shell checks `malformed`."""

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
    """The errors of a command, in the order in which they are checked; the last ones are for operators' commands."""

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
    """The events and the answer of a command that was carried out; a repeat has no events."""

    events: tuple[Event, ...]
    answer: Mapping[str, Any]


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not an error of the program
    """The command was not carried out and nothing changed."""

    def __init__(self, code: WagerRejection | CommandError, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
