"""The process beside the daemon: it verifies, tells, yields to everything else, and never outlives its daemon."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from jackpot import metrics
from jackpot.core.commands import CONTROLLER
from jackpot.core.site.commands import StartSoftware
from jackpot.engine.site_journal import SiteJournal
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from jackpot.verification import monitor as trails
from jackpot.verification.monitor import VerificationMonitor
from jackpot.verification.verifier_process import VerificationRequest

AT = "2026-11-15T09:30:00.000Z"
LIMIT_SECONDS = 30
REPO = Path(__file__).parent.parent.parent


@pytest.fixture
def site(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(database)
    yield SiteJournal.open(database, "test")
    database.close()


def add(site, name):
    site.execute(StartSoftware(AT, CONTROLLER, name, "digest"))


class Heard:
    """A watch over a site's trail, and what it called wrong."""

    def __init__(self, site, seconds=0.1):
        self.wrong = []
        self._order = VerificationRequest(site.lease.database.url, str(Signer("casino", bytes(32)).verifier), seconds)
        self.watch = VerificationMonitor(self._order, self._hear)

    async def _hear(self, verified):
        self.wrong.append(verified)
        return True

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.watch.run(["site"]))
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def until(self, holds):
        async with asyncio.timeout(LIMIT_SECONDS):
            while not holds():  # noqa: ASYNC110 - what is waited for is told by no event
                await asyncio.sleep(0.01)

    def events(self):
        return self.watch.found["site"].verified.events if self.watch.found else 0


def lives(process):
    """Whether a process is there and is not merely waiting to be buried."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def value(metric, *labels):
    return metric.labels(*labels)._value.get()


def test_everything_is_verified_first_and_then_new_events(site):
    async def run():
        add(site, "1.0")
        async with Heard(site).running() as heard:
            await heard.until(lambda: heard.events() == 1)
            assert heard.watch.found["site"].whole
            add(site, "1.1")
            await heard.until(lambda: heard.events() == 2)
            assert not heard.watch.found["site"].whole
            assert (value(metrics.VERIFIED_SEQ, "site"), value(metrics.AUDIT_WRONG, "site")) == (2, 0)
            assert value(metrics.VERIFIED_AT, "site") > 1_700_000_000
            (found,) = await heard.watch.verify_now()
            assert (found.chain, found.problem, heard.wrong) == ("site", None, [])

    asyncio.run(run())


def test_a_wrong_chain_is_reported_once_and_counted_until_it_is_repaired(site):
    async def run():
        add(site, "1.0")
        async with Heard(site).running() as heard:
            await heard.until(lambda: heard.events() == 1)
            with site.lease.database.transaction() as connection:
                connection.execute(text("UPDATE states SET body = '{}' WHERE chain = 'site'"))
            await heard.until(lambda: heard.wrong)
            first = heard.watch.found["site"].at
            await heard.until(lambda: heard.watch.found["site"].at > first)
            assert [wrong.wrong_seq for wrong in heard.wrong] == [1]
            assert value(metrics.AUDIT_WRONG, "site") == 1

    asyncio.run(run())


def tamper(site, mend=False):
    """Change what only a look at everything compares: the ids of commands."""
    with site.lease.database.transaction() as connection:
        connection.execute(text("DELETE FROM commands") if mend else text(STRAY))


STRAY = "INSERT INTO commands (chain, table_id, command_id, digest, answer, seq) VALUES ('site', '', 'x', 'd', '{}', 1)"


def test_a_requested_verification_is_reported_too_and_only_a_whole_one_clears_a_problem(site):
    async def run():
        add(site, "1.0")
        async with Heard(site).running() as heard:
            await heard.until(lambda: heard.events() == 1)
            tamper(site)
            (found,) = await heard.watch.verify_now("site")
            assert found.problem
            assert (value(metrics.AUDIT_WRONG, "site"), heard.wrong) == (1, [found])
            looked = value(metrics.VERIFICATION_SECONDS, "site", "new")
            await heard.until(lambda: value(metrics.VERIFICATION_SECONDS, "site", "new") != looked)
            assert heard.watch.found["site"].verified == found
            assert value(metrics.AUDIT_WRONG, "site") == 1
            tamper(site, mend=True)
            (found,) = await heard.watch.verify_now()
            assert found.problem is None
            assert (value(metrics.AUDIT_WRONG, "site"), heard.watch.found["site"].verified) == (0, found)

    asyncio.run(run())


def test_a_problem_that_could_not_be_reported_is_reported_after_the_next_verification(site):
    async def run():
        add(site, "1.0")
        tamper(site)
        heard, deaf = Heard(site), [False, False, True]

        async def hear(verified):
            heard.wrong.append(verified)
            return deaf.pop(0)

        heard.watch._wrong = hear
        for _ in range(5):
            await heard.watch.verify_now()
        assert (len(heard.wrong), deaf) == (3, [])

    asyncio.run(run())


def test_a_requested_verification_of_an_unreadable_store_is_an_error(site):
    async def run():
        add(site, "1.0")
        with site.lease.database.transaction() as connection:
            connection.execute(text("ALTER TABLE checkpoints RENAME TO elsewhere"))
        with pytest.raises(StoreError, match="checkpoints"):
            await Heard(site).watch.verify_now()

    asyncio.run(run())


def test_the_process_of_a_cancelled_verification_is_ended(site, monkeypatch):
    started = []
    start = asyncio.create_subprocess_exec

    async def begin(*arguments, **options):
        started.append(await start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(trails.asyncio, "create_subprocess_exec", begin)

    async def run():
        add(site, "1.0")
        heard = Heard(site)
        asked = asyncio.create_task(heard.watch.verify_now())
        await heard.until(lambda: started)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

    asyncio.run(run())
    assert not lives(started[0].pid)


def test_an_unreadable_store_is_counted_and_verified_when_it_returns(site, tmp_path):
    async def run():
        add(site, "1.0")
        async with Heard(site).running() as heard:
            await heard.until(lambda: heard.events() == 1)
            before = value(metrics.ERRORS, "site", "verification")
            with site.lease.database.transaction() as connection:
                connection.execute(text("ALTER TABLE checkpoints RENAME TO elsewhere"))
            await heard.until(lambda: value(metrics.ERRORS, "site", "verification") > before)
            with site.lease.database.transaction() as connection:
                connection.execute(text("ALTER TABLE elsewhere RENAME TO checkpoints"))
            add(site, "1.1")
            await heard.until(lambda: heard.events() == 2)
            assert heard.wrong == []

    asyncio.run(run())


def test_the_process_has_the_lowest_priority_is_restarted_and_ends_with_its_monitor(site, monkeypatch):
    monkeypatch.setattr(trails, "RESTART_SECONDS", 0.01)

    async def run():
        add(site, "1.0")
        async with Heard(site).running() as heard:
            await heard.until(lambda: heard.events() == 1)
            first = heard.watch._process.pid
            assert os.getpriority(os.PRIO_PROCESS, first) == 19
            os.kill(first, signal.SIGKILL)
            await heard.until(lambda: heard.watch._process is not None and heard.watch._process.pid != first)
            add(site, "1.1")
            await heard.until(lambda: heard.events() == 2)
            return heard.watch._process.pid

    assert not lives(asyncio.run(run()))


def test_a_fault_in_reporting_does_not_stop_verification(site, monkeypatch):
    monkeypatch.setattr(trails, "RESTART_SECONDS", 0.01)
    faults = [RuntimeError("a fault"), ValueError("another")]

    class Faulty(Heard):
        async def _hear(self, verified):
            await super()._hear(verified)
            if faults:
                raise faults.pop()
            return True

    async def run():
        add(site, "1.0")
        with site.lease.database.transaction() as connection:
            connection.execute(text("UPDATE states SET body = '{}' WHERE chain = 'site'"))
        heard = Faulty(site)
        async with heard.running():
            await heard.until(lambda: not faults or heard.watch.found.clear())

    asyncio.run(run())


def test_the_process_ends_when_its_daemon_is_killed():
    """Nobody closes anything for a daemon that was killed, but the kernel its pipes."""
    order = VerificationRequest("sqlite:////nowhere/store.db", str(Signer("casino", bytes(32)).verifier), 60)
    program = f"""
import json, subprocess, sys
command = [sys.executable, "-m", "jackpot.verification.verifier_process"]
beside = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
beside.stdin.write(json.dumps({order._asdict()!r}).encode() + b"\\n")
beside.stdin.flush()
assert b"failed" in beside.stdout.readline()
print(beside.pid, flush=True)
sys.stdin.read()
"""
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    daemon = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    beside = int(daemon.stdout.readline())
    assert lives(beside)
    daemon.kill()
    daemon.wait()
    daemon.stdin.close()
    daemon.stdout.close()
    until = time.monotonic() + LIMIT_SECONDS
    while lives(beside):
        assert time.monotonic() < until
        time.sleep(0.01)
