"""Any single change of the database by an attacker with every right, or of an exported file, is found at its event.

A trail of some hundred events is stored in SQLite and in PostgreSQL. Each change is made on a copy of it (a copied
file, or a transaction that is rolled back), after the triggers have been disabled.
"""

import itertools
import json
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, delete, insert, select, text, update

from jackpot.core.commands import Identified, ReportMalfunction, ResumeTable, Role, SetMode, Withdraw
from jackpot.core.events import Event, EventType
from jackpot.core.site.commands import INSTALLER, AddJackpot, AddOperator
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.event_rows import chained_row
from jackpot.store.hash_chain import GENESIS, EventRow, canonical, event_hash
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Checkpoint, Signer, Verifier
from jackpot.store.trail_export import export, verify_file
from jackpot.store.trail_verification import verify
from tests.support.core_floor import DEALER, FLUSH, MANAGER, NOTHING, ROYALS, STRAIGHT_FLUSHES, SUPERVISOR, Floor
from tests.support.postgres import empty_database, new_postgres_database

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
SIGNER = Signer("casino", bytes(range(32)))
FORGER = Signer("casino", bytes(range(1, 33)))
TABLES = ("t1", "T2", "t-3")
"""Names that sort differently by bytes and by a language's rules."""


class RecordedFloor(Floor):
    """A floor that records all its commands: one second apart, the dealers' commands with ids."""

    def __init__(self):
        self.commands = []
        super().__init__(tables=TABLES, reset_cents=1_000_000)

    def execute(self, command):
        number = len(self.commands)
        command = command._replace(at=f"{NOON + timedelta(seconds=number):%Y-%m-%dT%H:%M:%S}.000Z")
        if command.actor is DEALER:
            command = Identified(f"c{number}", f"digest {number}", command)
        self.commands.append(command)
        return super().execute(command)


def a_day():
    """Return some hundred commands: prizes paid, pending, confirmed and corrected, voids, changes by two persons."""
    floor = RecordedFloor()
    for table in TABLES * 5:
        floor.play({1: NOTHING, 2: FLUSH, 3: None, 4: None}, table, folded=(4,))
    floor.play({7: STRAIGHT_FLUSHES[0], 2: STRAIGHT_FLUSHES[1], 1: FLUSH})
    floor.play({1: ROYALS[0], 6: ROYALS[1]}, "T2")
    floor.correct({6: None}, "T2")
    floor.confirm()
    floor.confirm("T2")
    floor.approve(floor.propose(wager_cents=200))
    floor.execute(Withdraw("", MANAGER, floor.propose(wager_cents=300), "too much"))
    floor.execute(ReportMalfunction("", DEALER, "t-3", "pad 2", "dark"))
    floor.execute(ResumeTable("", SUPERVISOR, "t-3", "a new pad"))
    floor.execute(SetMode("", MANAGER, "t-3", tournament=True, restricted=False))
    floor.open()
    floor.wager(1, 2, 3)
    floor.void_hand(2, actor=DEALER)
    floor.void(actor=DEALER)
    floor.approve(floor.adjust("reserve", "jackpot", 12_345))
    floor.play({3: STRAIGHT_FLUSHES[2], 4: FLUSH}, "t-3")
    floor.void("t-3")
    floor.play({5: STRAIGHT_FLUSHES[3], 1: FLUSH}, "T2")
    floor.correct({5: NOTHING}, "T2")
    for table in TABLES * 2:
        floor.play({1: NOTHING, 6: FLUSH}, table)
    floor.play({7: STRAIGHT_FLUSHES[0], 3: FLUSH})
    floor.open("t-3")
    floor.wager(1, 7, table="t-3")
    floor.propose(wager_cents=500)
    return floor.commands


def store_a_day(database):
    """Write the day to a database, in batches of many sizes, with two checkpoints on the way and none at the end."""
    migrate(database)
    site = SiteJournal.open(database, "test")
    for name in ("max", "mia"):
        site.execute(AddOperator("2026-11-15T11:00:00.000Z", INSTALLER, name, Role.MANAGER, f"hash of {name}"))
    site.execute(AddJackpot("2026-11-15T11:00:01.000Z", MANAGER, "main"))
    write_checkpoint(database, "site", SIGNER)
    journal, commands, sizes = Journal.open(database, "main", "test"), a_day(), [1, 40, 2, 25, 60, 1, 30]
    signed = 0
    while commands:
        size = sizes[0]
        sizes = [*sizes[1:], size]
        batch, commands = commands[:size], commands[size:]
        assert all(hasattr(outcome, "answer") for outcome in journal.execute(batch))
        if journal.lease.head.seq > 100 * (signed + 1) and signed < 2:
            write_checkpoint(database, "main", SIGNER)
            signed += 1


class OpenTransaction:
    """A database as one transaction sees it."""

    def __init__(self, connection):
        self.connection = connection

    @contextmanager
    def reader(self):
        yield self.connection


class Trail:
    """A stored day, and the verification of copies that were tampered with."""

    def __init__(self, database, folder):
        self.database, self.folder = database, folder
        store_a_day(database)
        with database.reader() as connection:
            self.rows = {
                table.name: connection.execute(
                    select(table).where(table.c.chain == "main").order_by(*table.primary_key.columns)
                ).all()
                for table in (*IN_ORDER, *OF_NOW, tables.chains, tables.checkpoints)
            }
        for name in ("transfers", "wagers", "commands", "rounds", "payouts"):
            self.rows[name].sort(key=lambda row: row.seq)
        self.last = self.rows["events"][-1].seq
        database.close()

    def verified(self, tamper, chain="main"):
        """Return the result of verification after tampering, with triggers disabled."""
        if self.database.is_sqlite:
            return self._verified_copy(tamper, chain)
        with self.database.writing.connect() as connection:
            for table in tables.metadata.tables:
                connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))
            tamper(connection)
            found = verify(OpenTransaction(connection), chain, SIGNER.verifier)
            connection.rollback()
        return found

    def _verified_copy(self, tamper, chain):
        copy = self.folder / f"{uuid4().hex}.db"
        shutil.copy(self.database.url.removeprefix("sqlite:///"), copy)
        attacker = create_engine(f"sqlite:///{copy}")
        with attacker.begin() as connection:
            for name in connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars():
                connection.execute(text(f"DROP TRIGGER {name}"))
            tamper(connection)
        attacker.dispose()
        database = Database(f"sqlite:///{copy}")
        try:
            return verify(database, chain, SIGNER.verifier)
        finally:
            database.close()
            copy.unlink()

    def some(self, table, count=5):
        """Return some rows of a table, from its first to its last."""
        rows = self.rows[table.name]
        return [rows[i * (len(rows) - 1) // (count - 1)] for i in range(count)]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def trail(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trail")
    database = empty_database(request.param, folder, request)
    yield Trail(database, folder)
    database.close()


def at(table, row):
    """Return the conditions that select a row."""
    return [column == getattr(row, column.name) for column in table.primary_key.columns]


def other(value, column):
    """Return another value of the same type."""
    match value:
        case None:
            return 1 if column.type.python_type is int else "x"
        case int():
            return value + 5_000
        case bytes():
            return bytes([value[0] ^ 1]) + value[1:]
        case _:
            return f"{value}x"


def changed(table, row, **values):
    return lambda connection: connection.execute(update(table).where(*at(table, row)).values(**values))


def deleted(table, row):
    return lambda connection: connection.execute(delete(table).where(*at(table, row)))


def inserted(table, row, **values):
    """Insert a copy of a row with these values changed."""
    return lambda connection: connection.execute(insert(table).values(dict(row._mapping) | values))


def nothing(_connection):
    """Change nothing."""


IN_ORDER = (tables.events, tables.transfers, tables.wagers, tables.commands, tables.rounds, tables.payouts)
"""Tables whose rows belong to an event and have its sequence number."""
OF_NOW = (tables.balances, tables.states)
"""Tables for the whole trail: a change is found at the last event."""
OF_A_CONTROLLER = (tables.outbox, tables.leases, tables.controllers, tables.snapshots)
NOT_HISTORY = {"chains.epoch", "chains.owner", *(str(column) for table in OF_A_CONTROLLER for column in table.columns)}
"""Owner and epoch (see `test_evidence`), notices, controllers, and snapshots (see `test_start_verification`)."""


def test_an_untouched_trail_verifies(trail):
    found = trail.verified(nothing)
    assert (found.problem, found.wrong_seq, found.checkpoints) == (None, None, 2)
    assert found.events == trail.last > 250
    assert bytes.fromhex(found.head) == trail.rows["events"][-1].hash
    assert trail.verified(nothing, "site").problem is None


def test_the_trail_holds_everything_that_is_tampered_with(trail):
    assert all(len(rows) >= 5 for name, rows in trail.rows.items() if name not in ("chains", "checkpoints", "states"))
    assert {row.status for row in trail.rows["payouts"]} == {"pending", "paid", "corrected"}
    assert {row.status for row in trail.rows["wagers"]} == {"accepted", "returned"}
    assert {row.outcome for row in trail.rows["rounds"]} == {"played", "void", None}


def test_an_untouched_trail_verifies_in_a_database_with_a_language_collation(postgres_url):
    """PostgreSQL's packages create databases with a language's collation, in which t-3 comes before T2."""
    options = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
    database = Database(new_postgres_database(postgres_url, options))
    try:
        store_a_day(database)
        assert verify(database, "main", SIGNER.verifier).problem is None
    finally:
        database.close()


@pytest.mark.parametrize(
    ("table", "column"),
    [
        pytest.param(table, column.name, id=f"{table.name}.{column.name}")
        for table in IN_ORDER
        for column in table.columns
    ],
)
def test_a_changed_value_is_found_at_its_event(trail, table, column):
    row = trail.some(table, 9)[2 + len(column) % 5]
    value = {"chain": "site", "seq": trail.last + 100}.get(column, other(getattr(row, column), table.c[column]))
    found = trail.verified(changed(table, row, **{column: value}))
    assert (found.wrong_seq, found.problem is None) == (row.seq, False)


@pytest.mark.parametrize("table", IN_ORDER, ids=lambda table: table.name)
def test_a_deleted_row_is_found_at_its_event(trail, table):
    for row in trail.some(table, 5):
        assert trail.verified(deleted(table, row)).wrong_seq == row.seq


@pytest.mark.parametrize("table", IN_ORDER, ids=lambda table: table.name)
def test_two_swapped_rows_are_found_at_the_first(trail, table):
    rows = trail.some(table, 7)[2:5]
    for one, two in itertools.pairwise(rows):
        keys = {column.name for column in table.primary_key.columns}
        first, second = ({k: v for k, v in row._mapping.items() if k not in keys} for row in (one, two))

        def swap(connection, pair=((one, second), (two, first))):
            for row, values in pair:
                changed(table, row, **values)(connection)

        assert trail.verified(swap).wrong_seq == min(one.seq, two.seq)


@pytest.mark.parametrize("table", IN_ORDER[1:], ids=lambda table: table.name)
def test_an_inserted_row_is_found_at_its_event(trail, table):
    forged = {
        "transfers": {"n": 90},
        "wagers": {"wager_id": "forged", "box": 7},
        "commands": {"command_id": "forged"},
        "rounds": {"round": 9_999},
        "payouts": {"box": 99},
    }[table.name]
    for row in trail.some(table, 3)[1:]:
        assert trail.verified(inserted(table, row, **forged)).wrong_seq == row.seq


def test_a_transfer_added_to_an_event_without_money_is_found(trail):
    moved = {row.seq for row in trail.rows["transfers"]}
    quiet = next(row for row in trail.rows["events"] if row.seq > 50 and row.seq not in moved)
    forged = inserted(tables.transfers, trail.rows["transfers"][0], seq=quiet.seq)
    assert trail.verified(forged).wrong_seq == quiet.seq


def test_a_transfer_after_the_last_event_is_found(trail):
    forged = inserted(tables.transfers, trail.rows["transfers"][0], seq=trail.last + 1)
    assert trail.verified(forged).wrong_seq == trail.last + 1


def test_an_event_added_at_the_end_is_found_even_with_a_valid_hash(trail):
    last = trail.rows["events"][-1]
    for values in ({"seq": last.seq + 1}, next_row(last)._asdict()):
        assert trail.verified(inserted(tables.events, last, **values)).wrong_seq == last.seq + 1


def next_row(last):
    event = Event(
        EventType.TABLE_SUSPENDED, last.at, "forger", "t1", 1, {"cause": "store", "equipment": "", "note": ""}
    )
    return chained_row("main", last.seq + 1, last.hash, event)


@pytest.mark.parametrize("count", [1, 2, 40, 200])
def test_a_truncated_trail_is_found_at_the_first_missing_event(trail, count):
    def cut(connection):
        for table in (tables.events, tables.transfers):
            connection.execute(delete(table).where(table.c.chain == "main", table.c.seq > trail.last - count))

    assert trail.verified(cut).wrong_seq == trail.last - count + 1


def test_the_last_event_is_found_missing_even_if_it_moved_no_money(trail):
    last = trail.rows["events"][-1]
    assert last.transfers == "[]"
    assert trail.verified(deleted(tables.events, last)).wrong_seq == last.seq


@pytest.mark.parametrize("table", OF_NOW, ids=lambda table: table.name)
def test_changed_state_tables_are_found_at_the_last_event(trail, table):
    name, value = table.columns.keys()[1:]
    one, two = (trail.rows[table.name][i] for i in {"balances": (2, 5), "states": (1, 2)}[table.name])
    assert getattr(one, value) != getattr(two, value)
    tamperings = [
        deleted(table, one),
        inserted(table, one, **{name: "forged"}),
        lambda connection: [
            changed(table, one, **{value: getattr(two, value)})(connection),
            changed(table, two, **{value: getattr(one, value)})(connection),
        ],
        changed(table, one, chain="site"),
        changed(table, one, **{name: "forged"}),
        *(changed(table, row, **{value: other(getattr(row, value), None)}) for row in (one, two)),
    ]
    for tamper in tamperings:
        found = trail.verified(tamper)
        assert found.problem
        assert found.wrong_seq == trail.last


def test_a_wrong_head_is_found_at_the_end(trail):
    (head,) = trail.rows["chains"]
    before = trail.rows["events"][-2]
    for tamper in (
        changed(tables.chains, head, head=other(head.head, tables.chains.c.head)),
        changed(tables.chains, head, seq=before.seq),
        changed(tables.chains, head, seq=before.seq, head=before.hash),
        deleted(tables.chains, head),
    ):
        assert trail.verified(tamper).wrong_seq == trail.last
    assert trail.verified(changed(tables.chains, head, seq=trail.last + 1)).problem


def test_two_swapped_heads_are_found_in_both_chains(trail):
    def swap(connection):
        heads = {row.chain: row for row in connection.execute(select(tables.chains))}
        for one, two in (("main", "site"), ("site", "main")):
            changed(tables.chains, heads[one], seq=heads[two].seq, head=heads[two].head)(connection)

    assert trail.verified(swap).problem
    assert trail.verified(swap, "site").problem


def test_a_chain_that_claims_events_it_does_not_have_is_found(trail):
    (head,) = trail.rows["chains"]
    assert trail.verified(inserted(tables.chains, head, chain="ghost"), "ghost").problem


def test_every_column_is_tampered_with():
    """New columns must be added to these tests, or be named here with a reason."""
    seen = {str(column) for table in (*IN_ORDER, *OF_NOW) for column in table.columns}
    elsewhere = {
        "chains.chain",
        "chains.seq",
        "chains.head",
        "chains.signed",
        "checkpoints.chain",
        "checkpoints.seq",
        "checkpoints.note",
    }
    every = {str(column) for table in tables.metadata.tables.values() for column in table.columns}
    assert every == seen | elsewhere | NOT_HISTORY


# Checkpoints.


def test_a_deleted_checkpoint_is_found(trail):
    for row in trail.rows["checkpoints"]:
        found = trail.verified(deleted(tables.checkpoints, row))
        assert "signed 2 times" in found.problem or "is number 2" in found.problem
    one = trail.rows["chains"][0]
    assert "signed 1 times" in trail.verified(changed(tables.chains, one, signed=1)).problem


def test_a_changed_checkpoint_is_found_at_its_event(trail):
    one, two = trail.rows["checkpoints"]
    forged = FORGER.sign(Checkpoint("casino/main", one.seq, trail.rows["events"][one.seq - 1].hash))
    for note in (
        one.note + "x",
        one.note.replace("casino", "casina"),
        two.note,
        forged,
        "",
        one.note[:-1],
        one.note * 2,
    ):
        assert trail.verified(changed(tables.checkpoints, one, note=note)).wrong_seq == one.seq


def test_a_checkpoint_with_characters_outside_ascii_is_found_at_its_event(trail):
    one = trail.rows["checkpoints"][0]
    assert (
        trail.verified(changed(tables.checkpoints, one, note=one.note[:-9] + "é" + one.note[-8:])).wrong_seq == one.seq
    )


def test_a_moved_or_added_checkpoint_is_found_at_its_event(trail):
    one, two = trail.rows["checkpoints"]
    forged = FORGER.sign(Checkpoint("casino/main", 150, trail.rows["events"][149].hash))
    assert one.seq < 150 < two.seq
    assert trail.verified(changed(tables.checkpoints, one, seq=one.seq + 1)).wrong_seq == one.seq + 1
    assert trail.verified(inserted(tables.checkpoints, one, seq=5)).wrong_seq == 5
    assert trail.verified(inserted(tables.checkpoints, two, seq=150, note=forged)).wrong_seq == 150
    beyond = SIGNER.sign(Checkpoint("casino/main", trail.last + 7, bytes(32)))
    found = trail.verified(inserted(tables.checkpoints, two, seq=trail.last + 7, note=beyond))
    assert found.wrong_seq == trail.last + 1


def test_two_swapped_checkpoints_are_found_at_the_first(trail):
    one, two = trail.rows["checkpoints"]

    def swap(connection):
        changed(tables.checkpoints, one, note=two.note)(connection)
        changed(tables.checkpoints, two, note=one.note)(connection)

    assert trail.verified(swap).wrong_seq == one.seq


@pytest.mark.parametrize("chosen", [3, 90, 180])
def test_a_rewritten_history_with_valid_hashes_is_found_at_its_first_checkpoint(trail, chosen):
    """The attacker changes the actor, hashes every later event again, and moves the head."""
    covering = min(row.seq for row in trail.rows["checkpoints"] if row.seq >= chosen)

    def rewrite(connection):
        rehash(connection, trail.rows["events"], chosen, actor="eve")

    assert trail.verified(rewrite).wrong_seq == covering


def rehash(connection, rows, chosen, **values):
    before = rows[chosen - 2].hash
    for row in rows[chosen - 1 :]:
        forged = EventRow(*row)._replace(**(values if row.seq == chosen else {}))
        before = event_hash(before, forged[:-1])
        changed(tables.events, row, **(forged._asdict() | {"hash": before}))(connection)
    connection.execute(update(tables.chains).where(tables.chains.c.chain == "main").values(head=before))


def test_changed_money_in_a_rewritten_history_is_found_at_its_event(trail):
    chosen = next(row for row in trail.rows["events"] if row.type == "wager_accepted" and row.seq > 210)
    transfers = canonical([[s, t, cents + 1, kind] for s, t, cents, kind in json.loads(chosen.transfers)])
    found = trail.verified(lambda c: rehash(c, trail.rows["events"], chosen.seq, transfers=transfers))
    assert found.wrong_seq == chosen.seq


@pytest.mark.parametrize("data", ["[]", "null", "not JSON", "[" * 5_000], ids=lambda data: data[:9])
def test_an_impossible_event_is_found_even_with_valid_hashes(trail, data):
    for kind in ("wagers_closed", "wager_accepted"):
        chosen = [row for row in trail.rows["events"] if row.type == kind][-1]
        found = trail.verified(lambda c, seq=chosen.seq: rehash(c, trail.rows["events"], seq, data=data))
        assert found.wrong_seq == chosen.seq


def test_a_repeated_wager_id_is_found_even_with_valid_hashes(trail):
    wagers = [row for row in trail.rows["events"] if row.type == "wager_accepted" and row.table_id == "t-3"]
    found = trail.verified(lambda c: rehash(c, trail.rows["events"], wagers[-1].seq, data=wagers[0].data))
    assert found.problem


@pytest.fixture(scope="module")
def sqlite_trail(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trail")
    return Trail(Database(f"sqlite:///{folder}/day.db"), folder)


@pytest.mark.parametrize(
    "change",
    [
        "events SET hash = 'text'",
        "events SET actor = x'ff'",
        "events SET data = x'ff'",
        "events SET transfers = 5",
        "transfers SET amount_cents = 'a lot'",
        "wagers SET amount_cents = 'a lot'",
        "balances SET balance_cents = 'a lot'",
        "states SET body = x'ff'",
        "checkpoints SET note = x'ff'",
        "chains SET head = 'text'",
        "chains SET seq = 'text'",
    ],
)
def test_a_value_of_a_type_that_only_sqlite_accepts_is_found(sqlite_trail, change):
    """SQLite accepts a text instead of bytes; verification must not fail on it."""
    chosen = next(row.seq for row in sqlite_trail.rows["wagers"] if row.seq > 60)
    of_event = change.split()[0] in ("events", "transfers", "wagers")
    where = f"WHERE chain = 'main' AND {f'seq = {chosen}' if of_event else '1'}"
    found = sqlite_trail.verified(lambda connection: connection.execute(text(f"UPDATE {change} {where}")))
    assert found.problem
    assert found.wrong_seq == chosen or not of_event


# An exported file.


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The site's chain of three events, as exported."""
    return exported(tmp_path_factory.mktemp("small"), "site")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The whole day, as exported."""
    return exported(tmp_path_factory.mktemp("large"), "main")


def exported(folder, chain):
    database = Database(f"sqlite:///{folder}/day.db")
    store_a_day(database)
    count = export(database, chain, folder / "trail", SIGNER)
    database.close()
    (folder / "day.db").unlink()
    lines = (folder / "trail").read_bytes().splitlines(keepends=True)
    assert len(lines) == count + 2
    return lines


@pytest.fixture
def checked(tmp_path):
    """Return a function that verifies a file of these bytes with the public key alone."""
    path, public = tmp_path / "file", str(SIGNER.verifier)

    def check(content, key=public):
        path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
        return verify_file(path, Verifier.of(key))

    return check


def test_an_untouched_file_verifies_with_the_public_key_alone(small, large, checked):
    for lines, chain in ((small, "site"), (large, "main")):
        found = checked(lines)
        assert (found.chain, found.events, found.problem, found.wrong_seq) == (chain, len(lines) - 2, None, None)
        assert found.head == json.loads(lines[-2])["hash"]


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80], ids=["the lowest bit", "upper and lower case", "the highest bit"])
def test_any_byte_of_a_file_that_flips_is_found_in_its_line(small, checked, mask):
    wrong = []
    for number, line in enumerate(small):
        for i, byte in enumerate(line):
            flipped = line[:i] + bytes([byte ^ mask]) + line[i + 1 :]
            found = checked([*small[:number], flipped, *small[number + 1 :]])
            right = {0: (0, 1), len(small) - 1: (number - 1, number)}.get(number, (number,))
            if found.problem is None or found.wrong_seq not in right:
                wrong.append((number, i, line[max(0, i - 20) : i + 1], found.wrong_seq, found.problem))
    assert wrong == []


def test_random_bytes_of_a_large_file_are_found_in_their_line(large, checked):
    random, content = Random(20261115), b"".join(large)
    starts = [0]
    for line in large:
        starts.append(starts[-1] + len(line))
    for _ in range(150):
        place, mask = random.randrange(starts[-3]), random.choice([1, 2, 4, 8, 16, 64, 128])
        found = checked(content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :])
        line = max(number for number, start in enumerate(starts) if start <= place)
        assert found.wrong_seq == line, (place, mask, found)


def test_a_hash_in_another_notation_is_found(small, checked):
    """Hexadecimal digits could be upper case or have spaces between them; an export has one notation."""
    digest = json.loads(small[1])["hash"]
    for written in (digest.upper(), f" {digest}", f"{digest[:2]} {digest[2:]}", f"{digest}\\n"):
        found = checked([small[0], small[1].replace(digest.encode(), written.encode()), *small[2:]])
        assert found.wrong_seq == 1, written


def test_a_number_written_as_text_is_found(large, checked):
    for number, line in enumerate(large[1:-1], start=1):
        played = json.loads(line)["round"]
        if played is not None:
            quoted = line.replace(b'"round":%d' % played, b'"round":"%d"' % played, 1)
            assert quoted != line
            found = checked([*large[:number], quoted, *large[number + 1 :]])
            assert found.wrong_seq == number
            return


@pytest.mark.parametrize(
    "field", ["chain", "seq", "at", "actor", "type", "table_id", "round", "data", "transfers", "hash"]
)
@pytest.mark.parametrize("value", [None, "", 0, 1.5, True, [], {}, "é"], ids=repr)
def test_a_field_of_another_type_is_found(small, checked, field, value):
    plain = json.loads(small[2])
    if plain[field] != value:
        forged = (canonical(plain | {field: value}) + "\n").encode()
        assert checked([*small[:2], forged, *small[3:]]).wrong_seq == 2


def test_a_line_that_is_deleted_doubled_or_swapped_is_found_where_it_was(small, large, checked):
    for lines in (small, large[:40] + large[-1:], large):
        for n in range(1, len(lines) - 1, max(1, len(lines) // 25)):
            assert checked([*lines[:n], *lines[n + 1 :]]).wrong_seq in (n, n - 1 if n == len(lines) - 2 else n)
            assert checked([*lines[: n + 1], *lines[n:]]).wrong_seq == n + 1
            if n < len(lines) - 2:
                assert checked([*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]).wrong_seq == n


@pytest.mark.parametrize("line", [b"\n", b" \n", b"{}\n", b"[]\n", b"null\n", b"x\n", b"\xff\n", b"\x00", b'{"a":1}\n'])
def test_an_inserted_line_is_found_anywhere(small, checked, line):
    for n in range(len(small) + 1):
        assert checked([*small[:n], line, *small[n:]]).problem, n


def test_a_file_truncated_anywhere_is_found(small, checked):
    content = b"".join(small)
    for length in range(len(content)):
        assert checked(content[:length]).problem, length


def test_a_large_file_without_its_last_events_is_found(large, checked):
    for count in (1, 2, 50):
        kept = large[: -1 - count]
        assert checked(kept).problem
        assert checked([*kept, large[-1]]).wrong_seq == len(kept) - 1


@pytest.mark.parametrize("added", [b"\n", b" ", b"\x00", b"{}\n", b"# signed\n"])
def test_anything_after_the_end_is_found(small, checked, added):
    assert checked([*small, added]).problem
    assert checked([*small, *small]).problem
    assert checked([*small, small[-1]]).problem


def test_other_line_ends_or_a_byte_order_mark_are_found(small, checked):
    content = b"".join(small)
    assert checked(content.replace(b"\n", b"\r\n")).wrong_seq == 0
    assert checked(b"\xef\xbb\xbf" + content).wrong_seq == 0


def test_a_checkpoint_of_another_history_is_found(small, large, checked):
    last, digest = len(small) - 2, bytes.fromhex(json.loads(small[-2])["hash"])
    notes = {
        "of another chain": json.loads(large[-1])["checkpoint"],
        "of fewer events": SIGNER.sign(Checkpoint("casino/site", last - 1, digest)),
        "of another hash": SIGNER.sign(Checkpoint("casino/site", last, GENESIS)),
        "of another site": SIGNER.sign(Checkpoint("club/site", last, digest)),
        "by another key": FORGER.sign(Checkpoint("casino/site", last, digest)),
        "by another name": Signer.new("club").sign(Checkpoint("casino/site", last, digest)),
        "not signed": json.loads(small[-1])["checkpoint"].partition("\n\n")[0] + "\n\n",
        "outside ASCII": json.loads(small[-1])["checkpoint"][:-9] + "é\n",
        "empty": "",
        "a number": 5,
        "a list": [],
    }
    for case, note in notes.items():
        found = checked([*small[:-1], (canonical({"checkpoint": note}) + "\n").encode()])
        assert found.wrong_seq == last, case


def test_a_file_signed_by_another_key_is_found(small, large, checked):
    for lines in (small, large):
        assert checked(lines, str(FORGER.verifier)).wrong_seq == len(lines) - 2
        assert checked(lines, str(Signer.new("club").verifier)).wrong_seq == 0


def test_a_rewritten_file_with_valid_hashes_is_found(large, checked):
    rows = [json.loads(line) for line in large[1:-1]]
    rows[9]["actor"] = "eve"
    before, lines = GENESIS, []
    for plain in rows:
        row = EventRow(**plain)
        before = event_hash(before, row[:-1])
        lines.append((canonical(plain | {"hash": before.hex()}) + "\n").encode())
    assert lines[:9] == large[1:10]
    assert checked([large[0], *lines, large[-1]]).wrong_seq == len(lines)


@pytest.mark.parametrize("data", ["[]", "5", "null", "not JSON", "[" * 5_000], ids=lambda data: data[:9])
def test_an_impossible_event_is_found_in_a_file_with_valid_hashes(large, checked, data):
    number, plain = next(
        (n, json.loads(line)) for n, line in enumerate(large) if json.loads(line).get("type") == "wagers_closed"
    )
    before = bytes.fromhex(json.loads(large[number - 1])["hash"])
    row = EventRow(**(plain | {"data": data}))
    forged = canonical(row._asdict() | {"hash": event_hash(before, row[:-1]).hex()}) + "\n"
    assert checked([*large[:number], forged.encode(), *large[number + 1 :]]).wrong_seq == number


def test_an_export_never_overwrites_a_file(tmp_path):
    path = tmp_path / "trail"
    path.write_text("another trail")
    broken, sound = Database(f"sqlite:///{tmp_path}/missing/day.db"), Database(f"sqlite:///{tmp_path}/day.db")
    migrate(sound)
    for database, refusal in ((sound, FileExistsError), (broken, (FileExistsError, StoreError))):
        with pytest.raises(refusal):
            export(database, "main", path, SIGNER)
        database.close()
        assert path.read_text() == "another trail"
