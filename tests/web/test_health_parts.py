"""Health, asked often and asked of a store that is slow: the store is asked once at a time, and not waited for long."""

import asyncio
import threading
import time

import pytest

from jackpot.store.database import Database
from jackpot.store.schema import migrate
from jackpot.web import health
from jackpot.web.health import Health, Stored


@pytest.fixture
def database(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(made)
    yield made
    made.close()


@pytest.fixture
def asked(monkeypatch):
    """How often the store was asked, and what holds its answer up."""
    count, held, ask = [], threading.Event(), Health._ask
    held.set()

    def counted(self):
        count.append(1)
        held.wait()
        return ask(self)

    monkeypatch.setattr(Health, "_ask", counted)
    return count, held


def test_many_questions_ask_the_store_once(database, asked, monkeypatch):
    async def run():
        looked = Health(database, {}, {})
        found = await asyncio.gather(*(looked.parts() for _ in range(100)))
        found += [await looked.parts() for _ in range(100)]
        assert all(parts["store"].ready and parts["schema"].ready for parts in found)

    monkeypatch.setattr(health, "KEPT_SECONDS", 60.0)
    asyncio.run(run())
    assert len(asked[0]) == 1


def test_the_store_is_asked_again_after_a_while(database, asked, monkeypatch):
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)

    async def run():
        looked = Health(database, {}, {})
        for _ in range(3):
            await looked.parts()

    asyncio.run(run())
    assert len(asked[0]) == 3


def test_a_store_that_does_not_answer_is_not_waited_for_nor_asked_by_many_threads(database, asked, monkeypatch):
    monkeypatch.setattr(health, "STORE_SECONDS", 0.05)
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    count, held = asked
    held.clear()

    async def run():
        looked = Health(database, {}, {})
        began = time.monotonic()
        for _ in range(5):
            assert not (await looked.parts())["store"].ready
        assert time.monotonic() - began < 2
        assert len(count) == 1
        held.set()
        async with asyncio.timeout(10):
            while not (await looked.parts())["store"].ready:
                pass

    asyncio.run(run())


def test_a_fault_that_nobody_foresaw_is_not_told_for_ever(database, monkeypatch):
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    ask, faults = Health._ask, [RuntimeError("no threads left")]

    def failing_once(self):
        if faults:
            raise faults.pop()
        return ask(self)

    monkeypatch.setattr(Health, "_ask", failing_once)

    async def run():
        looked = Health(database, {}, {})
        with pytest.raises(RuntimeError):
            await looked.parts()
        assert (await looked.parts())["store"].ready

    asyncio.run(run())


def test_before_any_jackpot_is_taken_over_the_jackpots_of_the_store_are_named(database, monkeypatch):
    monkeypatch.setattr(
        Health, "_ask", lambda self: Stored(answers=True, version="0000", epochs={"main": 1, "site": 1})
    )
    parts = asyncio.run(Health(database, {}, {}).parts())
    unready = {name for name, part in parts.items() if not part.ready}
    assert unready == {"schema", "broker", "lease", "jackpot/main"}
