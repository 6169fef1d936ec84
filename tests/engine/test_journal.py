"""Ids within one batch: ids that leave the state when a round opens are still known to later commands."""

import pytest
from sqlalchemy import event, select

from jackpot.core.commands import (
    Actor,
    CloseWagers,
    CreateJackpot,
    Identified,
    LinkTable,
    OpenRound,
    PlaceWager,
    ProposeConfig,
    Role,
    Settle,
    UnlinkTable,
)
from jackpot.core.state import Config
from jackpot.engine.journal import Journal
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.idempotency import look_up
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import verify
from rules.jackpot_prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
MANAGER, DEALER, PAD = Actor("max", Role.MANAGER), Actor("dealer"), Actor("pad")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
OPEN = OpenRound(AT, DEALER, "t1")
SIGNER = Signer.new("casino")


@pytest.fixture
def journal(database):
    opened = Journal.open(database, "main", "test")
    opened.execute(
        [
            CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000),
            LinkTable(AT, MANAGER, "t1", 7),
        ]
    )
    return opened


def wager(number):
    return PlaceWager(AT, PAD, "t1", 3, "w1", number, 200, ante=True)


def end(number):
    return [CloseWagers(AT, DEALER, "t1", number), Settle(AT, DEALER, "t1", number)]


def last(journal, commands):
    outcome = journal.execute(commands)[-1]
    return getattr(outcome, "code", None) or outcome.answer


def test_a_repeat_after_the_next_round_opens_is_accepted_again_in_one_batch(journal):
    assert last(journal, [OPEN, wager(1), *end(1), OPEN, wager(1)])["verdict"] == "accepted"


def test_an_id_reused_in_the_next_round_is_refused_in_one_batch_and_the_batch_stands(journal):
    assert last(journal, [OPEN, wager(1), *end(1), OPEN, wager(2)]) == "wager_id_reused"
    assert journal.jackpot.tables["t1"].number == 2


def test_an_id_of_an_earlier_round_is_refused_in_the_current_round(journal):
    """Such a wager is not looked up first: the key of the wagers table finds it, and the batch is decided again."""
    journal.execute([OPEN, wager(1), *end(1), OPEN])
    other = wager(2)._replace(box=4)
    first, second = journal.execute([wager(2), other])
    assert (first.code, second.answer["verdict"]) == ("wager_id_reused", "accepted")
    assert list(journal.jackpot.tables["t1"].round.wagers) == ["4/w1"]


def test_a_refused_wager_gets_the_first_reason_that_applies(journal):
    journal.execute([OPEN, wager(1), *end(1), OPEN])
    assert last(journal, [wager(2)._replace(amount_cents=1, ante=False)]) == "wager_id_reused"
    assert last(journal, [wager(2)._replace(wager_id="w2", amount_cents=1, ante=False)]) == "no_ante"


def test_a_wager_committed_before_a_batch_is_known_after_a_round_opens_in_the_batch(journal):
    journal.execute([OPEN, wager(1)])
    assert last(journal, [*end(1), OPEN, wager(1)])["verdict"] == "accepted"
    assert last(journal, [*end(2), OPEN, wager(3)]) == "wager_id_reused"


def test_a_command_id_reused_after_the_next_round_opens_is_refused_in_one_batch(journal):
    closed = [Identified("c1", f"digest{number}", CloseWagers(AT, DEALER, "t1", number)) for number in (1, 2)]
    assert last(journal, [OPEN, closed[0], end(1)[1], OPEN, closed[1]]) == "command_id_reused"


@pytest.mark.parametrize("kind", ["wagers", "commands"])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_ids_of_past_rounds_are_looked_up_by_an_index_and_never_by_a_scan(journal, kind):
    """SQLite explains its query plan; a scan of the chain would take longer with every round."""
    database, statements = journal.lease.database, []
    event.listen(database.reading, "before_cursor_execute", lambda *seen: statements.append(seen[2:4]))
    wagers = [PlaceWager(AT, PAD, "t1", box, "w", 1, 100, ante=True) for box in (1, 2)]
    identified = [Identified("c", "digest", OpenRound(AT, DEALER, table)) for table in ("t1", "t2")]
    with database.reader() as connection:
        look_up(connection, "main", wagers if kind == "wagers" else [], identified if kind == "commands" else [])
        plans = [
            connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {s}", p).all() for s, p in list(statements) if "WITH" in s
        ]
    steps = [row.detail for plan in plans for row in plan if kind in row.detail]
    key = "table_id=? AND box=? AND wager_id=?" if kind == "wagers" else "table_id=? AND command_id=?"
    assert [step.split(" (")[1] for step in steps] == [f"chain=? AND {key})"]


# Ids of the whole jackpot.


def propose(key, cents, digest=None):
    proposal = ProposeConfig(AT, MANAGER, CONFIG._replace(wager_cents=cents), "season")
    return Identified(key, digest or f"wager {cents}", proposal)


def test_a_command_id_of_the_jackpot_is_known_within_its_batch_and_after_a_restart(journal):
    first, repeat, reused, other = journal.execute([propose("k1", 300), propose("k1", 300), propose("k1", 400), OPEN])
    assert (len(first.events), repeat.events, repeat.answer) == (1, (), first.answer)
    assert reused.code == "command_id_reused"
    assert other.answer == {"round": 1}
    database = journal.lease.database
    anew = Journal.open(database, "main", "next")
    assert [outcome.events for outcome in anew.execute([propose("k1", 300)])] == [()]
    assert anew.execute([propose("k1", 400)])[0].code == "command_id_reused"
    write_checkpoint(database, "main", SIGNER)
    assert verify(database, "main", SIGNER.verifier).problem is None


def test_an_id_of_a_table_and_the_same_id_of_the_jackpot_are_different_ids(journal):
    opened, proposed, linked = journal.execute(
        [Identified("k1", "d1", OPEN), propose("k1", 300), Identified("k2", "d2", LinkTable(AT, MANAGER, "t2", 5))]
    )
    assert all(outcome.events for outcome in (opened, proposed, linked))
    with journal.lease.database.reader() as connection:
        kept = connection.execute(select(tables.commands.c.table_id, tables.commands.c.command_id)).all()
    assert sorted(map(tuple, kept)) == [("", "k1"), ("", "k2"), ("t1", "k1")]
    assert journal.execute([Identified("k2", "d2", LinkTable(AT, MANAGER, "t2", 5))])[0].answer == {"table": "t2"}
    journal.execute([UnlinkTable(AT, MANAGER, "t2", "moved")])
    assert journal.execute([Identified("k2", "d2", LinkTable(AT, MANAGER, "t2", 5))])[0].events == ()
    write_checkpoint(journal.lease.database, "main", SIGNER)
    assert verify(journal.lease.database, "main", SIGNER.verifier).problem is None
