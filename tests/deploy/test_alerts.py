"""The alert rules, checked with promtool: they are valid and tested, and each names an action."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

RULES = Path(__file__).parent.parent.parent / "deploy" / "prometheus"


def promtool(*arguments):
    program = shutil.which("promtool")
    assert program, "promtool is not installed: apt-get install prometheus"
    return subprocess.run([program, *arguments], cwd=RULES, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [("check", "rules", "alerts.yml"), ("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")],
)
def test_promtool_finds_no_error(arguments):
    done = promtool(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_unit_tests_fail_when_a_rule_is_broken(tmp_path):
    shutil.copytree(RULES, tmp_path / "rules")
    rules = tmp_path / "rules" / "alerts.yml"
    rules.write_text(
        rules.read_text().replace("jackpot_pending_age_seconds > 600", "jackpot_pending_age_seconds > 6000")
    )
    program = shutil.which("promtool")
    done = subprocess.run(
        [program, "test", "rules", "alerts_test.yml"], cwd=rules.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "JackpotWinPendingLong" in done.stderr) == (1, True)


def test_every_alert_has_a_test_that_fires_it_and_one_that_does_not():
    alerts = re.findall(r"- alert: (\w+)", (RULES / "alerts.yml").read_text())
    tested = (RULES / "alerts_test.yml").read_text()
    for alert in alerts:
        cases = re.findall(rf"alertname: {alert}\n\s+exp_alerts:( \[\])?", tested)
        assert "" in cases, f"no test fires {alert}"
    assert len(alerts) == len(set(alerts)) > 20
    never_silent = [alert for alert in alerts if not re.search(rf"alertname: {alert}\n\s+exp_alerts: \[\]", tested)]
    assert never_silent == []


def test_every_alert_has_a_severity_a_summary_and_an_action():
    blocks = (RULES / "alerts.yml").read_text().split("- alert: ")[1:]
    for block in blocks:
        assert re.search(r"labels: \{severity: (critical|warning)\}", block), block
        assert re.search(r"summary: \S", block), block
        assert re.search(r"action: \S", block), block
