"""Faults of pads, displays, the store, the broker, and a second controller, and the behaviour promised for each."""

import asyncio
import itertools
import signal
import time
from datetime import datetime
from statistics import median

import pytest
from sqlalchemy import select

from hardware_sim import Broker, Floor, Habits, read_books
from jackpot.core.events import EventType
from jackpot.store import tables
from jackpot.wire.embedded_broker import embedded
from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, Client, mosquitto, wait_until

EVERYTHING = ("tables/#", "jackpots/#")
TABLES = ("t1", "t2", "t3")
ONLINE, OFFLINE = {"state": "online"}, {"state": "offline"}
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]


@pytest.fixture(params=["mosquitto", "embedded"])
def broker_port(request):
    return request.getfixturevalue(f"{request.param}_port")


@pytest.fixture
def floor(mosquitto_port, new_site, new_client):
    """A daemon, and a client that receives all its messages, with Mosquitto."""
    site = new_site(mosquitto_port)
    client = new_client(mosquitto_port, site.id, *EVERYTHING)
    site.start()
    return site, client


@pytest.fixture
def floor_of_each(broker_port, new_site, new_client):
    """A daemon and a client with each broker."""
    site = new_site(broker_port)
    client = new_client(broker_port, site.id, *EVERYTHING)
    site.start()
    return site, client


@pytest.fixture
def new_pad(new_client):
    """Return a function that creates pads with status online, and a will with status offline."""

    def make(port, site, table, box):
        status = f"tables/{table}/pads/{box}/status"
        pad = new_client(port, site.id, will=(status, OFFLINE))
        pad.publish(status, ONLINE, retain=True)
        return pad

    return make


def test_a_pad_that_goes_offline_with_a_lit_wager_suspends_its_table_until_a_supervisor_resumes_it(
    floor_of_each, broker_port, new_pad
):
    site, client = floor_of_each
    pad = new_pad(broker_port, site, "t1", 3)
    client.command("t1", "c1", "open_round")
    assert client.wager("t1", 3, "w3", 1)["lit"]
    pad.break_connection()
    state = client.wait("tables/t1/state", lambda s: s["suspended"])
    assert (state["suspended"], state["phase"], state["lit"]) == ("pad_offline", "open", [3])
    assert site.metric('jackpot_malfunctions_total{cause="pad_offline"') == 1
    assert client.wager("t1", 4, "w4", 1)["answer"]["reason"] == "table_suspended"
    assert client.wager("t1", 3, "w3", 1)["answer"]["verdict"] == "accepted"  # a repeat is answered as before

    assert client.command("t1", "c2", "close_wagers", round=1)["lit"] == [3]
    assert client.command("t1", "c3", "declare", round=1, box=3, cards=FLUSH)["amount_cents"] == 10_000
    (payout,) = client.command("t1", "c4", "settle", round=1)["payouts"]
    assert (payout["box"], payout["hand"], payout["status"]) == (3, "flush", "paid")
    assert client.command("t1", "c5", "open_round")["error"] == "table_suspended"

    for name, role in (("sue", "supervisor"), ("aude", "auditor")):
        added = site.answer("operator", "add", name, "--role", role, "--token", site.tokens[0])
        site.tokens.append(added["token"])
    site.tokens.append("unknown")
    assert act_code(site, "tables/t1/resume", token=-2) == (403, "forbidden")
    assert act_code(site, "tables/t1/resume", token=-1) == (401, "unauthenticated")
    assert client.command("t1", "c6", "resume")["error"] == "malformed"
    assert client.last("tables/t1/state")["suspended"] == "pad_offline"
    assert site.act("tables/t1/resume", {"note": "a new pad"}, token=-3) == (200, {})
    client.wait("tables/t1/state", lambda s: s["suspended"] is None)
    assert client.command("t1", "c7", "open_round")["round"] == 2
    assert site.verified()


def act_code(site, path, token):
    status, answer = site.act(path, token=token)
    return status, answer["code"]


def test_a_pad_that_goes_offline_with_no_lit_wager_suspends_nothing(floor_of_each, broker_port, new_pad):
    site, client = floor_of_each
    idle, folded = new_pad(broker_port, site, "t1", 3), new_pad(broker_port, site, "t1", 4)
    client.command("t1", "c1", "open_round")
    client.wager("t1", 4, "w4", 1)
    client.wager("t1", 5, "w5", 1)
    idle.break_connection()
    client.wait("tables/t1/pads/3/status", lambda status: status == OFFLINE)
    client.command("t1", "c2", "close_wagers", round=1)
    client.command("t1", "c3", "settle", round=1)
    folded.break_connection()
    client.wait("tables/t1/pads/4/status", lambda status: status == OFFLINE)
    assert client.command("t1", "c4", "open_round")["ok"]
    assert client.wager("t1", 5, "w6", 2)["lit"]
    state = client.wait("tables/t1/state", lambda s: s["lit"] == [5] and s["round"] == 2)
    assert state["suspended"] is None
    assert site.metric("jackpot_malfunctions_total") == 0


def test_a_pad_that_goes_offline_again_suspends_its_table_again(floor_of_each, broker_port, new_pad):
    site, client = floor_of_each
    client.command("t1", "c1", "open_round")
    assert client.wager("t1", 3, "w3", 1)["lit"]
    for times in (1, 2):
        pad = new_pad(broker_port, site, "t1", 3)
        client.wait("tables/t1/pads/3/status", lambda status: status == ONLINE)
        pad.break_connection()
        assert client.wait("tables/t1/state", lambda s: s["suspended"])["suspended"] == "pad_offline"
        assert site.act("tables/t1/resume", {"note": "a new cable"}) == (200, {})
        client.wait("tables/t1/state", lambda s: s["suspended"] is None)
        assert suspensions(site) == ["pad_offline"] * times


def test_a_wager_of_a_pad_that_is_already_offline_suspends_its_table(floor, mosquitto_port, new_pad):
    site, client = floor
    pad = new_pad(mosquitto_port, site, "t1", 3)
    client.command("t1", "c1", "open_round")
    pad.break_connection()
    client.wait("tables/t1/pads/3/status", lambda status: status == OFFLINE)
    assert client.wager("t1", 3, "w3", 1)["answer"]["verdict"] == "accepted"
    assert client.wait("tables/t1/state", lambda s: s["suspended"])["suspended"] == "pad_offline"


def test_while_the_store_fails_nothing_is_answered_and_then_every_table_is_suspended(
    mosquitto_port, new_site, new_client
):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        client = new_client(mosquitto_port, site.id, *EVERYTHING)
        site.start()
        for table in TABLES:
            client.command(table, "c1", "open_round")
        assert client.wager("t1", 1, "w1", 1)["lit"]
        last = site.head()
        server.stop()
        client.skip()
        for table in TABLES:
            body = {"wager_id": "w2", "round": 1, "amount_cents": 200, "ante": True}
            client.publish(f"tables/{table}/pads/2/wager", body)
        for table in TABLES:
            state = client.wait(f"tables/{table}/state", lambda s: s["suspended"])
            assert (state["suspended"], state["seq"], state["phase"]) == ("store", last, "open")
        client.publish("tables/t1/pads/3/wager", {**body, "wager_id": "w3"})
        for _ in range(2):  # the controller runs, and still answers no wager
            client.wait("jackpots/main/meter", lambda m: m["state"] == "suspended")
        answered = [lamp for topic, lamp in client.all if topic.endswith("/lamp") and lamp and lamp["answer"]]
        assert {lamp["answer"]["wager_id"] for lamp in answered} == {"w1"}
        assert site.act("tables/t1/resume", {"note": "too early"})[0] == 503

        server.start()
        for table in TABLES:
            answer = client.lamp(table, 2, "w2")["answer"]
            assert answer == {"wager_id": "w2", "verdict": "rejected", "reason": "table_suspended"}
        assert client.lamp("t1", 3, "w3")["answer"]["reason"] == "table_suspended"
        first = [(e.type, e.table, e.data["cause"]) for e in site.events()[last : last + 3]]
        assert first == [(EventType.TABLE_SUSPENDED, table, "store") for table in TABLES]
        for table in TABLES:
            assert client.wait(f"tables/{table}/state", lambda s: s["seq"] > last)["suspended"] == "store"
            assert site.act(f"tables/{table}/resume", {"note": "the store is back"}) == (200, {})
            assert client.wager(table, 2, "w2", 1)["answer"]["verdict"] == "accepted"
        client.wait("jackpots/main/meter", lambda m: m["state"] == "live" and m["amount_cents"] == 1_000_560)
        assert site.stop() == 0
        assert sum(row["wagers"] for row in site.answer("rounds")) == 4
        assert site.verified()


def test_tables_stay_suspended_if_the_controller_ends_while_the_store_fails(mosquitto_port, new_site, new_client):
    with postgres.restartable() as server:
        site = new_site(mosquitto_port, database=server.url)
        client = new_client(mosquitto_port, site.id, *EVERYTHING)
        site.start()
        client.command("t1", "c1", "open_round")
        assert client.wager("t1", 1, "w1", 1)["lit"]
        last = site.head()
        server.stop()
        client.skip()
        body = {"wager_id": "w2", "round": 1, "amount_cents": 200, "ante": True}
        client.publish("tables/t1/pads/2/wager", body)
        for table in TABLES:
            client.wait(f"tables/{table}/state", lambda s: s["suspended"] == "store")
        site.stop()
        client.wait("jackpots/main/controller", lambda c: c["state"] == "offline")
        assert {client.last(f"tables/{table}/state")["suspended"] for table in TABLES} == {"store"}
        assert client.last("jackpots/main/meter")["state"] == "suspended"

        server.start()
        client.skip()
        site.start()
        assert client.lamp("t1", 2, "w2")["answer"]["reason"] == "table_suspended"
        first = [(e.type, e.table, e.data["cause"]) for e in site.events()[last : last + 3]]
        assert sorted(first) == [(EventType.TABLE_SUSPENDED, table, "store") for table in TABLES]
        site.kill()  # before the suspensions are published
        for table in TABLES:
            client.publish(f"tables/{table}/state", client.last(f"tables/{table}/state"), retain=True)
        site.start()
        for table in TABLES:
            assert site.act(f"tables/{table}/resume", {"note": "the store is back"}) == (200, {})
        stale = {table: client.last(f"tables/{table}/state") for table in TABLES}
        assert site.stop() == 0
        for table in TABLES:  # as if the resumed states had not reached the broker
            client.publish(f"tables/{table}/state", {**stale[table], "suspended": "store", "seq": last}, retain=True)
        client.skip()
        site.start()
        assert client.wager("t1", 2, "w2", 1)["answer"]["verdict"] == "accepted"
        assert not [row for row in site.answer("tables") if row["suspended"]]


def test_a_pad_that_goes_offline_at_a_suspended_table_is_recorded_once(floor, mosquitto_port, new_pad):
    site, client = floor
    pad = new_pad(mosquitto_port, site, "t1", 3)
    client.command("t1", "c1", "open_round")
    assert client.wager("t1", 3, "w3", 1)["lit"]
    client.command("t1", "c2", "report_malfunction", equipment="shoe", note="jammed")
    client.wait("tables/t1/state", lambda s: s["suspended"] == "dealer_report")
    pad.break_connection()
    client.wait("tables/t1/pads/3/status", lambda status: status == OFFLINE)
    causes = ["dealer_report", "pad_offline"]
    wait_until(lambda: suspensions(site) == causes, "the second cause")
    assert client.last("tables/t1/state")["suspended"] == "dealer_report"
    assert site.act("tables/t1/resume", {"note": "both checked"}) == (200, {})
    client.publish("tables/t1/pads/3/status", OFFLINE, retain=True)  # as a new connection would receive it
    assert client.wager("t1", 4, "w4", 1)["lit"]
    assert suspensions(site) == causes


def suspensions(site):
    return [e.data["cause"] for e in site.events() if e.type is EventType.TABLE_SUSPENDED]


def test_a_display_that_contradicts_the_meter_for_more_than_30_seconds_suspends_the_tables(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    client.wager("t1", 1, "w1", 1)
    meter = client.wait("jackpots/main/meter", lambda m: m["amount_cents"] == 1_000_140)
    client.publish("displays/right/status", ONLINE, retain=True)
    client.publish("displays/wrong/status", ONLINE, retain=True)
    shown = {"jackpot": "main", "amount_cents": 1_000_140, "epoch": meter["epoch"], "seq": meter["seq"]}
    client.publish("displays/right/shown", shown)
    began = time.monotonic()
    client.publish("displays/wrong/shown", {**shown, "amount_cents": 1_000_000})
    state = client.wait("tables/t1/state", lambda s: s["suspended"])
    assert time.monotonic() - began > 30
    assert state["suspended"] == "display"
    for table in ("t2", "t3"):
        assert client.wait(f"tables/{table}/state", lambda s: s["suspended"])["suspended"] == "display"
    assert client.wager("t1", 2, "w2", 1)["answer"]["reason"] == "table_suspended"
    samples = site.answer("audit", "list", "--type", "meter_shown")
    assert len(samples) == 2
    samples_data = [event.data for event in site.events() if event.type is EventType.METER_SHOWN]
    assert {(sample["display"], sample["amount_cents"], sample["seq"]) for sample in samples_data} == {
        ("right", 1_000_140, meter["seq"]),
        ("wrong", 1_000_000, meter["seq"]),
    }
    assert "wrong" in next(e.data["equipment"] for e in site.events() if e.type is EventType.TABLE_SUSPENDED)
    assert site.verified()


def test_a_second_controller_takes_over_and_the_first_ends_with_one_sentence(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    client.wager("t1", 1, "w1", 1)
    epoch = client.wait("jackpots/main/meter", lambda m: m["amount_cents"] == 1_000_140)["epoch"]
    second = site.twin()
    try:
        second.start()
        assert site.process.wait(timeout=LIMIT_SECONDS) == 1
        (sentence,) = [line for line in site.log.splitlines() if not line.startswith("{")]
        assert sentence.startswith("jackpot: ")
        assert "took over" in sentence or "taken over" in sentence
        client.wait("jackpots/main/controller", lambda c: c["epoch"] > epoch and c["state"] == "online")
        assert client.wager("t1", 1, "w1", 1)["answer"]["verdict"] == "accepted"
        assert client.wager("t1", 2, "w2", 1)["epoch"] > epoch
        assert client.last("jackpots/main/controller")["state"] == "online"
        assert second.stop() == 0
    finally:
        if second.process is not None and second.process.poll() is None:
            second.kill()
    assert [row["wagers"] for row in site.answer("rounds")] == [2]
    assert site.verified()


@pytest.mark.parametrize("kind", ["mosquitto", "embedded"])
def test_a_restart_of_the_broker_loses_and_duplicates_no_wager(kind, tmp_path, new_site, new_client):
    broker = {"mosquitto": mosquitto, "embedded": embedded}[kind]
    running = broker(tmp_path)
    port = running.__enter__()
    try:
        site = new_site(port)
        site.start()
        floor = asyncio.run(through_a_broker_restart(site, broker, running, tmp_path, port))
    finally:
        running.__exit__(None, None, None)
    assert site.stop() == 0
    result = floor.reconcile(read_books(site.answer("rounds")))
    assert result.is_equal, (result.differences, result.unanswered, result.contradictions)
    assert result.total.pads.wagers > 0
    assert site.verified()


def test_a_lamp_that_its_pad_reports_dark_in_this_round_is_named_when_wagers_close(floor):
    _, client = floor
    client.command("t1", "c1", "open_round")
    for box in range(1, 5):
        client.wager("t1", box, f"w{box}", 1)
    client.publish("tables/t1/pads/1/shown", {"round": 1, "wager_id": "w1", "lit": True}, retain=True)
    client.publish("tables/t1/pads/2/shown", {"round": 1, "wager_id": None, "lit": False}, retain=True)
    client.publish("tables/t1/pads/3/shown", {"round": 7, "wager_id": None, "lit": False}, retain=True)
    client.publish("tables/t2/pads/4/shown", {"round": 1, "wager_id": None, "lit": False}, retain=True)
    client.publish("tables/t1/pads/2/shown", {"round": 0, "wager_id": None, "lit": True}, retain=True)  # late
    reply = client.command("t1", "c2", "close_wagers", round=1)
    assert (reply["lit"], reply["unconfirmed"]) == ([1, 2, 3, 4], [2])
    client.command("t1", "c3", "settle", round=1)
    client.command("t1", "c4", "open_round")
    client.wager("t1", 2, "w9", 2)
    assert client.command("t1", "c5", "close_wagers", round=2)["unconfirmed"] == []  # its report was of round 1


def test_the_meter_is_published_at_most_ten_times_a_second_and_at_least_every_five_seconds(floor):
    _, client = floor
    number, began = 0, time.time()
    while time.time() - began < 3:
        number += 1
        play_and_void(client, number)
    ended = time.time()
    busy = [at for at in meter_times(client) if began <= at <= ended]
    assert len(busy) > 2 * (ended - began)
    assert min(later - earlier for earlier, later in itertools.pairwise(busy)) > 0.09

    delays, number = [], number + 1
    client.command("t1", f"open-{number}", "open_round")
    for wager_id in ("w1", "w2", "w3", "w4", "w5"):
        lamp = client.wager("t1", 1, wager_id, number)
        meter = client.wait("jackpots/main/meter", lambda m, seq=lamp["seq"]: m["seq"] >= seq)
        lit = [at for at, body in client.times("tables/t1/pads/1/lamp") if body == lamp]
        shown = [at for at, body in client.times("jackpots/main/meter") if body == meter]
        delays.append(shown[0] - lit[0])
        assert meter["amount_cents"] == 1_000_140
        client.command("t1", f"void-{wager_id}", "void_hand", round=number, box=1, reason="a test")
    assert median(delays) <= 0.75  # about 0.1 s on an idle machine

    client.skip()
    for _ in range(3):
        client.wait("jackpots/main/meter")
    assert max(later - earlier for earlier, later in itertools.pairwise(meter_times(client))) <= 5


def play_and_void(client, number):
    """Play a round of wagers and voids, so that the meter changes all the time."""
    client.command("t1", f"open-{number}", "open_round")
    for box in range(1, 8):
        assert client.wager("t1", box, f"b{box}-{number}", number)["lit"]
        client.command("t1", f"void-{box}-{number}", "void_hand", round=number, box=box, reason="a test")
    client.command("t1", f"void-{number}", "void_round", round=number, reason="a test")


def meter_times(client):
    """Return the times at which the controller published the meter, by its own clock."""
    return [datetime.fromisoformat(meter["as_of"]).timestamp() for _, meter in client.times("jackpots/main/meter")]


def test_a_stopped_controller_publishes_offline_and_signs_its_head(floor, mosquitto_port, new_client):
    site, client = floor
    client.command("t1", "c1", "open_round")
    epoch = client.wager("t1", 1, "w1", 1)["epoch"]
    site.process.send_signal(signal.SIGTERM)
    assert site.process.wait(timeout=LIMIT_SECONDS) == 0
    late = new_client(mosquitto_port, site.id, "jackpots/main/controller")
    assert late.wait("jackpots/main/controller") == {"state": "offline", "epoch": epoch}
    signed = site.rows(select(tables.checkpoints.c.seq).where(tables.checkpoints.c.chain == "main"))
    assert max(row.seq for row in signed) == site.head()
    (owner,) = site.rows(select(tables.chains.c.owner).where(tables.chains.c.chain == "main"))
    assert owner.owner == ""
    assert site.verified()


async def through_a_broker_restart(site, broker, running, folder, port):
    """Play while the broker is killed and started again; Mosquitto keeps no state, the embedded broker all of it."""

    async def resume(table):
        await asyncio.to_thread(site.act, f"tables/{table}/resume", {"note": "the broker is back"})

    habits = Habits(play=1, wager=1, misplace=0)
    floor = Floor(TABLES, site=site.id, broker=Broker(port=port), speed=50, habits=habits, resume_table=resume)
    async with floor:
        ended = asyncio.Event()
        playing = asyncio.create_task(floor.play(until=ended))
        assert await floor.wait_for(lambda: len(floor.played) >= 6, LIMIT_SECONDS)
        await asyncio.to_thread(running.__exit__, None, None, None)
        again = broker(folder, port)
        await asyncio.to_thread(again.__enter__)
        try:
            played = len(floor.played)
            assert await floor.wait_for(lambda: len(floor.played) >= played + 6, LIMIT_SECONDS), floor.snapshot()
            await asyncio.to_thread(assert_all_is_retained, site, port)
            ended.set()
            await playing
            assert await floor.stop(), floor.snapshot()
        finally:
            await asyncio.to_thread(again.__exit__, None, None, None)
    return floor


def assert_all_is_retained(site, port):
    late = Client(port, site.id, *EVERYTHING)
    try:
        assert late.wait("jackpots/main/controller")["state"] == "online"
        late.wait("jackpots/main/meter")
        for table in TABLES:
            late.wait(f"tables/{table}/state")
            for box in range(1, 8):
                late.wait(f"tables/{table}/pads/{box}/lamp")
    finally:
        late.close()
