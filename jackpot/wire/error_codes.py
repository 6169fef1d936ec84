"""The meaning of each refusal code, in the order in which they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jackpot.core.results import CommandError, WagerRejection

REASONS: Final[Mapping[WagerRejection, str]] = {
    WagerRejection.MALFORMED: "a field is missing, or not of its type",
    WagerRejection.UNKNOWN_BOX: "the table has no box of this number",
    WagerRejection.WAGER_ID_REUSED: "this id was accepted before, with another round, amount or ante",
    WagerRejection.TABLE_SUSPENDED: "the table takes no wagers until a supervisor resumes it",
    WagerRejection.TOURNAMENT: "the tournament at this table takes no jackpot wagers",
    WagerRejection.NO_OPEN_ROUND: "the table is between rounds",
    WagerRejection.STALE_ROUND: "the wager names another round than the one being played",
    WagerRejection.WAGERS_CLOSED: "the first card of this round has been dealt",
    WagerRejection.NO_ANTE: "a box without an ante cannot wager on the jackpot",
    WagerRejection.WRONG_AMOUNT: "the amount is not the table's `wager_cents`",
    WagerRejection.BOX_ALREADY_WAGERED: "the box has a standing wager in this round",
}
"""The reasons of a rejected wager."""

DEALER_ERRORS: Final[Mapping[CommandError, str]] = {
    CommandError.MALFORMED: "the type is unknown, or a field is missing or not of its type",
    CommandError.COMMAND_ID_REUSED: "this id was carried out before, with other content",
    CommandError.TABLE_SUSPENDED: "no round opens at a suspended table; only `open_round` gets this",
    CommandError.WRONG_ROUND: "the command names another round than the table's last one",
    CommandError.NEEDS_SUPERVISOR: "from the first card on, a void is a supervisor's act",
    CommandError.WRONG_PHASE: "the round is not in the phase this command needs",
    CommandError.UNKNOWN_BOX: "the table has no box of this number",
    CommandError.NO_WAGER: "the box has no standing wager in this round",
    CommandError.FOLDED: "the box has folded, so it cannot declare",
    CommandError.WRONG_CARDS: "too few cards, too many, one that is not in the deck, or one twice",
    CommandError.CARD_ALREADY_DECLARED: "another box has declared one of these cards",
}
"""The errors of a refused dealer command."""
