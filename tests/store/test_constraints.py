"""The constraints of the databases, and the promises of a journal: all of a batch or nothing, and never twice."""

import gc
import sqlite3
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, inspect, select, text, true
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

import migrations
from jackpot.core.commands import (
    CloseWagers,
    Declare,
    Fold,
    Identified,
    LinkTable,
    OpenRound,
    PlaceWager,
    Role,
    Settle,
    Unfold,
    VoidHand,
    VoidRound,
)
from jackpot.core.notices import NoticeTarget
from jackpot.core.results import Decision, Refused
from jackpot.core.site.commands import INSTALLER, AddOperator
from jackpot.engine import journal as journals
from jackpot.engine.journal import Journal
from jackpot.engine.lease import Lease
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import schema, tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.errors import Fenced, StoreError, WrongSchema
from jackpot.store.idempotency import KnownIds
from jackpot.store.postgres_connection import PostgresWriteConnection
from jackpot.store.projection import Projection
from jackpot.store.schema import migrate, require_head
from jackpot.store.signed_notes import Signer
from jackpot.store.state_tables import read_jackpot
from jackpot.store.trail_verification import verify
from jackpot.store.write_connection import SqliteWriteConnection
from tests.support.core_floor import AT, DEALER, FLUSH, MANAGER, NOTHING, PAD, STRAIGHT_FLUSHES, SUPERVISOR, Floor
from tests.support.postgres import empty_database

SIGNER = Signer("casino", bytes(range(32)))
numbers = count(1)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory):
    """A database at head; each test has its own chains in it."""
    made = empty_database(request.param, tmp_path_factory.mktemp("store"), request)
    migrate(made)
    yield made
    made.close()


@pytest.fixture
def empty(database, request, tmp_path):
    """Another, empty database of the same kind."""
    made = empty_database("sqlite" if database.is_sqlite else "postgresql", tmp_path, request)
    yield made
    made.close()


class StoredFloor(Floor):
    """A floor whose state is that of a journal."""

    def __init__(self, database, **changes):
        self.database, self.chain = database, f"chain-{next(numbers)}"
        self.journal = Journal.open(database, self.chain, "first", notice_target=NoticeTarget("casino"))
        super().__init__(**changes)

    def execute(self, command):
        (outcome,) = self.journal.execute([command])
        self.jackpot = self.journal.jackpot
        if isinstance(outcome, Refused):
            raise outcome
        return outcome.answer

    def restart(self):
        self.journal = Journal.open(self.database, self.chain, "next")
        self.jackpot = self.journal.jackpot

    def all_rows(self):
        """Return every row of the chain."""
        with self.database.reader() as connection:
            return {
                table.name: sorted(
                    map(repr, connection.execute(select(table).where(table.c.chain == self.chain)).all())
                )
                for table in tables.metadata.tables.values()
                if table not in NOT_HISTORY
            }

    def check(self):
        """Check that the journal and the database agree and that the trail verifies."""
        with self.database.reader() as connection:
            assert read_jackpot(connection, self.chain) == self.journal.jackpot
        write_checkpoint(self.database, self.chain, SIGNER)
        found = verify(self.database, self.chain, SIGNER.verifier)
        assert (found.problem, found.events) == (None, self.journal.lease.head.seq)


@pytest.fixture
def floor(database):
    return StoredFloor(database)


def refused_by(database, statement, **values):
    """Return the error of a statement, and roll it back."""
    with database.writing.connect() as connection, pytest.raises(DBAPIError) as raised:
        connection.execute(text(statement), values)
    return str(raised.value.orig)


# Constraints of the database.


@pytest.mark.parametrize("table", tables.APPEND_ONLY, ids=lambda table: table.name)
def test_append_only_rows_cannot_be_changed_deleted_or_replaced(floor, database, table):
    floor.play({1: FLUSH, 2: NOTHING})
    write_checkpoint(database, floor.chain, SIGNER)
    before = floor.all_rows()
    name, column = table.name, list(table.columns)[-1].name
    keys = ", ".join(key.name for key in table.primary_key.columns)
    copied = f"INTO {name} SELECT * FROM {name} WHERE chain = :chain"
    statements = [
        f"UPDATE {name} SET {column} = {column} WHERE chain = :chain",
        f"UPDATE {name} SET chain = 'other' WHERE chain = :chain",
        f"DELETE FROM {name} WHERE chain = :chain",
        f"DELETE FROM {name}",
        f"INSERT {copied} ON CONFLICT ({keys}) DO UPDATE SET {column} = excluded.{column}",
        *((f"INSERT OR REPLACE {copied}",) if database.is_sqlite else (f"TRUNCATE {name}", f"TRUNCATE {name} CASCADE")),
    ]
    for statement in statements:
        assert "never changed" in refused_by(
            database, statement, **({"chain": floor.chain} if ":chain" in statement else {})
        ), statement
    assert floor.all_rows() == before


NOT_HISTORY = (tables.leases, tables.controllers, tables.snapshots)
"""Tables that a batch does not write."""


def copied_row(floor, table, **values):
    """Return True if a row could be inserted again with other values; roll it back."""
    with floor.database.writing.connect() as connection:
        of_chain = table.c.chain == floor.chain if "chain" in table.c else true()
        row = connection.execute(select(table).where(of_chain)).first()
        try:
            connection.execute(table.insert().values(dict(row._mapping) | values))
        except IntegrityError:
            return False
        finally:
            connection.rollback()
    return True


def test_a_wager_id_is_kept_once_for_a_box(floor):
    floor.open()
    floor.wager(1)
    assert not copied_row(floor, tables.wagers, round=99, amount_cents=1, seq=99)
    assert copied_row(floor, tables.wagers, box=2)
    assert copied_row(floor, tables.wagers, table_id="t2")
    assert copied_row(floor, tables.wagers, wager_id="another")


def test_a_command_id_is_kept_once_for_a_table(floor):
    floor.execute(Identified("c1", "digest", OpenRound(AT, DEALER, "t1")))
    assert not copied_row(floor, tables.commands, digest="other", seq=99)
    assert copied_row(floor, tables.commands, table_id="t2")
    assert copied_row(floor, tables.commands, command_id="c2")


def test_a_number_of_a_chain_is_used_once(floor):
    for table in (tables.events, tables.transfers, tables.balances, tables.states, tables.chains):
        assert not copied_row(floor, table)
    assert not copied_row(floor, tables.events, seq=99, chain="a chain that is not there")
    assert copied_row(floor, tables.events, seq=99)


@pytest.mark.parametrize("account", ["jackpot", "reserve", "payable", "wagers"])
def test_a_pool_is_never_negative(floor, account):
    where = "WHERE chain = :chain AND account = :account"
    for cents in (-1, -5_000_000):
        error = refused_by(
            floor.database, f"UPDATE balances SET balance_cents = {cents} {where}", chain=floor.chain, account=account
        )
        assert "never_negative" in error


@pytest.mark.parametrize("account", ["players", "house", "house_advance"])
def test_accounts_outside_the_pools_may_be_negative(floor, account):
    assert copied_row(floor, tables.balances, chain="other", account=account, balance_cents=-1)
    assert not copied_row(floor, tables.balances, chain="other", account="jackpot", balance_cents=-1)


def test_a_transfer_moves_money_between_two_accounts(floor):
    for cents in (0, -1):
        assert not copied_row(floor, tables.transfers, seq=99, amount_cents=cents)
    assert not copied_row(floor, tables.transfers, seq=99, source="jackpot", target="jackpot")
    assert copied_row(floor, tables.transfers, seq=99, amount_cents=1, source="jackpot", target="reserve")


@pytest.mark.parametrize("table", tables.metadata.tables.values(), ids=lambda table: table.name)
def test_required_columns_cannot_be_null(floor, database, table):
    floor.play({1: STRAIGHT_FLUSHES[0]})
    with database.transaction() as connection:
        connection.execute(tables.snapshots.insert().values(chain=floor.chain, seq=1, body="{}", note=""))
        report = {"name": floor.chain, "address": "", "seen_ms": 0, "broker": 1, "body": "{}"}
        connection.execute(tables.controllers.insert().values(**report))
    floor.execute(Identified("c1", "digest", OpenRound(AT, DEALER, "t2")))
    write_checkpoint(database, floor.chain, SIGNER)
    for column in table.columns:
        if not column.nullable:
            assert not copied_row(floor, table, **{column.name: None}), column


# The schema.


def test_migrations_lead_from_nothing_to_the_tables_of_the_program(empty):
    assert migrate(empty) == (None, schema.head())
    with empty.reader() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
    require_head(empty)


def test_migrating_twice_is_harmless(empty):
    migrate(empty)
    floor = StoredFloor(empty)
    before = floor.all_rows()
    assert migrate(empty) == (schema.head(), schema.head())
    assert floor.all_rows() == before
    floor.play({1: FLUSH})
    floor.check()


def test_a_schema_that_is_ahead_is_refused_and_left_alone(empty):
    migrate(empty)
    with empty.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for act in (migrate, require_head):
        with pytest.raises(WrongSchema, match=r"at 9999, which is ahead of this program: install a newer one"):
            act(empty)
    with empty.reader() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"


def test_an_empty_schema_is_refused_with_a_message_how_to_migrate(empty):
    with pytest.raises(WrongSchema, match=rf"the schema is empty and must be at {schema.head()}: run jackpot migrate"):
        require_head(empty)
    with empty.reader() as connection:
        assert inspect(connection).get_table_names() == []


def test_a_schema_that_is_behind_is_refused_with_a_message_how_to_migrate(empty, monkeypatch):
    migrate(empty)
    behind = schema.head()
    monkeypatch.setattr(schema, "head", lambda: "9998")
    with pytest.raises(WrongSchema, match=rf"the schema is at {behind} and must be at 9998: run jackpot migrate"):
        require_head(empty)


def test_a_migration_that_fails_leaves_nothing_behind(empty):
    with empty.transaction() as connection:
        connection.execute(text("CREATE TABLE events (in_the_way INTEGER)"))
    with pytest.raises(StoreError):
        migrate(empty)
    with empty.reader() as connection:
        assert inspect(connection).get_table_names() == ["events"]
    with empty.transaction() as connection:
        connection.execute(text("DROP TABLE events"))
    assert migrate(empty) == (None, schema.head())


# The fence.


def test_a_journal_that_was_taken_over_writes_nothing_more(floor, database):
    floor.open()
    first = floor.journal
    second = Journal.open(database, floor.chain, "second")
    before, state = floor.all_rows(), first.jackpot
    with pytest.raises(Fenced, match="another controller has taken over"):
        first.execute([floor.wagered(1), floor.wagered(2), CloseWagers(AT, DEALER, "t1", 1)])
    assert floor.all_rows() == before
    assert first.jackpot == state
    assert isinstance(second.execute([floor.wagered(1)])[0], Decision)
    with pytest.raises(Fenced):
        first.execute([floor.wagered(2)])
    floor.restart()
    floor.check()
    assert floor.jackpot.tables["t1"].round.lit == [1]


def test_a_journal_that_was_taken_over_still_answers_repeats(floor, database):
    """A repeat changes nothing, so nothing needs the fence."""
    floor.open()
    wager = floor.wagered(1)
    floor.execute(wager)
    Journal.open(database, floor.chain, "second")
    assert floor.journal.execute([wager])[0].answer == {"verdict": "accepted", "reason": None}


def test_the_fence_also_holds_without_a_change_of_epoch(floor, database):
    """Of two journals at one epoch the second to commit is stopped by the sequence number."""
    lease = Lease(database, floor.chain, floor.journal.lease.head)
    twin = Journal(lease, floor.journal.jackpot)
    floor.open()
    before = floor.all_rows()
    with pytest.raises(Fenced):
        twin.execute([OpenRound(AT, DEALER, "t2")])
    assert floor.all_rows() == before


def test_each_takeover_has_a_higher_epoch_than_any_that_was_seen(database):
    name = f"chain-{next(numbers)}"
    seen = {0: 1, 7: 8, 3: 9, 9: 10, 10: 11}
    assert [Journal.open(database, name, "x", seen_epoch=epoch).lease.head.epoch for epoch in seen] == list(
        seen.values()
    )
    other = f"chain-{next(numbers)}"
    assert Journal.open(database, other, "x", seen_epoch=5).lease.head.epoch == 6
    with database.reader() as connection:
        row = connection.execute(select(tables.chains).where(tables.chains.c.chain == name)).one()
    assert (row.epoch, row.owner, row.seq) == (11, "x", 0)


def test_the_sites_chain_is_fenced_too(empty):
    migrate(empty)
    first = SiteJournal.open(empty, "first")
    first.execute(AddOperator(AT, INSTALLER, "max", Role.MANAGER, "hash"))
    second = SiteJournal.open(empty, "second")
    assert second.site == first.site
    with pytest.raises(Fenced):
        first.execute(AddOperator(AT, INSTALLER, "mia", Role.MANAGER, "hash"))
    second.execute(AddOperator(AT, INSTALLER, "mia", Role.MANAGER, "hash"))
    write_checkpoint(empty, "site", SIGNER)
    assert (verify(empty, "site", SIGNER.verifier).events, set(second.site.operators)) == (2, {"max", "mia"})


# All or nothing.


def connection_class(database):
    """Return the class of the writer's connection to this kind of database."""
    return SqliteWriteConnection if database.is_sqlite else PostgresWriteConnection


def break_at(monkeypatch, connection, stage):
    """Make the writing of a batch fail at one of its stages."""

    def broken(*_arguments):
        raise StoreError(f"no more {stage}")

    if stage == "projections":
        monkeypatch.setattr(Projection, "write", broken)
    elif stage in ("write_balances", "write_states"):
        monkeypatch.setattr(journals, stage, broken)
    else:
        real = connection.insert

        def insert(self, table, rows, *more):
            return broken() if table.name == stage else real(self, table, rows, *more)

        monkeypatch.setattr(connection, "insert", insert)


@pytest.mark.parametrize("stage", ["events", "transfers", "projections", "write_balances", "write_states"])
def test_a_batch_that_fails_half_way_leaves_nothing_and_the_journal_continues(floor, database, monkeypatch, stage):
    floor.open()
    before, head, state = floor.all_rows(), floor.journal.lease.head, floor.journal.jackpot
    batch = [floor.wagered(1), floor.wagered(2), CloseWagers(AT, DEALER, "t1", 1)]
    with monkeypatch.context() as patched:
        break_at(patched, connection_class(database), stage)
        for _ in range(2):
            with pytest.raises(StoreError, match=f"no more {stage}"):
                floor.journal.execute(batch)
    assert (floor.all_rows(), floor.journal.lease.head, floor.journal.jackpot) == (before, head, state)
    assert all(isinstance(outcome, Decision) for outcome in floor.journal.execute(batch))
    floor.check()


def test_a_row_that_the_database_refuses_fails_its_batch_with_a_message(floor, database):
    floor.open()
    forged = (floor.chain, "t1", 2, "in the way", 99, 100, 70, 30, "accepted", None, 1)
    with database.transaction() as connection:
        connection.execute(tables.wagers.insert().values(forged))
    floor.restart()
    before, real = floor.all_rows(), journals.look_up
    journals.look_up = lambda *_: KnownIds()  # a lookup that finds nothing, so that only the database's key is left
    try:
        with pytest.raises(StoreError):
            floor.journal.execute([floor.wagered(1), floor.wagered(2, wager_id="in the way")])
    finally:
        journals.look_up = real
    assert floor.all_rows() == before
    with database.transaction() as connection:
        connection.execute(tables.wagers.delete().where(tables.wagers.c.wager_id == "in the way"))
    floor.wager(1, 2)
    floor.check()


def end_own_connection(database, connection):
    """Break the writer's connection: by the server or, in SQLite, by the driver."""
    if database.is_sqlite:
        connection.rollback()
        raise sqlite3.OperationalError("disk I/O error")
    own = connection.driver.info.backend_pid
    with database.reading.connect() as other:
        other.execute(text("SELECT pg_terminate_backend(:own)"), {"own": own})


@pytest.mark.parametrize("stage", ["transfers", "states"])
def test_a_connection_that_breaks_half_way_leaves_nothing_and_the_journal_continues(
    floor, database, monkeypatch, stage
):
    floor.open()
    before = floor.all_rows()
    with monkeypatch.context() as patched:
        real = connection_class(database).insert

        def break_first(connection, table, *values):
            if table.name == stage:
                end_own_connection(database, connection)
            real(connection, table, *values)

        patched.setattr(connection_class(database), "insert", break_first)
        with pytest.raises(StoreError):
            floor.wager(1)
    assert floor.all_rows() == before
    floor.wager(1)
    floor.check()


# Unknown is not failed.


def lost_answer(real):
    def commit(connection):
        real(connection)
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    return commit


def failed_commit(_real):
    def commit(connection):
        connection.rollback()
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    return commit


def test_a_commit_whose_answer_is_lost_is_recognised_as_landed(floor, database, monkeypatch):
    floor.open()
    writer = connection_class(database)
    with monkeypatch.context() as patched:
        patched.setattr(writer, "commit", lost_answer(writer.commit))
        outcomes = floor.journal.execute([floor.wagered(1), floor.wagered(2)])
    assert [outcome.answer["verdict"] for outcome in outcomes] == ["accepted", "accepted"]
    assert floor.journal.jackpot.tables["t1"].round.lit == [1, 2]
    floor.wager(3)
    floor.check()
    gc.collect()  # warns of a connection that was dropped without being closed


def test_a_commit_that_really_failed_is_not_taken_for_landed(floor, database, monkeypatch):
    floor.open()
    writer = connection_class(database)
    before, state = floor.all_rows(), floor.journal.jackpot
    with monkeypatch.context() as patched:
        patched.setattr(writer, "commit", failed_commit(writer.commit))
        with pytest.raises(StoreError, match="the connection was lost"):
            floor.journal.execute([floor.wagered(1)])
    assert (floor.all_rows(), floor.journal.jackpot) == (before, state)
    floor.wager(1)
    floor.check()
    gc.collect()  # warns of a connection that was dropped without being closed


def test_a_commit_on_a_connection_that_the_server_ended_is_not_taken_for_landed(floor, database, monkeypatch):
    floor.open()
    before = floor.all_rows()
    writer = connection_class(database)
    real = writer.commit

    def commit(connection):
        end_own_connection(database, connection)
        real(connection)

    with monkeypatch.context() as patched:
        patched.setattr(writer, "commit", commit)
        with pytest.raises(StoreError):
            floor.wager(1)
    assert floor.all_rows() == before
    floor.wager(1)
    floor.check()


def test_a_lost_commit_replaced_by_another_writers_is_not_taken_for_ours(floor, database, monkeypatch):
    """The commit failed, and before the check another writer took over and wrote as many events."""
    floor.open()
    writer = connection_class(database)
    other_wager, real = floor.wagered(7), writer.commit
    elsewhere = Database(database.url)

    def commit(connection):
        connection.rollback()
        with monkeypatch.context() as patched:
            patched.setattr(writer, "commit", real)
            Journal.open(elsewhere, floor.chain, "other").execute([other_wager])
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    with monkeypatch.context() as patched:
        patched.setattr(writer, "commit", commit)
        with pytest.raises(StoreError):
            floor.wager(1)
    elsewhere.close()
    with pytest.raises(Fenced):
        floor.wager(2)
    floor.restart()
    assert floor.jackpot.tables["t1"].round.lit == [7]
    floor.check()


# Ids of past rounds.


def answer_of(outcome):
    return outcome.code.value if isinstance(outcome, Refused) else outcome.answer


def rounds_later(floor):
    """Restart, and play two more rounds."""
    floor.play({2: FLUSH})
    floor.restart()
    floor.play({3: NOTHING})


def test_a_wager_of_a_past_round_is_accepted_again_and_posted_once(floor):
    floor.open()
    wager = floor.wagered(1)
    floor.execute(wager)
    floor.close()
    floor.settle()
    rounds_later(floor)
    before = floor.all_rows()
    assert answer_of(floor.journal.execute([wager])[0]) == {"verdict": "accepted", "reason": None}
    assert floor.all_rows() == before


def test_a_voided_wager_of_a_past_round_is_returned_again_with_its_reason(floor):
    floor.open()
    wagers = [floor.wagered(box) for box in (1, 2)]
    for wager in wagers:
        floor.execute(wager)
    floor.execute(VoidHand(AT, DEALER, "t1", 1, 1, "wet card"))
    floor.execute(VoidRound(AT, DEALER, "t1", 1, "fire alarm"))
    rounds_later(floor)
    answers = [answer_of(outcome) for outcome in floor.journal.execute(wagers)]
    assert answers == [{"verdict": "returned", "reason": "wet card"}, {"verdict": "returned", "reason": "fire alarm"}]


def test_a_wager_id_of_a_past_round_with_other_content_is_reused(floor):
    floor.open()
    wager, voided = floor.wagered(1), floor.wagered(2)
    for command in (wager, voided):
        floor.execute(command)
    floor.void_hand(2, actor=DEALER)
    floor.close()
    floor.settle()
    rounds_later(floor)
    floor.open()
    now = floor.round()
    for known in (wager, voided):
        others = [known._replace(**change) for change in ({"round": now}, {"amount_cents": 200}, {"ante": False})]
        assert [answer_of(outcome) for outcome in floor.journal.execute(others)] == ["wager_id_reused"] * 3
    elsewhere = [wager._replace(box=3, round=now), wager._replace(box=3, round=1), wager._replace(wager_id="new")]
    assert [answer_of(outcome) for outcome in floor.journal.execute(elsewhere)] == [
        {"verdict": "accepted", "reason": None},
        "wager_id_reused",
        "stale_round",
    ]


def test_a_command_of_a_past_round_is_answered_again_and_acts_once(floor):
    opened = Identified("c1", "open", OpenRound(AT, DEALER, "t1"))
    declared = Identified("c2", "declare", Declare(AT, DEALER, "t1", 1, 1, STRAIGHT_FLUSHES[0]))
    settled = Identified("c3", "settle", Settle(AT, DEALER, "t1", 1))
    answers = [floor.execute(opened)]
    floor.wager(1)
    floor.close()
    answers += [floor.execute(declared), floor.execute(settled)]
    floor.confirm()
    rounds_later(floor)
    before = floor.all_rows()
    again = floor.journal.execute([opened, declared, settled])
    assert [answer_of(outcome) for outcome in again] == answers
    assert [outcome.events for outcome in again] == [(), (), ()]
    others = [command._replace(digest="other") for command in (opened, declared, settled)]
    assert [answer_of(outcome) for outcome in floor.journal.execute(others)] == ["command_id_reused"] * 3
    assert floor.all_rows() == before
    at_another_table = Identified("c1", "other", OpenRound(AT, DEALER, "t2"))
    assert answer_of(floor.journal.execute([at_another_table])[0]) == {"round": 1}


def test_a_refused_command_is_decided_anew_after_a_restart(floor):
    closing = Identified("c1", "close", CloseWagers(AT, DEALER, "t1", 1))
    assert answer_of(floor.journal.execute([closing])[0]) == "wrong_round"
    floor.open()
    floor.restart()
    assert answer_of(floor.journal.execute([closing])[0]) == {"lit": [], "unconfirmed": []}


def test_many_ids_of_the_past_are_found_in_one_batch(floor):
    sent = []
    for _ in range(12):
        floor.open()
        sent += [floor.wagered(box) for box in range(1, 8)]
        floor.journal.execute(sent[-7:])
        floor.jackpot = floor.journal.jackpot
        floor.void(actor=DEALER)
    floor.restart()
    floor.open()
    answers = floor.journal.execute([*sent, *(floor.wagered(box) for box in range(1, 8)), *sent])
    assert Counter(answer_of(outcome)["verdict"] for outcome in answers) == {"returned": 2 * 84, "accepted": 7}


def test_an_id_is_remembered_when_its_round_began_and_ended_in_the_same_batch(floor):
    """Under load one batch may hold a whole round; a repeat after it is still a repeat."""
    wager = PlaceWager(AT, PAD, "t1", 1, "w1", 1, 100, ante=True)
    voiding = Identified("c2", "void", VoidRound(AT, DEALER, "t1", 1, "fire alarm"))
    batch = [
        Identified("c1", "open", OpenRound(AT, DEALER, "t1")),
        wager,
        voiding,
        Identified("c3", "open", OpenRound(AT, DEALER, "t1")),
    ]
    repeats = [wager, wager._replace(round=2), voiding, voiding._replace(digest="other")]
    outcomes = [answer_of(outcome) for outcome in floor.journal.execute([*batch, *repeats])]
    assert outcomes[len(batch) :] == [
        {"verdict": "returned", "reason": "fire alarm"},
        "wager_id_reused",
        {"returned_cents": 100},
        "command_id_reused",
    ]
    floor.check()


def folds(count):
    """Return dealer's commands on a closed round, with ids that do not sort in the order of arrival."""
    acts = (Fold, Unfold)
    return [Identified(f"c{n * 7919 % 997}", f"digest {n}", acts[n % 2](AT, DEALER, "t1", 1, 1)) for n in range(count)]


def closed_round(floor):
    floor.open()
    floor.wager(1)
    floor.close()


def test_a_command_is_known_to_all_later_commands_of_its_batch(floor):
    closed_round(floor)
    commands = folds(400)
    outcomes = floor.journal.execute([*commands, commands[0], commands[0]._replace(digest="other")])
    assert [answer_of(outcome) for outcome in outcomes[-2:]] == [{}, "command_id_reused"]
    floor.check()


def test_a_wager_is_known_although_many_of_its_round_are_returned_in_its_batch(floor):
    floor.open()
    sent = [floor.wagered(1) for _ in range(150)]
    batch = [command for wager in sent for command in (wager, VoidHand(AT, DEALER, "t1", 1, 1, "wet"))]
    outcomes = floor.journal.execute([*batch, sent[0], sent[0]._replace(ante=False)])
    assert [answer_of(outcome) for outcome in outcomes[-2:]] == [
        {"verdict": "returned", "reason": "wet"},
        "wager_id_reused",
    ]
    floor.check()


def test_the_ids_kept_in_a_long_round_do_not_depend_on_restarts(floor):
    """Otherwise an honest trail would not verify."""
    closed_round(floor)
    commands = folds(400)
    for start in range(0, 400, 100):
        floor.journal.execute(commands[start : start + 100])
        floor.restart()
    floor.check()


def test_the_returned_wagers_kept_in_the_state_do_not_depend_on_restarts(floor):
    floor.open()
    for _ in range(3):
        sent = [floor.wagered(1) for _ in range(50)]
        floor.journal.execute(
            [command for wager in sent for command in (wager, VoidHand(AT, DEALER, "t1", 1, 1, "wet"))]
        )
        floor.restart()
    floor.check()


# Readers, and texts.


def test_a_reader_sees_one_snapshot_while_others_write(floor, database):
    counted = select(func.count()).select_from(tables.events).where(tables.events.c.chain == floor.chain)
    held = select(tables.chains.c.seq).where(tables.chains.c.chain == floor.chain)
    with database.reader() as connection:
        before = connection.execute(counted).scalar_one()
        floor.open()
        floor.wager(1, 2)
        assert connection.execute(held).scalar_one() == connection.execute(counted).scalar_one() == before
    with database.reader() as connection:
        assert connection.execute(counted).scalar_one() == before + 3


@pytest.mark.parametrize("reason", ["nul \x00", "half a character \ud800"], ids=["NUL", "a lone surrogate"])
def test_a_text_that_cannot_be_stored_does_not_stop_the_other_commands(floor, reason):
    floor.open()
    floor.wager(1)
    outcomes = floor.journal.execute([VoidHand(AT, SUPERVISOR, "t1", 1, 1, reason), floor.wagered(2)])
    assert isinstance(outcomes[1], Decision)
    floor.check()


@pytest.mark.parametrize("reason", ["Größe 漢字 🂡", "'; DROP TABLE events; --", "%s :chain {x} \\ \t\n", "x" * 5_000])
def test_any_other_text_is_stored_unchanged(floor, reason):
    floor.open()
    wager = floor.wagered(1)
    floor.execute(wager)
    floor.execute(VoidHand(AT, SUPERVISOR, "t1", 1, 1, reason))
    floor.restart()
    assert floor.execute(wager) == {"verdict": "returned", "reason": reason}
    floor.check()


def test_a_refusal_does_not_disturb_the_rest_of_its_batch(floor):
    commands = [OpenRound(AT, DEALER, "t1"), OpenRound(AT, DEALER, "t1"), OpenRound(AT, DEALER, "t9")]
    commands.append(LinkTable(AT, MANAGER, "t3", 5))
    assert [answer_of(outcome) for outcome in floor.journal.execute(commands)] == [
        {"round": 1},
        "wrong_phase",
        "unknown_table",
        {"table": "t3"},
    ]
    floor.check()


def test_the_known_versions_are_those_of_alembic():
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    walked = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    assert (schema.head(), schema._known()) == (walked[0], walked[::-1])
