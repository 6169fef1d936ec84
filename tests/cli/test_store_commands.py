"""The commands that use the store, as processes: their output and exit codes."""

import csv
import io
import json
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from jackpot.clock import in_seconds, now
from jackpot.core.results import Refused
from jackpot.core.site.commands import KEYHOLDER, RenewToken
from jackpot.engine.journal import Journal
from jackpot.engine.lease import acquire_lease
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.schema import head
from jackpot.store.signed_notes import Signer
from jackpot.tokens import token_hash
from tests.support.core_floor import FLUSH, NOTHING, STRAIGHT_FLUSHES, Floor
from tests.support.daemon import wait_until
from tests.support.fork_server import Done, fork_server
from tests.support.postgres import new_postgres_database

ENVIRONMENT = {"PATH": os.environ["PATH"], "COLUMNS": "200", "NO_COLOR": "1", "PYTHONUTF8": "1"}
NOBODY = 65534
PLAYED_AT = "2031-03-01T09:30:00.500Z"


def run(folder, *arguments, user=None, max_file_bytes=None, **environment):
    """Run a command in a process and return its result."""
    merged = ENVIRONMENT | environment
    return fork_server().run(folder, *arguments, environment=merged, user=user, max_file_bytes=max_file_bytes)


@pytest.fixture(scope="module")
def jackpot():
    return run


@pytest.fixture(scope="module")
def answer(jackpot):
    """Return a function that runs a command and returns its JSON output."""

    def run_for_json(folder, *arguments, **environment):
        done = jackpot(folder, *arguments, "--json", **environment)
        assert (done.code, done.err) == (0, ""), done
        return json.loads(done.out)

    return run_for_json


@pytest.fixture
def postgres_database(postgres_url):
    """The address of an empty PostgreSQL database."""
    return new_postgres_database(postgres_url)


def refused(done, *words, codes=(1, 2)):
    """Check that there is one sentence on stderr, nothing on stdout, and no traceback."""
    assert done.code in codes, done
    assert done.out == "", done
    assert done.err.startswith("jackpot: "), done
    assert done.err.count("\n") == 1, done
    for word in ("Traceback", "https://", "pydantic", "sqlalche"):
        assert word not in done.err, done
    for word in words:
        assert word in done.err, done


class SiteFloor(Floor):
    """The floor of a site that `init` created."""

    def __init__(self, database):
        self.journal = Journal.open(database, "main", "")
        self.jackpot, self.ids, self.events = self.journal.jackpot, 0, []

    def execute(self, command):
        (outcome,) = self.journal.execute([command._replace(at=PLAYED_AT)])
        self.jackpot = self.journal.jackpot
        if isinstance(outcome, Refused):
            raise outcome
        self.events += outcome.events
        return outcome.answer


class Site:
    """A site in a folder."""

    def __init__(self, folder, made):
        self.folder, self.made = folder, made
        self.one, self.two = made["tokens"].values()
        self.public_key = made["public_key"]
        self.config, self.key, self.database = (folder / f"jackpot.{end}" for end in ("toml", "key", "db"))

    def copy(self, folder):
        shutil.copytree(self.folder, folder / "site")
        return Site(folder / "site", self.made)

    def sql(self, *statements):
        """Change the store directly, after dropping the triggers that forbid it."""
        with sqlite3.connect(self.database) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for statement in [*(f"DROP TRIGGER {name}" for (name,) in names), *statements]:
                connection.execute(statement)
        connection.close()

    def heads(self):
        """Return the sequence number and hash of each chain's head."""
        return self._of_chains("seq, head")

    def epochs(self):
        """Return the epoch of each chain."""
        return self._of_chains("epoch")

    def _of_chains(self, columns):
        with sqlite3.connect(self.database) as connection:
            found = connection.execute(f"SELECT chain, {columns} FROM chains").fetchall()
        connection.close()
        return {chain: values for chain, *values in found}

    def configure(self, **settings):
        lines = [line for line in self.config.read_text().splitlines() if line.split(" = ")[0] not in settings]
        lines += [f"{name} = {json.dumps(str(value))}" for name, value in settings.items()]
        self.config.write_text("\n".join(lines) + "\n")

    def state(self):
        """Return the content of every file."""
        return {
            path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.endswith(("-shm", "-wal"))
        }


@pytest.fixture(scope="module")
def played(tmp_path_factory, answer):
    """A site with rounds: a paid prize, pending prizes, a void. Tests only read it."""
    folder = tmp_path_factory.mktemp("played")
    site = Site(folder, answer(folder, "init"))
    database = Database(f"sqlite:///{site.database}")
    floor = SiteFloor(database)
    floor.play({1: FLUSH, 2: NOTHING, 3: None})
    floor.play({7: STRAIGHT_FLUSHES[0], 5: STRAIGHT_FLUSHES[1]}, "t2")
    floor.open("t3")
    floor.wager(1, 2, table="t3")
    floor.void("t3")
    for _ in range(10):
        floor.play(dict.fromkeys(range(1, 8)), "t4")
    site.floor = floor
    database.close()
    return site


@pytest.fixture
def site(played, tmp_path):
    """A copy of the played site that a test may change."""
    return played.copy(tmp_path)


# A process without the fork server.


def python_m_jackpot(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "jackpot", *arguments],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_site_is_created_and_verified_by_python_m_jackpot(tmp_path):
    refused(python_m_jackpot(tmp_path, "pools"), "jackpot.toml does not exist", "jackpot init", codes=[2])
    made = python_m_jackpot(tmp_path, "init", "--tables", "2")
    assert (made.code, made.err) == (0, "")
    found = python_m_jackpot(tmp_path, "audit", "verify")
    assert (found.code, found.err) == (0, "")
    assert [line.split(",")[0] for line in found.out.splitlines()] == ["main: 3 events", "site: 5 events"]


# init.


def test_init_creates_a_site_and_shows_two_tokens_once(tmp_path, jackpot):
    done = jackpot(tmp_path, "init", "--site", "royal", "--jackpot", "big", "--tables", "3", "--boxes", "5")
    assert (done.code, done.err) == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {
        "jackpot.toml",
        "jackpot.key",
        "jackpot.key.marks",
        "jackpot.db",
    }
    assert stat.S_IMODE((tmp_path / "jackpot.key").stat().st_mode) == 0o600
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in done.out.splitlines() if line.startswith("│")]
    tokens = dict(cells)
    assert list(tokens) == ["manager1", "manager2"]
    assert len(set(tokens.values())) == 2
    assert all(len(token) == 43 for token in tokens.values())
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(token.encode() in kept for token in tokens.values())
    assert (tmp_path / "jackpot.key").read_text().startswith("PRIVATE+KEY+royal+")
    assert "PRIVATE" not in done.out
    tables = jackpot(tmp_path, "tables", "--json")
    assert [(row["table"], row["jackpot"], row["boxes"]) for row in json.loads(tables.out)] == [
        ("t1", "big", 5),
        ("t2", "big", 5),
        ("t3", "big", 5),
    ]


def test_init_uses_the_default_configuration_and_records_the_advance(played, tmp_path, jackpot, answer):
    made = answer(tmp_path, "init", "--config", tmp_path / "club.toml")
    assert set(made) == {"config", "public_key", "tokens"}
    (pool,) = answer(tmp_path, "pools", "--config", "club.toml")
    assert (pool["meter_cents"], pool["reserve_cents"], pool["advance_owed_cents"]) == (1_000_000, 2_000_000, 3_000_000)
    (config,) = answer(tmp_path, "config", "show", "--config", "club.toml")
    assert config == {
        "version": 1,
        "wager_cents": 200,
        "jackpot_bps": 7_000,
        "reserve_bps": 3_000,
        "reset_cents": 1_000_000,
        "fixed_prizes_from": "reserve",
        "confirm": ["royal_flush", "straight_flush"],
        "in_force": True,
    }
    assert (tmp_path / "club.key").is_file()
    assert made["public_key"] != played.public_key


def test_a_second_init_is_refused_and_changes_nothing(site, jackpot):
    before = site.state()
    refused(jackpot(site.folder, "init"), "jackpot.toml exists already", codes=[2])
    site.config.rename(site.folder / "kept.toml")
    refused(jackpot(site.folder, "init"), "the key file", "exists already", codes=[2])
    site.key.rename(site.folder / "kept.key")
    marks = site.folder / "jackpot.key.marks"
    refused(jackpot(site.folder, "init"), "jackpot.key.marks", "exists already", codes=[2])
    marks.rename(site.folder / "kept.marks")
    refused(jackpot(site.folder, "init"), "already holds a site", codes=[1])
    (site.folder / "kept.marks").rename(marks)
    (site.folder / "kept.toml").rename(site.config)
    (site.folder / "kept.key").rename(site.key)
    assert set(site.state()) == set(before)
    assert site.state()["jackpot.key"] == before["jackpot.key"]
    assert jackpot(site.folder, "audit", "verify").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--site", "not an id"), ("site",)),
        (("--site", ""), ("site",)),
        (("--site", "x" * 65), ("site",)),
        (("--jackpot", "not an id"), ("not an id",)),
        (("--jackpot", "site"), ("site",)),
        (("--jackpot", ""), ("jackpot",)),
        (("--rules", "nonsense"), ("nonsense",)),
        (("--rules", "canberra-manila-2005"), ("canberra-manila-2005",)),
        (("--tables", "0"), ("tables",)),
        (("--tables", "many"), ("tables",)),
        (("--boxes", "21"), ("boxes",)),
        (("--database", "nonsense"), ("database",)),
        (("--database", "mysql://localhost/x"), ("mysql",)),
        (("--database", "postgresql://127.0.0.1:port/x"), ("database",)),
        (("--database", "postgresql://jackpot:secret@127.0.0.1:1/x"), ("127.0.0.1",)),
        (("--database", "sqlite:////dev/null/x.db"), ("/dev/null/x.db",)),
        (("--colour", "red"), ("--colour",)),
    ],
    ids=repr,
)
def test_after_a_refused_init_the_next_one_succeeds(tmp_path, jackpot, arguments, words):
    done = jackpot(tmp_path, "init", *arguments)
    refused(done, *words)
    assert "secret" not in done.err
    assert not {"jackpot.toml", "jackpot.key"} & {path.name for path in tmp_path.iterdir()}
    again = jackpot(tmp_path, "init")
    assert (again.code, again.err) == (0, "")


def test_after_an_init_that_cannot_write_its_files_the_database_is_empty(tmp_path, jackpot):
    database = f"sqlite:///{tmp_path}/kept.db"
    refused(jackpot(tmp_path, "init", "--config", "missing/jackpot.toml", "--database", database), "missing")
    done = jackpot(tmp_path, "init", "--database", database)
    assert (done.code, done.err) == (0, "")


def test_after_an_init_that_cannot_write_its_key_postgresql_is_empty(tmp_path, jackpot, postgres_database):
    """Files are limited to ten bytes, so the message on stderr is cut off too."""
    done = jackpot(tmp_path, "init", "--database", postgres_database, max_file_bytes=10)
    assert done.code == 1
    assert done.err.startswith("jackpot: ")
    assert list(tmp_path.iterdir()) == []
    again = jackpot(tmp_path, "init", "--database", postgres_database)
    assert (again.code, again.err) == (0, "")


def test_after_an_init_on_a_full_disk_the_next_one_succeeds(tmp_path, jackpot):
    for max_file_bytes in (1_000, 40_000, 80_000):
        refused(jackpot(tmp_path, "init", max_file_bytes=max_file_bytes))
        assert not {"jackpot.toml", "jackpot.key"} & {path.name for path in tmp_path.iterdir()}
    again = jackpot(tmp_path, "init")
    assert (again.code, again.err) == (0, "")


def test_the_command_line_overrides_the_environment_which_overrides_the_file(tmp_path, jackpot, answer):
    assert answer(tmp_path, "init", "--site", "mine", JACKPOT_SITE="theirs")["public_key"].startswith("mine+")
    assert 'site = "mine"' in (tmp_path / "jackpot.toml").read_text()
    done = jackpot(tmp_path, "pools", JACKPOT_DATABASE="sqlite:////nowhere/at/all.db")
    refused(done, "/nowhere/at/all.db does not exist")


@pytest.mark.parametrize(
    "broker", ["mqtt://a\nsite = 'x'", 'mqtt://"\\', "mqtt://é", "mqtt://\udcff", "\x01"], ids=repr
)
def test_the_configuration_that_init_writes_can_be_read_again(tmp_path, jackpot, broker):
    done = jackpot(tmp_path, "init", "--broker", broker)
    if done.code:
        refused(done, "broker")
        done = jackpot(tmp_path, "init")
    assert (done.code, done.err) == (0, "")
    assert jackpot(tmp_path, "pools").err == ""


def test_the_configuration_is_found_by_option_environment_or_folder(played, tmp_path, answer):
    here = answer(played.folder, "pools")
    assert here == answer(tmp_path, "pools", "--config", played.config)
    assert here == answer(tmp_path, "pools", JACKPOT_CONFIG=str(played.config))
    assert list(tmp_path.iterdir()) == []


# migrate.


def test_migrate_reports_the_versions_and_can_be_repeated(site, jackpot, answer):
    newest = head()
    assert answer(site.folder, "migrate") == {"before": newest, "after": newest}
    done = jackpot(site.folder, "migrate")
    assert (done.code, done.out, done.err) == (0, f"The schema is already at {newest}.\n", "")
    site.database.unlink()
    assert answer(site.folder, "migrate") == {"before": None, "after": newest}
    assert answer(site.folder, "pools") == []


def test_a_newer_or_missing_schema_is_refused_with_a_remedy(site, jackpot):
    site.sql("UPDATE alembic_version SET version_num = '9999'")
    for command in (("pools",), ("migrate",), ("audit", "verify"), ("backup", "copy.db")):
        refused(jackpot(site.folder, *command), "ahead of this program", "install a newer one", codes=[1])
    assert not (site.folder / "copy.db").exists()
    site.database.write_bytes(b"")
    refused(jackpot(site.folder, "pools"), "the schema is empty", "run jackpot migrate", codes=[1])


# Queries.


def rows_of_csv(done):
    assert (done.code, done.err) == (0, "")
    return list(csv.DictReader(io.StringIO(done.out)))


def test_pools_are_shown_as_json_csv_and_a_table(played, jackpot, answer):
    floor = played.floor
    (row,) = answer(played.folder, "pools")
    assert (row["jackpot"], row["meter_cents"], row["reserve_cents"]) == ("main", *floor.pools)
    assert (row["payable_cents"], row["tables"]) == (floor.holds("payable"), 4)
    assert row["balances"] == {account.value: cents for account, cents in floor.jackpot.balances.items()}
    (line,) = rows_of_csv(jackpot(played.folder, "pools", "--csv"))
    assert (line["jackpot"], int(line["meter_cents"]), int(line["reserve_cents"])) == ("main", *floor.pools)
    drawn = jackpot(played.folder, "pools").out
    for cents in (*floor.pools, floor.holds("payable"), 3_000_000):
        assert f"${cents // 100:,}.{cents % 100:02d}" in drawn


def test_tables_are_shown_as_json_csv_and_a_table(played, jackpot, answer):
    rows = answer(played.folder, "tables")
    assert [(row["table"], row["phase"], row["round"], row["lit"]) for row in rows] == [
        ("t1", "idle", 1, []),
        ("t2", "pending", 1, [5, 7]),
        ("t3", "idle", 1, []),
        ("t4", "idle", 10, []),
    ]
    assert answer(played.folder, "tables", "--jackpot", "main") == rows
    lines = rows_of_csv(jackpot(played.folder, "tables", "--csv"))
    assert [(line["table"], line["phase"]) for line in lines] == [(row["table"], row["phase"]) for row in rows]
    assert "│ 5 7 " in jackpot(played.folder, "tables").out


def test_rounds_are_listed_page_by_page(played, jackpot, answer):
    everything = answer(played.folder, "rounds", "--limit", "1000")
    assert len(everything) == 13
    pages, before = [], []
    while page := answer(played.folder, "rounds", "--limit", "4", *before):
        pages += page
        before = ["--before", page[-1]["seq"]]
    assert pages == everything
    assert [row["seq"] for row in everything] == sorted((row["seq"] for row in everything), reverse=True)
    (voided,) = answer(played.folder, "rounds", "--table", "t3")
    assert (voided["outcome"], voided["wagers"], voided["wagered_cents"]) == ("void", 0, 0)
    lines = rows_of_csv(jackpot(played.folder, "rounds", "--csv", "--table", "t4"))
    assert [line["round"] for line in lines] == [str(number) for number in range(10, 0, -1)]
    assert {line["wagered_cents"] for line in lines} == {"1400"}
    drawn = jackpot(played.folder, "rounds", "--table", "t2").out
    assert "pending" in drawn
    assert "$4.00" in drawn


def test_wins_are_shown_as_json_csv_and_a_table(played, jackpot, answer):
    rows = answer(played.folder, "wins")
    assert [(row["table_id"], row["hand"], row["status"]) for row in rows] == [
        ("t2", "straight_flush", "pending"),
        ("t2", "straight_flush", "pending"),
        ("t1", "flush", "paid"),
    ]
    assert {row["box"] for row in rows[:2]} == {5, 7}
    assert rows[2]["amount_cents"] == 10_000
    lines = rows_of_csv(jackpot(played.folder, "wins", "--csv", "--table", "t1"))
    assert [(line["hand"], line["amount_cents"]) for line in lines] == [("flush", "10000")]
    drawn = jackpot(played.folder, "wins").out
    assert "straight flush" in drawn
    assert "$100.00" in drawn


def test_pages_of_wins_omit_no_box(played, answer):
    pages, before = [], []
    while page := answer(played.folder, "wins", "--limit", "1", *before):
        pages += page
        before = ["--before", page[-1]["seq"]]
    assert sorted((row["seq"], row["box"]) for row in pages) == sorted(
        (row["seq"], row["box"]) for row in answer(played.folder, "wins")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("rounds", "--limit", "0"),
        ("rounds", "--limit", "1001"),
        ("wins", "--before", "0"),
        ("wins", "--before", "soon"),
        ("tables", "--jackpot", "nowhere"),
        ("rounds", "--jackpot", "nowhere"),
        ("config", "show", "--jackpot", "nowhere"),
        ("pools", "--nonsense"),
        ("audit", "nonsense"),
        ("audit", "list", "--chain", "nowhere"),
        ("audit", "list", "--since", "yesterday"),
        ("audit", "list", "--until", "2026-13-45T00:00:00Z"),
        ("audit", "list", "--since", "0001-01-01T00:00:00+11:00"),
        ("audit", "export", "new.jsonl", "--chain", "nowhere"),
        ("audit", "export", "missing/new.jsonl"),
        ("audit", "verify", "missing.jsonl"),
        ("audit", "verify", "jackpot.toml"),
        ("audit", "verify", "."),
        ("audit", "verify", "jackpot.toml", "--key", "nonsense"),
        ("audit", "verify", "jackpot.toml", "--key", "casino+0b4900f4+éé"),
        ("report", "daily", "--day", "someday"),
        ("report", "daily", "--day", "2026-02-30"),
        ("report", "daily", "--day", "20260105"),
        ("report", "daily", "--day", "9999-12-31"),
        ("backup", "missing/copy.db"),
        ("backup", "jackpot.db"),
        ("backup", "."),
        ("restore", "missing.db"),
        ("restore", "jackpot.key"),
        ("restore", "."),
    ],
    ids=" ".join,
)
def test_bad_input_gets_one_sentence_and_changes_nothing(site, jackpot, arguments):
    before, heads = site.state(), site.heads()
    done = jackpot(site.folder, *arguments)
    if arguments[:2] == ("audit", "verify") and done.out:
        assert (done.code, done.err) == (1, ""), done
        assert "WRONG" in done.out
    else:
        refused(done)
    assert site.heads() == heads
    assert site.state() | {"jackpot.db": b""} == before | {"jackpot.db": b""}


# The audit trail.


def test_events_are_listed_and_filtered(played, answer, jackpot):
    rows = answer(played.folder, "audit", "list", "--limit", "1000")
    assert [row["seq"] for row in rows] == list(range(len(rows), 0, -1))
    assert [row["type"] for row in rows[-5:]] == ["table_linked"] * 4 + ["jackpot_created"]
    wagers = answer(played.folder, "audit", "list", "--type", "wager_accepted", "--table", "t1")
    assert [json.loads(row["data"])["box"] for row in wagers] == [3, 2, 1]
    assert answer(played.folder, "audit", "list", "--actor", "nobody") == []
    (last, *_) = answer(played.folder, "audit", "list", "--chain", "site", "--limit", "3")
    assert (last["type"], last["actor"], json.loads(last["data"])["table"]) == ("table_added", "manager1", "t4")
    lines = rows_of_csv(jackpot(played.folder, "audit", "list", "--csv", "--type", "round_voided"))
    assert json.loads(lines[0]["data"]) == {"reason": "shoe jammed"}
    assert "round voided" in jackpot(played.folder, "audit", "list", "--type", "round_voided").out


@pytest.mark.parametrize(
    "moment",
    ["2031-03-01T09:30:00Z", "2031-03-01T09:30:00.5Z", "2031-03-01T09:30:00.500Z", "2031-03-01T09:30:00.500000Z"],
)
def test_all_forms_of_a_time_in_rfc_3339_are_equal(played, answer, moment):
    listed = ("audit", "list", "--limit", "1000")
    everything = answer(played.folder, *listed)
    later = [row for row in everything if row["at"] == PLAYED_AT]
    assert 0 < len(later) < len(everything)
    assert answer(played.folder, *listed, "--since", moment) == later
    assert answer(played.folder, *listed, "--until", moment) == everything[len(later) :]


def test_an_untouched_store_verifies(played, jackpot, answer):
    done = jackpot(played.folder, "audit", "verify")
    assert (done.code, done.err) == (0, "")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == ["main", "site"]
    assert done.out.count("all correct") == 2
    found = {row["chain"]: row for row in answer(played.folder, "audit", "verify")}
    assert found["main"]["events"] == played.floor.journal.lease.head.seq
    assert [row["problem"] for row in found.values()] == [None, None]


@pytest.mark.parametrize(
    ("statement", "chain", "seq"),
    [
        ("UPDATE events SET actor = 'x' WHERE chain = 'main' AND seq = 8", "main", 8),
        ("DELETE FROM transfers WHERE chain = 'main' AND seq = 8", "main", 8),
        ("UPDATE wagers SET amount_cents = 1 WHERE chain = 'main' AND seq = 8", "main", 8),
        ("DELETE FROM events WHERE chain = 'site' AND seq = 2", "site", 2),
        ("UPDATE states SET body = replace(body, 'manager2', 'managerX') WHERE chain = 'site'", "site", 7),
    ],
)
def test_a_store_that_was_tampered_with_does_not_verify(site, jackpot, statement, chain, seq):
    site.sql(statement)
    done = jackpot(site.folder, "audit", "verify")
    assert (done.code, done.err) == (1, "")
    (wrong,) = [line for line in done.out.splitlines() if "WRONG" in line]
    assert wrong.startswith(f"{chain}: WRONG at {seq}: ")


@pytest.mark.parametrize("chain", ["main", "site"])
def test_a_chain_missing_from_the_list_does_not_verify(site, jackpot, chain):
    site.sql(f"DELETE FROM chains WHERE chain = '{chain}'")
    assert jackpot(site.folder, "audit", "verify").code == 1


def test_a_jackpot_whose_rows_were_all_deleted_does_not_verify(site, jackpot):
    """The site's own chain still lists the jackpot."""
    of_chains = [name for name, table in tables.metadata.tables.items() if "chain" in table.columns]
    site.sql(*(f"DELETE FROM {name} WHERE chain = 'main'" for name in reversed(of_chains)))
    assert jackpot(site.folder, "audit", "verify").code == 1


def test_all_chains_are_verified_even_if_the_state_of_the_site_was_forged(site, jackpot):
    site.sql("UPDATE states SET body = '{}' WHERE chain = 'site'")
    done = jackpot(site.folder, "audit", "verify")
    assert (done.code, "site: WRONG at" in done.out, "main: " in done.out) == (1, True, True)


def test_an_exported_trail_verifies_anywhere_with_the_public_key_alone(played, tmp_path, jackpot, answer):
    for chain in ("main", "site"):
        file = tmp_path / f"{chain}.jsonl"
        made = answer(played.folder, "audit", "export", file, "--chain", chain)
        assert (made["chain"], made["public_key"]) == (chain, played.public_key)
        (found,) = answer(tmp_path, "audit", "verify", file, "--key", made["public_key"])
        assert (found["chain"], found["events"], found["problem"]) == (chain, made["events"], None)
        assert answer(played.folder, "audit", "verify", file) == [found]
    output = jackpot(played.folder, "audit", "export", tmp_path / "again.jsonl").out
    command = output.partition("Verify it with: jackpot ")[2].split()
    assert jackpot(tmp_path, *command).code == 0
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "main.jsonl").read_bytes()


def test_an_exported_trail_that_was_changed_does_not_verify(played, tmp_path, jackpot, answer):
    file = tmp_path / "trail.jsonl"
    answer(played.folder, "audit", "export", file)
    content = file.read_bytes()
    lines = content.splitlines(keepends=True)
    for changed in (
        content.replace(b"manager1", b"manager2", 1),
        content.replace(b"casino/main", b"casino/[/b]", 1),
        b"".join(lines[:-1]),
        b"".join([*lines[:5], *lines[6:]]),
        content + b"\n",
        b"",
        b"\xff\xfe",
    ):
        file.write_bytes(changed)
        done = jackpot(tmp_path, "audit", "verify", file, "--key", played.public_key)
        assert (done.code, done.err) == (1, "")
        assert "WRONG at " in done.out
    file.write_bytes(content)
    other = answer(tmp_path, "init")["public_key"]
    assert jackpot(tmp_path, "audit", "verify", file, "--key", other).code == 1
    refused(jackpot(played.folder, "audit", "export", file), "exists already")
    assert file.read_bytes() == content


def test_an_export_to_a_full_disk_leaves_no_file(site, jackpot):
    """The limit is enough for SQLite's shared memory, but not for the trail."""
    before = set(site.state())
    refused(jackpot(site.folder, "audit", "export", "trail.jsonl", max_file_bytes=33_000))
    assert set(site.state()) == before


# The daily report.


def test_the_daily_report_ties_to_the_cent(played, jackpot, answer):
    rows = {row["pool"]: row for row in answer(played.folder, "report", "daily", "--day", "2031-03-01")}
    for pool, row in rows.items():
        moved = [value for name, value in row.items() if name.endswith("_cents") and "ing_" not in name]
        assert row["ties"] is True
        assert row["opening_cents"] + sum(moved) == row["closing_cents"] == played.floor.holds(pool)
    assert (rows["jackpot"]["contribution_cents"], rows["jackpot"]["void_cents"]) == (10_780, -280)
    assert rows["reserve"]["prize_cents"] == -10_000 - 9_868, "a flush, and two straight flushes raised to $1,000"
    lines = rows_of_csv(jackpot(played.folder, "report", "daily", "--day", "2031-03-01", "--csv"))
    assert [int(line["closing_cents"]) for line in lines] == list(played.floor.pools)
    drawn = jackpot(played.folder, "report", "daily", "--day", "2031-03-01").out
    assert "-$198.68" in drawn
    assert drawn.count("yes") == 2


def test_a_report_that_does_not_tie_shows_it_and_exits_with_1(site, jackpot):
    site.sql("UPDATE balances SET balance_cents = balance_cents + 1 WHERE account = 'jackpot'")
    done = jackpot(site.folder, "report", "daily", "--day", "2031-03-01")
    assert (done.code, done.err) == (1, "")
    assert "NO" in done.out


def test_the_report_follows_the_sites_time_zone(site, answer):
    """09:30 UTC is in the evening in Canberra, and the day before at UTC-12."""
    for zone, day in (("Australia/Canberra", "2031-03-01"), ("Etc/GMT+12", "2031-02-28")):
        site.configure(timezone=zone)
        assert answer(site.folder, "report", "daily", "--day", day)[0]["contribution_cents"] > 0


def test_the_report_of_today_uses_the_date_at_the_site(tmp_path, answer):
    made = Site(tmp_path, answer(tmp_path, "init"))
    now = datetime.now(UTC)
    zones = ("Etc/GMT+12", "Etc/GMT-14")
    local = {zone: {(now - timedelta(minutes=m)).astimezone(ZoneInfo(zone)).date() for m in (0, 5)} for zone in zones}
    zone = next(zone for zone, dates in local.items() if len(dates) == 1 and now.date() not in dates)
    made.configure(timezone=zone)
    assert [row["advance_cents"] for row in answer(tmp_path, "report", "daily")] == [1_000_000, 2_000_000]


# Operators.


def test_an_operator_is_added_renewed_and_revoked(site, jackpot, answer):
    added = answer(site.folder, "operator", "add", "sue", "--role", "supervisor", "--token", site.one)
    assert (added["operator"], len(added["token"])) == ("sue", 43)
    listed = answer(site.folder, "operator", "list")
    assert [(o["name"], o["role"], o["active"]) for o in listed] == [
        ("manager1", "manager", True),
        ("manager2", "manager", True),
        ("sue", "supervisor", True),
    ]
    assert added["token"] not in jackpot(site.folder, "operator", "list").out
    renewed = answer(site.folder, "operator", "renew", "manager1", JACKPOT_TOKEN=site.one)
    refused(jackpot(site.folder, "operator", "renew", "sue", "--token", site.one), "token", codes=[1])
    revoked = ("operator", "revoke", "sue", "--reason", "left", "--token", renewed["token"])
    assert answer(site.folder, *revoked) == {"revoked": "sue"}
    refused(jackpot(site.folder, *revoked), "no active operator", codes=[1])
    lines = rows_of_csv(jackpot(site.folder, "operator", "list", "--csv"))
    assert [(line["name"], line["active"]) for line in lines][-1] == ("sue", "False")
    kinds = [row["type"] for row in answer(site.folder, "audit", "list", "--chain", "site", "--limit", "3")]
    assert kinds == ["operator_revoked", "token_renewed", "operator_added"]
    assert jackpot(site.folder, "audit", "verify").code == 0


def test_tokens_expire_after_a_year_or_the_given_days(site, jackpot, answer):
    def days(name):
        (found,) = (o for o in answer(site.folder, "operator", "list") if o["name"] == name)
        ends = datetime.fromisoformat(found["expires_at"])
        return round((ends - datetime.now(UTC)) / timedelta(days=1), 2)

    answer(site.folder, "operator", "add", "sue", "--role", "supervisor", "--token", site.one)
    answer(site.folder, "operator", "add", "ada", "--role", "auditor", "--days", "7", "--token", site.one)
    assert (days("manager1"), days("sue"), days("ada")) == (365, 365, 7)
    answer(site.folder, "operator", "renew", "ada", "--days", "30", "--token", site.one)
    assert days("ada") == 30
    for wrong in ("0", "4000"):
        refused(jackpot(site.folder, "operator", "renew", "ada", "--days", wrong, "--token", site.one), "--days")


def test_an_expired_token_is_refused_and_the_holder_of_the_key_file_renews_it(site, jackpot, answer):
    database = Database(f"sqlite:///{site.folder}/jackpot.db")
    journal = SiteJournal.open(database, "test")
    hashed = token_hash("old token")
    ends = in_seconds(1)
    journal.execute(RenewToken(now(), KEYHOLDER, "manager1", hashed, ends))
    journal.lease.release()
    database.close()
    command = ("operator", "add", "sue", "--role", "supervisor", "--token", "old token")
    wait_until(lambda: now() > ends, "the end of the token")
    refused(jackpot(site.folder, *command), f"the token of manager1 expired at {ends[:10]}", codes=[1])
    renewed = answer(site.folder, "operator", "renew", "manager1", "--with-key")
    assert answer(site.folder, *command[:-1], renewed["token"])["operator"] == "sue"


def test_a_manager_is_added_and_a_lost_token_renewed_by_two_managers(site, jackpot, answer):
    command = ("operator", "add", "manager3", "--role", "manager")
    added = answer(site.folder, *command, "--token", site.one)
    renewed = answer(site.folder, "operator", "renew", "manager2", "--token", site.one)
    assert (added["waiting"], renewed["waiting"]) == ("manager3", "manager2")
    assert answer(site.folder, "operator", "proposals") == [
        {"name": "manager2", "by": "manager1", "what": "renew"},
        {"name": "manager3", "by": "manager1", "what": "add"},
    ]
    refused(jackpot(site.folder, "operator", "approve", "manager3", "--token", site.one), "another", codes=[1])
    approved = answer(site.folder, "operator", "approve", "manager3", "--token", site.two)
    third = f"{added['half']}.{approved['half']}"
    approved = answer(site.folder, "operator", "approve", "manager2", "--token", third)
    second = f"{renewed['half']}.{approved['half']}"
    refused(jackpot(site.folder, "operator", "renew", "manager2", "--token", site.two), "token", codes=[1])
    assert answer(site.folder, "operator", "renew", "manager2", "--token", second)["operator"] == "manager2"
    answer(site.folder, *command[:2], "manager4", *command[3:], "--token", site.one)
    gone = ("operator", "withdraw", "manager4", "--reason", "left", "--token", third)
    assert answer(site.folder, *gone) == {"withdrawn": "manager4"}
    assert jackpot(site.folder, "audit", "verify").code == 0


def test_the_holder_of_the_key_file_renews_a_lost_token_and_the_trail_records_it(site, jackpot, answer):
    fresh = answer(site.folder, "operator", "renew", "manager2", "--with-key")["token"]
    assert answer(site.folder, "audit", "list", "--chain", "site", "--limit", "1")[0]["actor"] == "keyholder"
    answer(site.folder, "operator", "renew", "manager2", "--token", fresh)
    key = site.folder / "jackpot.key"
    key.write_text(Signer.new("casino").text)
    refused(jackpot(site.folder, "operator", "renew", "manager2", "--with-key"), "key does not match", codes=[1])


def test_every_act_ends_with_a_checkpoint_and_is_refused_without_the_key(site, jackpot, answer):
    answer(site.folder, "floor", "add-table", "t9", "--token", site.one)
    with closing(sqlite3.connect(site.database)) as connection:
        signed = "SELECT chain, max(c.seq) FROM checkpoints c GROUP BY chain ORDER BY chain"
        heads = "SELECT chain, seq FROM chains ORDER BY chain"
        assert connection.execute(signed).fetchall() == connection.execute(heads).fetchall()
    heads = site.heads()
    site.key.unlink()
    for act in (("floor", "add-table", "t8"), ("operator", "add", "sue", "--role", "supervisor")):
        refused(jackpot(site.folder, *act, "--token", site.one), "jackpot.key", codes=[2])
    assert site.heads() == heads


def test_tables_and_jackpots_are_added_and_removed(site, jackpot, answer):
    answer(site.folder, "floor", "add-table", "t9", "--boxes", "5", "--token", site.one)
    assert answer(site.folder, "tables")[-1] | {"table": "t9", "boxes": 5} == answer(site.folder, "tables")[-1]
    refused(jackpot(site.folder, "floor", "add-table", "t9", "--token", site.one), "linked already", codes=[1])
    answer(site.folder, "floor", "remove-table", "t9", "--reason", "moved", "--token", site.two)
    assert "t9" not in {row["table"] for row in answer(site.folder, "tables")}
    answer(site.folder, "floor", "add-table", "t9", "--token", site.one)
    begun = ("floor", "add-jackpot", "next", "--token", site.one)
    refused(jackpot(site.folder, *begun, "--second-token", site.one), "second manager", codes=[1])
    assert answer(site.folder, *begun, "--second-token", site.two) == {"jackpot": "next"}
    refused(jackpot(site.folder, *begun, "--second-token", site.two), "exists already", codes=[1])
    refused(jackpot(site.folder, "rounds"), "--jackpot: main, next", codes=[1])
    retiring = ("floor", "retire", "next", "--heir", "main", "--reason", "renovation", "--token", site.one)
    number = str(answer(site.folder, *retiring)["proposal"])
    approved = answer(site.folder, "config", "approve", number, "--jackpot", "next", "--token", site.two)
    assert approved == {"heir": "main", "moved_cents": 3_000_000}
    pools = {row["jackpot"]: (row["meter_cents"] > 0, row["retired"]) for row in answer(site.folder, "pools")}
    assert pools == {"main": (True, False), "next": (False, True)}
    assert jackpot(site.folder, "audit", "verify").code == 0


def test_an_act_does_not_displace_a_running_controller(site, jackpot, answer):
    database = Database(f"sqlite:///{site.folder}/jackpot.db")
    acts = {
        "main": ("floor", "add-table", "t8", "--token", site.one),
        "site": ("operator", "add", "sue", "--role", "supervisor", "--token", site.one),
    }
    for chain, act in acts.items():
        with subprocess.Popen(["sleep", "600"]) as controller:
            held = acquire_lease(database, chain, f"{socket.gethostname()}:{controller.pid}")
            refused(jackpot(site.folder, *act), "controller", codes=[1])
            held.release()
            answer(site.folder, *act[:2], f"{act[2]}1", *act[3:])
            acquire_lease(database, chain, f"{socket.gethostname()}:{controller.pid}")
            controller.kill()
        answer(site.folder, *act[:2], f"{act[2]}2", *act[3:])
    database.close()


def test_only_managers_manage_operators_and_two_always_remain(site, jackpot, answer):
    tokens = {
        role: answer(site.folder, "operator", "add", role, "--role", role, "--token", site.one)["token"]
        for role in ("auditor", "supervisor")
    }
    heads = site.heads()
    for role, token in tokens.items():
        for act in (
            ("operator", "add", "x", "--role", "manager"),
            ("operator", "renew", "manager1"),
            ("operator", "revoke", "manager1", "--reason", "x"),
            ("config", "propose", "--wager-cents", "300", "--reason", "x"),
            ("adjustment", "propose", "house", "jackpot", "1", "--reason", "x"),
        ):
            refused(jackpot(site.folder, *act, "--token", token), role, codes=[1])
    sid = ("operator", "add", "sid", "--role", "supervisor")
    refused(jackpot(site.folder, *sid, "--token", tokens["supervisor"]), "supervisor", codes=[1])
    for name in ("manager1", "manager2"):
        done = jackpot(site.folder, "operator", "revoke", name, "--reason", "x", "--token", site.two)
        refused(done, "two managers must remain", codes=[1])
    assert site.heads() == heads


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("add", "sue", "--role", "supervisor"), [2]),
        (("add", "sue", "--role", "supervisor", "--token", ""), [1, 2]),
        (("add", "sue", "--role", "supervisor", "--token", "wrong"), [1]),
        (("add", "sue", "--role", "supervisor", "--token", "\udcff"), [1, 2]),
        (("add", "sue", "--role", "king", "--token", "{one}"), [2]),
        (("add", "sue", "--token", "{one}"), [2]),
        (("add", "not an id", "--role", "auditor", "--token", "{one}"), [1, 2]),
        (("add", "\udcff", "--role", "auditor", "--token", "{one}"), [1, 2]),
        (("add", "manager1", "--role", "auditor", "--token", "{one}"), [1]),
        (("renew", "nobody", "--token", "{one}"), [1]),
        (("revoke", "nobody", "--reason", "x", "--token", "{one}"), [1]),
        (("revoke", "manager1", "--token", "{one}"), [2]),
    ],
    ids=repr,
)
def test_a_bad_act_on_operators_is_refused(site, jackpot, arguments, codes):
    heads = site.heads()
    refused(jackpot(site.folder, "operator", *(part.format(one=site.one) for part in arguments)), codes=codes)
    assert site.heads() == heads


# Configurations and adjustments.


def propose(site, *arguments, token=None):
    return ("config", "propose", *arguments, "--reason", "a new season", "--token", token or site.one)


def test_a_configuration_is_proposed_by_one_manager_and_approved_by_another(site, jackpot, answer):
    proposed = answer(site.folder, *propose(site, "--wager-cents", "300", "--confirm", "royal_flush"))
    assert proposed == {"proposal": 1, "warning": None}
    (waiting,) = answer(site.folder, "config", "proposals")
    assert (waiting["by"], waiting["reason"], waiting["body"]["wager_cents"]) == ("manager1", "a new season", 300)
    refused(jackpot(site.folder, "config", "approve", "1", "--token", site.one), "another manager", codes=[1])
    assert len(answer(site.folder, "config", "show")) == 1
    assert answer(site.folder, "config", "approve", "1", "--token", site.two) == {"version": 2}
    first, second = answer(site.folder, "config", "show")
    assert (first["in_force"], second["in_force"]) == (False, True)
    assert (second["wager_cents"], second["confirm"], second["reset_cents"]) == (300, ["royal_flush"], 1_000_000)
    refused(jackpot(site.folder, "config", "approve", "1", "--token", site.two), "no proposal 1", codes=[1])
    assert answer(site.folder, "config", "proposals") == []
    assert jackpot(site.folder, "audit", "verify").code == 0


def test_a_configuration_that_drains_the_reserve_gets_a_warning_with_the_figure(site, jackpot, answer):
    """At $1 the reserve gains 30 c a wager; fixed prizes cost 53.27 c, and the reset after a royal flush 1.54 c."""
    loss = Fraction(17_305, 32_487) * 100 + Fraction(4, 2_598_960) * 1_000_000 - 30
    figure = f"{float(loss):.3f} cents"
    assert figure in answer(site.folder, *propose(site, "--wager-cents", "100"))["warning"]
    done = jackpot(site.folder, *propose(site, "--wager-cents", "100"))
    assert (done.code, done.err) == (0, "")
    assert f"Warning: the reserve would lose {figure}" in done.out


def test_a_proposal_is_withdrawn(site, jackpot, answer):
    answer(site.folder, *propose(site, "--wager-cents", "300"))
    withdrawn = ("config", "withdraw", "1", "--reason", "no", "--token", site.two)
    assert answer(site.folder, *withdrawn) == {"withdrawn": 1}
    refused(jackpot(site.folder, *withdrawn), "no proposal 1", codes=[1])


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("--jackpot-bps", "8000"), [1]),
        (("--jackpot-bps", "10001", "--reserve-bps", "-1"), [1]),
        (("--wager-cents", "0"), [1, 2]),
        (("--wager-cents", "-5"), [1, 2]),
        (("--wager-cents", "1.50"), [2]),
        (("--wager-cents", "9" * 30), [1, 2]),
        (("--reset-cents", "-1"), [1, 2]),
        (("--fixed-prizes-from", "nowhere"), [2]),
        (("--confirm", "royal_flush,nonsense"), [1]),
        (("--jackpot", "nowhere"), [1]),
        (("--reason", " "), [1, 2]),
        (("--reason", "\udcff"), [1, 2]),
        (("--token", "wrong"), [1]),
    ],
    ids=repr,
)
def test_an_invalid_configuration_is_refused(site, jackpot, arguments, codes):
    heads = site.heads()
    refused(jackpot(site.folder, *propose(site), *arguments), codes=codes)
    assert site.heads() == heads


@pytest.mark.parametrize("reason", ["[/b] [bold]x", "[red]", ":smile: x", "a\nb", "Größe 🂡", "--", "x" * 500])
def test_a_reason_may_be_any_text_and_is_shown_unchanged(site, jackpot, answer, reason):
    done = jackpot(site.folder, "config", "propose", "--wager-cents", "300", f"--reason={reason}", "--token", site.one)
    assert (done.code, done.err) == (0, "")
    assert [row["reason"] for row in answer(site.folder, "config", "proposals")] == [reason]
    for command in (("config", "proposals"), ("audit", "list", "--limit", "1"), ("config", "proposals", "--csv")):
        done = jackpot(site.folder, *command)
        assert (done.code, done.err) == (0, ""), done
        assert reason.split()[0][:5] in done.out


def test_an_adjustment_takes_two_managers(site, jackpot, answer):
    (before,) = answer(site.folder, "pools")
    proposed = ("adjustment", "propose", "reserve", "jackpot", "12345", "--reason", "count", "--token", site.one)
    assert answer(site.folder, *proposed)["proposal"] == 1
    refused(jackpot(site.folder, "adjustment", "approve", "1", "--token", site.one), "another manager", codes=[1])
    assert answer(site.folder, "pools") == [before]
    assert answer(site.folder, "adjustment", "approve", "1", "--token", site.two) == {"moved_cents": 12_345}
    (after,) = answer(site.folder, "pools")
    assert after["meter_cents"] - before["meter_cents"] == before["reserve_cents"] - after["reserve_cents"] == 12_345
    repaid = ("adjustment", "propose", "reserve", "house_advance", "1000", "--reason", "back", "--token", site.two)
    assert answer(site.folder, *repaid)["proposal"] == 2
    answer(site.folder, "adjustment", "approve", "2", "--token", site.one)
    (repaid_pool,) = answer(site.folder, "pools")
    assert repaid_pool["advance_owed_cents"] == after["advance_owed_cents"] - 1_000
    day = PLAYED_AT[:10]  # events get the time of the last one while the clock is behind it
    rows = {row["pool"]: row for row in answer(site.folder, "report", "daily", "--day", day)}
    assert (rows["jackpot"]["adjustment_cents"], rows["reserve"]["repayment_cents"]) == (12_345, -1_000)
    assert jackpot(site.folder, "audit", "verify").code == 0


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (("reserve", "reserve", "1"), [1]),
        (("reserve", "payable", "1"), [1]),
        (("reserve", "nowhere", "1"), [2]),
        (("reserve", "jackpot", "0"), [2]),
        (("reserve", "jackpot", "-1"), [2]),
        (("reserve", "jackpot", "9999999999"), [1]),
        (("reserve", "jackpot", "9" * 30), [1, 2]),
        (("house", "house_advance", "1"), [1]),
        (("reserve", "jackpot"), [2]),
    ],
    ids=repr,
)
def test_an_invalid_adjustment_is_refused(site, jackpot, arguments, codes):
    heads = site.heads()
    done = jackpot(site.folder, "adjustment", "propose", *arguments, "--reason", "x", "--token", site.one)
    refused(done, codes=codes)
    assert site.heads() == heads


# Backup and restore.


def with_database(site, folder, database):
    """Return the same site, key and configuration with another database."""
    folder.mkdir()
    for file in (site.config, site.key):
        shutil.copy(file, folder)
    other = Site(folder, site.made)
    other.configure(database=database)
    return other


def test_a_backup_is_one_file_and_restores_to_the_same_store(site, tmp_path, jackpot, answer):
    made = answer(site.folder, "backup", "copy.db")
    assert set(site.state()) == {"copy.db", "jackpot.db", "jackpot.key", "jackpot.key.marks", "jackpot.toml"}
    refused(jackpot(site.folder, "backup", "copy.db"), "exists already")
    other = with_database(site, tmp_path / "other", "sqlite:///restored.db")
    assert answer(other.folder, "restore", site.folder / "copy.db") == made
    for command in (("pools",), ("rounds",), ("wins",), ("audit", "list"), ("operator", "list"), ("config", "show")):
        assert answer(other.folder, *command) == answer(site.folder, *command)
    answer(other.folder, "operator", "add", "sue", "--role", "auditor", "--token", site.one)
    refused(jackpot(other.folder, "restore", site.folder / "copy.db"), "is not empty", codes=[1])
    assert len(answer(other.folder, "operator", "list")) == 3


def test_a_store_moves_from_sqlite_to_postgresql_and_back(site, tmp_path, postgres_database, jackpot, answer):
    made = answer(site.folder, "backup", "copy.db")
    moved = with_database(site, tmp_path / "moved", postgres_database)
    assert answer(moved.folder, "restore", site.folder / "copy.db") == made
    for there, here in zip(*(answer(folder, "audit", "verify") for folder in (moved.folder, site.folder)), strict=True):
        restored = {"events": here["events"] + 1, "checkpoints": 2} if here["chain"] == "site" else {}
        assert {**here, **restored, "head": ""} == {**there, "head": ""}
    assert answer(moved.folder, "pools") == answer(site.folder, "pools")
    answer(moved.folder, *propose(site, "--wager-cents", "300"))
    answer(moved.folder, "config", "approve", "1", "--token", site.two)
    assert jackpot(moved.folder, "audit", "verify").code == 0
    answer(moved.folder, "backup", "again.db")
    back = with_database(site, tmp_path / "back", "sqlite:///restored.db")
    answer(back.folder, "restore", moved.folder / "again.db")
    assert answer(back.folder, "audit", "list") == answer(moved.folder, "audit", "list")
    for chain in ("main", "site"):
        for folder in (moved.folder, back.folder):
            answer(folder, "audit", "export", f"{chain}.jsonl", "--chain", chain)
        one, two = ((folder / f"{chain}.jsonl").read_text().splitlines() for folder in (moved.folder, back.folder))
        assert one[:-1] == two[: len(one) - 1]
        assert [json.loads(line)["type"] for line in two[len(one) - 1 : -1]] == ["store_restored"] * (chain == "site")


def test_the_epoch_grows_with_a_restore(site, tmp_path, answer):
    answer(site.folder, "backup", "copy.db")
    other = with_database(site, tmp_path / "other", "sqlite:///jackpot.db")
    answer(other.folder, "restore", site.folder / "copy.db")
    before, after = site.epochs(), other.epochs()
    assert set(after) == {"main", "site"}
    assert all(after[chain] > epoch for chain, epoch in before.items())


def test_restoring_does_not_change_the_backup(site, tmp_path, answer):
    answer(site.folder, "backup", "copy.db")
    before = (site.folder / "copy.db").read_bytes()
    other = with_database(site, tmp_path / "other", "sqlite:///jackpot.db")
    answer(other.folder, "restore", site.folder / "copy.db")
    assert (site.folder / "copy.db").read_bytes() == before
    assert set(site.state()) == {"copy.db", "jackpot.db", "jackpot.key", "jackpot.key.marks", "jackpot.toml"}


def test_a_store_that_was_tampered_with_is_not_backed_up(site, jackpot):
    site.sql("UPDATE events SET actor = 'x' WHERE chain = 'main' AND seq = 8")
    before = site.state()
    refused(jackpot(site.folder, "backup", "copy.db"), "event 8 of main", codes=[1])
    assert set(site.state()) == set(before)
    assert not list(site.folder.glob("copy*"))


@pytest.mark.parametrize("damage", ["tampered", "cut", "another key", "nothing in it", "not a database"])
def test_a_backup_that_is_damaged_is_not_restored(site, tmp_path, jackpot, answer, damage):
    answer(site.folder, "backup", "copy.db")
    copy = site.folder / "copy.db"
    other = with_database(site, tmp_path / "other", "sqlite:///jackpot.db")
    match damage:
        case "tampered":
            Site.sql(SimpleNamespace(database=copy), "DELETE FROM payouts WHERE seq > 10")
        case "cut":
            copy.write_bytes(copy.read_bytes()[: copy.stat().st_size // 2])
        case "another key":
            (tmp_path / "third").mkdir()
            answer(tmp_path / "third", "init")
            shutil.copy(tmp_path / "third" / "jackpot.key", other.key)
        case "nothing in it":
            copy.write_bytes(b"")
        case "not a database":
            copy.write_text("hello " * 1_000)
    refused(jackpot(other.folder, "restore", copy), codes=[1])
    if other.database.exists():
        assert answer(other.folder, "pools") == []
    else:
        refused(jackpot(other.folder, "pools"), "does not exist")


def test_a_backup_to_a_full_disk_leaves_no_file(site, jackpot):
    refused(jackpot(site.folder, "backup", "copy.db", max_file_bytes=60_000))
    assert not list(site.folder.glob("copy*"))
    assert jackpot(site.folder, "audit", "verify").code == 0


# Sites with missing or broken parts.

EVERY_KIND = (
    ("pools",),
    ("audit", "verify"),
    ("backup", "copy.db"),
    ("operator", "add", "sue", "--role", "auditor", "--token", "x"),
)


def every_kind_refused(site, jackpot, *words, codes=(1, 2), **how):
    before = site.state()
    for command in EVERY_KIND:
        refused(jackpot(site.folder, *command, **how), *words, codes=codes)
    assert site.state() == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ("jackpot.toml does not exist", "jackpot init")),
        (b"site = ", ("jackpot.toml is not TOML",)),
        (b"\xff\xfe\x00", ("jackpot.toml is not TOML",)),
        (b"colour = 'red'", ("jackpot.toml: colour",)),
        (b"site = 'not an id'", ("jackpot.toml: site",)),
        (b"site = 5", ("jackpot.toml: site",)),
        (b"database = 5", ("jackpot.toml: database",)),
        (b"[site]\nname = 'x'", ("jackpot.toml: site",)),
    ],
    ids=repr,
)
def test_a_bad_configuration_is_refused_by_every_command(site, jackpot, content, words):
    site.config.unlink()
    if content is not None:
        site.config.write_bytes(content)
    every_kind_refused(site, jackpot, *words, codes=[2])


def test_a_configuration_that_is_a_folder_is_refused(site, jackpot, tmp_path):
    for command in EVERY_KIND:
        refused(jackpot(site.folder, *command, "--config", tmp_path))


@pytest.mark.parametrize(
    ("database", "words"),
    [
        ("nonsense", ("database",)),
        ("", ("database",)),
        ("mysql://localhost/x", ("mysql",)),
        ("sqlite:///missing.db", ("missing.db does not exist",)),
        ("sqlite:///.", ("does not exist",)),
        ("sqlite://", ("names no file",)),
        ("sqlite:///jackpot.toml", ("not a database",)),
        ("postgresql://jackpot:secret@127.0.0.1:1/x", ("127.0.0.1", "***")),
        ("postgresql://127.0.0.1:port/x", ("database",)),
        ("postgresql://127.0.0.1:1/x?nonsense=1", ("127.0.0.1",)),
    ],
    ids=repr,
)
def test_a_missing_database_is_refused_and_not_created(site, jackpot, database, words):
    site.configure(database=database)
    before = site.state()
    for command in (EVERY_KIND[0], EVERY_KIND[-1]):
        done = jackpot(site.folder, *command)
        refused(done, *words)
        assert "secret" not in done.err
    assert site.state() == before


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "\udcff\udcfe",
        "PRIVATE+KEY+casino+0b4900f4+AAAA",
        "PRIVATE+KEY+casino+0b4900f4+é",
    ],
    ids=repr,
)
def test_a_missing_or_broken_key_is_refused_by_commands_that_need_it(site, tmp_path, jackpot, answer, content):
    answer(site.folder, "backup", "copy.db")
    site.key.unlink()
    if content is not None:
        site.key.write_bytes(content.encode(errors="surrogateescape"))
    before = site.state()
    needing = (
        ("audit", "verify"),
        ("audit", "export", "trail.jsonl"),
        ("backup", "another.db"),
        ("restore", "copy.db"),
    )
    for command in needing:
        refused(jackpot(site.folder, *command), "key")
    assert site.state() == before
    assert answer(site.folder, "pools")[0]["jackpot"] == "main"


def test_the_key_of_another_site_does_not_verify(site, tmp_path, jackpot, answer):
    answer(tmp_path, "init")
    shutil.copy(tmp_path / "jackpot.key", site.key)
    done = jackpot(site.folder, "audit", "verify")
    assert (done.code, done.err) == (1, "")
    assert done.out.count("WRONG") == 2
    refused(jackpot(site.folder, "backup", "copy.db"), codes=[1])
    assert not list(site.folder.glob("copy*"))


@contextmanager
def readable_by_all(site):
    """A copy of the site that all users may read and none may write."""
    with tempfile.TemporaryDirectory(prefix="jackpot-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        copy = site.copy(folder)
        for file in copy.folder.iterdir():
            file.chmod(0o444)
        copy.folder.chmod(0o555)
        try:
            yield copy
        finally:
            copy.folder.chmod(0o755)


def test_a_store_that_cannot_be_written_is_refused_with_one_sentence(site, jackpot):
    """Root may write every file, so as root the commands run as the user nobody."""
    who = NOBODY if os.geteuid() == 0 else None
    with readable_by_all(site) as copy:
        for command in (("operator", "add", "sue", "--role", "auditor", "--token", site.one), ("backup", "copy.db")):
            refused(jackpot(copy.folder, *command, user=who), codes=[1])
        for command in (("pools",), ("audit", "verify")):
            done = jackpot(copy.folder, *command, user=who)
            assert done.code == 0 or refused(done, codes=[1]) is None
        assert copy.state() == site.state()


def test_a_full_disk_is_reported_and_nothing_is_half_written(site, jackpot, answer):
    added = ("operator", "add", "sue", "--role", "auditor", "--token", site.one)
    for max_file_bytes in (1_000, 20_000, 32_000):
        heads = site.heads()
        refused(jackpot(site.folder, *added, max_file_bytes=max_file_bytes), codes=[1])
        assert site.heads() == heads
    assert jackpot(site.folder, "audit", "verify").code == 0
    assert answer(site.folder, *added)["operator"] == "sue"


def test_every_command_has_a_help_text(tmp_path, jackpot):
    for command in (("init",), ("audit",), ("audit", "verify"), ("report", "daily"), ("operator", "add"), ("restore",)):
        done = jackpot(tmp_path, *command, "--help")
        assert (done.code, done.err) == (0, "")
        assert "Usage: " in done.out
    assert list(tmp_path.iterdir()) == []
