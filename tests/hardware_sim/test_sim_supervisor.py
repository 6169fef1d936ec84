"""Tables that wait for a supervisor: with --console one confirms and resumes; without, a notice is printed."""

import asyncio
import os
import signal
import subprocess
import sys

from hardware_sim import Supervisor, supervisor
from jackpot.core.events import EventType
from tests.support.daemon import REPO
from tests.support.scripted_controller import controller, reached

LIMIT_SECONDS = 180


def run_simulator(site, broker, *arguments, **environment):
    """Run the simulator against a site's controller, in the site's folder."""
    command = [sys.executable, "-m", "hardware_sim", "--broker", str(broker), "--site", site.id, "--tables", "1"]
    return subprocess.run(
        [*command, "--speed", "100", *arguments], cwd=site.folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(REPO), **environment}, timeout=LIMIT_SECONDS,
    )  # fmt: skip


def address(site):
    return f"http://127.0.0.1:{site.http}"


def add_operator(site, role):
    return site.answer("operator", "add", role, "--role", role, "--token", site.tokens[0])["token"]


def test_a_supervisor_at_the_console_confirms_wins_and_resumes_tables(new_site, broker):
    site = new_site(tables=1)
    done = run_simulator(
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


def test_without_a_supervisor_the_waiting_tables_are_named_at_once_and_at_the_end(broker):
    async def whole():
        async with controller(broker, "no-supervisor", ["t1", "t2", "t3"]) as scripted:
            scripted.tables["t2"].suspended = "pad_offline"
            scripted.publish_state("t2")
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "hardware_sim", "--broker", str(broker), "--site", "no-supervisor",
                "--tables", "3", "--speed", "100", "--rig", "t1:3:royal_flush@2", stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            reasons = ["t1 has a win to confirm in round 2", "t2 is suspended (pad offline)"]
            async with asyncio.timeout(LIMIT_SECONDS):
                missing = {f"{reason}; a supervisor must act, at the console or by --console" for reason in reasons}
                while missing:
                    line = await process.stdout.readline()
                    assert line, missing
                    missing.discard(line.decode().rstrip())
                process.send_signal(signal.SIGINT)
                out = (await process.communicate())[0].decode().splitlines()
            assert process.returncode == 0
            for reason in reasons:
                assert f"{reason}; it still waits for a supervisor." in out
            assert not [line for line in out if line.startswith("t3") and "waits" in line]
            assert scripted.tables["t3"].round > 0

    asyncio.run(whole())


def test_an_operator_without_the_role_is_refused_at_the_start_in_one_sentence(new_site, broker):
    site = new_site(tables=1)
    as_auditor = {"JACKPOT_TOKEN": add_operator(stopped(site), "auditor")}
    site.start()
    for console, environment, sentence in [
        (address(site), {}, "--console needs a supervisor's token: use --token or JACKPOT_TOKEN"),
        (address(site), as_auditor, "auditor is not a supervisor and can neither confirm a win nor resume a table"),
        (address(site), {"JACKPOT_TOKEN": "wrong"}, f"the console at {address(site)} refuses the token: "),
        (
            "http://127.0.0.1:9",
            as_auditor,
            "cannot reach the console at http://127.0.0.1:9: Connection refused",
        ),
        ("file:///etc", as_auditor, "invalid console address: write http://127.0.0.1:8080"),
    ]:
        done = run_simulator(site, broker, "--console", console, **environment)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith(sentence)


def stopped(site):
    assert site.stop() == 0
    return site


def test_a_request_is_repeated_while_the_console_is_not_available(new_site, monkeypatch):
    """The final answer is a conflict, because the table is not suspended; that ends the repeats."""
    monkeypatch.setattr(supervisor, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(supervisor, "ATTEMPTS", 2_000)
    site = new_site(tables=1)
    site.stop()

    async def resumes():
        operator = Supervisor(address(site), site.tokens[0], 0)
        resuming = asyncio.create_task(operator.resume("t1"))
        await reached(lambda: operator.problem)
        assert "cannot reach" in operator.problem
        assert not resuming.done()
        await asyncio.to_thread(site.start)
        await reached(resuming.done)
        assert operator.problem == ""

    asyncio.run(resumes())


def test_a_refused_request_is_not_repeated_and_its_reason_is_kept(new_site):
    site = new_site(tables=1)
    operator = Supervisor(address(site), "wrong", 0)
    asyncio.run(operator.resume("t1"))
    assert operator.problem
