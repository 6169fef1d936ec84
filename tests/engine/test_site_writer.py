"""The site writer: ids of commands act once for ever, old trails stay as they were, other writers are noticed."""

import threading

import pytest
from sqlalchemy import select

from jackpot.core.commands import Actor, Role
from jackpot.core.results import Refused
from jackpot.core.site.commands import INSTALLER, AddOperator, IdentifiedSite, RenewToken, RevokeOperator, SignIn
from jackpot.core.site.events import SiteEvent, SiteEventType
from jackpot.engine.site_journal import SiteJournal
from jackpot.engine.site_writer import MAX_WAITING, SiteWriter
from jackpot.engine.writer import TooBusyError
from jackpot.store import tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.errors import Fenced, Unreachable
from jackpot.store.hash_chain import SITE
from jackpot.store.signed_notes import Signer
from jackpot.store.state_tables import read_site, state_rows, write_states
from jackpot.store.trail_verification import verify

AT, YEAR = "2026-11-15T09:30:00.000Z", "2027-11-15T09:30:00.000Z"
MAX, MIA = Actor("max", Role.MANAGER), Actor("mia", Role.MANAGER)
SIGNER = Signer.new("casino")
LIMIT_SECONDS = 120


@pytest.fixture
def journal(database):
    """A site of two managers."""
    opened = SiteJournal.open(database, "test")
    for name in ("max", "mia"):
        opened.execute(AddOperator(AT, INSTALLER, name, Role.MANAGER, f"hash of {name}", YEAR))
    return opened


@pytest.fixture
def site_writer(journal, database):
    made = SiteWriter(database, "site_writer", lambda: write_checkpoint(database, SITE, SIGNER))
    yield made
    made.close()


def add(name, key="k1", digest="d"):
    return IdentifiedSite(key, digest, AddOperator(AT, MAX, name, Role.AUDITOR, f"hash of {name}", YEAR))


def verified(database):
    write_checkpoint(database, SITE, SIGNER)
    found = verify(database, SITE, SIGNER.verifier)
    assert found.problem is None, found
    return found.events


# Ids.


def test_a_command_id_of_the_site_acts_once_across_restarts(journal, database):
    first = journal.execute(add("ada"))
    assert first.event is not None
    again = SiteJournal.open(database, "next").execute(add("ada"))
    assert (again.event, again.answer) == (None, first.answer)
    with pytest.raises(Refused, match="other content"):
        SiteJournal.open(database, "next").execute(add("bea", digest="e"))
    assert SiteJournal.open(database, "next").execute(add("bea", key="k2", digest="e")).event is not None
    assert verified(database) == 4


def test_verification_finds_a_forged_command_id_of_the_site(journal, database):
    journal.execute(add("ada"))
    assert verified(database) == 3
    with database.transaction() as connection:
        connection.execute(tables.commands.update().where(tables.commands.c.chain == SITE).values(digest="forged"))
    found = verify(database, SITE, SIGNER.verifier)
    assert (found.wrong_seq, "commands" in found.problem) == (3, True)


def test_a_site_from_before_token_expiry_works_and_verifies(database):
    journal = SiteJournal.open(database, "old")
    people = []
    for name in ("max", "mia"):
        data = {"name": name, "role": "manager", "token_hash": f"hash of {name}"}
        rows = journal.lease.next_rows([SiteEvent(SiteEventType.OPERATOR_ADDED, AT, "init", data)])
        people.append([name, "manager", f"hash of {name}", True])
        plain = {"operators": people, "jackpots": [], "tables": {}, "waiting": {}, "software": ""}
        body = state_rows(SITE, {"site": plain})
        journal.lease.append(rows, lambda line, body=body: write_states(line, body))
    assert verified(database) == 2
    now = SiteJournal.open(database, "new")
    assert not now.site.operators["max"].is_expired("9999-01-01T00:00:00.000Z")
    now.execute(RenewToken(AT, MAX, "max", "hash anew", YEAR))
    assert verified(database) == 3
    assert SiteJournal.open(database, "next").site == now.site


# The site_writer.


def test_a_command_changes_the_state_at_once_and_is_signed(site_writer, database):
    site_writer.submit(add("ada")).result(10)
    assert site_writer.site.operators["ada"].active
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints.c.seq)).scalars().all() == [3]
        assert read_site(connection) == site_writer.site


def test_unsigned_entries_are_signed_at_the_stop(site_writer, database):
    site_writer.submit(SignIn(AT, MAX, "10.0.0.7"), sign=False).result(10)
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints)).all() == []
    site_writer.close()
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints.c.seq)).scalars().all() == [3]


def test_a_command_is_decided_again_on_what_another_process_wrote(site_writer, database):
    site_writer.submit(add("ada")).result(10)
    beside = SiteJournal.open(database, "command line")
    beside.execute(RevokeOperator(AT, MIA, "ada", "left"))
    beside.lease.release()
    with pytest.raises(Refused, match="no active operator"):
        site_writer.submit(RevokeOperator(AT, MAX, "ada", "left")).result(10)
    site_writer.submit(add("bea", key="k2")).result(10)
    assert not site_writer.site.operators["ada"].active
    with pytest.raises(Fenced):
        beside.execute(add("cid", key="k3"))
    assert verified(database) == 5


def test_a_command_sees_what_another_process_wrote(site_writer, database):
    site_writer.submit(add("ada")).result(10)
    beside = SiteJournal.open(database, "command line")
    beside.execute(add("bea", key="k2"))
    beside.lease.release()
    assert site_writer.submit(RevokeOperator(AT, MAX, "bea", "left")).result(10).answer == {"operator": "bea"}


def test_the_sites_chain_has_no_owner_so_that_the_command_line_works_beside_a_daemon(site_writer, database):
    site_writer.submit(add("ada")).result(10)
    with database.reader() as connection:
        assert connection.execute(select(tables.chains.c.owner)).scalar_one() == ""


def test_a_refresh_reads_what_another_process_wrote(site_writer, database):
    SiteJournal.open(database, "command line").execute(add("ada"))
    assert "ada" not in site_writer.site.operators
    site_writer.refresh()
    assert "ada" in site_writer.site.operators


def test_two_writers_at_once_lose_nothing(site_writer, database):
    futures = [site_writer.submit(add(f"k{n}", key=f"k{n}")) for n in range(20)]

    def beside():
        done = 0
        while done < 20:
            try:
                SiteJournal.open(database, "beside").execute(add(f"b{done}", key=f"b{done}"))
            except Fenced:
                continue
            done += 1

    other = threading.Thread(target=beside)
    other.start()
    failed = 0
    for future in futures:
        try:
            future.result(LIMIT_SECONDS)
        except Fenced:
            failed += 1
    other.join()
    site_writer.refresh()
    assert len(site_writer.site.operators) == 42 - failed
    assert failed < 20
    assert verified(database) == 42 - failed


def test_a_failing_store_is_reported_and_the_next_command_reads_the_outcome(site_writer, database, monkeypatch):
    def broken(*_):
        raise Unreachable("the store does not answer")

    monkeypatch.setattr(SiteJournal, "execute", broken)
    with pytest.raises(Unreachable):
        site_writer.submit(add("ada")).result(10)
    monkeypatch.undo()
    assert site_writer.submit(add("ada")).result(10).event is not None
    assert verified(database) == 3


def test_only_a_limited_number_of_commands_waits(site_writer, monkeypatch):
    held = threading.Event()
    monkeypatch.setattr(SiteJournal, "execute", lambda *_: held.wait(LIMIT_SECONDS))
    for number in range(MAX_WAITING):
        site_writer.submit(add(f"a{number}", key=f"k{number}"))
    with pytest.raises(TooBusyError):
        site_writer.submit(add("ada"))
    held.set()
