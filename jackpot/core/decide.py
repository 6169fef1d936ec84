"""The one way in: decide(state, command) ends every act of a floor in events, an answer, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Protocol, cast

from jackpot.core import administration, commands, rounds, wagers
from jackpot.core.commands import Command, Identified
from jackpot.core.results import CommandError, Decision, Refused, WagerRejection
from jackpot.core.state import Jackpot, Table
from jackpot.core.text import is_storable
from rules import RulesError

MAX_COMMANDS: Final = 1_000
"""Commands of one table from one opening to the next: more than any round can need."""
WHOLE: Final = "jackpot"
"""The scope of an id that is not a table's, as the event that carries it says."""
_REPEATABLE: Final = (commands.Fold, commands.Unfold, commands.Declare, commands.ReportMalfunction)
"""What a terminal can ask again and again in one round; what ends the round is never refused for its number."""

_OF_A_TABLE: Final[dict[type, Callable[..., Decision]]] = {
    commands.PlaceWager: wagers.place_wager,
    commands.OpenRound: rounds.open_round,
    commands.CloseWagers: rounds.close_wagers,
    commands.Fold: rounds.fold,
    commands.Unfold: rounds.unfold,
    commands.Declare: rounds.declare,
    commands.Settle: rounds.settle_round,
    commands.Confirm: rounds.confirm,
    commands.Correct: rounds.correct,
    commands.VoidHand: rounds.void_hand,
    commands.VoidHands: rounds.void_hands,
    commands.VoidRound: rounds.void_round,
}
_OF_A_TABLE_ALONE: Final[dict[type, Callable[..., Decision]]] = {
    commands.ReportMalfunction: administration.report_malfunction,
    commands.ResumeTable: administration.resume_table,
    commands.SetMode: administration.set_mode,
}
_OF_THE_JACKPOT: Final[dict[type, Callable[..., Decision]]] = {
    commands.CreateJackpot: administration.create_jackpot,
    commands.RecordShown: administration.record_shown,
    commands.LinkTable: administration.link_table,
    commands.UnlinkTable: administration.unlink_table,
    commands.ProposeRetirement: administration.propose_retirement,
    commands.ProposeConfig: administration.propose_config,
    commands.ProposeAdjustment: administration.propose_adjustment,
    commands.Approve: administration.approve,
    commands.Withdraw: administration.withdraw,
}


def decide(jackpot: Jackpot, asked: Command | Identified) -> Decision:
    """Carry out a command: events and an answer, or `Refused` and nothing changed."""
    _require_texts(asked.command if type(asked) is commands.Identified else asked)
    if type(asked) is commands.Identified:
        return _once(jackpot, asked)
    try:
        decision = _carry_out(jackpot, asked)
    except RulesError as error:
        raise Refused(CommandError.CONFLICT, str(error)) from None
    if cast("Command", asked).actor.role is commands.Role.AUDITOR:
        raise Refused(CommandError.FORBIDDEN, "an auditor reads and never acts")
    return decision


def _require_texts(asked: Command | Identified) -> None:
    """Text that no database can keep is refused at the door: a NUL, or half of a surrogate pair."""
    if type(asked) is commands.PlaceWager and (asked.table + asked.wager_id).isascii() and "\0" not in asked.wager_id:
        return  # there are many of these, and their table is one that we know
    for value in asked:
        if type(value) is str and not is_storable(value):
            code = WagerRejection.MALFORMED if type(asked) is commands.PlaceWager else CommandError.MALFORMED
            raise Refused(code, f"this text cannot be kept: {ascii(value)[:60]}")


def _carry_out(jackpot: Jackpot, asked: Command | Identified) -> Decision:
    kind = type(asked)
    if kind is commands.PlaceWager and jackpot.id:
        wager = cast("commands.PlaceWager", asked)
        return wagers.place_wager(jackpot, _table(jackpot, wager), wager)
    if not jackpot.id and kind is not commands.CreateJackpot:
        raise Refused(CommandError.CONFLICT, "the jackpot has not been created yet")
    if kind in _OF_THE_JACKPOT:
        return _OF_THE_JACKPOT[kind](jackpot, asked)
    table = _table(jackpot, cast("OfATable", asked))
    if kind in _OF_A_TABLE_ALONE:
        return _OF_A_TABLE_ALONE[kind](table, asked)
    return _OF_A_TABLE[kind](jackpot, table, asked)


def _once(jackpot: Jackpot, asked: Identified) -> Decision:
    """A carried-out command is answered again and acts once, even if its table has left; a refused one is judged anew.

    The ids of a table's round are in the state; all others, and those of the whole jackpot, the store looks up.
    """
    if is_of_the_jackpot(asked.command):
        return _repeated(asked, asked.earlier) or _marked(asked, decide(jackpot, asked.command), scope=WHOLE)
    command = cast("OfATable", asked.command)
    known = jackpot.tables.get(command.table)
    repeated = _repeated(asked, (known and known.commands.get(asked.command_id)) or asked.earlier)
    if repeated is not None:
        return repeated
    table = _table(jackpot, command)
    if len(table.commands) >= MAX_COMMANDS and type(asked.command) in _REPEATABLE:
        raise Refused(
            CommandError.WRONG_PHASE, f"table {table.id} has had {MAX_COMMANDS} commands since its round opened"
        )
    return _marked(asked, decide(jackpot, asked.command))


def is_of_the_jackpot(command: Command) -> bool:
    """Whether a command is the whole jackpot's; its id is then unique for the jackpot, else for its table."""
    return type(command) in _OF_THE_JACKPOT


def _repeated(asked: Identified, known: tuple[str, str] | None) -> Decision | None:
    """The answer of a command that was carried out before; None where it was not."""
    if known is None:
        return None
    digest, answer = known
    if digest != asked.digest:
        raise Refused(CommandError.COMMAND_ID_REUSED, f"command {asked.command_id} was carried out with other content")
    return Decision((), json.loads(answer))


def _marked(asked: Identified, decision: Decision, **scope: str) -> Decision:
    """The decision with the command's id in its first event."""
    events, answered = decision
    if not events:
        return decision
    mark = {"id": asked.command_id, "digest": asked.digest, "answer": dict(answered), **scope}
    first = events[0]._replace(data={**events[0].data, "command": mark})
    return Decision((first, *events[1:]), answered)


class OfATable(Protocol):
    """A command that names a table."""

    @property
    def table(self) -> str:
        """The table's id."""


def _table(jackpot: Jackpot, asked: OfATable) -> Table:
    table = jackpot.tables.get(asked.table)
    if table is None or table.unlinked:
        code = WagerRejection.UNKNOWN_BOX if type(asked) is commands.PlaceWager else CommandError.UNKNOWN_TABLE
        raise Refused(code, f"no table {asked.table} is linked to the jackpot {jackpot.id}")
    return table
