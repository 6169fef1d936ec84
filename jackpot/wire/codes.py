"""What each code of a refusal means, in the order in which the controller looks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jackpot.core.answers import Error, Reason

REASONS: Final[Mapping[Reason, str]] = {
    Reason.MALFORMED: "a field is missing, or not of its type",
    Reason.UNKNOWN_BOX: "the table has no box of this number",
    Reason.WAGER_ID_REUSED: "this id was accepted before, with another round, amount or ante",
    Reason.TABLE_SUSPENDED: "the table takes no wagers until a supervisor resumes it",
    Reason.TOURNAMENT: "the tournament at this table takes no jackpot wagers",
    Reason.NO_OPEN_ROUND: "the table is between rounds",
    Reason.STALE_ROUND: "the wager names another round than the one being played",
    Reason.WAGERS_CLOSED: "the first card of this round has been dealt",
    Reason.NO_ANTE: "a box without an ante cannot wager on the jackpot",
    Reason.WRONG_AMOUNT: "the amount is not the table's `wager_cents`",
    Reason.BOX_ALREADY_WAGERED: "the box has a standing wager in this round",
}
"""Why a wager is rejected."""

DEALER_ERRORS: Final[Mapping[Error, str]] = {
    Error.MALFORMED: "the type is unknown, or a field is missing or not of its type",
    Error.COMMAND_ID_REUSED: "this id was carried out before, with other content",
    Error.TABLE_SUSPENDED: "no round opens at a suspended table; only `open_round` meets this",
    Error.WRONG_ROUND: "the command names another round than the table's last one",
    Error.NEEDS_SUPERVISOR: "from the first card on, a void is a supervisor's act",
    Error.WRONG_PHASE: "the round is not in the phase this command needs",
    Error.UNKNOWN_BOX: "the table has no box of this number",
    Error.NO_WAGER: "the box has no standing wager in this round",
    Error.FOLDED: "the box has folded, so it cannot declare",
    Error.WRONG_CARDS: "too few cards, too many, one that is not in the deck, or one twice",
    Error.CARD_ALREADY_DECLARED: "another box has declared one of these cards",
}
"""Why a dealer's command is refused."""
