"""`jackpot demo`: one command, nothing but what pip installed, and nothing left behind."""

import os
import subprocess
import sys

from machinery import REPO


def test_the_demonstration_runs_a_floor_shows_a_win_and_reconciles_to_the_cent(tmp_path):
    command = [sys.executable, "-m", "jackpot", "demo", "--seconds", "15", "--speed", "30", "--tables", "2"]
    environment = {**os.environ, "PYTHONPATH": str(REPO), "TMPDIR": str(tmp_path), "PATH": "/nowhere"}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The shoe is rigged for you" in done.stdout
    assert "Equal to the cent" in done.stdout
    assert "The audit trail verifies" in done.stdout
    assert "1 wins" in done.stdout
    assert list(tmp_path.iterdir()) == []
