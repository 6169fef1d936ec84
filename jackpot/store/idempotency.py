"""What is remembered of ids for ever, so that a repeat acts once: wagers and commands of past rounds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from jackpot.core.commands import Command, Identified, PlaceWager
from jackpot.core.decide import is_of_the_jackpot
from jackpot.core.state import Table, Wager, WagerStatus

_WAGER_COLUMNS: Final = "table_id, box, wager_id, round, amount_cents, jackpot_cents, reserve_cents, status, reason"


class KnownIds:
    """Wagers and commands by their ids; the state has forgotten them."""

    def __init__(self) -> None:
        self.wagers: dict[tuple[str, int, str], Wager] = {}
        self.commands: dict[tuple[str, str], tuple[str, str]] = {}
        self._looked_up: set[tuple[str, int, str]] = set()

    def start_look_up(self, asked: Sequence[PlaceWager]) -> list[tuple[str, int, str]]:
        """The keys of these wagers, which are looked up now."""
        keys = [(c.table, c.box, c.wager_id) for c in asked]
        self._looked_up.update(keys)
        return keys

    def has_looked_up(self, asked: PlaceWager) -> bool:
        """Whether the store was asked about this wager's id."""
        return (asked.table, asked.box, asked.wager_id) in self._looked_up

    def keep_round(self, table: Table) -> None:
        """Remember the ids of a table's last round, which its next round makes the state forget."""
        if table.round is not None:
            for wager in table.round.wagers.values():
                self.wagers[table.id, wager.box, wager.wager_id] = wager
        for command_id, answered in table.commands.items():
            self.commands[table.id, command_id] = answered

    def with_earlier_wager(self, asked: PlaceWager) -> PlaceWager:
        """The wager with what is remembered of its id."""
        known = self.wagers.get((asked.table, asked.box, asked.wager_id)) if self.wagers else None
        return asked._replace(earlier=known) if known else asked

    def keep_command(self, asked: Command | Identified, answer: Mapping[str, Any]) -> None:
        """Remember an id of the whole jackpot, which no state holds, for the rest of its batch."""
        if type(asked) is Identified and _table_of(asked) == "":
            self.commands["", asked.command_id] = asked.digest, json.dumps(dict(answer))

    def with_earlier(self, asked: Command | Identified) -> Command | Identified:
        """The command with what is remembered of its id."""
        if type(asked) is Identified and self.commands:
            seen = self.commands.get((_table_of(asked), asked.command_id))
            return asked._replace(earlier=seen) if seen else asked
        return asked


class _Key(NamedTuple):
    """A table of the store and the columns that name one of its rows within a chain, with their types."""

    table: str
    columns: Mapping[str, str]


_WAGERS: Final = _Key("wagers", {"table_id": "text", "box": "int", "wager_id": "text"})
_ROUNDS: Final = _Key("wagers", {"table_id": "text", "round": "bigint"})
_COMMANDS: Final = _Key("commands", {"table_id": "text", "command_id": "text"})


def look_up(
    connection: Connection, chain: str, wagers: Sequence[PlaceWager], commands: Sequence[Identified]
) -> KnownIds:
    """What the store knows of these ids."""
    known = KnownIds()
    keys = known.start_look_up(wagers)
    for table, box, wager_id, *amounts, status, reason in _found(connection, chain, _WAGERS, _WAGER_COLUMNS, keys):
        known.wagers[table, box, wager_id] = Wager._make((box, wager_id, *amounts, WagerStatus(status), reason))
    ids = [(_table_of(command), command.command_id) for command in commands]
    columns = "table_id, command_id, digest, answer"
    for table, command_id, digest, answer in _found(connection, chain, _COMMANDS, columns, ids):
        known.commands[table, command_id] = digest, answer
    return known


def look_up_command(connection: Connection, chain: str, command_id: str) -> tuple[str, str] | None:
    """The digest and the answer of a command of the whole chain; None where its id is new."""
    for digest, answer in _found(connection, chain, _COMMANDS, "digest, answer", [("", command_id)]):
        return digest, answer
    return None


def wagers_of_rounds(connection: Connection, chain: str, rounds: Mapping[str, int]) -> dict[str, list[Wager]]:
    """The wagers of one round at each of these tables, in the order in which they came."""
    found: dict[str, list[Wager]] = {table: [] for table in rounds}
    columns = f"{_WAGER_COLUMNS}, seq"
    rows = sorted(_found(connection, chain, _ROUNDS, columns, list(rounds.items())), key=lambda row: int(row[-1]))
    for table, box, wager_id, *amounts, status, reason, _ in rows:
        found[table].append(Wager._make((box, wager_id, *amounts, WagerStatus(status), reason)))
    return found


def wager_seqs(connection: Connection, chain: str, table: str, rounds: Sequence[int]) -> list[int]:
    """The events that accepted the wagers of these rounds, in any order."""
    return [int(row[0]) for row in _found(connection, chain, _ROUNDS, "seq", [(table, number) for number in rounds])]


def _table_of(asked: Identified) -> str:
    return "" if is_of_the_jackpot(asked.command) else str(getattr(asked.command, "table", ""))


def _found(
    connection: Connection, chain: str, key: _Key, columns: str, wanted: Sequence[tuple[Any, ...]]
) -> Iterable[Any]:
    """The rows with these keys in one statement a hand wrote: every message goes through it.

    CROSS JOIN makes SQLite look each key up in the index; left to itself it reads the whole chain.
    """
    if not wanted:
        return ()
    names = ", ".join(key.columns)
    if connection.dialect.name == "postgresql":
        mark, join = "%s", "JOIN"
        arrays = ", ".join(f"%s::{kind}[]" for kind in key.columns.values())
        keys = f"SELECT * FROM unnest({arrays})"  # noqa: S608 - our own names
        values = [list(column) for column in zip(*wanted, strict=True)]
    else:
        mark, join = "?", "CROSS JOIN"
        row = f"({', '.join('?' * len(key.columns))})"
        keys = f"VALUES {', '.join([row] * len(wanted))}"
        values = [part for one in wanted for part in one]
    query = (
        f"WITH wanted ({names}) AS ({keys}) SELECT {columns} FROM wanted {join} {key.table} USING ({names}) "  # noqa: S608 - our own names
        f"WHERE chain = {mark}"
    )
    return connection.exec_driver_sql(query, (*values, chain))
