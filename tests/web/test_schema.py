"""The OpenAPI document is exact: Schemathesis sends the running daemon valid and invalid requests derived from it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.api_client import FLUSH, ROYAL

SECONDS = 600
"""It takes a fraction of this on an idle machine."""


@pytest.fixture
def played(own_api):
    """A site with an open round, a pending one, and proposals."""
    own_api.settle("t1", own_api.play("t1", {2: FLUSH, 4: None}))
    own_api.settle("t2", own_api.play("t2", {3: ROYAL}))
    own_api.open("t1", 1, 3)
    own_api.post("/configs", {"wager_cents": 500, "reason": "season"}, "second")
    own_api.post("/operators/moe/propose", role="second")
    return own_api


def run_schemathesis(api, folder, *options):
    """Run Schemathesis without wrong tokens: too many would be limited, and test_roles tries them on every path."""
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    done = subprocess.run(
        [
            program, "run", f"{api.url}/openapi.json", "--header", f"Authorization: Bearer {api.tokens['manager']}",
            "--phases", "examples,coverage,fuzzing", "--max-examples", "8", "--seed", "1", "--no-color",
            "--continue-on-failure", "--exclude-checks", "ignored_auth", *options,
        ],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr
    return done.stdout


def test_schemathesis_finds_no_fault(played, tmp_path):
    own_token = "/operators/{name}/(renew|revoke)".replace("{", "\\{").replace("}", "\\}")
    output = run_schemathesis(played, tmp_path, "--exclude-path-regex", own_token)
    assert "429" not in output
    run_schemathesis(played, tmp_path, "--include-path-regex", own_token)  # last: they may revoke the token in use
    assert '"level": "error"' not in played.site.log
    assert "Traceback" not in played.site.log
    assert played.site.stop() == 0
    assert played.site.verified()
