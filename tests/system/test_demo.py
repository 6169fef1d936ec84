"""`jackpot demo`: one command that needs only what pip installed, and leaves nothing behind."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import pytest

from jackpot.cli import demo
from tests.support.daemon import REPO, wait_until
from tests.support.webhook_receiver import SECRET, receiving

LIMIT_SECONDS = 180
"""Far more than the demonstration takes to start or end, so that a slow machine is no failure."""
INTERRUPTED = 130
COMMAND = (sys.executable, "-m", "jackpot", "demo", "--speed", "30")


@pytest.fixture
def folder(tmp_path):
    """The folder in which the demonstration creates its temporary folder."""
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


@pytest.fixture
def start_demo(folder):
    """Return a function that starts a demonstration as a process, which is killed at the end of the test."""
    started = []

    def start(**options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([*COMMAND, "--seconds", "600"], env=environment(folder), cwd=folder, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def environment(folder, **other):
    return {**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(folder), "PATH": "/nowhere", **other}


def test_the_demonstration_runs_a_floor_shows_a_win_and_reconciles_to_the_cent(folder):
    seconds = f"{120 * demo.SPEED / 30:.0f}"  # the rounds of two minutes at the default speed
    with receiving() as webhook:
        done = subprocess.run(
            [*COMMAND, "--seconds", seconds],
            env=environment(folder, **settings_of_another_site(folder, webhook.port)),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The shoe is rigged for you" in done.stdout
    assert "Equal to the cent" in done.stdout
    assert "The audit trail verifies" in done.stdout
    prizes = next(line for line in done.stdout.splitlines() if line.startswith("Prizes: "))
    assert re.match(r"Prizes: 1 royal flush, 1 straight flush[^;]*; \$[\d,]+\.\d\d\.$", prizes), prizes
    assert webhook.posts == [], "a demonstration must not notify a real site's staff"
    assert list(folder.iterdir()) == []
    assert list(folder.parent.iterdir()) == [folder]


def settings_of_another_site(folder, webhook):
    """Return the environment of a real site on the same machine, which the demonstration must not use."""
    return {
        "JACKPOT_CONFIG": str(folder.parent / "jackpot.toml"),
        "JACKPOT_SITE": "casino",
        "JACKPOT_BROKER": "mqtt://127.0.0.1:1",
        "JACKPOT_DATABASE": f"sqlite:///{folder.parent / 'real.db'}",
        "JACKPOT_MQTT_VERSION": "5",
        "JACKPOT_EMBEDDED_PORT": "1",
        "JACKPOT_HTTP": "127.0.0.1:1",
        "JACKPOT_METRICS": "127.0.0.1:1",
        "JACKPOT_WEBHOOK_URL": f"http://127.0.0.1:{webhook}/pit",
        "JACKPOT_WEBHOOK_SECRET": SECRET,
        "JACKPOT_TOKEN": "token-of-a-real-manager",
        "jackpot_key_file": "/nowhere/real.key",
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_during_the_start_ends_it_and_removes_the_key(folder, start_demo, number):
    demonstration = start_demo()
    wait_until(lambda: list(folder.glob("*/jackpot.key")), "the key", LIMIT_SECONDS)
    demonstration.send_signal(number)
    _, err = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, err) == (INTERRUPTED, "")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_the_play_and_it_reconciles(folder, start_demo, number):
    demonstration = start_demo()
    read_until(demonstration, "rounds")
    demonstration.send_signal(number)
    out, err = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, err) == (0, "")
    assert "Equal to the cent" in out
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_repeated_signals_end_it_at_once_and_leave_nothing_behind(folder, start_demo, number):
    demonstration = start_demo()
    read_until(demonstration, "rounds")

    def is_removed():
        remaining = list(folder.iterdir())
        if remaining:
            demonstration.send_signal(number)
        return not remaining

    wait_until(is_removed, "the end", LIMIT_SECONDS)
    _, err = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, err) == (INTERRUPTED, "")
    assert list(folder.iterdir()) == []


def test_it_ends_with_its_terminal_and_leaves_nothing_behind(folder, start_demo):
    ours, theirs = os.openpty()
    as_terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    demonstration = start_demo(**as_terminal, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    drawn = b""
    while b"Canberra Poker" not in drawn:
        drawn += os.read(ours, 1 << 16)
    os.close(ours)
    assert demonstration.wait(LIMIT_SECONDS) != 0
    assert list(folder.iterdir()) == []


def test_it_ends_without_an_error_message_when_its_output_is_closed(folder, start_demo):
    demonstration = start_demo()
    read_until(demonstration, "rounds")
    demonstration.stdout.close()
    assert demonstration.wait(LIMIT_SECONDS) == 1
    assert demonstration.stderr.read() == ""
    assert list(folder.iterdir()) == []


def test_it_ends_with_one_sentence_when_its_controller_is_killed(folder, start_demo):
    demonstration = start_demo()
    read_until(demonstration, "rounds")
    controller = child_of(demonstration.pid, "serve")
    os.kill(controller, signal.SIGKILL)
    _, err = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert demonstration.returncode == 1
    assert err == "jackpot: the controller ended during play (killed by SIGKILL); no result can be shown\n"
    assert list(folder.iterdir()) == []


def test_its_child_processes_end_when_it_is_killed(start_demo):
    demonstration = start_demo()
    read_until(demonstration, "rounds")
    controller = child_of(demonstration.pid, "serve")
    broker = child_of(controller, "-c")
    demonstration.kill()
    wait_until(lambda: not is_running(controller) and not is_running(broker), "the end of its children", LIMIT_SECONDS)


def test_a_signal_does_not_interrupt_the_cleanup(tmp_path, monkeypatch):
    remove, received = shutil.rmtree, []

    def remove_with_signal(*arguments, **options):
        signal.raise_signal(signal.SIGTERM)
        remove(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", remove_with_signal)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with demo._handle_signals(lambda number, _frame: received.append(number)), demo._temporary_folder() as made:
        assert list(tmp_path.iterdir()) == [made]
    assert (received, list(tmp_path.iterdir())) == ([], [])


def test_files_that_a_broker_writes_during_the_cleanup_are_removed(tmp_path, monkeypatch):
    remove, written = shutil.rmtree, []

    def remove_and_write_again(folder, **options):
        remove(folder, **options)
        if not written:
            written.append(folder / "store")
            written[0].mkdir(parents=True)

    monkeypatch.setattr(shutil, "rmtree", remove_and_write_again)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with demo._temporary_folder():
        pass
    assert (len(written), list(tmp_path.iterdir())) == (1, [])


def read_until(demonstration, word):
    """Read the output up to the first line with this word."""
    for line in demonstration.stdout:
        if word in line:
            return
    raise AssertionError(f"it ended without printing {word!r}: {demonstration.stderr.read()}")


def child_of(parent, word):
    """Return the child of a process with this word on its command line."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (found,) = [child for child in children if word in Path(f"/proc/{child}/cmdline").read_text().split("\0")]
    return int(found)


def is_running(pid):
    """Return True if a process exists and is not a zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
