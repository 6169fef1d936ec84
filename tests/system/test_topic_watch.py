"""The controller's own topics over real brokers: what others publish there is overwritten, counted and an alarm."""

import json
import threading
import time
import urllib.request
from contextlib import contextmanager

import paho.mqtt.client as paho
import pytest

from tests.support.daemon import LIMIT_SECONDS, mosquitto, wait_until

EVERYTHING = ("tables/#", "jackpots/#")
FAKES = {
    "tables/t1/pads/3/lamp": ("lamp", {"round": 1, "lit": True, "wager_id": "x", "answer": None}),
    "tables/t1/state": ("state", {"round": 1, "phase": "closed"}),
    "jackpots/main/meter": ("meter", {"jackpot": "main", "amount_cents": 99, "state": "live"}),
    "jackpots/main/controller": ("controller", {"state": "online", "x": 1}),
}
HUGE_EPOCH = 2**53 - 2


@pytest.fixture
def floor(port, new_site, new_client):
    """A daemon with an open round, and a client that receives all its messages."""
    site = new_site(port)
    client = new_client(port, site.id, *EVERYTHING)
    site.start()
    client.command("t1", "open", "open_round")
    wait_until(lambda: "own topics watched" in site.log, "the watch")
    return site, client


def foreign(site, kind=""):
    """The number of foreign messages counted so far."""
    return site.metric(f'jackpot_foreign_messages_total{{jackpot="main",kind="{kind}')


def alarm(site, code):
    return site.metric(f'jackpot_alarm{{code="{code}",jackpot="main"}}')


def retained(new_client, port, site, topic):
    """The message that a new client gets on a topic."""
    return new_client(port, site.id, topic).wait(topic)


@pytest.mark.parametrize("wiped", [False, True])
def test_a_foreign_message_is_overwritten_counted_and_raises_an_alarm(floor, port, new_client, wiped):
    site, client = floor
    client.wager("t1", 3, "w1", 1)
    epoch = client.last("jackpots/main/controller")["epoch"]
    client.wait("tables/t1/state", lambda state: state["lit"] == [3])
    client.wait("jackpots/main/meter", lambda meter: meter["amount_cents"] == 1_000_140)
    truths = {topic: client.last(topic) for topic in FAKES}
    for topic, (kind, fake) in FAKES.items():
        client.skip()
        client.publish(topic, b"" if wiped else {**fake, "epoch": epoch, "seq": 1}, retain=True)
        wait_until(lambda kind=kind: foreign(site, kind) == 1, f"the count of a foreign {kind}")
        wait_until(lambda topic=topic: is_overwritten(client, topic, truths[topic]), f"the overwriting of {topic}")
    assert retained(new_client, port, site, "tables/t1/pads/3/lamp")["wager_id"] == "w1"
    assert alarm(site, "foreign_message") == 1
    assert site.log.count('"foreign message"') == len(FAKES)
    says = next(line for line in map(json.loads, site.log.splitlines()) if line["event"] == "alarm")
    assert f"{client.root}/tables/t1/pads/3/lamp" in says["problem"]


def is_overwritten(client, topic, truth):
    """Whether the newest message on a topic says what the controller said before."""
    last = client.last(topic)
    fields = set(truth) - {"seq", "as_of", "answer", "epoch"}
    return last is not None and {name: last.get(name) for name in fields} == {name: truth[name] for name in fields}


def test_own_messages_are_never_foreign(floor, port, new_client):
    site, client = floor
    for box in range(1, 8):
        client.wager("t1", box, f"w{box}", 1)
    site.kill()
    site.start()
    client.command("t1", "close", "close_wagers", round=1)
    client.command("t1", "settle", "settle", round=1)
    client.publish("jackpots/main/controller", {"state": "offline", "epoch": 1}, retain=True)  # a late will
    client.wait("jackpots/main/controller", lambda c: c["state"] == "online" and c["epoch"] > 1)
    for number in range(2, 5):
        client.play("t1", number, ["Kh", "Jh", "4h", "3h", "2h"])
    assert retained(new_client, port, site, "tables/t1/state")["round"] == 4
    assert foreign(site) == 0
    assert alarm(site, "foreign_message") == 0


def test_a_foreign_message_that_is_ahead_of_the_controller_does_not_hide_the_truth(floor):
    site, client = floor
    client.wager("t1", 3, "w1", 1)
    fake = {"round": 1, "lit": False, "wager_id": None, "answer": None}
    before = client.last("tables/t1/pads/3/lamp")
    client.publish("tables/t1/pads/3/lamp", {**fake, "epoch": before["epoch"], "seq": 10**6}, retain=True)
    lit = client.wait("tables/t1/pads/3/lamp", lambda lamp: lamp["lit"] and lamp["epoch"] > before["epoch"])
    assert lit["wager_id"] == "w1"
    assert foreign(site, "lamp") == 1


def test_an_epoch_far_beyond_the_lease_is_overwritten_and_not_adopted(floor):
    site, client = floor
    epoch = client.last("jackpots/main/controller")["epoch"]
    client.publish("jackpots/main/controller", {"state": "online", "epoch": HUGE_EPOCH}, retain=True)
    client.wait("jackpots/main/controller", lambda c: c["epoch"] == HUGE_EPOCH)
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"] == epoch
    assert alarm(site, "epoch_refused") == 1
    site.stop()
    client.publish("jackpots/main/controller", {"state": "offline", "epoch": HUGE_EPOCH}, retain=True)
    client.wait("jackpots/main/controller", lambda c: c["epoch"] == HUGE_EPOCH)
    site.start()
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"] == epoch + 1
    assert alarm(site, "epoch_refused") == 1
    assert client.command("t1", "close", "close_wagers", round=1)["ok"]


def test_a_stolen_client_id_is_an_alarm_and_wagers_are_answered_all_the_same(floor, port):
    site, client = floor
    with thief(port, f"jackpot-{site.id}-main"):
        wait_until(lambda: alarm(site, "client_id_taken"), "the alarm")
        for n in range(1, 8):
            answer = send_until_answered(client, n)
            assert answer["verdict"] == "accepted"


def send_until_answered(client, box):
    """Send a wager as a pad does: again after a second without an answer."""
    topic, body = f"tables/t1/pads/{box}/wager", {"wager_id": f"w{box}", "round": 1, "amount_cents": 200, "ante": True}
    until = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < until:
        client.publish(topic, body)
        try:
            lamp = client.wait(f"tables/t1/pads/{box}/lamp", lambda lamp: lamp["answer"] is not None, seconds=1)
        except AssertionError:
            continue
        return lamp["answer"]
    raise AssertionError("the wager was not answered")


@contextmanager
def thief(port, client_id):
    """A client that connects with somebody else's id every 0.3 s."""
    ended = threading.Event()

    def steal():
        while not ended.wait(0.3):
            client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=client_id)
            client.connect("127.0.0.1", port, 60)
            client.loop_start()
            ended.wait(0.05)
            client.loop_stop()
            client.socket() and client.socket().close()

    thread = threading.Thread(target=steal)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_the_alarm_of_a_stolen_client_id_names_the_address_where_the_broker_reports_it(tmp_path, new_site):
    with mosquitto(tmp_path, settings="log_type notice\nlog_dest topic\n") as port:
        site = new_site(port)
        site.start()
        wait_until(lambda: "own topics watched" in site.log, "the watch")
        with thief(port, f"jackpot-{site.id}-main"):
            wait_until(lambda: "connects from 127.0.0.1:" in site.log, "the address")
        with urllib.request.urlopen(f"http://127.0.0.1:{site.http}/readyz", timeout=LIMIT_SECONDS) as reply:
            assert reply.status == 200
