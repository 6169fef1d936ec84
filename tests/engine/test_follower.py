"""A follower shows a jackpot that another controller owns, and the reports of controllers show who that is."""

import asyncio

import pytest
from sqlalchemy import select, update

from jackpot.core.commands import CreateJackpot, LinkTable, OpenRound, PlaceWager, Role
from jackpot.core.site.commands import INSTALLER, AddOperator
from jackpot.engine import controllers, follower
from jackpot.engine.committed_state import Position
from jackpot.engine.controllers import ControllerReport, ControllerReporter, live_controllers, ownerships, report
from jackpot.engine.follower import JackpotFollower
from jackpot.engine.jackpots import Jackpots
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import tables
from jackpot.store.errors import Fenced, Unreachable
from tests.support.core_floor import AT, DEALER, MANAGER, PAD, config

OWNER = ControllerReport("host-a", "http://10.0.0.1:8080", True, "0.2.0", AT, {"main": Position(1, 3)}, ())


@pytest.fixture
def journal(database):
    """A jackpot that host-a owns."""
    report(database, OWNER)
    opened = Journal.open(database, "main", "host-a")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", config(), "mia", 1_000_000, 2_000_000)
    opened.execute([created, *(LinkTable(AT, MANAGER, table, 7) for table in ("t1", "t2"))])
    return opened


class Recorder:
    """A subscriber that records what it was notified of."""

    def __init__(self, followed):
        self.commits, self.statuses, self.reloads = [], 0, 0
        followed.committed.subscribe(self)
        followed.on_reload = self.on_reload

    def on_commit(self, events):
        self.commits.append([seq for seq, _ in events])

    def on_status(self, _table):
        self.statuses += 1

    def on_reload(self):
        self.reloads += 1


def wager(box):
    return PlaceWager(AT, PAD, "t1", box, f"w{box}", 1, 100, ante=True)


def play(journal):
    journal.execute([OpenRound(AT, DEALER, "t1"), wager(1), wager(2), LinkTable(AT, MANAGER, "t3", 5), wager(3)])


def test_a_follower_has_the_state_and_the_events_of_the_owner(database, journal):
    followed = JackpotFollower.open(database, "main")
    recorder = Recorder(followed)
    assert (followed.committed.jackpot, followed.committed.position) == (journal.jackpot, Position(1, 3))
    assert (followed.owner, followed.has_owner, followed.owned) == ("host-a", True, False)
    assert followed.committed.broker_connected
    play(journal)
    asyncio.run(followed.follow())
    asyncio.run(followed.follow())
    assert (followed.committed.jackpot, followed.committed.position) == (journal.jackpot, Position(1, 8))
    assert (recorder.commits, recorder.statuses, recorder.reloads) == ([[4, 5, 6, 7, 8]], 0, 0)


def test_a_follower_far_behind_reads_the_state_as_a_whole(database, journal, monkeypatch):
    monkeypatch.setattr(follower, "MAX_EVENTS", 4)
    followed = JackpotFollower.open(database, "main")
    recorder = Recorder(followed)
    play(journal)
    asyncio.run(followed.follow())
    assert (followed.committed.jackpot, followed.committed.position) == (journal.jackpot, Position(1, 8))
    assert (recorder.commits, recorder.reloads) == ([], 1)


def test_a_follower_whose_store_fails_shows_it_and_reads_all_afterwards(database, journal, monkeypatch):
    followed = JackpotFollower.open(database, "main")
    recorder = Recorder(followed)

    def fail(*_):
        raise Unreachable("no store")

    with monkeypatch.context() as patched:
        patched.setattr(follower, "ownerships", fail)
        asyncio.run(followed.follow())
        asyncio.run(followed.follow())
        assert (followed.committed.store_failed, recorder.statuses) == (True, 1)
    play(journal)
    asyncio.run(followed.follow())
    assert (followed.committed.store_failed, recorder.statuses, recorder.reloads) == (False, 2, 1)
    assert followed.committed.jackpot == journal.jackpot


def test_an_event_that_cannot_be_taken_in_does_not_end_the_follower(database, journal, monkeypatch):
    followed = JackpotFollower.open(database, "main")
    play(journal)
    with monkeypatch.context() as patched:
        patched.setattr(follower, "evolve", lambda _jackpot, _event: {}["missing"])
        asyncio.run(followed.follow())
    assert followed.committed.store_failed
    asyncio.run(followed.follow())
    assert (followed.committed.store_failed, followed.committed.jackpot) == (False, journal.jackpot)


def test_a_takeover_and_a_lost_owner_are_seen(database, journal):
    followed = JackpotFollower.open(database, "main")
    recorder = Recorder(followed)
    Journal.open(database, "main", "host-b")
    asyncio.run(followed.follow())
    assert (followed.owner, followed.has_owner, followed.committed.position) == ("host-b", False, Position(2, 3))
    assert (followed.committed.broker_connected, recorder.statuses) == (False, 1)
    report(database, OWNER._replace(name="host-b", broker=False))
    asyncio.run(followed.follow())
    assert (followed.has_owner, followed.committed.broker_connected) == (True, False)
    report(database, OWNER._replace(name="host-b"))
    asyncio.run(followed.follow())
    assert followed.committed.broker_connected


def test_a_stopped_follower_takes_in_nothing(database, journal):
    followed = JackpotFollower.open(database, "main")
    play(journal)
    followed.stop()
    asyncio.run(followed.follow())
    asyncio.run(followed.run())
    assert followed.committed.position == Position(1, 3)


def test_a_follower_follows_until_it_is_cancelled(database, journal, monkeypatch):
    monkeypatch.setattr(follower, "FOLLOW_SECONDS", 0.01)
    followed = JackpotFollower.open(database, "main")

    class Waiter(Recorder):
        def on_commit(self, events):
            super().on_commit(events)
            seen.set()

    seen = asyncio.Event()

    async def run():
        Waiter(followed)
        running = asyncio.create_task(followed.run())
        await asyncio.to_thread(play, journal)
        async with asyncio.timeout(60):
            await seen.wait()
        running.cancel()

    asyncio.run(run())


def test_a_follower_refuses_commands(database, journal):
    with pytest.raises(Fenced, match="another controller owns main"):
        JackpotFollower.open(database, "main").submit(wager(1)).result(0)


# Reports.


def read(database, query):
    with database.reader() as connection:
        return query(connection)


def seen_ago(database, name, seconds):
    c = tables.controllers.c
    with database.transaction() as connection:
        aged = update(tables.controllers).where(c.name == name).values(seen_ms=c.seen_ms - round(seconds * 1_000))
        connection.execute(aged)


def test_a_report_is_read_back_and_replaced_by_the_next(database):
    standby = OWNER._replace(name="host-b", broker=False, standby=("main",))
    for each in (OWNER._replace(version="0.1.0"), OWNER, standby):
        report(database, each)
    found = read(database, live_controllers)
    assert {name: each._replace(age_seconds=0.0) for name, each in found.items()} == {
        "host-a": OWNER,
        "host-b": standby,
    }
    assert all(each.age_seconds < 60 for each in found.values())


def test_a_controller_that_no_longer_reports_is_not_listed_and_deleted_after_a_day(database):
    report(database, OWNER)
    seen_ago(database, "host-a", 11)
    assert read(database, live_controllers) == {}
    report(database, OWNER._replace(name="host-b"))
    names = select(tables.controllers.c.name).order_by(tables.controllers.c.name)
    assert read(database, lambda connection: connection.execute(names).scalars().all()) == ["host-a", "host-b"]
    seen_ago(database, "host-a", controllers.KEEP_SECONDS)
    report(database, OWNER._replace(name="host-b"))
    assert read(database, lambda connection: connection.execute(names).scalars().all()) == ["host-b"]


@pytest.mark.parametrize("body", ["nonsense", "[]", "{}", '{"version": 1, "jackpots": {"main": 2}}'])
def test_a_report_that_cannot_be_read_is_left_out(database, body):
    report(database, OWNER)
    with database.transaction() as connection:
        connection.execute(update(tables.controllers).values(body=body))
    assert read(database, live_controllers) == {}


def test_a_controller_that_ends_withdraws_its_report(database):
    report(database, OWNER)
    controllers.withdraw(database, "host-a")
    assert read(database, live_controllers) == {}


def test_the_owner_of_each_jackpot_is_read_with_its_head(database, journal):
    SiteJournal.open(database, "host-c").execute(AddOperator(AT, INSTALLER, "max", Role.MANAGER, "hash"))
    owned = read(database, ownerships)
    assert {name: each._replace(renewed_seconds_ago=None) for name, each in owned.items()} == {
        "main": controllers.Ownership("main", "host-a", 1, 3, None)
    }
    assert read(database, lambda connection: controllers.live_owner(connection, "main")).name == "host-a"
    assert read(database, lambda connection: controllers.live_owner(connection, "other")) is None
    journal.lease.release()
    assert read(database, lambda connection: controllers.live_owner(connection, "main")) is None


def test_a_controller_reports_its_positions_and_for_what_it_stands_by(database, journal, monkeypatch):
    monkeypatch.setattr(controllers, "REPORT_SECONDS", 0.01)
    jackpots = Jackpots()
    jackpots["main"] = JackpotFollower.open(database, "main")
    reporter = ControllerReporter(database, OWNER._replace(name="host-b"), jackpots, lambda: False)
    expected = OWNER._replace(name="host-b", broker=False, standby=("main",))
    assert reporter.current() == expected

    async def run():
        running = asyncio.create_task(reporter.run())
        if database.is_sqlite:
            await running  # no other controller could read it
            return
        async with asyncio.timeout(60):
            while "host-b" not in await asyncio.to_thread(read, database, live_controllers):
                pass
        running.cancel()

    asyncio.run(run())


def test_watchers_of_the_jackpots_are_notified_of_replacements_and_reloads(database, journal):
    jackpots, replaced = Jackpots(), []
    jackpots.watch(replaced.append)
    jackpots["main"] = first = JackpotFollower.open(database, "main")
    first.on_reload()
    jackpots["main"] = JackpotFollower.open(database, "main")
    assert replaced == ["main"] * 3
