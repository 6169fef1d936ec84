"""The site in the store: ids of its commands for ever, old trails as they were, and the keeper beside other writers."""

import threading
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import select

from jackpot.core.answers import Refused
from jackpot.core.commands import Actor, Role
from jackpot.core.site import INSTALLER, AddOperator, RenewToken, RevokeOperator, SignIn, SiteEvent, SiteEventType
from jackpot.core.site_once import IdentifiedSite
from jackpot.store import tables
from jackpot.store.audit import verify, write_checkpoint
from jackpot.store.book import SiteBook, read_site, state_rows, write_states
from jackpot.store.chain import SITE
from jackpot.store.database import Database
from jackpot.store.errors import Fenced, Unreachable
from jackpot.store.keeper import MOST_WAITING, SiteKeeper
from jackpot.store.notes import Signer
from jackpot.store.schema import migrate
from jackpot.store.writer import TooBusyError

AT, YEAR = "2026-11-15T09:30:00.000Z", "2027-11-15T09:30:00.000Z"
MAX, MIA = Actor("max", Role.MANAGER), Actor("mia", Role.MANAGER)
SIGNER = Signer.new("casino")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'store.db'}"
    else:
        server, name = request.getfixturevalue("postgres_url"), f"site_{uuid4().hex}"
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url = server.replace("/postgres", f"/{name}")
    made = Database(url)
    migrate(made)
    yield made
    made.close()


@pytest.fixture
def book(database):
    """A site of two managers."""
    opened = SiteBook.open(database, "test")
    for name in ("max", "mia"):
        opened.ask(AddOperator(AT, INSTALLER, name, Role.MANAGER, f"hash of {name}", YEAR))
    return opened


@pytest.fixture
def keeper(book, database):
    made = SiteKeeper(database, "keeper", lambda: write_checkpoint(database, SITE, SIGNER))
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


def test_an_id_of_the_site_is_remembered_across_restarts_and_verified(book, database):
    first = book.ask(add("ada"))
    assert first.event is not None
    again = SiteBook.open(database, "next").ask(add("ada"))
    assert (again.event, again.answer) == (None, first.answer)
    with pytest.raises(Refused, match="other content"):
        SiteBook.open(database, "next").ask(add("bea", digest="e"))
    assert SiteBook.open(database, "next").ask(add("bea", key="k2", digest="e")).event is not None
    assert verified(database) == 4


def test_a_forged_id_of_the_site_is_found(book, database):
    book.ask(add("ada"))
    assert verified(database) == 3
    with database.transaction() as connection:
        connection.execute(tables.commands.update().where(tables.commands.c.chain == SITE).values(digest="forged"))
    found = verify(database, SITE, SIGNER.verifier)
    assert (found.wrong_seq, "commands" in found.problem) == (3, True)


def test_a_site_of_before_tokens_had_ends_works_and_verifies_as_it_was(database):
    book = SiteBook.open(database, "old")
    people = []
    for name in ("max", "mia"):
        data = {"name": name, "role": "manager", "token_hash": f"hash of {name}"}
        rows = book.chain.next_rows([SiteEvent(SiteEventType.OPERATOR_ADDED, AT, "init", data)])
        people.append([name, "manager", f"hash of {name}", True])
        plain = {"operators": people, "jackpots": [], "tables": {}, "waiting": {}, "software": ""}
        body = state_rows(SITE, {"site": plain})
        book.chain.commit(rows, lambda line, body=body: write_states(line, body))
    assert verified(database) == 2
    now = SiteBook.open(database, "new")
    assert not now.site.operators["max"].is_expired("9999-01-01T00:00:00.000Z")
    now.ask(RenewToken(AT, MAX, "max", "hash anew", YEAR))
    assert verified(database) == 3
    assert SiteBook.open(database, "next").site == now.site


# The keeper.


def test_the_keeper_knows_what_it_did_at_once_and_signs_it(keeper, database):
    keeper.ask(add("ada")).result(10)
    assert keeper.site.operators["ada"].active
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints.c.seq)).scalars().all() == [3]
        assert read_site(connection) == keeper.site


def test_entries_are_signed_when_it_stops(keeper, database):
    keeper.ask(SignIn(AT, MAX, "10.0.0.7"), sign=False).result(10)
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints)).all() == []
    keeper.close()
    with database.reader() as connection:
        assert connection.execute(select(tables.checkpoints.c.seq)).scalars().all() == [3]


def test_the_keeper_decides_anew_on_what_others_wrote_and_fences_them_off(keeper, database):
    keeper.ask(add("ada")).result(10)
    beside = SiteBook.open(database, "command line")
    beside.ask(RevokeOperator(AT, MIA, "ada", "left"))
    beside.chain.release()
    with pytest.raises(Refused, match="no active operator"):
        keeper.ask(RevokeOperator(AT, MAX, "ada", "left")).result(10)
    keeper.ask(add("bea", key="k2")).result(10)
    assert not keeper.site.operators["ada"].active
    with pytest.raises(Fenced):
        beside.ask(add("cid", key="k3"))
    assert verified(database) == 5


def test_the_keeper_marks_nobody_as_owner_so_that_the_command_line_works_beside_it(keeper, database):
    keeper.ask(add("ada")).result(10)
    with database.reader() as connection:
        assert connection.execute(select(tables.chains.c.owner)).scalar_one() == ""


def test_what_others_wrote_is_noticed_when_it_looks(keeper, database):
    SiteBook.open(database, "command line").ask(add("ada"))
    assert "ada" not in keeper.site.operators
    keeper.refresh()
    assert "ada" in keeper.site.operators


def test_two_writers_at_once_lose_nothing(keeper, database):
    asked = [keeper.ask(add(f"k{n}", key=f"k{n}")) for n in range(20)]

    def beside():
        done = 0
        while done < 20:
            try:
                SiteBook.open(database, "beside").ask(add(f"b{done}", key=f"b{done}"))
            except Fenced:
                continue
            done += 1

    other = threading.Thread(target=beside)
    other.start()
    failed = 0
    for future in asked:
        try:
            future.result(30)
        except Fenced:
            failed += 1
    other.join()
    keeper.refresh()
    assert len(keeper.site.operators) == 42 - failed
    assert failed < 20
    assert verified(database) == 42 - failed


def test_a_store_that_fails_is_told_and_the_next_act_reads_what_became_of_it(keeper, database, monkeypatch):
    def broken(*_):
        raise Unreachable("the store does not answer")

    monkeypatch.setattr(SiteBook, "ask", broken)
    with pytest.raises(Unreachable):
        keeper.ask(add("ada")).result(10)
    monkeypatch.undo()
    assert keeper.ask(add("ada")).result(10).event is not None
    assert verified(database) == 3


def test_only_so_many_wait(keeper, monkeypatch):
    held = threading.Event()
    monkeypatch.setattr(SiteBook, "ask", lambda *_: held.wait(30))
    for number in range(MOST_WAITING):
        keeper.ask(add(f"a{number}", key=f"k{number}"))
    with pytest.raises(TooBusyError):
        keeper.ask(add("ada"))
    held.set()
