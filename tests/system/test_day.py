"""A full day with linked tables, many winners, voids, a malfunction, a correction, a restart and a kill."""

import asyncio
from collections import Counter
from functools import reduce
from http.client import HTTPException

import pytest

from hardware_sim import Broker, Fault, Faults, Floor, Habits, Rig, Shoe, read_books
from jackpot.core.events import EventType
from jackpot.core.evolve import evolve
from jackpot.core.state import NEW
from tests.support import postgres
from tests.support.daemon import LIMIT_SECONDS, wait_until

TABLES, ROUNDS_EACH, SEED = ("t1", "t2", "t3"), 34, 7
MANY_WINNERS = (("t1", 2, "straight_flush"), ("t1", 5, "straight_flush"), ("t1", 6, "royal_flush"))
RIGS = [
    *(Rig(table, box, hand, deal) for deal in (4, 12, 20, 28) for table, box, hand in MANY_WINNERS),
    *(Rig("t2", box, "flush", deal) for deal in (3, 10, 17, 24, 31) for box in (1, 4)),
    *(Rig("t3", 7, hand, deal) for deal, hand in [(5, "four_of_a_kind"), (9, "full_house"), (22, "straight_flush")]),
]
FAULTS = "duplicate=0.03,delay=0.02,drop=0.01,reorder=0.01,garbage=0.03,disconnect=0.004,power_cycle=0.004"
HABITS = Habits(misplace=0.02, void_hand=0.15, void_round=0.05)


@pytest.fixture(params=["SQLite and Mosquitto", "PostgreSQL and the embedded broker"])
def served_site(request, new_site):
    """A site with its store, and the port of its broker."""
    if request.param.startswith("SQLite"):
        port = request.getfixturevalue("mosquitto_port")
        yield new_site(port, tables=len(TABLES), forked=False), port
        return
    port = request.getfixturevalue("embedded_port")
    with postgres.server() as url:
        site = new_site(port, tables=len(TABLES), forked=False, database=url)
        yield site, port
        site.stop()


def test_after_a_full_day_pads_books_replay_meter_and_report_agree_to_the_cent(served_site, new_client):
    site, port = served_site
    client = new_client(port, site.id, "tables/+/dealer/reply", "tables/+/state", "jackpots/main/#")
    site.start()
    floor, corrected = asyncio.run(play_a_day(site, client, port))

    meter = wait_until(lambda: newest_meter(client, site.head()), "the last meter")
    assert site.stop() == 0
    (pools,) = site.answer("pools")
    events = site.events()
    replayed = reduce(evolve, events, NEW)
    assert {account.value: cents for account, cents in replayed.balances.items()} == pools["balances"]
    assert sum(pools["balances"].values()) == 0
    assert meter["amount_cents"] == pools["meter_cents"] == replayed.meter_cents
    result = floor.reconcile(read_books(site.answer("rounds", "--limit", "1000")))
    assert result.is_equal, (result.differences, result.unanswered, result.contradictions)
    assert result.total.rounds >= 100
    report = site.answer("report", "daily")
    assert {(row["pool"], row["ties"]) for row in report} == {("jackpot", True), ("reserve", True)}
    assert {row["pool"]: row["closing_cents"] for row in report} == {
        "jackpot": pools["meter_cents"],
        "reserve": pools["reserve_cents"],
    }
    assert site.verified()
    assert_it_was_a_full_day(floor, events, corrected)


def assert_it_was_a_full_day(floor, events, corrected):
    """Check that everything in the description of this day happened."""
    seen = Counter(event.type for event in events)
    for kind in (
        EventType.ROUND_VOIDED, EventType.HAND_VOIDED, EventType.HAND_FOLDED, EventType.PAYOUTS_CONFIRMED,
        EventType.ROUND_CORRECTED, EventType.TABLE_RESUMED,
    ):  # fmt: skip
        assert seen[kind], kind
    assert corrected
    assert {e.data["cause"] for e in events if e.type is EventType.TABLE_SUSPENDED} == {"dealer_report", "pad_offline"}
    settled = [e for e in events if e.type is EventType.ROUND_SETTLED]
    hands = [Counter(payout["hand"] for payout in event.data["payouts"]) for event in settled]
    assert any(won["straight_flush"] == 2 and won["royal_flush"] == 1 for won in hands)
    assert any(won["flush"] >= 2 for won in hands)
    assert min(floor.faults.counts[fault] for fault in Fault) > 0, floor.faults.counts


async def play_a_day(site, client, port):
    """Play the day; return the floor and the corrected rounds."""
    corrected = []

    async def act(path, body=None):
        """Send an operator's act; one that is lost is repeated at the next state of the table."""
        try:
            return await asyncio.to_thread(site.act, path, body)
        except (OSError, HTTPException):
            return None, {}

    async def supervisor(table, number):
        state = floor.tables[table].state
        waiting = [payout.box for payout in state.payouts if payout.status == "pending"]
        if not corrected and len(waiting) > 1:
            body = {"hands": {str(waiting[0]): None}, "reason": "the dealer misread a card"}
            status, _ = await act(f"rounds/{table}/{number}/correct", body)
            if status == 200:
                corrected.append((table, number))
        await act(f"rounds/{table}/{number}/confirm")

    async def resume(table):
        await act(f"tables/{table}/resume", {"note": "the shoe was repaired"})

    floor = Floor(
        TABLES, site=site.id, broker=Broker(port=port), speed=150, seed=SEED, shoe=Shoe(SEED, RIGS),
        faults=Faults.parse(FAULTS, seed=SEED), habits=HABITS, confirm_win=supervisor, resume_table=resume,
    )  # fmt: skip
    async with floor:
        playing = asyncio.create_task(floor.play(rounds=ROUNDS_EACH))
        await wait_for_rounds(floor, 20, playing)
        report = {"equipment": "shoe", "note": "jammed"}
        reply = await asyncio.to_thread(client.command, "t1", "jam-1", "report_malfunction", **report)
        assert reply["ok"]
        await wait_for_rounds(floor, 45, playing)
        assert await asyncio.to_thread(site.stop) == 0
        await asyncio.to_thread(site.start)
        await wait_for_rounds(floor, 75, playing)
        site.kill()
        await asyncio.to_thread(site.start)
        await playing
        assert await floor.stop(), (floor.wager_log.unanswered, floor.snapshot().tables)
    return floor, corrected


async def wait_for_rounds(floor, rounds, playing):
    """Wait until this number of rounds has been opened on the floor."""
    reached = await floor.wait_for(lambda: len(floor.played) >= rounds or playing.done(), 3 * LIMIT_SECONDS)
    assert not playing.done() or playing.result()
    assert reached, floor.snapshot()


def newest_meter(client, head):
    """Return the meter at this head; None if it has not been received."""
    meter = client.last("jackpots/main/meter")
    return meter if meter and meter["seq"] == head else None
