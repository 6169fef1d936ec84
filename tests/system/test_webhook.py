"""Notices by webhook from a real daemon to a real receiver, with failures of both."""

import statistics
import time

import pytest
from sqlalchemy import text

from jackpot.store import outbox
from jackpot.store.database import Database
from tests.support.daemon import free_port, wait_until
from tests.support.webhook_receiver import SECRET, receiving

EVERYTHING = ("tables/#", "jackpots/#")
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]


@pytest.fixture
def receiver():
    with receiving() as made:
        yield made


@pytest.fixture
def new_floor(new_site, new_client, mosquitto_port):
    """Return a function that starts a daemon that posts to this port, and a client that receives all its messages."""

    def make(port, **settings):
        settings = {"WEBHOOK_URL": f"http://127.0.0.1:{port}/pit", "WEBHOOK_SECRET": SECRET, **settings}
        site = new_site(mosquitto_port, **settings)
        client = new_client(mosquitto_port, site.id, *EVERYTHING)
        site.start()
        return site, client

    return make


def malfunction(client, table):
    client.command(table, f"{table}-broken", "report_malfunction", equipment="pad 2", note="dark")


def types(posts):
    return [post.payload["type"] for post in posts]


def waiting(site):
    database = Database(site.database)
    try:
        return outbox.depth(database).waiting
    finally:
        database.close()


def test_a_pending_win_a_malfunction_an_advance_and_a_low_reserve_are_posted(new_floor, receiver):
    site, client = new_floor(receiver.port, RESERVE_FLOOR_CENTS=1_995_000)
    assert site.metric("jackpot_reserve_floor_cents") == 1_995_000
    client.play("t1", 1, ROYAL)  # the reset takes $10,000 from the reserve
    malfunction(client, "t2")
    posts = receiver.wait(3)
    assert types(posts) == ["win.pending", "reserve.low", "table.suspended"]
    assert all(post.is_signed() and post.path == "/pit" for post in posts)
    win, low, broken = (post.payload["data"] for post in posts)
    assert win == {
        "site": site.id, "jackpot": "main", "table": "t1", "round": 1, "seq": win["seq"],
        "payouts": [
            {"box": 3, "hand": "royal_flush", "amount_cents": 1_000_140, "clause": "NI2016-268 r 11.1(a)"}
        ],
    }  # fmt: skip
    assert low["reserve_cents"] == 1_000_060 < low["reserve_floor_cents"]
    assert (broken["table"], broken["cause"], broken["note"]) == ("t2", "dealer_report", "dark")
    client.play("t3", 1, ROYAL)  # this reset takes nearly all of the rest
    assert types(receiver.wait(4))[3:] == ["win.pending"]
    assert site.act("rounds/t3/1/confirm")[0] == 200
    client.play("t3", 2, ROYAL)
    posts = receiver.wait(6)
    assert types(posts)[4:] == ["win.pending", "house.advanced"]
    advanced = posts[5].payload["data"]
    assert advanced["owed_cents"] == 3_000_000 + advanced["advanced_cents"]
    wait_until(lambda: site.metric('jackpot_webhook_notices_total{outcome="delivered"}') == 6)
    wait_until(lambda: waiting(site) == 0)
    assert site.metric("jackpot_webhook_oldest_age_seconds") == 0
    assert SECRET.removeprefix("whsec_") not in site.log
    assert "/pit" not in site.log


def test_a_low_reserve_is_posted_at_the_start_once_for_each_raised_floor(new_floor, receiver):
    site, client = new_floor(receiver.port)

    def start_with(floor_cents):
        wait_until(lambda: waiting(site) == 0)  # all posts are recorded
        site.stop()
        site.settings |= {"RESERVE_FLOOR_CENTS": floor_cents}
        site.start()

    start_with(3_000_000)
    (low,) = receiver.wait(1)
    assert (low.payload["type"], low.payload["data"]["seq"]) == ("reserve.low", site.head())
    assert (low.payload["data"]["reserve_cents"], low.payload["data"]["reserve_floor_cents"]) == (2_000_000, 3_000_000)
    start_with(3_000_000)  # nothing changed
    start_with(4_000_000)  # it was already below
    start_with(1_000)
    malfunction(client, "t1")
    assert types(receiver.wait(2)) == ["reserve.low", "table.suspended"]
    start_with(2_000_001)
    assert types(receiver.wait(3))[2:] == ["reserve.low"]
    wait_until(lambda: waiting(site) == 0)
    assert len({post.id for post in receiver.posts}) == len(receiver.posts) == 3
    assert site.verified()


def test_after_errors_and_a_kill_every_notice_is_posted_with_one_id(new_floor, receiver):
    receiver.answers = [500] * 1_000
    site, client = new_floor(receiver.port)
    malfunction(client, "t1")
    client.play("t2", 1, ROYAL)
    failed = receiver.wait(2, status=500)
    wait_until(lambda: site.metric('jackpot_webhook_notices_total{outcome="failed"}') >= 2)
    wait_until(lambda: site.metric("jackpot_webhook_waiting_notices") == 2)
    assert site.metric("jackpot_webhook_oldest_age_seconds") > 0
    site.kill()
    receiver.answers = []
    site.start()
    done = receiver.wait(2, status=204)
    wait_until(lambda: waiting(site) == 0)
    assert types(done) == ["table.suspended", "win.pending"]
    assert failed[0].id == done[0].id
    assert len({post.id for post in receiver.posts}) == 2
    assert len(receiver.wait(2, status=204)) == 2
    assert site.verified()


def test_a_daemon_killed_before_it_records_a_post_repeats_it_with_the_same_id(new_floor, receiver):
    """The receiver has the notice, but the outbox has not recorded it."""
    receiver.answers = [(204, {"seconds": 30})]
    site, client = new_floor(receiver.port)
    malfunction(client, "t1")
    receiver.wait(1)
    site.kill()
    site.start()
    first, again = receiver.wait(2)
    assert (first.id, first.body) == (again.id, again.body)
    wait_until(lambda: waiting(site) == 0)


def test_an_unreachable_or_slow_receiver_delays_no_lamp(new_floor, receiver):
    """First no server at the port, then one that accepts the connection and answers late."""
    port = free_port()
    _, client = new_floor(port)
    for table in ("t1", "t2"):
        malfunction(client, table)

    def lamps(number):
        client.command("t3", f"open-{number}", "open_round")
        took = []
        for box in range(1, 8):
            began = time.perf_counter()
            assert client.wager("t3", box, f"w{number}", number)["lit"]
            took.append(time.perf_counter() - began)
        client.command("t3", f"void-{number}", "void_round", round=number, reason="a test")
        return statistics.median(took)

    assert lamps(1) < 2
    with receiving(port=port) as silent:
        silent.answers = [(204, {"seconds": 5})]
        silent.wait(1)
        assert lamps(2) < 2
        assert types(silent.wait(2)) == ["table.suspended", "table.suspended"]


def test_a_wrong_trail_is_posted_once(new_floor, receiver):
    site, client = new_floor(receiver.port, VERIFY_MINUTES=0.005)
    client.command("t1", "c1", "open_round")
    wait_until(lambda: site.metric('jackpot_audit_verified_seq{jackpot="main"}') == site.head(), "the verification")
    database = Database(site.database)
    with database.transaction() as connection:
        connection.execute(text("UPDATE balances SET balance_cents = 1 WHERE account = 'reserve'"))
    database.close()
    (post,) = receiver.wait(1)
    assert (post.payload["type"], post.payload["data"]["jackpot"]) == ("trail.wrong", "main")
    assert "the balance of reserve is 1" in post.payload["data"]["problem"]
    again = site.log.count('"trail wrong"') + 2
    wait_until(lambda: site.log.count('"trail wrong"') >= again, "two more verifications")
    assert len(receiver.posts) == 1


REFUSED = [
    ({"WEBHOOK_URL": "http://127.0.0.1/x"}, "a webhook needs a secret"),
    ({"WEBHOOK_URL": "nonsense", "WEBHOOK_SECRET": SECRET}, "webhook_url is not valid"),
    ({"WEBHOOK_URL": "http://h/", "WEBHOOK_SECRET_FILE": "missing"}, "webhook_secret_file"),
]


def test_a_webhook_that_cannot_work_is_refused_at_the_start(new_site, mosquitto_port):
    site = new_site(mosquitto_port)
    usual = site.settings
    for settings, problem in REFUSED:
        site.settings = usual | settings
        done = site.run("serve")
        assert (done.code, problem in done.err) == (2, True), done.err


def test_the_secret_may_be_in_a_file(new_floor, receiver, tmp_path):
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    _, client = new_floor(receiver.port, WEBHOOK_SECRET="", WEBHOOK_SECRET_FILE=file)
    malfunction(client, "t1")
    (post,) = receiver.wait(1)
    assert post.is_signed()
