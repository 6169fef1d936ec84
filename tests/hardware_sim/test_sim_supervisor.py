"""Tables that wait for a supervisor: one who is called confirms and resumes; where there is none, it is said."""

import asyncio
import os
import signal
import subprocess
import sys
import time

from machinery import REPO
from scripted_controller import controller, reached

from hardware_sim import Supervisor, supervisor
from jackpot.core.events import EventType

LIMIT_SECONDS = 10


def simulated(site, broker, *words, **environment):
    """The command line against a site's daemon, run in its folder."""
    command = [sys.executable, "-m", "hardware_sim", "--broker", str(broker), "--site", site.id, "--tables", "1"]
    return subprocess.run(
        [*command, "--speed", "100", *words], cwd=site.folder, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(REPO), **environment},
    )  # fmt: skip


def address(site):
    return f"http://127.0.0.1:{site.http}"


def with_role(site, role):
    return site.answer("operator", "add", role, "--role", role, "--token", site.tokens[0])["token"]


def test_a_supervisor_at_the_console_confirms_wins_and_resumes_tables(new_site, broker):
    site = new_site(tables=1)
    done = simulated(
        site, broker, "--rounds", "5", "--rig", "t1:3:royal_flush@2", "--rig", "t1:5:straight_flush@3",
        "--faults", "power_cycle=0.2", "--console", address(site), JACKPOT_TOKEN=site.tokens[0],
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "Equal to the cent" in done.stdout
    assert "by --console" not in done.stdout
    seen = [event.type for event in site.events()]
    assert seen.count(EventType.ROUND_OPENED) == 5
    assert seen.count(EventType.PAYOUTS_CONFIRMED) == 2
    assert seen.count(EventType.TABLE_RESUMED) > 0


def test_where_nobody_is_called_it_is_said_at_once_and_at_the_end_which_tables_wait_and_why(broker):
    async def whole():
        async with controller(broker, "nobody-called", ["t1", "t2", "t3"]) as scripted:
            scripted.tables["t2"].suspended = "pad_offline"
            scripted.say_state("t2")
            running = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "hardware_sim", "--broker", str(broker), "--site", "nobody-called",
                "--tables", "3", "--speed", "100", "--rig", "t1:3:royal_flush@2", stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            told = ["t1 has a win in round 2 to confirm", "t2 is suspended (pad offline)"]
            async with asyncio.timeout(LIMIT_SECONDS):
                unsaid = {f"{told}: it waits for a supervisor, at the console or by --console" for told in told}
                while unsaid:
                    unsaid.discard((await running.stdout.readline()).decode().rstrip())
            asked_at = time.monotonic()
            running.send_signal(signal.SIGINT)
            out = (await running.communicate())[0].decode().splitlines()
            assert running.returncode == 0
            assert time.monotonic() - asked_at < LIMIT_SECONDS
            for sentence in told:
                assert f"{sentence}: it still waits for a supervisor." in out
            assert not [line for line in out if line.startswith("t3") and "waits" in line]
            assert scripted.tables["t3"].round > 0

    asyncio.run(whole())


def test_an_operator_who_may_not_act_is_refused_at_the_start_in_one_sentence(new_site, broker):
    site = new_site(tables=1)
    with_auditor = {"JACKPOT_TOKEN": with_role(stopped(site), "auditor")}
    site.start()
    for console, environment, why in [
        (address(site), {}, "--console needs a supervisor's token, by --token or JACKPOT_TOKEN"),
        (address(site), with_auditor, "auditor is no supervisor, who could confirm a win or resume a table"),
        (address(site), {"JACKPOT_TOKEN": "wrong"}, f"the console at {address(site)} refuses the token: "),
        (
            "http://127.0.0.1:9",
            with_auditor,
            "the console at http://127.0.0.1:9 cannot be asked: Connection refused",
        ),
        ("file:///etc", with_auditor, "the console's address is not understood: write http://127.0.0.1:8080"),
    ]:
        done = simulated(site, broker, "--console", console, **environment)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith(why)


def stopped(site):
    assert site.stop() == 0
    return site


def test_a_console_that_is_not_there_for_a_moment_is_asked_again(new_site, monkeypatch):
    """A table that does not wait is a conflict, which is an answer: somebody else was quicker."""
    monkeypatch.setattr(supervisor, "AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "ATTEMPTS", 400)
    site = new_site(tables=1)
    site.stop()

    async def asked():
        called = Supervisor(address(site), site.tokens[0], 0)
        asking = asyncio.create_task(called.resume("t1"))
        await reached(lambda: called.problem)
        assert "cannot be asked" in called.problem
        assert not asking.done()
        await asyncio.to_thread(site.start)
        await reached(asking.done)
        assert called.problem == ""

    asyncio.run(asked())


def test_a_refusal_is_kept_for_the_end(new_site):
    site = new_site(tables=1)
    called = Supervisor(address(site), "wrong", 0)
    asyncio.run(called.resume("t1"))
    assert called.problem
