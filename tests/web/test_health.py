"""Health checks of a store that is queried often, or answers slowly: one query at a time, with a short timeout."""

import asyncio
import contextlib
import threading
import time
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI

from jackpot.core.commands import Actor, CreateJackpot, Role
from jackpot.core.state import Config
from jackpot.engine.alarms import Alarms
from jackpot.engine.committed_state import CommittedState, Position
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store.database import Database
from jackpot.store.schema import migrate
from jackpot.web import health
from jackpot.web.health import Health, Part, StoreStatus
from rules.jackpot_prizes import FixedFrom

AT, MANAGER = "2026-11-15T09:30:00.000Z", Actor("max", Role.MANAGER)
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())


class ObservedDatabase:
    """A migrated store whose reads are counted, can be held up, and can fail."""

    def __init__(self, database):
        self.database = database
        self.reads, self.failures = 0, []
        self.may_answer = threading.Event()
        self.may_answer.set()

    @contextlib.contextmanager
    def reader(self):
        self.reads += 1
        self.may_answer.wait()
        if self.failures:
            raise self.failures.pop()
        with self.database.reader() as connection:
            yield connection


@pytest.fixture
def store(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(database)
    observed = ObservedDatabase(database)
    yield observed
    observed.may_answer.set()
    database.close()


def test_many_requests_cause_one_query(store, monkeypatch):
    monkeypatch.setattr(health, "CACHE_SECONDS", 600.0)

    async def run():
        checked = Health(store, {}, {}, Alarms())
        found = await asyncio.gather(*(checked.parts() for _ in range(100)))
        found += [await checked.parts() for _ in range(100)]
        assert all(parts["store"].ready and parts["schema"].ready for parts in found)

    asyncio.run(run())
    assert store.reads == 1


def test_the_store_is_queried_again_after_the_cache_expires(store, monkeypatch):
    monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)

    async def run():
        checked = Health(store, {}, {}, Alarms())
        for _ in range(3):
            await checked.parts()

    asyncio.run(run())
    assert store.reads == 3


def test_a_store_that_does_not_answer_is_reported_soon_and_queried_once(store, monkeypatch):
    monkeypatch.setattr(health, "STORE_SECONDS", 0.05)
    monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)
    store.may_answer.clear()

    async def run():
        checked = Health(store, {}, {}, Alarms())
        began = time.monotonic()
        for _ in range(5):
            assert not (await checked.parts())["store"].ready
        assert time.monotonic() - began < 5
        assert store.reads == 1
        store.may_answer.set()
        async with asyncio.timeout(60):
            while not (await checked.parts())["store"].ready:
                pass

    asyncio.run(run())


def test_the_store_is_queried_again_after_an_unexpected_error(store, monkeypatch):
    monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)
    store.failures.append(RuntimeError("no threads left"))

    async def run():
        checked = Health(store, {}, {}, Alarms())
        with pytest.raises(RuntimeError):
            await checked.parts()
        assert (await checked.parts())["store"].ready

    asyncio.run(run())


def unready(database):
    parts = asyncio.run(Health(database, {}, {}, Alarms()).parts())
    return {name for name, part in parts.items() if not part.ready}


def test_the_jackpots_of_the_store_are_named_before_they_are_taken_over(store):
    SiteJournal.open(store.database, "test")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    Journal.open(store.database, "main", "test").execute([created])
    assert unready(store) == {"broker", "lease", "jackpot/main"}


def test_a_store_that_is_not_migrated_has_the_wrong_schema(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    assert unready(database) == {"schema", "broker", "lease"}
    database.close()


def served(parts, address, **headers):
    """Return the answer of /readyz with these parts to a client at this address."""
    app = FastAPI()
    app.include_router(health.router)
    app.state.health = SimpleNamespace(parts=lambda: asyncio.sleep(0, parts))

    async def request():
        transport = httpx.ASGITransport(app, client=(address, 1_234))
        async with httpx.AsyncClient(transport=transport, base_url="http://controller") as client:
            return await client.get("/readyz", headers=headers)

    return asyncio.run(request())


@pytest.mark.parametrize(
    ("address", "headers", "shown"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("::ffff:127.0.0.1", {}, True),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, False),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}, False),
        ("127.0.0.1", {"Via": "1.1 proxy"}, False),
        ("127.0.0.1", {"X-Real-IP": "127.0.0.1"}, False),
        ("203.0.113.9", {}, False),
        ("unknown", {}, False),
    ],
)
def test_parts_are_shown_on_the_machine_itself_and_strangers_get_the_status_alone(address, headers, shown):
    good, bad = Part(ready=True, says="fine"), Part(ready=False, says="secret is lost")
    answer = served({"store": good}, address, **headers)
    assert (answer.status_code, "parts" in answer.json()) == (200, shown)
    answer = served({"store": good, "broker": bad, "audit": bad}, address, **headers)
    assert (answer.status_code, answer.json()["ready"], "parts" in answer.json()) == (503, False, shown)
    assert ("secret" in answer.text, "broker" in answer.text) == (shown, shown)
    assert answer.headers["content-type"] == "application/problem+json"


class Source:
    """A jackpot that is owned here or elsewhere."""

    def __init__(self, *, owned, has_owner=True, connected=True):
        self.owned, self.has_owner, self.listening = owned, has_owner, asyncio.Event()
        self.listening.set()
        self.committed = CommittedState(None, Position(3, 1))
        self.committed.broker_connected = connected


def test_a_standby_is_ready_while_it_sees_an_owner_and_needs_no_broker(store):
    def unready(**sources):
        checked = Health(store, sources, {}, Alarms())
        checked._cached = StoreStatus(answers=True, version=checked._head, epochs=dict.fromkeys(sources, 3))
        checked._cached_at = float("inf")
        return {name for name, part in asyncio.run(checked.parts()).items() if not part.ready}

    assert unready(main=Source(owned=False, connected=False)) == set()
    assert unready(main=Source(owned=False), other=Source(owned=True)) == set()
    assert unready(main=Source(owned=False, has_owner=False), other=Source(owned=True)) == {"lease", "jackpot/main"}
    assert unready(main=Source(owned=True, connected=False)) == {"broker", "jackpot/main"}
