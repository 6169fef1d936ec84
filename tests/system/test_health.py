"""/livez and /readyz of a real daemon: without sign-in, from the first moment, with the parts that are not ready."""

import json
import os
import socket
import urllib.error
import urllib.request

import pytest
from sqlalchemy import select, text

from jackpot.clock import in_seconds
from jackpot.core.commands import Actor, Role
from jackpot.core.site.commands import SignIn
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.systemd import notify
from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, free_port, mosquitto, takes_connections, wait_until

PARTS = ["store", "schema", "broker", "lease", "jackpot/main", "audit", "alarms"]


def get(site, path, method="GET", **headers):
    """Return status, answer and headers of a path, without sign-in."""
    request = urllib.request.Request(f"http://127.0.0.1:{site.http}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as reply:
            return reply.status, json.loads(reply.read() or "null"), reply.headers
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or "null"), error.headers


def unready(site):
    """Return the parts that are not ready."""
    _, answer, _ = get(site, "/readyz")
    return {name for name, part in answer["parts"].items() if not part["ready"]}


def change_store(site, *statements):
    database = Database(site.database)
    with database.transaction() as connection:
        for statement in statements:
            connection.execute(text(statement))
    database.close()


def test_a_serving_daemon_is_live_and_ready_and_names_each_part(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    site.start()
    assert get(site, "/livez")[:2] == (200, {"live": True})
    status, answer, headers = get(site, "/readyz")
    assert (status, answer["ready"], list(answer["parts"])) == (200, True, PARTS)
    assert all(part["ready"] and part["says"] for part in answer["parts"].values())
    assert headers["cache-control"] == "no-store"
    for path in ("/livez", "/readyz"):
        assert get(site, path, "HEAD")[:2] == (200, None)
    proxied = {"X-Forwarded-For": "203.0.113.9"}
    assert get(site, "/readyz", **proxied)[:2] == (200, {"ready": True})
    assert get(site, "/readyz", **proxied, Authorization="Bearer nonsense")[:2] == (200, {"ready": True})
    status, answer, _ = get(site, "/readyz", **proxied, Authorization=f"Bearer {site.tokens[0]}")
    assert (status, list(answer["parts"])) == (200, PARTS)


def test_a_daemon_that_waits_for_its_broker_reports_it_and_answers_only_health_checks(new_site, tmp_path):
    port = free_port()
    site = new_site(port)
    site.start(wait=False)
    wait_until(lambda: takes_connections(site.http))
    assert get(site, "/livez")[0] == 200
    status, answer, headers = wait_until(lambda: get(site, "/readyz"))
    assert (status, answer["code"], headers["content-type"]) == (503, "not_ready", "application/problem+json")
    wait_until(lambda: unready(site) == {"broker", "lease", "jackpot/main"}, "the store to be ready")
    assert "broker" in get(site, "/readyz")[1]["detail"]
    status, answer, _ = get(site, "/readyz", Via="1.1 proxy", Authorization=f"Bearer {site.tokens[0]}")
    assert (status, answer["ready"], "parts" in answer, "broker" in answer["detail"]) == (503, False, False, False)
    status, answer, headers = get(site, "/api/v1/tables")
    assert (status, answer["code"], headers["retry-after"]) == (503, "starting", "2")
    with mosquitto(tmp_path, port):
        site.wait_ready()
        assert get(site, "/readyz")[0] == 200
        assert get(site, "/api/v1/nonsense")[0] == 401


def test_a_lost_broker_is_reported_until_it_is_back(new_site, tmp_path):
    port = free_port()
    with mosquitto(tmp_path, port):
        site = new_site(port)
        site.start()
        assert unready(site) == set()
        assert site.metric('jackpot_broker_connected{jackpot="main"}') == 1
    wait_until(lambda: unready(site) == {"broker", "jackpot/main"}, "the loss to be seen")
    assert get(site, "/readyz")[0] == 503
    assert get(site, "/livez")[0] == 200
    assert site.metric('jackpot_broker_connected{jackpot="main"}') == 0
    with mosquitto(tmp_path, port):
        wait_until(lambda: get(site, "/readyz")[0] == 200, "to be ready again")
        assert site.metric('jackpot_broker_connections_total{jackpot="main"}') == 2


def test_an_unreachable_store_is_reported_and_the_daemon_stays_live(new_site, mosquitto_port, new_client):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        site.start()
        assert get(site, "/readyz")[0] == 200
        server.stop()
        wait_until(lambda: "store" in unready(site), "the loss to be seen")
        assert get(site, "/readyz")[0] == 503
        assert get(site, "/livez")[0] == 200
        server.start()
        wait_until(lambda: get(site, "/readyz")[0] == 200, "to be ready again")
        site.stop()


def test_a_daemon_started_before_its_store_waits_for_it_and_reports_that(new_site, mosquitto_port, new_client):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        client = new_client(mosquitto_port, site.id, "jackpots/#")
        server.stop()
        site.start(wait=False)
        wait_until(lambda: takes_connections(site.http), "HTTP")
        wait_until(lambda: "database not reachable" in site.log, "an attempt in vain")
        status, body, *_ = get(site, "/readyz")
        assert (status, "the start waits for the store" in body["parts"]["store"]["says"]) == (503, True)
        assert get(site, "/livez")[0] == 200
        assert site.process.poll() is None
        server.start()
        site.wait_ready()
        assert get(site, "/readyz")[0] == 200
        assert client.wait("jackpots/main/controller")["state"] == "online"
        assert site.stop() == 0


def test_a_daemon_ends_on_sigterm_while_it_waits_for_its_store(new_site, mosquitto_port):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        server.stop()
        site.start(wait=False)
        wait_until(lambda: "database not reachable" in site.log, "an attempt in vain")
        assert site.stop() == 0


def test_a_daemon_without_its_sqlite_file_is_refused_and_creates_none(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    (site.folder / "jackpot.db").unlink()
    site.start(wait=False)
    assert site.process.wait() == 1
    assert "jackpot.db does not exist" in site.log
    assert not (site.folder / "jackpot.db").exists()


def test_a_server_that_may_lose_commits_is_refused(new_site, mosquitto_port):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        server.stop()
        server.start(fsync="off")
        site.start(wait=False)
        assert site.process.wait() == 1
        assert "fsync is off on the server" in site.log


def test_a_lost_lease_ends_the_daemon_although_no_wager_comes(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    site.start()
    change_store(site, "UPDATE chains SET epoch = epoch + 1 WHERE chain = 'main'")
    assert site.process.wait(timeout=LIMIT_SECONDS) == 1
    assert "another controller has taken over main" in site.log


def test_a_schema_of_another_version_is_reported(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    site.start()
    change_store(site, "UPDATE alembic_version SET version_num = '9999'")
    wait_until(lambda: "schema" in unready(site), "the schema to be seen")


def test_a_wrong_trail_is_reported_but_the_daemon_stays_ready(new_site, mosquitto_port):
    site = new_site(mosquitto_port, VERIFY_MINUTES=0.005)
    site.start()
    wait_until(lambda: site.metric('jackpot_audit_verified_seq{jackpot="main"}') == site.head(), "the verification")
    assert get(site, "/readyz")[1]["parts"]["audit"]["says"].startswith("verified at 20")
    change_store(
        site,
        "DROP TRIGGER events_no_update",
        "UPDATE events SET actor = 'nobody' WHERE chain = 'main' AND seq = 2",
        "UPDATE balances SET balance_cents = balance_cents + 1 WHERE chain = 'main' AND account = 'reserve'",
    )
    wait_until(lambda: unready(site) == {"audit"}, "the verification")
    status, answer, _ = get(site, "/readyz")
    assert (status, answer["ready"]) == (200, True)
    assert "main at" in answer["parts"]["audit"]["says"]
    assert site.metric('jackpot_audit_wrong{jackpot="main"}') == 1
    assert site.metric('jackpot_audit_wrong{jackpot="site"}') == 0
    assert '"trail wrong"' in site.log


@pytest.fixture
def systemd(tmp_path):
    """The socket on which systemd receives notifications."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as received:
        received.bind(str(tmp_path / "notify"))
        received.settimeout(LIMIT_SECONDS)
        yield received


def test_notifying_systemd_never_blocks(systemd, monkeypatch):
    monkeypatch.setitem(os.environ, "NOTIFY_SOCKET", systemd.getsockname())
    for _ in range(1_000):
        notify("WATCHDOG=1")
    assert systemd.recv(1_000) == b"WATCHDOG=1"
    systemd.close()
    notify("WATCHDOG=1")


def test_systemd_is_notified_of_ready_watchdog_and_stopping(new_site, mosquitto_port, systemd, monkeypatch):
    monkeypatch.setitem(os.environ, "NOTIFY_SOCKET", systemd.getsockname())
    monkeypatch.setitem(os.environ, "WATCHDOG_USEC", "200000")
    site = new_site(mosquitto_port)
    site.start(wait=False)
    states = [systemd.recv(1_000).decode()]
    while not states[-1].startswith("READY=1"):
        states.append(systemd.recv(1_000).decode())
    assert states[-1] == "READY=1\nSTATUS=serving main"
    assert [systemd.recv(1_000) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    site.stop()
    while states[-1] != "STOPPING=1":
        states.append(systemd.recv(1_000).decode())


def test_an_unknown_time_zone_is_refused_at_the_start(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    site.settings = site.settings | {"TIMEZONE": "Canberra/Casino"}
    done = site.run("serve")
    assert (done.code, "there is no time zone 'Canberra/Casino'" in done.err) == (1, True), done.err


def test_the_write_ahead_log_is_checkpointed_while_the_daemon_serves(new_site, mosquitto_port, new_client):
    site = new_site(mosquitto_port)
    client = new_client(mosquitto_port, site.id, "tables/#")
    site.start()
    written_at = lambda: (site.folder / "jackpot.db").stat().st_mtime_ns  # noqa: E731
    before = written_at()
    client.command("t1", "c1", "open_round")
    wait_until(lambda: written_at() > before, "the checkpoint")


def test_a_start_with_a_clock_before_the_last_event_is_flagged_and_times_stay_in_order(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    ahead, database = in_seconds(3_600), Database(site.database)
    journal = SiteJournal.open(database, "test")
    journal.execute(SignIn(ahead, Actor("manager1", Role.MANAGER), "::1"))
    database.close()
    site.start()
    of_site = select(tables.events).where(tables.events.c.chain == "site").order_by(tables.events.c.seq)
    wait_until(lambda: site.rows(of_site)[-1].type == "clock_stepped", "the step to be recorded")
    rows = site.rows(of_site)[-3:]
    assert [(row.type, row.at) for row in rows] == [
        ("signed_in", ahead), ("software_started", ahead), ("clock_stepped", ahead)
    ]  # fmt: skip
    assert -3_600 <= json.loads(rows[-1].data)["seconds"] < -3_000
    assert site.metric("jackpot_clock_steps_total") == 1
    assert site.metric('jackpot_alarm{code="clock_stepped",jackpot="site"}') == 1
    status, answer, _ = get(site, "/readyz")
    assert (status, "before the last event" in answer["parts"]["alarms"]["says"]) == (200, True)
    assert site.stop() == 0
    assert site.verified()
