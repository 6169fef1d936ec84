"""`jackpot doctor`: one sentence about each part, and exit code 1 if something is wrong."""

import json
import socket
import time
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from jackpot.cli import doctor, run
from jackpot.store.database import Database
from tests.support.certificates import tls_broker
from tests.support.daemon import mosquitto
from tests.support.webhook_receiver import SECRET, receiving

PARTS = [
    "software",
    "configuration",
    "timezone",
    "key",
    "store",
    "schema",
    "durability",
    "clock",
    "controllers",
    "broker",
    "certificates",
    "webhook",
]


class CheckedSite:
    """A site in a folder, and the findings of `jackpot doctor`."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys
        monkeypatch.chdir(folder)
        monkeypatch.setattr(doctor, "_is_synchronised", lambda: True)
        assert run(["init", "--json"]) == 0
        capsys.readouterr()

    def set(self, **settings):
        for name, value in settings.items():
            self._monkeypatch.setenv(f"JACKPOT_{name.upper()}", str(value))
        return self

    def sql(self, *statements):
        database = Database(f"sqlite:///{self.folder / 'jackpot.db'}")
        with database.transaction() as connection:
            for statement in statements:
                connection.execute(text(statement))
        database.close()

    def check(self):
        """Return the exit code, and (state, sentence) by part; the last finding if a part has several."""
        code = run(["doctor", "--json"])
        report = json.loads(self._capsys.readouterr().out)
        assert report["ok"] == (code == 0)
        self.findings = [tuple(finding.values()) for finding in report["findings"]]
        return code, {part: (state, sentence) for part, state, sentence in self.findings}

    def wrong(self):
        """Return the only wrong part and its sentence."""
        code, findings = self.check()
        ((part, sentence),) = [(part, sentence) for part, (state, sentence) in findings.items() if state == "wrong"]
        assert code == 1
        return part, sentence


@pytest.fixture
def site(tmp_path, monkeypatch, capsys):
    made = CheckedSite(tmp_path, monkeypatch, capsys)
    with mosquitto(tmp_path) as port:
        yield made.set(broker=f"mqtt://127.0.0.1:{port}")


def test_a_healthy_site_has_a_sentence_for_every_part_and_exit_0(site):
    code, findings = site.check()
    assert (code, list(findings)) == (0, PARTS)
    assert all(state == "ok" and sentence for state, sentence in findings.values())


def test_without_json_the_output_is_a_table(site, capsys):
    assert run(["doctor"]) == 0
    drawn = capsys.readouterr().out
    assert all(part in drawn for part in PARTS)


def test_a_configuration_that_cannot_be_read_is_the_only_wrong_part(site):
    (site.folder / "jackpot.toml").write_text("site = 'a b'\n")
    assert site.wrong()[0] == "configuration"
    (site.folder / "jackpot.toml").unlink()
    assert "create it with jackpot init" in site.wrong()[1]


def test_the_key_must_exist_belong_to_this_site_and_be_private(site):
    key = site.folder / "jackpot.key"
    key.chmod(0o644)
    code, findings = site.check()
    assert (code, findings["key"][0]) == (0, "warning")
    site.set(site="other")
    assert site.wrong() == ("key", "jackpot.key is the key of the site casino, but this site is other")
    key.write_text("nonsense")
    assert site.wrong()[0] == "key"
    key.unlink()
    assert "does not exist" in site.wrong()[1]


@pytest.mark.parametrize(
    ("database", "problem"),
    [
        ("sqlite:///missing.db", "does not exist"),
        ("postgresql://me:hunter2@127.0.0.1:1/db", "refused"),
        ("mysql://x", "SQLite or PostgreSQL"),
    ],
)
def test_a_store_that_does_not_answer_is_reported_without_its_password(site, database, problem):
    part, sentence = site.set(database=database).wrong()
    assert (part, problem in sentence, "hunter2" in sentence) == ("store", True, False)
    assert not (site.folder / "missing.db").exists()


def test_a_schema_of_another_version_is_reported_with_a_remedy(site):
    site.sql("UPDATE alembic_version SET version_num = '0001'")
    assert site.wrong()[0] == "schema"
    assert "run jackpot migrate" in site.wrong()[1]


def test_a_clock_behind_the_last_event_is_wrong_and_an_unsynchronised_one_is_a_warning(site, monkeypatch):
    monkeypatch.setattr(doctor, "_is_synchronised", lambda: False)
    code, findings = site.check()
    assert (code, findings["clock"][0]) == (0, "warning")
    site.sql("DROP TRIGGER events_no_update", "UPDATE events SET at = '2999-01-01T00:00:00.000Z'")
    assert "before the last event at 2999" in site.wrong()[1]


@pytest.mark.parametrize(
    ("system", "is_synchronised"),
    [({"adjtimex": lambda _state: 0}, True), ({"adjtimex": lambda _state: 5}, False), ({}, True)],
    ids=["synchronised", "not synchronised", "no such call"],
)
def test_the_kernel_reports_if_its_clock_is_synchronised(monkeypatch, system, is_synchronised):
    monkeypatch.setattr(doctor.ctypes, "CDLL", lambda _name: SimpleNamespace(**system))
    assert doctor._is_synchronised() is is_synchronised


def test_an_unknown_time_zone_is_wrong(site):
    assert site.set(timezone="Canberra/Casino").wrong()[0] == "timezone"


def test_an_unreachable_or_misspelt_broker_is_reported_without_its_password(site):
    part, sentence = site.set(broker="mqtt://me:hunter2@127.0.0.1:1").wrong()
    assert (part, sentence) == ("broker", "mqtt://127.0.0.1:1: Connection refused")
    assert site.set(broker="amqp://me:hunter2@broker").wrong()[0] == "broker"
    assert "hunter2" not in site.wrong()[1]


def test_the_embedded_broker_needs_its_program(site, monkeypatch):
    assert site.set(broker="embedded").check()[0] == 0
    monkeypatch.setattr(doctor, "program", _no_program)
    assert site.wrong() == ("broker", "there is no embedded broker")


def _no_program():
    raise doctor.BrokerError("there is no embedded broker")


def test_certificates_are_checked_for_tls_connections(site, tmp_path):
    with tls_broker(tmp_path) as (port, authority):
        site.set(broker=f"mqtts://localhost:{port}")
        code, findings = site.check()
        assert (code, findings["broker"][0], findings["certificates"][0]) == (1, "wrong", "wrong")
        assert "its certificate is not trusted: self-signed certificate" in findings["certificates"][1]
        code, findings = site.set(broker_ca_file=authority).check()
        assert (code, findings["broker"]) == (0, ("ok", f"mqtts://localhost:{port} accepts our connection"))
        ends = [sentence for part, _, sentence in site.findings if part == "certificates"]
        assert [" in 89 days" in sentence for sentence in ends] == [True, True]  # of the authority and of the broker


@pytest.mark.parametrize(("days", "state", "problem"), [(10, "warning", "in 9 days"), (-1, "wrong", "expired on")])
def test_an_expired_or_soon_expiring_certificate_is_reported(site, tmp_path, days, state, problem):
    with tls_broker(tmp_path, days=days) as (port, authority):
        site.set(broker=f"mqtts://localhost:{port}", broker_ca_file=authority).check()
        found = [(state, sentence) for part, state, sentence in site.findings if part == "certificates"]
        assert found[0][0] == state
        assert problem in found[0][1]


def test_the_webhook_is_connected_to_without_a_post(site):
    with receiving() as receiver:
        site.set(webhook_url=f"http://127.0.0.1:{receiver.port}/T0KEN", webhook_secret=SECRET)
        code, findings = site.check()
        assert (code, findings["webhook"]) == (0, ("ok", f"http://127.0.0.1:{receiver.port} accepts connections"))
        assert receiver.posts == []
    part, sentence = site.wrong()
    assert (part, "T0KEN" in sentence, SECRET in sentence) == ("webhook", False, False)
    site.set(webhook_secret="short")
    assert "secret is whsec_" in site.wrong()[1]


def test_a_server_that_does_not_answer_is_given_up_after_a_limit(site, monkeypatch):
    monkeypatch.setattr(doctor, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        assert site.set(broker=f"mqtt://127.0.0.1:{silent.getsockname()[1]}").wrong()[0] == "broker"
        assert time.monotonic() - began < 60  # it would wait for ever without a limit
