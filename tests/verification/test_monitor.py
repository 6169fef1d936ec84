"""The verification process: it verifies and reports with the lowest priority, and never outlives its daemon."""

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
from jackpot.store.marks import ChainMark, MarkFile, Marks
from jackpot.store.schema import migrate
from jackpot.store.signed_notes import Signer
from jackpot.verification import monitor as monitors
from jackpot.verification.monitor import VerificationMonitor
from jackpot.verification.verifier_process import VerificationRequest

AT = "2026-11-15T09:30:00.000Z"
LIMIT_SECONDS = 90
REPO = Path(__file__).parent.parent.parent


@pytest.fixture
def site(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    migrate(database)
    yield SiteJournal.open(database, "test")
    database.close()


def add(site, name):
    site.execute(StartSoftware(AT, CONTROLLER, name, "digest"))


class Monitored:
    """A monitor of a site's trail, and the wrong chains it reported."""

    def __init__(self, site, seconds=0.1, key_file=""):
        self.wrong = []
        key = str(Signer("casino", bytes(32)).verifier)
        request = VerificationRequest(site.lease.database.url, key, seconds, key_file=str(key_file))
        self.monitor = VerificationMonitor(request, self.report)

    async def report(self, verified):
        self.wrong.append(verified)
        return True

    @asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.monitor.run(["site"]))
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def until(self, holds):
        async with asyncio.timeout(LIMIT_SECONDS):
            while not holds():  # noqa: ASYNC110 - there is no event for this
                await asyncio.sleep(0.01)

    def events(self):
        return self.monitor.found["site"].verified.events if self.monitor.found else 0


def is_running(process):
    """Return True if a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def value(metric, *labels):
    return metric.labels(*labels)._value.get()


def test_everything_is_verified_first_and_then_new_events(site):
    async def run():
        add(site, "1.0")
        async with Monitored(site).running() as monitored:
            await monitored.until(lambda: monitored.events() == 1)
            assert monitored.monitor.found["site"].whole
            add(site, "1.1")
            await monitored.until(lambda: monitored.events() == 2)
            assert not monitored.monitor.found["site"].whole
            assert (value(metrics.VERIFIED_SEQ, "site"), value(metrics.AUDIT_WRONG, "site")) == (2, 0)
            assert value(metrics.VERIFIED_AT, "site") > 1_700_000_000
            (found,) = await monitored.monitor.verify_now()
            assert (found.chain, found.problem, monitored.wrong) == ("site", None, [])

    asyncio.run(run())


def test_a_wrong_chain_is_reported_once_and_counted_until_it_is_repaired(site):
    async def run():
        add(site, "1.0")
        async with Monitored(site).running() as monitored:
            await monitored.until(lambda: monitored.events() == 1)
            with site.lease.database.transaction() as connection:
                connection.execute(text("UPDATE states SET body = '{}' WHERE chain = 'site'"))
            await monitored.until(lambda: monitored.wrong)
            first = monitored.monitor.found["site"].at
            await monitored.until(lambda: monitored.monitor.found["site"].at > first)
            assert [wrong.wrong_seq for wrong in monitored.wrong] == [1]
            assert value(metrics.AUDIT_WRONG, "site") == 1

    asyncio.run(run())


def test_the_store_is_compared_with_the_marks_beside_the_key(site, tmp_path):
    async def run():
        add(site, "1.0")
        key = tmp_path / "jackpot.key"
        key.write_text("key")
        monitored = Monitored(site, key_file=key).monitor
        (found,) = await monitored.verify_now()
        assert found.problem is None
        MarkFile(key).raise_to(Marks({"site": ChainMark(1, 9, bytes(32))}))
        (found,) = await monitored.verify_now()
        assert "events 2 to 9 of site are missing" in found.problem

    asyncio.run(run())


def tamper(site, repair=False):
    """Change the ids of commands, which only a verification of everything compares."""
    with site.lease.database.transaction() as connection:
        connection.execute(text("DELETE FROM commands") if repair else text(STRAY))


STRAY = "INSERT INTO commands (chain, table_id, command_id, digest, answer, seq) VALUES ('site', '', 'x', 'd', '{}', 1)"


def test_a_requested_verification_is_reported_too_and_only_a_whole_one_clears_a_problem(site):
    async def run():
        add(site, "1.0")
        async with Monitored(site).running() as monitored:
            await monitored.until(lambda: monitored.events() == 1)
            tamper(site)
            (found,) = await monitored.monitor.verify_now("site")
            assert found.problem
            assert (value(metrics.AUDIT_WRONG, "site"), monitored.wrong) == (1, [found])
            before = value(metrics.VERIFICATION_SECONDS, "site", "new")
            await monitored.until(lambda: value(metrics.VERIFICATION_SECONDS, "site", "new") != before)
            assert monitored.monitor.found["site"].verified == found
            assert value(metrics.AUDIT_WRONG, "site") == 1
            tamper(site, repair=True)
            (found,) = await monitored.monitor.verify_now()
            assert found.problem is None
            assert (value(metrics.AUDIT_WRONG, "site"), monitored.monitor.found["site"].verified) == (0, found)

    asyncio.run(run())


def test_a_problem_that_could_not_be_reported_is_reported_after_the_next_verification(site):
    async def run():
        add(site, "1.0")
        tamper(site)
        monitored, answers = Monitored(site), [False, False, True]

        async def report(verified):
            monitored.wrong.append(verified)
            return answers.pop(0)

        monitored.monitor._on_wrong = report
        for _ in range(5):
            await monitored.monitor.verify_now()
        assert (len(monitored.wrong), answers) == (3, [])

    asyncio.run(run())


def test_a_requested_verification_of_an_unreadable_store_is_an_error(site):
    async def run():
        add(site, "1.0")
        with site.lease.database.transaction() as connection:
            connection.execute(text("ALTER TABLE checkpoints RENAME TO elsewhere"))
        with pytest.raises(StoreError, match="checkpoints"):
            await Monitored(site).monitor.verify_now()

    asyncio.run(run())


def test_the_process_of_a_cancelled_verification_is_ended(site, monkeypatch):
    started = []
    start = asyncio.create_subprocess_exec

    async def begin(*arguments, **options):
        started.append(await start(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(monitors.asyncio, "create_subprocess_exec", begin)

    async def run():
        add(site, "1.0")
        monitored = Monitored(site)
        task = asyncio.create_task(monitored.monitor.verify_now())
        await monitored.until(lambda: started)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert not is_running(started[0].pid)


def test_an_unreadable_store_is_counted_and_verified_when_it_returns(site, tmp_path):
    async def run():
        add(site, "1.0")
        async with Monitored(site).running() as monitored:
            await monitored.until(lambda: monitored.events() == 1)
            before = value(metrics.ERRORS, "site", "verification")
            with site.lease.database.transaction() as connection:
                connection.execute(text("ALTER TABLE checkpoints RENAME TO elsewhere"))
            await monitored.until(lambda: value(metrics.ERRORS, "site", "verification") > before)
            with site.lease.database.transaction() as connection:
                connection.execute(text("ALTER TABLE elsewhere RENAME TO checkpoints"))
            add(site, "1.1")
            await monitored.until(lambda: monitored.events() == 2)
            assert monitored.wrong == []

    asyncio.run(run())


def test_the_process_has_the_lowest_priority_is_restarted_and_ends_with_its_monitor(site, monkeypatch):
    monkeypatch.setattr(monitors, "RESTART_SECONDS", 0.01)

    async def run():
        add(site, "1.0")
        async with Monitored(site).running() as monitored:
            await monitored.until(lambda: monitored.events() == 1)
            first = monitored.monitor._process.pid
            assert os.getpriority(os.PRIO_PROCESS, first) == 19
            os.kill(first, signal.SIGKILL)
            await monitored.until(
                lambda: monitored.monitor._process is not None and monitored.monitor._process.pid != first
            )
            add(site, "1.1")
            await monitored.until(lambda: monitored.events() == 2)
            return monitored.monitor._process.pid

    assert not is_running(asyncio.run(run()))


def test_a_fault_in_reporting_does_not_stop_verification(site, monkeypatch):
    monkeypatch.setattr(monitors, "RESTART_SECONDS", 0.01)
    faults = [RuntimeError("a fault"), ValueError("another")]

    class Faulty(Monitored):
        async def report(self, verified):
            await super().report(verified)
            if faults:
                raise faults.pop()
            return True

    async def run():
        add(site, "1.0")
        with site.lease.database.transaction() as connection:
            connection.execute(text("UPDATE states SET body = '{}' WHERE chain = 'site'"))
        monitored = Faulty(site)
        async with monitored.running():
            await monitored.until(lambda: not faults or monitored.monitor.found.clear())

    asyncio.run(run())


def test_the_process_ends_when_its_daemon_is_killed():
    """The kernel closes the pipes of a killed daemon."""
    request = VerificationRequest("sqlite:////nowhere/store.db", str(Signer("casino", bytes(32)).verifier), 60)
    program = f"""
import json, subprocess, sys
command = [sys.executable, "-m", "jackpot.verification.verifier_process"]
verifier = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
verifier.stdin.write(json.dumps({request._asdict()!r}).encode() + b"\\n")
verifier.stdin.flush()
assert b"failed" in verifier.stdout.readline()
print(verifier.pid, flush=True)
sys.stdin.read()
"""
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    daemon = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    verifier = int(daemon.stdout.readline())
    assert is_running(verifier)
    daemon.kill()
    daemon.wait()
    daemon.stdin.close()
    daemon.stdout.close()
    until = time.monotonic() + LIMIT_SECONDS
    while is_running(verifier):
        assert time.monotonic() < until
        time.sleep(0.01)
