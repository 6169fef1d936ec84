"""The projection of events to the tables that queries read: the rows that each event adds or changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from jackpot.core.events import Event, EventType
from jackpot.core.site.events import SiteEvent
from jackpot.store import tables
from jackpot.store.hash_chain import canonical
from jackpot.store.write_connection import WriteConnection

Row = tuple[Any, ...]

_OF_ROUND: Final = "chain = ? AND table_id = ? AND round = ?"


class Projection(NamedTuple):
    """The changes of the tables by a batch of events: rows to insert in bulk, then updates in order."""

    chain: str
    wagers: list[Row]
    commands: list[Row]
    rounds: list[Row]
    payouts: list[Row]
    changes: list[tuple[str, Row]]

    def add(self, seq: int, event: Event) -> None:
        """Add one event."""
        command = event.data.get("command")
        if command is not None:
            self.add_command(seq, event.table if "scope" not in command else "", command)
        match event.type:
            case EventType.WAGER_ACCEPTED:
                self.wagers.append(_wager_row(self.chain, seq, event))
            case EventType.ROUND_OPENED:
                self.rounds.append(_round_row(self.chain, seq, event))
            case EventType.WAGERS_CLOSED:
                self._change_round(event, phase="closed")
            case EventType.ROUND_SETTLED:
                self._settle(seq, event)
            case EventType.PAYOUTS_CONFIRMED:
                self._change_payouts(event, "paid", was="pending")
                self._change_round(event, phase="idle", outcome="played", ended_at=event.at)
            case EventType.ROUND_CORRECTED:
                self._change_payouts(event, "corrected")
                self._settle(seq, event)
            case EventType.HAND_VOIDED:
                self._return_wagers(event, event.data["wager_id"])
            case EventType.ROUND_VOIDED:
                self._return_wagers(event)
                self._change_payouts(event, "corrected")
                self._change_round(event, phase="idle", outcome="void", ended_at=event.at)

    def add_site(self, seq: int, event: SiteEvent) -> None:
        """Add one event of the site, of which only the ids of commands are looked up."""
        command = event.data.get("command")
        if command is not None:
            self.add_command(seq, "", command)

    def add_command(self, seq: int, table: str | None, command: Mapping[str, Any]) -> None:
        """Add the command id that an event contains; the table is "" for an id of the whole chain."""
        self.commands.append((self.chain, table, command["id"], command["digest"], canonical(command["answer"]), seq))

    def write(self, connection: WriteConnection) -> None:
        """Write all rows: inserts first, then the updates, which may concern inserted rows."""
        connection.insert(tables.wagers, self.wagers)
        connection.insert(tables.commands, self.commands)
        connection.insert(tables.rounds, self.rounds)
        for statement, values in self.changes:
            connection.run(statement, values)
        connection.insert(tables.payouts, self.payouts)

    def _settle(self, seq: int, event: Event) -> None:
        self.payouts.extend(_payout_row(self.chain, seq, event, plain) for plain in event.data["payouts"])
        ended = {"outcome": "played", "ended_at": event.at} if event.data["ends"] else {}
        self._change_round(event, phase="idle" if event.data["ends"] else "pending", **ended)

    def _change_round(self, event: Event, **values: str) -> None:
        columns = ", ".join(f"{column} = ?" for column in values)
        self._change(f"UPDATE rounds SET {columns} WHERE {_OF_ROUND}", *values.values(), *self._round(event))  # noqa: S608 - our own names

    def _change_payouts(self, event: Event, status: str, was: str | None = None) -> None:
        """Change the status of a round's prizes, both in the table and among the rows of this batch."""
        statement = f"UPDATE payouts SET status = ? WHERE {_OF_ROUND}"  # noqa: S608 - our own names
        if was is None:
            self._change(statement, status, *self._round(event))
        else:
            self._change(f"{statement} AND status = ?", status, *self._round(event), was)
        for i, row in enumerate(self.payouts):
            if row[4:6] == (event.table, event.round) and was in (None, row[9]):
                self.payouts[i] = (*row[:9], status, *row[10:])

    def _return_wagers(self, event: Event, wager_id: str | None = None) -> None:
        statement = f"UPDATE wagers SET status = 'returned', reason = ? WHERE {_OF_ROUND} AND status = 'accepted'"  # noqa: S608 - our own names
        values = (event.data["reason"], *self._round(event))
        if wager_id is None:
            self._change(statement, *values)
        else:
            self._change(f"{statement} AND box = ? AND wager_id = ?", *values, event.data["box"], wager_id)

    def _change(self, statement: str, *values: str | int | None) -> None:
        self.changes.append((statement, values))

    def _round(self, event: Event) -> tuple[str, str | None, int | None]:
        return self.chain, event.table, event.round


def new_projection(chain: str) -> Projection:
    """Return an empty projection of one chain."""
    return Projection(chain, [], [], [], [], [])


def _wager_row(chain: str, seq: int, event: Event) -> Row:
    data = event.data
    return (
        chain,
        event.table,
        data["box"],
        data["wager_id"],
        event.round,
        data["amount_cents"],
        data["jackpot_cents"],
        data["reserve_cents"],
        "accepted",
        None,
        seq,
    )


def _round_row(chain: str, seq: int, event: Event) -> Row:
    return chain, event.table, event.round, event.data["config_version"], "open", None, event.at, None, seq


def _payout_row(chain: str, seq: int, event: Event, plain: dict[str, Any]) -> Row:
    return (
        chain,
        seq,
        plain["box"],
        event.at,
        event.table,
        event.round,
        plain["order"],
        plain["hand"],
        plain["amount_cents"],
        str(plain["status"]),
        plain["clause"],
    )
