"""A real Prometheus scrapes a real daemon with a simulated floor; every query of dashboard and alerts has data."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

from tests.support.daemon import REPO, Client, Site, free_port, mosquitto, wait_until
from tests.support.webhook_receiver import SECRET, receiving

DEPLOY = REPO / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
LIMIT_SECONDS = 180
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]


def queries():
    """Return every query of the dashboard as Grafana sends it for all jackpots."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "20s").replace("$jackpot", ".*")
            yield pytest.param(query, id=f"{panel['title']} {target['refId']}")


def selectors():
    """Return every series that an alert or a recording rule uses, with its labels."""
    found = set()
    for line in (DEPLOY / "prometheus" / "alerts.yml").read_text().splitlines():
        if "expr:" in line:
            found.update(re.findall(r"\b(?:jackpot_\w+|up|process_\w+)\b(?:\{[^}]*\})?", line.partition("expr:")[2]))
    return sorted(found)


class Prometheus:
    """Debian's Prometheus with our rules, scraping one daemon."""

    def __init__(self, folder, target):
        self.port = free_port()
        config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        assert "127.0.0.1:9464" in config
        config = config.replace("127.0.0.1:9464", f"127.0.0.1:{target}").replace(": 5s", ": 1s")
        (folder / "prometheus.yml").write_text(config)
        shutil.copy(DEPLOY / "prometheus" / "alerts.yml", folder)
        program = shutil.which("prometheus")
        assert program, "prometheus is not installed: apt-get install prometheus"
        options = [
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen([program, *options], stderr=log, stdout=log)

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=LIMIT_SECONDS) as reply:
            return json.load(reply)["data"]

    def values(self, query):
        """Return the current values of a query, without NaN."""
        values = [float(sample["value"][1]) for sample in self.get("query", query=query)["result"]]
        return [value for value in values if not math.isnan(value)]

    def answers(self):
        try:
            return bool(self.values('up{job="jackpot"} == 1'))
        except OSError:
            return False

    def close(self):
        self._process.terminate()
        self._process.wait()


@contextmanager
def simulated(port, site, folder):
    """Simulate one table and one display for this context."""
    floor = ["--broker", f"mqtt://127.0.0.1:{port}", "--site", site, "--tables", "1", "--displays", "1"]
    command = [sys.executable, "-m", "hardware_sim", *floor, "--speed", "30", "--seed", "3", "--seconds", "3600"]
    with (folder / "floor.log").open("w") as log:
        environment = {**os.environ, "PYTHONPATH": str(REPO)}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        yield
        assert process.poll() is None, (folder / "floor.log").read_text()[-2_000:]
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """A Prometheus that has scraped all kinds of events."""
    folder = tmp_path_factory.mktemp("deploy")
    (folder / "site").mkdir()
    (folder / "prometheus").mkdir()
    with mosquitto(folder) as port, receiving() as receiver:
        site = Site(
            folder / "site",
            f"mqtt://127.0.0.1:{port}",
            VERIFY_MINUTES=0.05,
            RESERVE_FLOOR_CENTS=500_000,
            WEBHOOK_URL=f"http://127.0.0.1:{receiver.port}/",
            WEBHOOK_SECRET=SECRET,
        )
        client = Client(port, site.id, "tables/#", "jackpots/#")
        site.start()
        scraping = Prometheus(folder / "prometheus", site.metrics)
        try:
            with simulated(port, site.id, folder):
                wait_until(scraping.answers, "Prometheus", LIMIT_SECONDS)
                cause_events(client)
                yield scraping
        finally:
            scraping.close()
            client.close()
            site.kill()


def cause_events(client):
    """Cause a paid prize, a pending win, a rejected wager, a refused command, a malformed message and a malfunction."""
    for number, cards in enumerate((FLUSH, ROYAL), 1):
        client.command("t2", f"open-{number}", "open_round")
        client.wager("t2", 1, f"w{number}", number)
        assert client.wager("t2", 2, f"x{number}", 9)["answer"]["verdict"] == "rejected"
        client.command("t2", f"close-{number}", "close_wagers", round=number)
        client.command("t2", f"declare-{number}", "declare", round=number, box=1, cards=cards)
        client.command("t2", f"settle-{number}", "settle", round=number)
    assert not client.command("t2", "again", "settle", round=2)["ok"]
    client.publish("tables/t2/pads/1/wager", b"nonsense")
    client.command("t3", "c1", "report_malfunction", equipment="pad 2", note="dark")


@pytest.mark.parametrize("query", list(queries()))
def test_every_query_of_the_dashboard_returns_data(prometheus, query):
    assert wait_until(lambda: prometheus.values(query), f"data of {query}", LIMIT_SECONDS)


@pytest.mark.parametrize("selector", selectors())
def test_every_series_that_a_rule_uses_has_data(prometheus, selector):
    assert wait_until(lambda: prometheus.values(selector), f"data of {selector}", LIMIT_SECONDS)


def test_the_alerts_fire_in_a_real_prometheus(prometheus):
    def firing():
        return {
            alert["labels"]["alertname"] for alert in prometheus.get("alerts")["alerts"] if alert["state"] == "firing"
        }

    wait_until(lambda: "JackpotTableSuspended" in firing(), "the alert of the suspended table", LIMIT_SECONDS)
    assert not firing() & {"JackpotDown", "JackpotTrailWrong", "JackpotMeterOld", "JackpotBrokerLost"}


def test_every_rule_is_evaluated_without_an_error(prometheus):
    wait_until(
        lambda: prometheus.values('jackpot:wager_to_lamp_seconds:p99{jackpot="main"}'), "a recorded rule", LIMIT_SECONDS
    )
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}
    assert len(rules) > 20


def test_the_metrics_follow_the_conventions_of_prometheus(prometheus):
    target = prometheus.get("targets")["activeTargets"][0]["scrapeUrl"]
    with urllib.request.urlopen(target, timeout=LIMIT_SECONDS) as reply:
        metrics = reply.read()
    done = subprocess.run(
        [shutil.which("promtool"), "check", "metrics"], input=metrics, capture_output=True, check=False
    )
    complaints = [line for line in done.stderr.decode().splitlines() if line.startswith("jackpot_")]
    assert complaints == []


def test_no_two_panels_overlap_and_each_has_a_description():
    taken = {}
    for panel in DASHBOARD["panels"]:
        grid = panel["gridPos"]
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                assert x < 24, panel["title"]
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
        assert panel["title"]
        assert panel["type"] == "row" or (panel["description"] and panel["targets"])
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_the_dashboard_lets_its_user_choose_the_datasource():
    """The user chooses the Prometheus when importing it."""
    assert {json.dumps(panel["datasource"]) for panel in DASHBOARD["panels"] if "datasource" in panel} == {
        json.dumps({"type": "prometheus", "uid": "${datasource}"})
    }


def test_every_metric_of_the_controller_is_on_the_dashboard_or_in_a_rule():
    from prometheus_client import REGISTRY

    import jackpot.metrics

    assert jackpot.metrics
    used = json.dumps(DASHBOARD) + (DEPLOY / "prometheus" / "alerts.yml").read_text()
    names = [name for name in REGISTRY._names_to_collectors if re.fullmatch(r"jackpot_\w+?(_total|_bucket|)", name)]
    families = {re.sub(r"_(total|bucket|created|sum|count|info)$", "", name) for name in names}
    assert len(families) > 30
    assert {family for family in families if family not in used} == set()
