"""The feed of a running daemon: what it says first, what it says later, to how many, and how it ends."""

import asyncio
import contextlib
import itertools
import json
import socket
import time
import urllib.error
import urllib.request

import pytest

from jackpot.identity import software_version
from jackpot.web import sse
from jackpot.web.sse import MAX_CONSOLES, MAX_DISPLAYS, MAX_OF_ONE_ADDRESS, Feed
from tests.support import postgres
from tests.support.daemon import mosquitto, wait_until
from tests.support.feed_client import JackpotView, Listener

ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
STRAIGHT_FLUSH = ["9h", "8h", "7h", "6h", "5h"]


@pytest.fixture
def listen():
    """Makes listeners, and ends them."""
    made = []

    def make(site, **options):
        made.append(Listener(site.http, **options))
        return made[-1]

    yield make
    for listener in made:
        listener.close()


def settled(client, table, number, box, cards):
    """Play a round with one wager, to its settlement."""
    client.command(table, f"o{number}", "open_round")
    client.wager(table, box, f"w{number}", number)
    client.command(table, f"c{number}", "close_wagers", round=number)
    client.command(table, f"d{number}", "declare", round=number, box=box, cards=cards)
    return client.command(table, f"s{number}", "settle", round=number)["payouts"]


def plain_get(site, path):
    """(status, headers, body) of a request."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{site.http}{path}", timeout=20) as reply:
            is_endless = reply.headers.get_content_type() == "text/event-stream"
            return reply.status, reply.headers, b"" if is_endless else reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_a_subscriber_hears_everything_first_and_then_what_changes_and_nothing_twice(floor, listen):
    site, client = floor
    listener = listen(site)
    assert listener.response.headers["Content-Type"].startswith("text/event-stream")
    assert listener.wait("hello").body["version"] == software_version()
    meter = listener.wait("meter").body
    on_the_wire = client.wait("jackpots/main/meter")
    assert {key: meter[key] for key in on_the_wire if key != "as_of"} == {
        key: on_the_wire[key] for key in on_the_wire if key != "as_of"
    }
    assert (meter["fall"], meter["unavailable"]) == (None, None)
    assert listener.wait("wins").body == []
    assert "Royal flush" in listener.wait("prizes").body

    client.command("t1", "c1", "open_round")
    for box in range(1, 8):
        client.wager("t1", box, f"w{box}", 1)
    answered = time.monotonic()
    changed = listener.wait("meter", lambda m: m["amount_cents"] == 1_000_980)
    assert changed.at - answered < 2
    versions = [int(said.id.partition("-")[2]) for said in listener.all if said.id]
    assert versions == sorted(set(versions))
    assert {said.kind for said in listener.all[4:]} == {"meter"}


def test_whoever_comes_again_hears_only_what_it_missed_and_after_a_restart_everything(floor, listen):
    site, client = floor
    first = listen(site)
    last = [first.wait(kind) for kind in ("meter", "wins", "prizes")]
    seen = max(last, key=lambda said: int(said.id.partition("-")[2])).id
    first.close()
    settled(client, "t1", 1, 3, ["Kh", "Jh", "4h", "3h", "2h"])
    again = listen(site, last_event_id=seen)
    assert again.wait("wins").body[0]["hand_name"] == "Flush"
    again.wait("meter")
    assert [said for said in again.all if said.kind == "prizes"] == []
    site.stop()
    site.start()
    anew = listen(site, last_event_id=again.all[-1].id)
    assert anew.wait("prizes")
    assert listen(site, last_event_id="x" * 90).wait("prizes")


def test_in_silence_a_heartbeat_comes_at_least_every_five_seconds(floor, listen):
    site, _ = floor
    listener = listen(site)
    listener.wait("prizes")
    for _ in range(2):
        listener.wait("heartbeat")
    assert max(later.at - earlier.at for earlier, later in itertools.pairwise(listener.all)) <= 5


def test_the_reason_of_the_last_fall_comes_with_the_meter_also_after_a_restart(floor, listen):
    site, client = floor
    listener = listen(site)

    def fall(reason):
        told = listener.wait("meter", lambda m: m["fall"] and m["fall"]["reason"] == reason).body
        event = site.events()[told["fall"]["seq"] - 1]
        assert any(transfer.source == "jackpot" for transfer in event.transfers)
        return event.type.value

    client.command("t2", "c1", "open_round")
    client.wager("t2", 1, "w1", 1)
    client.command("t2", "c2", "void_hand", round=1, box=1, reason="a test")
    assert fall("void") == "hand_voided"
    settled(client, "t1", 1, 3, ROYAL)
    assert fall("win") == "round_settled"
    site.act("rounds/t1/1/correct", {"hands": {"3": STRAIGHT_FLUSH}, "reason": "a test"})
    assert fall("correction") == "round_corrected"  # the reset is undone
    site.act("rounds/t1/1/void", {"reason": "a test"})
    assert fall("void") == "round_voided"
    client.command("t2", "c3", "close_wagers", round=1)
    client.command("t2", "c4", "settle", round=1)
    site.stop()

    manager, other = site.tokens
    moved = ("adjustment", "propose", "jackpot", "reserve", "100", "--reason", "a test", "--token", manager)
    proposal = site.answer(*moved)["proposal"]
    site.answer("adjustment", "approve", str(proposal), "--token", other)
    head = site.head()
    site.start()
    listener = listen(site)
    assert fall("adjustment") == "adjustment_approved"
    assert listener.all[1].body["fall"]["seq"] == head
    assert listener.all[1].body["amount_cents"] == site.answer("pools")[0]["meter_cents"]


def test_wins_come_with_their_status_and_are_known_after_a_restart(floor, listen):
    site, client = floor
    listener = listen(site)
    settled(client, "t1", 1, 3, ROYAL)
    (win,) = listener.wait("wins", lambda wins: wins).body
    assert (win["status"], win["text"], win["grand"], win["box"]) == ("pending", "$10,001.40", True, 3)
    assert win["win_id"] == client.wait("jackpots/main/wins")["win_id"]
    site.act("rounds/t1/1/confirm")
    assert listener.wait("wins").body == [{**win, "status": "paid"}]
    settled(client, "t2", 1, 2, STRAIGHT_FLUSH)
    (pending, _) = listener.wait("wins").body
    site.act("rounds/t2/1/correct", {"hands": {"2": None}, "reason": "a test"})
    assert [one["status"] for one in listener.wait("wins").body] == ["corrected", "paid"]
    site.kill()
    site.start()
    assert listen(site).wait("wins").body == [{**pending, "status": "corrected"}, {**win, "status": "paid"}]


def test_the_meter_is_unavailable_while_all_tables_are_suspended(floor, listen):
    site, client = floor
    listener = listen(site)
    for table in ("t1", "t2", "t3"):
        client.command(table, "m1", "report_malfunction", equipment="shoe", note="a test")
    assert listener.wait("meter", lambda m: m["unavailable"]).body["unavailable"] == "suspended"
    site.act("tables/t2/resume", {"note": "a test"})
    assert listener.wait("meter", lambda m: m["unavailable"] is None).body["state"] == "live"


def test_the_meter_is_unavailable_while_the_broker_is_away(tmp_path, new_site, listen):
    running = mosquitto(tmp_path)
    port = running.__enter__()
    try:
        site = new_site(port)
        site.start()
        listener = listen(site)
        listener.wait("meter", lambda m: m["unavailable"] is None)
        running.__exit__(None, None, None)
        assert listener.wait("meter", lambda m: m["unavailable"]).body["unavailable"] == "broker"
        running = mosquitto(tmp_path, port)
        running.__enter__()
        listener.wait("meter", lambda m: m["unavailable"] is None)
    finally:
        running.__exit__(None, None, None)


def test_the_meter_is_unavailable_while_the_store_fails(mosquitto_port, new_site, new_client, listen):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        client = new_client(mosquitto_port, site.id, "tables/#", "jackpots/#")
        site.start()
        client.command("t1", "c1", "open_round")
        listener = listen(site)
        listener.wait("meter", lambda m: m["unavailable"] is None)
        server.stop()
        client.say("tables/t1/pads/2/wager", {"wager_id": "w2", "round": 1, "amount_cents": 200, "ante": True})
        assert listener.wait("meter", lambda m: m["unavailable"]).body["unavailable"] == "store"
        server.start()
        assert listener.wait("meter", lambda m: m["unavailable"] != "store").body["unavailable"] == "suspended"
        for table in ("t1", "t2", "t3"):
            wait_until(lambda table=table: site.act(f"tables/{table}/resume")[0] == 200, "the table's resume")
        listener.wait("meter", lambda m: m["unavailable"] is None)
        assert site.stop() == 0


def test_a_jackpot_that_is_not_there_is_a_problem_on_the_feed_and_a_page_for_people(floor):
    site, _ = floor
    status, headers, body = plain_get(site, "/display/nothing/feed")
    assert (status, headers["Content-Type"]) == (404, "application/problem+json")
    assert json.loads(body)["code"] == "unknown_jackpot"
    status, headers, body = plain_get(site, "/display/%3Cb%3Enothing")
    assert (status, headers.get_content_type()) == (404, "text/html")
    assert b"&lt;b&gt;nothing" in body


def test_every_answer_says_what_a_page_may_load_and_what_may_be_kept(floor, listen):
    site, _ = floor
    kept = {"/display/main": "no-store", "/api/v1/nothing": "no-store", "/static/display.js": "no-cache"}
    answers = {path: plain_get(site, path)[1] for path in kept}
    answers["/display/main/feed"] = listen(site).response.headers
    for path, headers in answers.items():
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "style-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == kept.get(path, "no-store")


class Crowd:
    """Connections that are fed, from any address of this machine, as displays or as consoles."""

    def __init__(self, site):
        self.site, self.taken = site, []

    def display(self, address="127.0.0.1"):
        """The status that one more display at this address is answered."""
        return self._ask("/display/main/feed", "", address)

    def console(self):
        """The status that one more console is answered."""
        return self._ask("/console/feed", f"Authorization: Bearer {self.site.tokens[0]}\r\n", "127.0.0.1")

    def _ask(self, path, header, address):
        connection = socket.create_connection(("127.0.0.1", self.site.http), 20, (address, 0))
        self.taken.append(connection)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
        return int(connection.recv(12)[-3:])

    def close(self):
        for connection in self.taken:
            connection.close()


@pytest.fixture
def crowd(floor):
    made = Crowd(floor[0])
    yield made
    made.close()


def fed(site):
    return {kind: site.metric(f'jackpot_feed_subscribers{{kind="{kind}"}}') for kind in ("display", "console")}


def test_displays_are_bounded_refused_beyond_counted_and_forgotten_when_they_go(floor, crowd):
    site, _ = floor
    for _ in range(MAX_OF_ONE_ADDRESS):
        assert crowd.display() == 200
    assert crowd.display() == 503  # an address that takes too much leaves others a place
    for _ in range(MAX_DISPLAYS - MAX_OF_ONE_ADDRESS):
        assert crowd.display("127.0.0.2") == 200
    assert fed(site) == {"display": MAX_DISPLAYS, "console": 0}
    assert crowd.display("127.0.0.3") == 503
    status, headers, body = plain_get(site, "/display/main/feed")
    assert (status, headers["Content-Type"]) == (503, "application/problem+json")
    assert int(headers["Retry-After"]) > 0
    assert json.loads(body)["code"] == "too_many_subscribers"
    assert site.metric('jackpot_feed_refused_total{kind="display"}') == 3
    crowd.taken[0].close()
    wait_until(lambda: fed(site)["display"] == MAX_DISPLAYS - 1, "the loss of one")
    assert crowd.display() == 200
    crowd.close()
    wait_until(lambda: site.metric("jackpot_feed_subscribers") == 0, "the loss of all")
    assert site.stop() == 0
    assert "Traceback" not in site.log


def test_however_many_displays_there_are_whoever_has_signed_in_is_fed(floor, crowd):
    site, _ = floor
    displays = [crowd.display(f"127.0.0.{2 + n % 2}") for n in range(MAX_DISPLAYS + 10)]
    assert displays == [200] * MAX_DISPLAYS + [503] * 10
    assert [crowd.console() for _ in range(MAX_CONSOLES)] == [200] * MAX_CONSOLES
    assert crowd.console() == 503
    assert fed(site) == {"display": MAX_DISPLAYS, "console": MAX_CONSOLES}
    assert site.metric('jackpot_feed_refused_total{kind="console"}') == 1


def test_a_stop_takes_less_than_two_seconds_with_fifty_streams_open_and_each_hears_goodbye(floor, listen):
    site, _ = floor
    listeners = [listen(site) for _ in range(50)]
    for listener in listeners:
        listener.wait("prizes")
    began = time.monotonic()
    assert site.stop() == 0
    assert time.monotonic() - began < 2
    for listener in listeners:
        listener.wait_for_end()
        assert listener.all[-1].kind == "goodbye"
    assert "Traceback" not in site.log


async def never(*_args):
    await asyncio.Event().wait()


@pytest.mark.parametrize("pace", [0.05, 0.25, 0.3])
def test_who_looks_seldom_hears_a_heartbeat_all_the_same(monkeypatch, pace):
    """Where many are fed, each looks less often: silence must not grow with it."""
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.4)
    monkeypatch.setattr(Feed, "pace_seconds", pace)

    async def run():
        said_at = []

        async def send(message):
            said_at.append(time.monotonic())

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await Feed("1").stream(JackpotView(), ("meter",), None)({"type": "http"}, never, send)
        return [later - sooner for sooner, later in itertools.pairwise(said_at)]

    silences = asyncio.run(run())
    assert len(silences) > 3
    assert max(silences) < 0.5, silences


def test_a_subscriber_that_takes_nothing_in_is_given_up(monkeypatch):
    monkeypatch.setattr(sse, "STUCK_SECONDS", 0.1)

    async def run():
        stream = Feed("1").stream(JackpotView(b"news"), ("meter",), None)
        started = []

        async def send(message):
            if started:
                await never()
            started.append(message)

        async with asyncio.timeout(5):
            await stream({"type": "http"}, never, send)
        return started

    assert len(asyncio.run(run())) == 1
