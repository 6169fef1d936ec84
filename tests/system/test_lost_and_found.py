"""What could not be said, read or written at its moment, and is said, read or answered later."""

import asyncio
import signal
from threading import Event
from uuid import uuid4

import postgres
import pytest
from machinery import mosquitto, wait_until

from jackpot import metrics
from jackpot.core.commands import DEALER, Actor, CreateJackpot, LinkTable, OpenRound, Role
from jackpot.core.ledger import Account
from jackpot.core.state import Config
from jackpot.store import schema, tables, writer
from jackpot.store.book import Book
from jackpot.store.database import Database
from jackpot.wire.desk import Desk
from jackpot.wire.session import Address
from jackpot.wire.topics import Topics
from rules.prizes import FixedFrom

AT = "2026-11-15T09:30:00.000Z"
MANAGER = Actor("max", Role.MANAGER)
CONFIG = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ())
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
EVERYTHING = ("tables/#", "jackpots/#")


@pytest.fixture
def server():
    with postgres.restartable() as made:
        yield made


@pytest.fixture
def restarted(tmp_path):
    """A broker of one's own, and how to kill it and start it anew on the same port."""
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


def test_a_prize_that_was_paid_while_the_broker_was_away_is_told_when_it_is_back(restarted, new_site, new_client):
    port, kill, start = restarted
    site = new_site(port)
    client = new_client(port, site.id, *EVERYTHING)
    site.start()
    client.play("t1", 1, ROYAL)
    pending = client.wait("jackpots/main/wins")
    kill()
    wait_until(lambda: site.metric("jackpot_broker_connected") == 0, "the loss of the broker")
    assert site.act("rounds/t1/1/confirm")[0] == 200
    site.process.send_signal(signal.SIGSTOP)  # so that somebody listens before it is back
    try:
        start()
        later = new_client(port, site.id, *EVERYTHING)
    finally:
        site.process.send_signal(signal.SIGCONT)
    paid = later.wait("jackpots/main/wins")
    assert (pending["status"], paid["status"], paid["win_id"]) == ("pending", "paid", pending["win_id"])
    assert paid["amount_cents"] == pending["amount_cents"]


def test_a_command_that_the_database_refuses_is_answered_set_aside_and_changes_nothing(
    mosquitto_port, new_site, new_client
):
    """A row that stands where its own should go, as only somebody at the database can put it there."""
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


def test_a_controller_that_lost_its_broker_and_cannot_read_its_lease_waits_before_it_speaks_again(
    server, restarted, new_site, new_client
):
    """Another may have taken over meanwhile: who cannot know does not contradict it."""
    port, kill, start = restarted
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


def test_wagers_for_which_there_was_no_room_are_brought_again_and_answered_once(
    tmp_path, mosquitto_port, new_client, monkeypatch
):
    """The store stands still while more comes than may wait; what is left with the broker is asked for later."""
    monkeypatch.setattr(writer, "MOST_WAITING", 3)
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    schema.migrate(database)
    site, book = f"casino-{uuid4().hex[:8]}", Book.open(database, "main", "test")
    created = CreateJackpot(AT, MANAGER, "main", "canberra-poker-2016", CONFIG, "mia", 1_000_000, 2_000_000)
    book.ask([created, LinkTable(AT, MANAGER, "t1", 20), OpenRound(AT, DEALER, "t1")])
    untaken = metrics.UNTAKEN.labels("main")._value
    before = untaken.get()

    async def run():
        desk = Desk(Address("127.0.0.1", mosquitto_port), Topics(site), book, lambda: None)
        serving = asyncio.create_task(desk.run())
        await desk.listening.wait()
        client = await asyncio.to_thread(new_client, mosquitto_port, site, *EVERYTHING)
        go_on = Event()
        desk.writer.between_batches(go_on.wait)
        for box in range(1, 21):
            body = {"wager_id": f"w{box}", "round": 1, "amount_cents": 200, "ante": True}
            await asyncio.to_thread(client.say, f"tables/t1/pads/{box}/wager", body)
        await asyncio.to_thread(wait_until, lambda: untaken.get() > before, "a wager without room")
        go_on.set()
        for box in range(1, 21):
            answer = (await asyncio.to_thread(client.lamp, "t1", box, f"w{box}"))["answer"]
            assert answer["verdict"] == "accepted"
        serving.cancel()
        await asyncio.wait((serving,))

    asyncio.run(run())
    try:
        assert book.jackpot.tables["t1"].round.lit == list(range(1, 21))
        assert book.jackpot.balances[Account.PLAYERS] == -20 * 200
    finally:
        database.close()
