"""`jackpot demo`: one command, nothing but what pip installed, and nothing left behind."""

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

LIMIT_SECONDS = 40
INTERRUPTED = 130
COMMAND = (sys.executable, "-m", "jackpot", "demo", "--speed", "30")


@pytest.fixture
def folder(tmp_path):
    """Where the demonstration makes its own folder."""
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


@pytest.fixture
def begin(folder):
    """Begins a demonstration as a process of its own, and ends it with the test."""
    begun = []

    def begin(**options):
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([*COMMAND, "--seconds", "60"], env=environment(folder), cwd=folder, **said)
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def environment(folder, **other):
    return {**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(folder), "PATH": "/nowhere", **other}


def test_the_demonstration_runs_a_floor_shows_a_win_and_reconciles_to_the_cent(folder):
    as_long = f"{120 * demo.SPEED / 30:.0f}"  # as two minutes are at the demonstration's own speed
    with receiving() as pager:
        done = subprocess.run(
            [*COMMAND, "--seconds", as_long],
            env=environment(folder, **of_another_site(folder, pager.port)),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The shoe is rigged for you" in done.stdout
    assert "Equal to the cent" in done.stdout
    assert "The audit trail verifies" in done.stdout
    prizes = next(line for line in done.stdout.splitlines() if line.startswith("Prizes: "))
    assert re.match(r"Prizes: 1 royal flush, 1 straight flush[^;]*; \$[\d,]+\.\d\d\.$", prizes), prizes
    assert pager.posts == [], "the wins of a demonstration are nobody's business"
    assert list(folder.iterdir()) == []
    assert list(folder.parent.iterdir()) == [folder]


def of_another_site(folder, pager):
    """What the environment says where somebody runs a site of their own; the demonstration is none of it."""
    return {
        "JACKPOT_CONFIG": str(folder.parent / "jackpot.toml"),
        "JACKPOT_SITE": "casino",
        "JACKPOT_BROKER": "mqtt://127.0.0.1:1",
        "JACKPOT_DATABASE": f"sqlite:///{folder.parent / 'real.db'}",
        "JACKPOT_MQTT_VERSION": "5",
        "JACKPOT_EMBEDDED_PORT": "1",
        "JACKPOT_HTTP": "127.0.0.1:1",
        "JACKPOT_METRICS": "127.0.0.1:1",
        "JACKPOT_WEBHOOK_URL": f"http://127.0.0.1:{pager}/pit",
        "JACKPOT_WEBHOOK_SECRET": SECRET,
        "JACKPOT_TOKEN": "a-manager-of-theirs",
        "jackpot_key_file": "/nowhere/real.key",
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_it_from_the_beginning_and_its_key_is_not_left(folder, begin, number):
    demonstration = begin()
    wait_until(lambda: list(folder.glob("*/jackpot.key")), "the key")
    demonstration.send_signal(number)
    _, problem = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, problem) == (INTERRUPTED, "")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_the_play_and_it_reconciles(folder, begin, number):
    demonstration = begin()
    until_said(demonstration, "rounds")
    demonstration.send_signal(number)
    said, problem = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, problem) == (0, "")
    assert "Equal to the cent" in said
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signals_ever_again_end_it_at_once_and_leave_nothing_either(folder, begin, number):
    demonstration = begin()
    until_said(demonstration, "rounds")

    def cleared_up():
        left = list(folder.iterdir())
        if left:
            demonstration.send_signal(number)
        return not left

    wait_until(cleared_up, "the end")
    _, problem = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert (demonstration.returncode, problem) == (INTERRUPTED, "")
    assert list(folder.iterdir()) == []


def test_a_terminal_that_is_closed_leaves_nothing_behind(folder, begin):
    ours, theirs = os.openpty()
    as_terminal = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "start_new_session": True}
    demonstration = begin(**as_terminal, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    said = b""
    while b"Canberra Poker" not in said:
        said += os.read(ours, 1 << 16)
    os.close(ours)
    assert demonstration.wait(LIMIT_SECONDS) != 0
    assert list(folder.iterdir()) == []


def test_a_reader_who_goes_away_ends_it_without_a_word(folder, begin):
    demonstration = begin()
    until_said(demonstration, "rounds")
    demonstration.stdout.close()
    assert demonstration.wait(LIMIT_SECONDS) == 1
    assert demonstration.stderr.read() == ""
    assert list(folder.iterdir()) == []


def test_a_controller_that_is_killed_ends_it_with_one_sentence(folder, begin):
    demonstration = begin()
    until_said(demonstration, "rounds")
    controller = child_of(demonstration.pid, "serve")
    os.kill(controller, signal.SIGKILL)
    _, problem = demonstration.communicate(timeout=LIMIT_SECONDS)
    assert demonstration.returncode == 1
    assert problem == (
        "jackpot: the controller ended while the floor played (killed by SIGKILL): nothing can be shown\n"
    )
    assert list(folder.iterdir()) == []


def test_nothing_outlives_a_demonstration_that_is_killed(begin):
    demonstration = begin()
    until_said(demonstration, "rounds")
    controller = child_of(demonstration.pid, "serve")
    broker = child_of(controller, "-c")
    demonstration.kill()
    wait_until(lambda: not runs(controller) and not runs(broker), "the end of its children")


def test_clearing_up_is_not_disturbed(tmp_path, monkeypatch):
    remove, heard = shutil.rmtree, []

    def disturbed(*what, **how):
        signal.raise_signal(signal.SIGTERM)
        remove(*what, **how)

    monkeypatch.setattr(shutil, "rmtree", disturbed)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with demo._signals(lambda number, _frame: heard.append(number)), demo._new_folder() as made:
        assert list(tmp_path.iterdir()) == [made]
    assert (heard, list(tmp_path.iterdir())) == ([], [])


def test_what_a_broker_writes_while_it_ends_is_not_left(tmp_path, monkeypatch):
    remove, written = shutil.rmtree, []

    def written_meanwhile(folder, **how):
        remove(folder, **how)
        if not written:
            written.append(folder / "store")
            written[0].mkdir(parents=True)

    monkeypatch.setattr(shutil, "rmtree", written_meanwhile)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with demo._new_folder():
        pass
    assert (len(written), list(tmp_path.iterdir())) == (1, [])


def until_said(demonstration, word):
    """Read what it says until it says this."""
    for line in demonstration.stdout:
        if word in line:
            return
    raise AssertionError(f"it ended without {word}: {demonstration.stderr.read()}")


def child_of(parent, word):
    """The child of a process that was started with this word."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (found,) = [child for child in children if word in Path(f"/proc/{child}/cmdline").read_text().split("\0")]
    return int(found)


def runs(pid):
    """Whether a process is there that has not ended, awaited or not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
