"""From events to the tables that queries read: which rows each event adds or changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Update, update

from jackpot.core.events import Event, EventType
from jackpot.core.site import SiteEvent
from jackpot.store import tables
from jackpot.store.bulk import insert_many
from jackpot.store.chain import canonical

Row = tuple[Any, ...]


class Projection(NamedTuple):
    """What a batch of events does to the tables: rows to add in bulk, and changes in order among them."""

    chain: str
    wagers: list[Row]
    commands: list[Row]
    rounds: list[Row]
    payouts: list[Row]
    changes: list[Update]

    def add(self, seq: int, event: Event) -> None:
        """Take in one event."""
        mark = event.data.get("command")
        if mark is not None:
            self.add_command(seq, event.table if "scope" not in mark else "", mark)
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
        """Take in one event of the site: of those only the ids of commands are looked up."""
        mark = event.data.get("command")
        if mark is not None:
            self.add_command(seq, "", mark)

    def add_command(self, seq: int, table: str | None, mark: Mapping[str, Any]) -> None:
        """Take in the id of a command that an event carries; the table is "" for an id of the whole chain."""
        self.commands.append((self.chain, table, mark["id"], mark["digest"], canonical(mark["answer"]), seq))

    def write(self, connection: Connection) -> None:
        """Write it all: additions first, then the changes, which may touch what was added."""
        insert_many(connection, tables.wagers, self.wagers)
        insert_many(connection, tables.commands, self.commands)
        insert_many(connection, tables.rounds, self.rounds)
        for change in self.changes:
            connection.execute(change)
        insert_many(connection, tables.payouts, self.payouts)

    def _settle(self, seq: int, event: Event) -> None:
        self.payouts.extend(_payout_row(self.chain, seq, event, plain) for plain in event.data["payouts"])
        ended = {"outcome": "played", "ended_at": event.at} if event.data["ends"] else {}
        self._change_round(event, phase="idle" if event.data["ends"] else "pending", **ended)

    def _change_round(self, event: Event, **values: str) -> None:
        of_round = _of_round(tables.rounds, self.chain, event)
        self.changes.append(update(tables.rounds).where(*of_round).values(**values))

    def _change_payouts(self, event: Event, status: str, was: str | None = None) -> None:
        """Change a round's prizes, those already in the table and those that wait in this batch to be added."""
        where = list(_of_round(tables.payouts, self.chain, event))
        if was is not None:
            where.append(tables.payouts.c.status == was)
        self.changes.append(update(tables.payouts).where(*where).values(status=status))
        for i, row in enumerate(self.payouts):
            if row[4:6] == (event.table, event.round) and was in (None, row[9]):
                self.payouts[i] = (*row[:9], status, *row[10:])

    def _return_wagers(self, event: Event, wager_id: str | None = None) -> None:
        where = [*_of_round(tables.wagers, self.chain, event), tables.wagers.c.status == "accepted"]
        if wager_id is not None:
            where += [tables.wagers.c.box == event.data["box"], tables.wagers.c.wager_id == wager_id]
        self.changes.append(update(tables.wagers).where(*where).values(status="returned", reason=event.data["reason"]))


def new_projection(chain: str) -> Projection:
    """An empty projection of one chain."""
    return Projection(chain, [], [], [], [], [])


def _of_round(table: Any, chain: str, event: Event) -> tuple[Any, ...]:  # noqa: ANN401 - columns are typed by SQLAlchemy
    return table.c.chain == chain, table.c.table_id == event.table, table.c.round == event.round


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
