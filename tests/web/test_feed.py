"""The feed of a running daemon: first events, changes, limits on subscribers, and its end."""

import asyncio
import contextlib
import itertools
import json
import selectors
import socket
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest

from jackpot.identity import software_version
from jackpot.web import sse
from jackpot.web.sse import MAX_CONSOLES, MAX_DISPLAYS, MAX_DISPLAYS_PER_ADDRESS, FeedSubscriber, SseFeed
from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, mosquitto, wait_until
from tests.support.feed_client import FixedView, Listener

ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
STRAIGHT_FLUSH = ["9h", "8h", "7h", "6h", "5h"]


@pytest.fixture
def listen():
    """Return a function that subscribes to a feed; its listeners are closed at the end."""
    listeners = []

    def subscribe(site, **options):
        listeners.append(Listener(site.http, **options))
        return listeners[-1]

    yield subscribe
    for listener in listeners:
        listener.close()


def settled(client, table, number, box, cards):
    """Play a round with one wager to its settlement; return the payouts."""
    client.command(table, f"o{number}", "open_round")
    client.wager(table, box, f"w{number}", number)
    client.command(table, f"c{number}", "close_wagers", round=number)
    client.command(table, f"d{number}", "declare", round=number, box=box, cards=cards)
    return client.command(table, f"s{number}", "settle", round=number)["payouts"]


def plain_get(site, path):
    """Return (status, headers, body) of a request; no body for a feed."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{site.http}{path}", timeout=LIMIT_SECONDS) as reply:
            is_endless = reply.headers.get_content_type() == "text/event-stream"
            return reply.status, reply.headers, b"" if is_endless else reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_a_subscriber_gets_all_fragments_first_then_only_changes(floor, listen):
    site, client = floor
    listener = listen(site)
    assert listener.response.headers["Content-Type"].startswith("text/event-stream")
    assert listener.wait("hello").body["version"] == software_version()
    meter = listener.wait("meter").body
    published = client.wait("jackpots/main/meter")
    assert {key: meter[key] for key in published if key != "as_of"} == {
        key: published[key] for key in published if key != "as_of"
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
    versions = [int(event.id.partition("-")[2]) for event in listener.all if event.id]
    assert versions == sorted(set(versions))
    assert {event.kind for event in listener.all[4:]} == {"meter"}


def test_a_subscriber_that_reconnects_gets_the_missed_changes_and_after_a_restart_everything(floor, listen):
    site, client = floor
    first = listen(site)
    last = [first.wait(kind) for kind in ("meter", "wins", "prizes")]
    seen = max(last, key=lambda event: int(event.id.partition("-")[2])).id
    first.close()
    settled(client, "t1", 1, 3, ["Kh", "Jh", "4h", "3h", "2h"])
    again = listen(site, last_event_id=seen)
    assert again.wait("wins").body[0]["hand_name"] == "Flush"
    again.wait("meter")
    assert [event for event in again.all if event.kind == "prizes"] == []
    site.stop()
    site.start()
    listen(site, last_event_id=again.all[-1].id).wait("prizes")
    listen(site, last_event_id="x" * 90).wait("prizes")


def test_without_changes_a_heartbeat_comes_at_least_every_five_seconds(floor, listen):
    site, _ = floor
    listener = listen(site)
    listener.wait("prizes")
    for _ in range(2):
        listener.wait("heartbeat")
    assert max(later.at - earlier.at for earlier, later in itertools.pairwise(listener.all)) <= 5


def test_the_meter_shows_the_reason_of_its_last_fall_also_after_a_restart(floor, listen):
    site, client = floor
    listener = listen(site)

    def fall(reason):
        meter = listener.wait("meter", lambda m: m["fall"] and m["fall"]["reason"] == reason).body
        event = site.events()[meter["fall"]["seq"] - 1]
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


def test_wins_show_their_status_and_are_known_after_a_restart(floor, listen):
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


def test_the_meter_is_unavailable_while_the_broker_is_down(tmp_path, new_site, listen):
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
        client.publish("tables/t1/pads/2/wager", {"wager_id": "w2", "round": 1, "amount_cents": 200, "ante": True})
        assert listener.wait("meter", lambda m: m["unavailable"]).body["unavailable"] == "store"
        server.start()
        assert listener.wait("meter", lambda m: m["unavailable"] != "store").body["unavailable"] == "suspended"
        for table in ("t1", "t2", "t3"):
            wait_until(lambda table=table: site.act(f"tables/{table}/resume")[0] == 200, "the table's resume")
        listener.wait("meter", lambda m: m["unavailable"] is None)
        assert site.stop() == 0


def test_an_unknown_jackpot_is_a_problem_on_the_feed_and_a_page_on_the_display(floor):
    site, _ = floor
    status, headers, body = plain_get(site, "/display/nothing/feed")
    assert (status, headers["Content-Type"]) == (404, "application/problem+json")
    assert json.loads(body)["code"] == "unknown_jackpot"
    status, headers, body = plain_get(site, "/display/%3Cb%3Enothing")
    assert (status, headers.get_content_type()) == (404, "text/html")
    assert b"&lt;b&gt;nothing" in body


def test_every_response_has_its_content_policy_and_caching_headers(floor, listen):
    site, _ = floor
    caching = {"/display/main": "no-store", "/api/v1/nothing": "no-store", "/static/display.js": "no-cache"}
    answers = {path: plain_get(site, path)[1] for path in caching}
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
        assert headers["Cache-Control"] == caching.get(path, "no-store")


class Crowd:
    """Subscribers from any address of this machine, as displays or as consoles."""

    def __init__(self, site):
        self.site, self.connections = site, []

    def display(self, address="127.0.0.1"):
        """Subscribe one more display at this address; return the status."""
        return self._subscribe("/display/main/feed", "", address)

    def console(self):
        """Subscribe one more console; return the status."""
        return self._subscribe("/console/feed", f"Authorization: Bearer {self.site.tokens[0]}\r\n", "127.0.0.1")

    def _subscribe(self, path, header, address):
        connection = socket.create_connection(("127.0.0.1", self.site.http), LIMIT_SECONDS, (address, 0))
        self.connections.append(connection)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{header}\r\n".encode())
        return int(connection.recv(12)[-3:])

    def close(self):
        for connection in self.connections:
            connection.close()


@pytest.fixture
def crowd(floor):
    made = Crowd(floor[0])
    yield made
    made.close()


def subscribers(site):
    return {kind: site.metric(f'jackpot_feed_subscribers{{kind="{kind}"}}') for kind in ("display", "console")}


def test_the_number_of_displays_is_limited_in_all_and_per_address(floor, crowd):
    site, _ = floor
    for _ in range(MAX_DISPLAYS_PER_ADDRESS):
        assert crowd.display() == 200
    assert crowd.display() == 503  # other addresses still have places
    for _ in range(MAX_DISPLAYS - MAX_DISPLAYS_PER_ADDRESS):
        assert crowd.display("127.0.0.2") == 200
    assert subscribers(site) == {"display": MAX_DISPLAYS, "console": 0}
    assert crowd.display("127.0.0.3") == 503
    status, headers, body = plain_get(site, "/display/main/feed")
    assert (status, headers["Content-Type"]) == (503, "application/problem+json")
    assert int(headers["Retry-After"]) > 0
    assert json.loads(body)["code"] == "too_many_subscribers"
    assert site.metric('jackpot_feed_refused_total{kind="display"}') == 3
    crowd.connections[0].close()
    wait_until(lambda: subscribers(site)["display"] == MAX_DISPLAYS - 1, "the end of one")
    assert crowd.display() == 200
    crowd.close()
    wait_until(lambda: site.metric("jackpot_feed_subscribers") == 0, "the end of all")
    assert site.stop() == 0
    assert "Traceback" not in site.log


def test_consoles_have_places_that_displays_cannot_take(floor, crowd):
    site, _ = floor
    displays = [crowd.display(f"127.0.0.{2 + n % 2}") for n in range(MAX_DISPLAYS + 10)]
    assert displays == [200] * MAX_DISPLAYS + [503] * 10
    assert [crowd.console() for _ in range(MAX_CONSOLES)] == [200] * MAX_CONSOLES
    assert crowd.console() == 503
    assert subscribers(site) == {"display": MAX_DISPLAYS, "console": MAX_CONSOLES}
    assert site.metric('jackpot_feed_refused_total{kind="console"}') == 1


def test_a_stop_ends_fifty_open_streams_within_two_seconds(floor, listen):
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


class _SkippingSelector(selectors.DefaultSelector):
    """A selector that does not wait: it moves a virtual clock forward by the time it would have waited."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0.0
        return super().select(0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time: hours pass in an instant, exactly."""

    def __init__(self):
        self.clock = _SkippingSelector()
        super().__init__(self.clock)

    def time(self):
        return self.clock.now


@pytest.mark.parametrize("others", [0, 100, 200, MAX_DISPLAYS])
def test_the_time_between_heartbeats_does_not_grow_with_the_number_of_subscribers(monkeypatch, others):
    """With many subscribers each polls less often, but a heartbeat must not come later for that."""
    sent_at = []

    async def run(loop):
        async def send(message):
            sent_at.append(loop.time())

        feed = SseFeed("1")
        with contextlib.suppress(TimeoutError), contextlib.ExitStack() as subscriptions:
            for _ in range(others):
                subscriptions.enter_context(feed.subscription(FeedSubscriber("10.0.0.7", signed_in=True)))
            async with asyncio.timeout(600):
                await feed.stream(FixedView(), ("meter",), None)({"type": "http"}, never, send)

    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        monkeypatch.setattr(sse, "time", SimpleNamespace(monotonic=runner.get_loop().time))
        runner.run(run(runner.get_loop()))
    silences = [later - sooner for sooner, later in itertools.pairwise(sent_at)]
    assert len(silences) > 100
    assert max(silences) <= sse.HEARTBEAT_SECONDS


def test_a_stream_that_is_not_read_is_ended(monkeypatch):
    monkeypatch.setattr(sse, "SEND_SECONDS", 0.1)

    async def run():
        stream = SseFeed("1").stream(FixedView(b"change"), ("meter",), None)
        started = []

        async def send(message):
            if started:
                await never()
            started.append(message)

        async with asyncio.timeout(LIMIT_SECONDS):
            await stream({"type": "http"}, never, send)
        return started

    assert len(asyncio.run(run())) == 1
