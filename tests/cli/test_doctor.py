"""`jackpot doctor`: each part with a sentence, and exit 1 when something is wrong."""

import json
import socket
import time

import pytest
from sqlalchemy import text

from jackpot.cli import doctor as doctors
from jackpot.cli import run
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
    "clock",
    "broker",
    "certificates",
    "webhook",
]


class Patient:
    """A site in a folder, and what the doctor says of it."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys
        monkeypatch.chdir(folder)
        monkeypatch.setattr(doctors, "_is_synchronised", lambda: True)
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

    def say(self):
        """(exit code, part by part (state, sentence)); of a part with several findings, the last."""
        code = run(["doctor", "--json"])
        told = json.loads(self._capsys.readouterr().out)
        assert told["ok"] == (code == 0)
        self.findings = [tuple(finding.values()) for finding in told["findings"]]
        return code, {part: (state, says) for part, state, says in self.findings}

    def wrong(self):
        """The one part that is wrong, with its sentence."""
        code, told = self.say()
        ((part, says),) = [(part, says) for part, (state, says) in told.items() if state == "wrong"]
        assert code == 1
        return part, says


@pytest.fixture
def patient(tmp_path, monkeypatch, capsys):
    made = Patient(tmp_path, monkeypatch, capsys)
    with mosquitto(tmp_path) as port:
        yield made.set(broker=f"mqtt://127.0.0.1:{port}")


def test_a_healthy_site_has_a_sentence_for_every_part_and_exit_0(patient):
    code, told = patient.say()
    assert (code, list(told)) == (0, PARTS)
    assert all(state == "ok" and says for state, says in told.values())


def test_without_json_the_output_is_a_table(patient, capsys):
    assert run(["doctor"]) == 0
    drawn = capsys.readouterr().out
    assert all(part in drawn for part in PARTS)


def test_a_configuration_that_cannot_be_read_is_the_only_wrong_part(patient):
    (patient.folder / "jackpot.toml").write_text("site = 'a b'\n")
    assert patient.wrong()[0] == "configuration"
    (patient.folder / "jackpot.toml").unlink()
    assert "make one with jackpot init" in patient.wrong()[1]


def test_the_key_must_exist_belong_to_this_site_and_be_private(patient):
    key = patient.folder / "jackpot.key"
    key.chmod(0o644)
    code, told = patient.say()
    assert (code, told["key"][0]) == (0, "warning")
    patient.set(site="other")
    assert patient.wrong() == ("key", "jackpot.key is the key of the site casino, but this site is other")
    key.write_text("nonsense")
    assert patient.wrong()[0] == "key"
    key.unlink()
    assert "does not exist" in patient.wrong()[1]


@pytest.mark.parametrize(
    ("database", "problem"),
    [
        ("sqlite:///missing.db", "does not exist"),
        ("postgresql://me:hunter2@127.0.0.1:1/db", "refused"),
        ("mysql://x", "SQLite or PostgreSQL"),
    ],
)
def test_a_store_that_does_not_answer_is_reported_without_its_password(patient, database, problem):
    part, says = patient.set(database=database).wrong()
    assert (part, problem in says, "hunter2" in says) == ("store", True, False)
    assert not (patient.folder / "missing.db").exists()


def test_a_schema_of_another_version_is_reported_with_a_remedy(patient):
    patient.sql("UPDATE alembic_version SET version_num = '0001'")
    assert patient.wrong()[0] == "schema"
    assert "run jackpot migrate" in patient.wrong()[1]


def test_a_clock_behind_the_last_event_is_wrong_and_an_unsynchronised_one_is_a_warning(patient, monkeypatch):
    monkeypatch.setattr(doctors, "_is_synchronised", lambda: False)
    code, told = patient.say()
    assert (code, told["clock"][0]) == (0, "warning")
    patient.sql("DROP TRIGGER events_no_update", "UPDATE events SET at = '2999-01-01T00:00:00.000Z'")
    assert "before the last event at 2999" in patient.wrong()[1]


def test_the_kernel_reports_if_its_clock_is_synchronised():
    assert doctors._is_synchronised() in (True, False)


def test_an_unknown_time_zone_is_wrong(patient):
    assert patient.set(timezone="Canberra/Casino").wrong()[0] == "timezone"


def test_an_unreachable_or_misspelt_broker_is_reported_without_its_password(patient):
    part, says = patient.set(broker="mqtt://me:hunter2@127.0.0.1:1").wrong()
    assert (part, says) == ("broker", "mqtt://127.0.0.1:1: Connection refused")
    assert patient.set(broker="amqp://me:hunter2@broker").wrong()[0] == "broker"
    assert "hunter2" not in patient.wrong()[1]


def test_the_embedded_broker_needs_its_program(patient, monkeypatch):
    assert patient.set(broker="embedded").say()[0] == 0
    monkeypatch.setattr(doctors, "program", _no_program)
    assert patient.wrong() == ("broker", "there is no embedded broker")


def _no_program():
    raise doctors.BrokerError("there is no embedded broker")


def test_certificates_are_checked_for_tls_connections(patient, tmp_path):
    with tls_broker(tmp_path) as (port, authority):
        patient.set(broker=f"mqtts://localhost:{port}")
        code, told = patient.say()
        assert (code, told["broker"][0], told["certificates"][0]) == (1, "wrong", "wrong")
        assert "its certificate is not trusted: self-signed certificate" in told["certificates"][1]
        code, told = patient.set(broker_ca_file=authority).say()
        assert (code, told["broker"]) == (0, ("ok", f"mqtts://localhost:{port} accepts our connection"))
        ends = [says for part, _, says in patient.findings if part == "certificates"]
        assert [" in 89 days" in says for says in ends] == [True, True]  # the authority's and the broker's


@pytest.mark.parametrize(("days", "state", "problem"), [(10, "warning", "in 9 days"), (-1, "wrong", "expired on")])
def test_an_expired_or_soon_expiring_certificate_is_reported(patient, tmp_path, days, state, problem):
    with tls_broker(tmp_path, days=days) as (port, authority):
        patient.set(broker=f"mqtts://localhost:{port}", broker_ca_file=authority).say()
        found = [(state, says) for part, state, says in patient.findings if part == "certificates"]
        assert found[0][0] == state
        assert problem in found[0][1]


def test_the_webhook_is_connected_to_without_a_post(patient):
    with receiving() as receiver:
        patient.set(webhook_url=f"http://127.0.0.1:{receiver.port}/T0KEN", webhook_secret=SECRET)
        code, told = patient.say()
        assert (code, told["webhook"]) == (0, ("ok", f"http://127.0.0.1:{receiver.port} accepts connections"))
        assert receiver.posts == []
    part, says = patient.wrong()
    assert (part, "T0KEN" in says, SECRET in says) == ("webhook", False, False)
    patient.set(webhook_secret="short")
    assert "secret is whsec_" in patient.wrong()[1]


def test_a_server_that_does_not_answer_is_given_up_after_a_limit(patient, monkeypatch):
    monkeypatch.setattr(doctors, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        assert patient.set(broker=f"mqtt://127.0.0.1:{silent.getsockname()[1]}").wrong()[0] == "broker"
        assert time.monotonic() - began < 5
