"""The code is formatted, linted and fully typed, and the hooks before a commit check the same."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
CHECKS = [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",)]


@pytest.mark.parametrize(
    "tool", CHECKS, ids=["ruff finds nothing", "ruff has nothing to format", "mypy strict finds nothing"]
)
def test_the_code_is_clean(tool):
    done = subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hooks_before_a_commit_check_the_same():
    repos = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repo["repo"] for repo in repos] == ["local"], "tools of .venv, not tools of another version"
    assert [hook["entry"].split() for hook in repos[0]["hooks"]] == [
        [".venv/bin/python", "-m", *check] for check in CHECKS
    ]
