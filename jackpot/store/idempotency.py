"""Ids of wagers and commands of past rounds, kept for ever, so that a repeat acts once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from jackpot.core.commands import Command, Identified, PlaceWager
from jackpot.core.decide import is_jackpot_command
from jackpot.core.state import Table, Wager, WagerStatus

_WAGER_COLUMNS: Final = "table_id, box, wager_id, round, amount_cents, jackpot_cents, reserve_cents, status, reason"


class KnownIds:
    """Wagers and commands by their ids, which the state no longer holds."""

    def __init__(self) -> None:
        self.wagers: dict[tuple[str, int, str], Wager] = {}
        self.commands: dict[tuple[str, str], tuple[str, str]] = {}
        self._looked_up: set[tuple[str, int, str]] = set()

    def mark_looked_up(self, wagers: Sequence[PlaceWager]) -> list[tuple[str, int, str]]:
        """Mark these wagers as looked up, and return their keys."""
        keys = [(wager.table, wager.box, wager.wager_id) for wager in wagers]
        self._looked_up.update(keys)
        return keys

    def has_looked_up(self, wager: PlaceWager) -> bool:
        """Return True if this wager's id was looked up in the store."""
        return (wager.table, wager.box, wager.wager_id) in self._looked_up

    def keep_round(self, table: Table) -> None:
        """Keep the ids of a table's last round, which its next round removes from the state."""
        if table.round is not None:
            for wager in table.round.wagers.values():
                self.wagers[table.id, wager.box, wager.wager_id] = wager
        for command_id, answered in table.commands.items():
            self.commands[table.id, command_id] = answered

    def with_earlier_wager(self, command: PlaceWager) -> PlaceWager:
        """Return the command with the wager that is known by its id."""
        known = self.wagers.get((command.table, command.box, command.wager_id)) if self.wagers else None
        return command._replace(earlier=known) if known else command

    def keep_command(self, command: Command | Identified, answer: Mapping[str, Any]) -> None:
        """Keep an id of the whole jackpot, which no state holds, for the rest of its batch."""
        if type(command) is Identified and _table_of(command) == "":
            self.commands["", command.command_id] = command.digest, json.dumps(dict(answer))

    def with_earlier(self, command: Command | Identified) -> Command | Identified:
        """Return the command with the digest and answer that are known by its id."""
        if type(command) is Identified and self.commands:
            known = self.commands.get((_table_of(command), command.command_id))
            return command._replace(earlier=known) if known else command
        return command


class _Key(NamedTuple):
    """A table of the store and its key columns within a chain, with their types."""

    table: str
    columns: Mapping[str, str]


_WAGERS: Final = _Key("wagers", {"table_id": "text", "box": "int", "wager_id": "text"})
_ROUNDS: Final = _Key("wagers", {"table_id": "text", "round": "bigint"})
_COMMANDS: Final = _Key("commands", {"table_id": "text", "command_id": "text"})


def look_up(
    connection: Connection, chain: str, wagers: Sequence[PlaceWager], commands: Sequence[Identified]
) -> KnownIds:
    """Look up the wagers and commands that the store knows by these ids."""
    known = KnownIds()
    keys = known.mark_looked_up(wagers)
    for table, box, wager_id, *amounts, status, reason in _found(connection, chain, _WAGERS, _WAGER_COLUMNS, keys):
        known.wagers[table, box, wager_id] = Wager._make((box, wager_id, *amounts, WagerStatus(status), reason))
    ids = [(_table_of(command), command.command_id) for command in commands]
    columns = "table_id, command_id, digest, answer"
    for table, command_id, digest, answer in _found(connection, chain, _COMMANDS, columns, ids):
        known.commands[table, command_id] = digest, answer
    return known


def look_up_command(connection: Connection, chain: str, command_id: str) -> tuple[str, str] | None:
    """Return the digest and the answer of a command of the whole chain, None if its id is new."""
    for digest, answer in _found(connection, chain, _COMMANDS, "digest, answer", [("", command_id)]):
        return digest, answer
    return None


def wagers_of_rounds(connection: Connection, chain: str, rounds: Mapping[str, int]) -> dict[str, list[Wager]]:
    """Return the wagers of one round at each of these tables, in the order of their events."""
    found: dict[str, list[Wager]] = {table: [] for table in rounds}
    columns = f"{_WAGER_COLUMNS}, seq"
    rows = sorted(_found(connection, chain, _ROUNDS, columns, list(rounds.items())), key=lambda row: int(row[-1]))
    for table, box, wager_id, *amounts, status, reason, _ in rows:
        found[table].append(Wager._make((box, wager_id, *amounts, WagerStatus(status), reason)))
    return found


def wager_seqs(connection: Connection, chain: str, table: str, rounds: Sequence[int]) -> list[int]:
    """Return the sequence numbers of the events that accepted the wagers of these rounds, in any order."""
    return [int(row[0]) for row in _found(connection, chain, _ROUNDS, "seq", [(table, number) for number in rounds])]


def _table_of(identified: Identified) -> str:
    """Return the table within which a command's id is unique, "" for the whole jackpot."""
    return "" if is_jackpot_command(identified.command) else str(getattr(identified.command, "table", ""))


def _found(
    connection: Connection, chain: str, key: _Key, columns: str, wanted: Sequence[tuple[Any, ...]]
) -> Iterable[Any]:
    """Select the rows with these keys by one hand-written statement, because every message needs it.

    CROSS JOIN makes SQLite look up each key in the index; without it, it reads the whole chain.
    """
    if not wanted:
        return ()
    names = ", ".join(key.columns)
    if connection.dialect.name == "postgresql":
        placeholder, join = "%s", "JOIN"
        arrays = ", ".join(f"%s::{kind}[]" for kind in key.columns.values())
        keys = f"SELECT * FROM unnest({arrays})"  # noqa: S608 - our own names
        values = [list(column) for column in zip(*wanted, strict=True)]
    else:
        placeholder, join = "?", "CROSS JOIN"
        row = f"({', '.join('?' * len(key.columns))})"
        keys = f"VALUES {', '.join([row] * len(wanted))}"
        values = [value for values_of_key in wanted for value in values_of_key]
    query = (
        f"WITH wanted ({names}) AS ({keys}) SELECT {columns} FROM wanted {join} {key.table} USING ({names}) "  # noqa: S608 - our own names
        f"WHERE chain = {placeholder}"
    )
    return connection.exec_driver_sql(query, (*values, chain))
