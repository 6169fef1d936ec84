"""The entry point of the core: decide(state, command) returns events and an answer, or raises `Refused`."""

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
"""The limit of commands at one table from one opening to the next: more than any round can need."""
WHOLE: Final = "jackpot"
"""The scope of a command id that belongs to the whole jackpot, as written in its event."""
_REPEATABLE: Final = (commands.Fold, commands.Unfold, commands.Declare, commands.ReportMalfunction)
"""Commands that count towards `MAX_COMMANDS`; a command that ends the round is never refused for its number."""

_TABLE_HANDLERS: Final[dict[type, Callable[..., Decision]]] = {
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
_TABLE_ONLY_HANDLERS: Final[dict[type, Callable[..., Decision]]] = {
    commands.ReportMalfunction: administration.report_malfunction,
    commands.ResumeTable: administration.resume_table,
    commands.SetMode: administration.set_mode,
}
_JACKPOT_HANDLERS: Final[dict[type, Callable[..., Decision]]] = {
    commands.CreateJackpot: administration.create_jackpot,
    commands.RecordShown: administration.record_shown,
    commands.LinkTable: administration.link_table,
    commands.UnlinkTable: administration.unlink_table,
    commands.ProposeRetirement: administration.propose_retirement,
    commands.ProposeConfig: administration.propose_config,
    commands.ProposeAdjustment: administration.propose_adjustment,
    commands.Approve: administration.approve,
    commands.Withdraw: administration.withdraw,
    commands.RecoverHistory: administration.recover_history,
}


def decide(jackpot: Jackpot, command: Command | Identified) -> Decision:
    """Decide a command: return events and an answer, or raise `Refused` with nothing changed."""
    _require_storable(command.command if type(command) is commands.Identified else command)
    if type(command) is commands.Identified:
        return _decide_once(jackpot, command)
    try:
        decision = _dispatch(jackpot, command)
    except RulesError as error:
        raise Refused(CommandError.CONFLICT, str(error)) from None
    if cast("Command", command).actor.role is commands.Role.AUDITOR:
        raise Refused(CommandError.FORBIDDEN, "an auditor may read but not act")
    return decision


def _require_storable(command: Command | Identified) -> None:
    """Refuse text that a database cannot store: a NUL or an unpaired surrogate."""
    if type(command) is commands.PlaceWager:
        text = command.table + command.wager_id
        if text.isascii() and "\0" not in command.wager_id:
            return  # a shortcut for the most frequent command; an unknown table is refused later
    for value in command:
        if type(value) is str and not is_storable(value):
            code = WagerRejection.MALFORMED if type(command) is commands.PlaceWager else CommandError.MALFORMED
            raise Refused(code, f"this text contains a NUL or an unpaired surrogate: {ascii(value)[:60]}")


def _dispatch(jackpot: Jackpot, command: Command | Identified) -> Decision:
    kind = type(command)
    if kind is commands.PlaceWager and jackpot.id:
        wager = cast("commands.PlaceWager", command)
        return wagers.place_wager(jackpot, _table(jackpot, wager), wager)
    if not jackpot.id and kind is not commands.CreateJackpot:
        raise Refused(CommandError.CONFLICT, "the jackpot has not been created yet")
    if kind in _JACKPOT_HANDLERS:
        return _JACKPOT_HANDLERS[kind](jackpot, command)
    table = _table(jackpot, cast("TableCommand", command))
    if kind in _TABLE_ONLY_HANDLERS:
        return _TABLE_ONLY_HANDLERS[kind](table, command)
    return _TABLE_HANDLERS[kind](jackpot, table, command)


def _decide_once(jackpot: Jackpot, identified: Identified) -> Decision:
    """Repeat the answer of a command that was carried out, even if its table is unlinked now; else decide it.

    The ids of a table's current round are in the state; the store looks up all others.
    """
    command = identified.command
    if is_jackpot_command(command):
        repeated = _repeated(identified, identified.earlier)
        return repeated or _with_command_id(identified, decide(jackpot, command), scope=WHOLE)
    of_table = cast("TableCommand", command)
    known = jackpot.tables.get(of_table.table)
    repeated = _repeated(identified, (known and known.commands.get(identified.command_id)) or identified.earlier)
    if repeated is not None:
        return repeated
    table = _table(jackpot, of_table)
    if len(table.commands) >= MAX_COMMANDS and type(command) in _REPEATABLE:
        raise Refused(
            CommandError.WRONG_PHASE, f"table {table.id} has had {MAX_COMMANDS} commands since its round opened"
        )
    return _with_command_id(identified, decide(jackpot, command))


def is_jackpot_command(command: Command) -> bool:
    """Return True if a command's id is unique for the whole jackpot, False if for its table."""
    return type(command) in _JACKPOT_HANDLERS


def _repeated(identified: Identified, known: tuple[str, str] | None) -> Decision | None:
    """Return the answer of a command that was carried out before, None if it was not."""
    if known is None:
        return None
    digest, answer = known
    if digest != identified.digest:
        raise Refused(
            CommandError.COMMAND_ID_REUSED, f"command {identified.command_id} was carried out with other content"
        )
    return Decision((), json.loads(answer))


def _with_command_id(identified: Identified, decision: Decision, **scope: str) -> Decision:
    """Return the decision with the command's id, digest and answer in its first event."""
    events, answer = decision
    if not events:
        return decision
    recorded = {"id": identified.command_id, "digest": identified.digest, "answer": dict(answer), **scope}
    first = events[0]._replace(data={**events[0].data, "command": recorded})
    return Decision((first, *events[1:]), answer)


class TableCommand(Protocol):
    """A command that names a table."""

    @property
    def table(self) -> str:
        """The table's id."""


def _table(jackpot: Jackpot, command: TableCommand) -> Table:
    table = jackpot.tables.get(command.table)
    if table is None or table.unlinked:
        code = WagerRejection.UNKNOWN_BOX if type(command) is commands.PlaceWager else CommandError.UNKNOWN_TABLE
        raise Refused(code, f"no table {command.table} is linked to the jackpot {jackpot.id}")
    return table
