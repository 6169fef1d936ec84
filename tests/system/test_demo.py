"""`jackpot demo`: one command, nothing but what pip installed, and nothing left behind."""

import os
import re
import subprocess
import sys

from machinery import REPO

from jackpot.cli.demo import SPEED


def test_the_demonstration_runs_a_floor_shows_a_win_and_reconciles_to_the_cent(tmp_path):
    as_long = f"{120 * SPEED / 30:.0f}"  # as two minutes are at the demonstration's own speed
    command = [sys.executable, "-m", "jackpot", "demo", "--seconds", as_long, "--speed", "30"]
    environment = {**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(tmp_path), "PATH": "/nowhere"}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The shoe is rigged for you" in done.stdout
    assert "Equal to the cent" in done.stdout
    assert "The audit trail verifies" in done.stdout
    prizes = next(line for line in done.stdout.splitlines() if line.startswith("Prizes: "))
    assert re.match(r"Prizes: 1 royal flush, 1 straight flush[^;]*; \$[\d,]+\.\d\d\.$", prizes), prizes
    assert list(tmp_path.iterdir()) == []
