"""Messages that could not be published, read or committed at once are published, read or answered later."""

import asyncio
import os
import signal
from contextlib import contextmanager
from threading import Event
from uuid import uuid4

import pytest

from jackpot import metrics
from jackpot.clock import in_seconds, now
from jackpot.core.commands import (
    DEALER,
    PAD,
    Actor,
    CloseWagers,
    Confirm,
    Correct,
    CreateJackpot,
    Declare,
    LinkTable,
    OpenRound,
    PlaceWager,
    Role,
    Settle,
    VoidRound,
)
from jackpot.core.ledger import Account
from jackpot.core.results import Decision
from jackpot.core.state import Config
from jackpot.engine import writer
from jackpot.engine.journal import Journal
from jackpot.engine.service import JackpotService
from jackpot.store import schema, tables
from jackpot.store.database import Database
from jackpot.wire.adapter import JackpotAdapter
from jackpot.wire.mqtt_session import Address
from jackpot.wire.topics import Topics
from rules.jackpot_prizes import FixedFrom
from tests.support import postgres
from tests.support.daemon import broker_process, mosquitto, wait_until

AT = "2026-11-15T09:30:00.000Z"
MANAGER = Actor("max", Role.MANAGER)
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ("royal_flush",))
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
EVERYTHING = ("tables/#", "jackpots/#")


@contextmanager
def open_journal(folder):
    """Open a jackpot's journal in a new database, with one table of twenty boxes."""
    database = Database(f"sqlite:///{folder / 'store.db'}")
    schema.migrate(database)
    try:
        journal = Journal.open(database, "main", "test")
        created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
        journal.execute([created, LinkTable(AT, MANAGER, "t1", 20)])
        yield journal
    finally:
        database.close()


@pytest.fixture
def server():
    with postgres.restartable() as made:
        yield made


@pytest.fixture
def own_broker(tmp_path):
    """The port of a broker of this test, and functions that kill it and start it again on the same port."""
    running = [mosquitto(tmp_path)]
    port = running[0].__enter__()

    def kill():
        running.pop().__exit__(None, None, None)

    def start():
        running.append(mosquitto(tmp_path, port))
        running[0].__enter__()

    yield port, kill, start
    if running:
        kill()


@contextmanager
def paused(site):
    """Stop the daemon's process for this context, so that a client can subscribe before it continues."""
    site.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        site.process.send_signal(signal.SIGCONT)


def test_a_prize_paid_while_the_broker_is_away_is_published_when_it_is_back(own_broker, new_site, new_client):
    port, kill, start = own_broker
    site = new_site(port)
    client = new_client(port, site.id, *EVERYTHING)
    site.start()
    client.play("t1", 1, ROYAL)
    pending = client.wait("jackpots/main/wins")
    kill()
    wait_until(lambda: site.metric("jackpot_broker_connected") == 0, "the loss of the broker")
    assert site.act("rounds/t1/1/confirm")[0] == 200
    with paused(site):
        start()
        later = new_client(port, site.id, *EVERYTHING)
    # The pending win may be published again first.
    paid = later.wait("jackpots/main/wins", lambda win: win["status"] == "paid")
    assert (pending["status"], paid["win_id"]) == ("pending", pending["win_id"])
    assert paid["amount_cents"] == pending["amount_cents"]


def test_a_prize_lost_on_the_way_to_the_broker_is_published_when_it_is_back(own_broker, new_site, new_client):
    """The broker never read it from its socket."""
    port, kill, start = own_broker
    site = new_site(port)
    client = new_client(port, site.id, *EVERYTHING)
    site.start()
    client.command("t1", "c1", "open_round")
    client.wager("t1", 3, "w3", 1)
    client.command("t1", "c2", "close_wagers", round=1)
    client.command("t1", "c3", "declare", round=1, box=3, cards=ROYAL)
    os.kill(broker_process(port), signal.SIGSTOP)
    assert site.act("rounds/t1/1/settle")[0] == 200
    kill()
    wait_until(lambda: site.metric("jackpot_broker_connected") == 0, "the loss of the broker")
    with paused(site):
        start()
        later = new_client(port, site.id, *EVERYTHING)
    win = later.wait("jackpots/main/wins")
    assert (win["table"], win["box"], win["hand"], win["status"]) == ("t1", 3, "royal_flush", "pending")


LATE = {
    "confirmed": (Confirm(now(), MANAGER, "t1", 1), ["paid"]),
    "corrected": (Correct(now(), MANAGER, "t1", 1, {3: tuple(FLUSH)}, "misread"), ["corrected", "paid"]),
    "void": (VoidRound(now(), MANAGER, "t1", 1, "misdeal"), ["corrected"]),
}


@pytest.mark.parametrize("act", LATE)
def test_the_result_of_a_prize_is_published_by_the_next_controller_if_the_first_ended(
    tmp_path, mosquitto_port, new_client, act
):
    """The prize is minutes old, as after the decision of a supervisor."""
    decided, expected = LATE[act]
    site, earlier = f"casino-{uuid4().hex[:8]}", in_seconds(-300)
    played = [
        OpenRound(earlier, DEALER, "t1"), PlaceWager(earlier, PAD, "t1", 3, "w3", 1, 200, ante=True),
        CloseWagers(earlier, DEALER, "t1", 1, ()), Declare(earlier, DEALER, "t1", 1, 3, tuple(ROYAL)),
        Settle(earlier, DEALER, "t1", 1),
    ]  # fmt: skip

    async def run(journal):
        client = await asyncio.to_thread(new_client, mosquitto_port, site, *EVERYTHING)
        service = JackpotService(journal, lambda: None)
        adapter = JackpotAdapter(Address("127.0.0.1", mosquitto_port), Topics(site), service)
        serving = asyncio.create_task(adapter.run())
        wins = [await asyncio.to_thread(client.wait, "jackpots/main/wins") for _ in expected]
        serving.cancel()
        await asyncio.wait((serving,))
        assert sorted(win["status"] for win in wins) == expected
        assert {(win["table"], win["round"], win["box"]) for win in wins} == {("t1", 1, 3)}
        assert [body for topic, body in client.all if topic == "jackpots/main/wins"] == wins

    with open_journal(tmp_path) as journal:
        answers = journal.execute([*played, decided])
        assert all(isinstance(answer, Decision) for answer in answers), answers
        asyncio.run(run(journal))


def test_a_command_that_the_database_refuses_is_answered_and_changes_nothing(mosquitto_port, new_site, new_client):
    """A row with the key of the new one, inserted directly into the database."""
    site = new_site(mosquitto_port)
    client = new_client(mosquitto_port, site.id, *EVERYTHING)
    site.start()
    counted = 'jackpot_malformed_messages_total{jackpot="main",kind="command"}'
    head, before = site.head(), site.metric(counted)
    forged = ("main", "t1", 1, 1, "idle", "void", "2026-11-15T09:30:00.000Z", None, 10**6)
    site.change(tables.rounds.insert().values(forged))
    refused = client.command("t1", "c1", "open_round")
    assert (refused["ok"], refused["error"]) == (False, "malformed")
    assert (site.head(), site.metric(counted)) == (head, before + 1)
    assert client.command("t2", "c1", "open_round")["ok"]  # the others are not disturbed
    site.change(tables.rounds.delete().where(tables.rounds.c.seq == 10**6))
    assert client.command("t1", "c1", "open_round")["ok"]
    assert site.verified()


def test_a_controller_that_cannot_read_its_lease_does_not_reconnect_to_the_broker(
    server, own_broker, new_site, new_client
):
    """Another controller may have taken over in the meantime and must not be contradicted."""
    port, kill, start = own_broker
    site = new_site(port, database=server.url)
    site.start()
    server.stop()
    kill()
    wait_until(lambda: site.metric("jackpot_broker_connected") == 0, "the loss of the broker")
    start()
    client = new_client(port, site.id, *EVERYTHING)
    wait_until(lambda: site.log.count("lease not read") >= 3, "the wait for the lease")
    assert (site.metric("jackpot_broker_connected"), client.all) == (0, [])
    server.start()
    assert client.wait("jackpots/main/controller")["state"] == "online"
    assert client.command("t1", "c1", "open_round")["ok"]


def test_wagers_beyond_the_queue_limit_are_delivered_again_and_answered_once(
    tmp_path, mosquitto_port, new_client, monkeypatch
):
    """The store blocks while more wagers arrive than may wait; the broker delivers the rest again later."""
    monkeypatch.setattr(writer, "MAX_WAITING", 3)
    site = f"casino-{uuid4().hex[:8]}"
    untaken = metrics.UNTAKEN.labels("main")._value
    before = untaken.get()

    async def run(journal):
        service = JackpotService(journal, lambda: None)
        adapter = JackpotAdapter(Address("127.0.0.1", mosquitto_port), Topics(site), service)
        serving = asyncio.create_task(adapter.run())
        await service.listening.wait()
        client = await asyncio.to_thread(new_client, mosquitto_port, site, *EVERYTHING)
        proceed, commit = Event(), journal.commit
        monkeypatch.setattr(journal, "commit", lambda staged: proceed.wait() and commit(staged))
        for box in range(1, 21):
            body = {"wager_id": f"w{box}", "round": 1, "amount_cents": 200, "ante": True}
            await asyncio.to_thread(client.publish, f"tables/t1/pads/{box}/wager", body)
        await asyncio.to_thread(wait_until, lambda: untaken.get() > before, "a wager beyond the limit")
        proceed.set()
        for box in range(1, 21):
            answer = (await asyncio.to_thread(client.lamp, "t1", box, f"w{box}"))["answer"]
            assert answer["verdict"] == "accepted"
        serving.cancel()
        await asyncio.wait((serving,))

    with open_journal(tmp_path) as journal:
        journal.execute([OpenRound(AT, DEALER, "t1")])
        asyncio.run(run(journal))
        assert journal.jackpot.tables["t1"].round.lit == list(range(1, 21))
        assert journal.jackpot.balances[Account.PLAYERS] == -20 * 200
