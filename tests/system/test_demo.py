"""`jackpot demo`: one command, nothing but what pip installed, and nothing left behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from machinery import REPO

sys.path.append(str(Path(__file__).parent.parent / "notify"))
from receiver import SECRET, receiving

from jackpot.cli.demo import SPEED

COMMAND = (sys.executable, "-m", "jackpot", "demo", "--speed", "30")


@pytest.fixture
def folder(tmp_path):
    """Where the demonstration makes its own folder."""
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def environment(folder, **other):
    return {**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(folder), "PATH": "/nowhere", **other}


def test_the_demonstration_runs_a_floor_shows_a_win_and_reconciles_to_the_cent(folder):
    as_long = f"{120 * SPEED / 30:.0f}"  # as two minutes are at the demonstration's own speed
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
