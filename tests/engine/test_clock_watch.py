"""The clock: event times never run backwards within a chain, and steps of the clock are flagged."""

import asyncio

import pytest
from sqlalchemy import select

from jackpot import metrics
from jackpot.core.commands import Actor, CreateJackpot, Identified, LinkTable, OpenRound, PlaceWager, Role
from jackpot.core.site.commands import INSTALLER, AddOperator, IdentifiedSite, SignIn
from jackpot.core.state import Config
from jackpot.engine.alarms import AlarmCode, Alarms
from jackpot.engine.clock_watch import ALARM_SECONDS, Clocks, ClockWatch
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.engine.site_writer import SiteWriter
from jackpot.store import queries, tables
from jackpot.store.checkpoints import write_checkpoint
from jackpot.store.errors import Unreachable
from jackpot.store.hash_chain import SITE
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import verify
from rules.jackpot_prizes import FixedFrom

EARLY, AT, LATE = "2026-11-15T08:30:00.000Z", "2026-11-15T09:30:00.000Z", "2026-11-15T10:30:00.000Z"
AT_SECONDS = 1_794_735_000.0  # the same moment as AT
MAX, DEALER, PAD = Actor("max", Role.MANAGER), Actor("dealer"), Actor("pad")
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
SIGNER = Signer.new("casino")


def times(database, chain):
    query = select(tables.events.c.at).where(tables.events.c.chain == chain).order_by(tables.events.c.seq)
    with database.reader() as connection:
        return list(connection.execute(query).scalars())


def create(database, at):
    journal = Journal.open(database, "main", "test")
    created = CreateJackpot(at, MAX, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    journal.execute([created, LinkTable(at, MAX, "t1", 7)])
    return journal


def wager(at, box):
    return PlaceWager(at, PAD, "t1", box, "w1", 1, 200, ante=True)


def test_times_of_a_jackpot_never_run_backwards_within_a_batch_between_batches_and_after_a_restart(database):
    journal = create(database, AT)
    journal.execute([OpenRound(EARLY, DEALER, "t1"), wager(LATE, 1), wager(AT, 2)])
    journal.execute([Identified("void", "d", OpenRound(EARLY, DEALER, "t1"))])  # refused: a round is open
    journal.execute([wager(EARLY, 3)])
    again = Journal.open(database, "main", "test")
    again.execute([wager(EARLY, 4)])
    assert times(database, "main") == [AT, AT, AT, LATE, LATE, LATE, LATE]
    write_checkpoint(database, "main", SIGNER)
    assert verify(database, "main", SIGNER.verifier).problem is None


def test_the_time_of_a_command_with_an_id_is_moved_too(database):
    journal = create(database, AT)
    (opened,) = journal.execute([Identified("open", "d", OpenRound(EARLY, DEALER, "t1"))])
    assert [event.at for event in opened.events] == [AT]


def test_a_time_that_does_not_run_backwards_is_kept(database):
    create(database, AT).execute([OpenRound(LATE, DEALER, "t1")])
    assert times(database, "main") == [AT, AT, LATE]


def add_managers(database, at):
    journal = SiteJournal.open(database, "test")
    for name in ("max", "mia"):
        journal.execute(AddOperator(at, INSTALLER, name, Role.MANAGER, f"hash of {name}"))
    return journal


def test_times_of_the_site_never_run_backwards_either(database):
    journal = add_managers(database, AT)
    journal.execute(SignIn(EARLY, MAX, "::1"))
    SiteJournal.open(database, "other").execute(SignIn(EARLY, MAX, "::1"))
    added = AddOperator(EARLY, MAX, "ada", Role.AUDITOR, "hash of ada")
    SiteJournal.open(database, "other").execute(IdentifiedSite("k", "d", added))
    assert times(database, SITE) == [AT] * 5


class SetClock:
    """Clocks that a test sets."""

    def __init__(self):
        self.wall, self.monotonic = AT_SECONDS, 5_000.0

    def clocks(self):
        return Clocks(lambda: self.wall, lambda: self.monotonic)

    def pass_seconds(self, seconds):
        self.wall += seconds
        self.monotonic += seconds


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def site_writer(database):
    add_managers(database, AT)
    made = SiteWriter(database, "site_writer", lambda: None)
    yield made
    made.close()


@pytest.fixture
def alarms():
    return Alarms()


def steps(database):
    query = select(tables.events).where(tables.events.c.type == "clock_stepped").order_by(tables.events.c.seq)
    with database.reader() as connection:
        return [(row.actor, row.data) for row in connection.execute(query)]


def raised(alarms):
    return [alarm.says for alarm in alarms.all() if alarm.code is AlarmCode.CLOCK_STEPPED]


@pytest.mark.parametrize(("step", "says"), [(-3_600.0, "set back by 3600 s"), (2.6, "set forward by 3 s")])
def test_a_step_is_recorded_counted_and_raised_for_ten_minutes(site_writer, alarms, clock, step, says):
    database = site_writer._database
    watch, counted = ClockWatch(site_writer, alarms, clock.clocks()), metrics.CLOCK_STEPS._value.get()
    clock.pass_seconds(1)
    clock.wall += step
    watch.check()
    asyncio.run(watch.record())
    asyncio.run(watch.record())
    assert steps(database) == [("controller", f'{{"seconds":{round(step)}}}')]
    assert metrics.CLOCK_STEPS._value.get() == counted + 1
    assert says in raised(alarms)[0]
    clock.pass_seconds(ALARM_SECONDS - 1)
    watch.check()
    assert raised(alarms)
    clock.pass_seconds(1)
    watch.check()
    assert not raised(alarms)
    assert site_writer.site.operators.keys() == {"max", "mia"}


def test_small_corrections_and_a_stopped_process_are_no_step(database, site_writer, alarms, clock):
    watch = ClockWatch(site_writer, alarms, clock.clocks())
    for correction in (1.9, -1.9, 1.9, 1.9):
        clock.pass_seconds(600)
        clock.wall += correction
        watch.check()
    asyncio.run(watch.record())
    assert (steps(database), raised(alarms)) == ([], [])


def test_clocks_that_were_read_far_apart_are_read_again():
    walls, monotonics = iter([100.0, 160.0]), iter([0.0, 60.0, 60.0, 60.0])
    assert Clocks(lambda: next(walls), lambda: next(monotonics)).offset() == 100.0


def test_a_start_before_the_last_event_is_flagged_and_another_is_not(database, site_writer, alarms, clock):
    create(database, AT)
    with database.reader() as connection:
        newest = queries.newest_event_time(connection)
    assert newest == AT
    watch = ClockWatch(site_writer, alarms, clock.clocks())
    clock.wall = AT_SECONDS - 2
    watch.check_start(newest)
    watch.check_start("")
    assert raised(alarms) == []
    clock.wall = AT_SECONDS - 90
    watch.check_start(newest)
    asyncio.run(watch.record())
    assert steps(database) == [("controller", '{"seconds":-90}')]
    assert "90 s before the last event" in raised(alarms)[0]


def test_the_newest_time_is_that_of_the_chain_that_is_furthest(database):
    with database.reader() as connection:
        assert queries.newest_event_time(connection) is None
    add_managers(database, AT)
    create(database, LATE)
    with database.reader() as connection:
        assert queries.newest_event_time(connection) == LATE


class FailingWriter:
    """A site writer whose store does not answer."""

    def submit(self, _command):
        raise Unreachable("no store")


def test_a_step_that_cannot_be_recorded_now_is_recorded_later(database, site_writer, alarms, clock):
    watch = ClockWatch(FailingWriter(), alarms, clock.clocks())
    clock.wall -= 60
    watch.check()
    asyncio.run(watch.record())
    watch._site_writer = site_writer
    asyncio.run(watch.record())
    assert steps(database) == [("controller", '{"seconds":-60}')]


def test_a_controller_checks_while_it_runs(database, site_writer, alarms, clock, monkeypatch):
    monkeypatch.setattr("jackpot.engine.clock_watch.CHECK_SECONDS", 0.01)
    watch = ClockWatch(site_writer, alarms, clock.clocks())

    async def run():
        running = asyncio.create_task(watch.run())
        clock.wall += 10
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(steps, database):
                pass
        running.cancel()

    asyncio.run(run())
    assert steps(database) == [("controller", '{"seconds":10}')]


def test_a_state_is_not_changed_by_a_step(database, site_writer, alarms, clock):
    before = site_writer.site
    watch = ClockWatch(site_writer, alarms, clock.clocks())
    clock.wall += 10
    watch.check()
    asyncio.run(watch.record())
    assert site_writer.site == before
    write_checkpoint(database, SITE, SIGNER)
    assert verify(database, SITE, SIGNER.verifier).problem is None
