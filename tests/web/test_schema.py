"""The OpenAPI document is exact: Schemathesis asks the running daemon all that it allows, and much that it does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.api_client import FLUSH, ROYAL

SECONDS = 240
"""It takes a fraction of this on a machine that does nothing else."""


@pytest.fixture
def played(own_api):
    """Something to be found: a round that is open, one that is pending, a proposal."""
    own_api.settle("t1", own_api.play("t1", {2: FLUSH, 4: None}))
    own_api.settle("t2", own_api.play("t2", {3: ROYAL}))
    own_api.open("t1", 1, 3)
    own_api.post("/configs", {"wager_cents": 500, "reason": "season"}, "second")
    own_api.post("/operators/moe/propose", role="second")
    return own_api


def asked(api, folder, *which):
    """What Schemathesis says of the daemon; wrong tokens are tried on every path elsewhere, here they would be many."""
    found = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    done = subprocess.run(
        [
            found, "run", f"{api.url}/openapi.json", "--header", f"Authorization: Bearer {api.tokens['manager']}",
            "--phases", "examples,coverage,fuzzing", "--max-examples", "8", "--seed", "1", "--no-color",
            "--continue-on-failure", "--exclude-checks", "ignored_auth", *which,
        ],
        cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr
    return done.stdout


def test_schemathesis_finds_nothing(played, tmp_path):
    own_token = "/operators/{name}/(renew|revoke)".replace("{", "\\{").replace("}", "\\}")
    told = asked(played, tmp_path, "--exclude-path-regex", own_token)
    assert "429" not in told
    asked(played, tmp_path, "--include-path-regex", own_token)  # last: they may end the token that all is asked with
    assert '"level": "error"' not in played.site.log
    assert "Traceback" not in played.site.log
    assert played.site.stop() == 0
    assert played.site.verified()
