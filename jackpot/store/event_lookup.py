"""Where a table's events stand in its jackpot's trail.

Nearly all of them are wagers. An index of all events by table would have a page of its own for each table, and a commit
would write as many pages as tables wagered. So the index holds the others alone; wagers are found by their rounds.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import Connection, literal_column, select

from jackpot.core.commands import PAD
from jackpot.core.events import EventType
from jackpot.store import tables
from jackpot.store.idempotency import wager_seqs

ROUNDS_TOGETHER: Final = 100
MAX_ROUNDS: Final = 1_000
"""How many rounds one search looks through: a table may have played many on which nobody wagered."""

IS_NO_WAGER: Final = tables.events.c.type != literal_column(f"'{EventType.WAGER_ACCEPTED.value}'")
IS_NO_PADS: Final = tables.events.c.actor != literal_column(f"'{PAD.name}'")
"""As the indexes say it: a database must see that they are the same."""


class Span(NamedTuple):
    """From one number up to, and without, another."""

    low: int
    before: int


class Seqs(NamedTuple):
    """The newest numbers, the newest first, and below which there may be more; None where there are no more."""

    newest: list[int]
    below: int | None


def seqs_of_table(connection: Connection, jackpot: str, table: str, span: Span, most: int) -> Seqs:
    """The numbers of a table's newest events within a span."""
    wagers, reached = _wagers(connection, jackpot, table, span, most)
    e = tables.events.c
    others = select(e.seq).where(
        e.chain == jackpot, e.table_id == table, IS_NO_WAGER, e.seq >= max(span.low, reached or 0), e.seq < span.before
    )
    found = [*wagers, *connection.execute(others.order_by(e.seq.desc()).limit(most)).scalars()]
    newest = sorted(found, reverse=True)[:most]
    return Seqs(newest, newest[-1] if len(newest) == most else reached)


def seqs_of_round(connection: Connection, jackpot: str, table: str, number: int, span: Span) -> list[int]:
    """The numbers of a round's events within a span."""
    e = tables.events.c
    others = select(e.seq).where(
        e.chain == jackpot,
        e.table_id == table,
        IS_NO_WAGER,
        e.seq >= span.low,
        e.seq < span.before,
        e.round == number,
    )
    return [*wager_seqs(connection, jackpot, table, [number]), *connection.execute(others).scalars()]


def _wagers(connection: Connection, jackpot: str, table: str, span: Span, most: int) -> tuple[list[int], int | None]:
    """The newest wagers, round by round; where not all rounds were looked through, also how far that reached."""
    r = tables.rounds.c
    seq = r.seq + 0  # row by row and not looked up: the rounds come in the order of their numbers
    rounds = select(r.round, r.seq).where(r.chain == jackpot, r.table_id == table, seq < span.before)
    found: list[int] = []
    number: int | None = None
    for _ in range(0, MAX_ROUNDS, ROUNDS_TOGETHER):
        below = rounds if number is None else rounds.where(r.round < number)
        rows = connection.execute(below.order_by(r.round.desc()).limit(ROUNDS_TOGETHER)).all()
        seqs = wager_seqs(connection, jackpot, table, [row.round for row in rows])
        found += [one for one in seqs if span.low <= one < span.before]
        if len(rows) < ROUNDS_TOGETHER or rows[-1].seq <= span.low:
            return found, None
        number = int(rows[-1].round)
        if len(found) >= most:
            return found, int(rows[-1].seq)
    return found, int(rows[-1].seq)
