"""Find the events of a table in its jackpot's trail.

Nearly all of them are wagers. An index of all events by table would have a page of its own for each table, and a commit
would write one page per table that wagered. So the index leaves wagers out, and they are found by their rounds.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import Connection, literal_column, select

from jackpot.core.commands import PAD
from jackpot.core.events import EventType
from jackpot.store import tables
from jackpot.store.idempotency import wager_seqs

ROUNDS_PER_QUERY: Final = 100
MAX_ROUNDS: Final = 1_000
"""The limit of rounds that one search reads: a table may have played many rounds without a wager."""

IS_NOT_WAGER: Final = tables.events.c.type != literal_column(f"'{EventType.WAGER_ACCEPTED.value}'")
IS_NOT_BY_PAD: Final = tables.events.c.actor != literal_column(f"'{PAD.name}'")
"""The same conditions as in the partial indexes, with literal values so that the database recognizes them."""


class SeqRange(NamedTuple):
    """Sequence numbers from `low` up to, but without, `before`."""

    low: int
    before: int


class NewestSeqs(NamedTuple):
    """The newest sequence numbers, in descending order; there may be more below `below`, None if there are none."""

    newest: list[int]
    below: int | None


def seqs_of_table(connection: Connection, jackpot: str, table: str, within: SeqRange, limit: int) -> NewestSeqs:
    """Return the sequence numbers of a table's newest events within a range."""
    wagers, reached = _wagers(connection, jackpot, table, within, limit)
    e = tables.events.c
    others = select(e.seq).where(
        e.chain == jackpot,
        e.table_id == table,
        IS_NOT_WAGER,
        e.seq >= max(within.low, reached or 0),
        e.seq < within.before,
    )
    found = [*wagers, *connection.execute(others.order_by(e.seq.desc()).limit(limit)).scalars()]
    newest = sorted(found, reverse=True)[:limit]
    return NewestSeqs(newest, newest[-1] if len(newest) == limit else reached)


def seqs_of_round(connection: Connection, jackpot: str, table: str, number: int, within: SeqRange) -> list[int]:
    """Return the sequence numbers of a round's events within a range."""
    e = tables.events.c
    others = select(e.seq).where(
        e.chain == jackpot,
        e.table_id == table,
        IS_NOT_WAGER,
        e.seq >= within.low,
        e.seq < within.before,
        e.round == number,
    )
    return [*wager_seqs(connection, jackpot, table, [number]), *connection.execute(others).scalars()]


def _wagers(
    connection: Connection, jackpot: str, table: str, within: SeqRange, limit: int
) -> tuple[list[int], int | None]:
    """Return the newest wagers, round by round, and the sequence number reached if not all rounds were read."""
    r = tables.rounds.c
    seq = r.seq + 0  # `+ 0` keeps the planner from using the index on seq: rounds are read by number
    rounds = select(r.round, r.seq).where(r.chain == jackpot, r.table_id == table, seq < within.before)
    found: list[int] = []
    number: int | None = None
    for _ in range(0, MAX_ROUNDS, ROUNDS_PER_QUERY):
        below = rounds if number is None else rounds.where(r.round < number)
        rows = connection.execute(below.order_by(r.round.desc()).limit(ROUNDS_PER_QUERY)).all()
        seqs = wager_seqs(connection, jackpot, table, [row.round for row in rows])
        found += [seq_of_wager for seq_of_wager in seqs if within.low <= seq_of_wager < within.before]
        if len(rows) < ROUNDS_PER_QUERY or rows[-1].seq <= within.low:
            return found, None
        number = int(rows[-1].round)
        if len(found) >= limit:
            return found, int(rows[-1].seq)
    return found, int(rows[-1].seq)
