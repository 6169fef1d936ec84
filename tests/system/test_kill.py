"""The controller is killed at random moments under load: no accepted wager is lost, none is posted twice."""

import asyncio
import os
import random
from collections import Counter
from functools import partial
from http.client import HTTPException

import pytest

from hardware_sim import Broker, Floor, Habits, Rig, Shoe, read_books
from jackpot.core.events import EventType
from jackpot.store.database import Database
from jackpot.store.trail_verification import verify
from tests.support.daemon import LIMIT_SECONDS, wait_until

KILLS = max(50, int(os.environ.get("JACKPOT_KILLS", "50")))
"""The number of kills in this file; half of them with each broker."""
MAX_EVENTS = 30
"""A controller is killed after it has written at most this number of events; a slow machine writes as many."""
MAX_DELAY_SECONDS = 0.05
TABLES = ("t1", "t2", "t3")
BUSY = Habits(play=1, wager=1, misplace=0.02, void_hand=0.02, void_round=0.05)
WINS = [Rig(table, box, hand, deal) for table in TABLES for deal in range(3, 300, 4) for box, hand in [
    (2, "straight_flush"), (5, "flush"),
]]  # fmt: skip


@pytest.fixture(params=["mosquitto", "embedded"])
def broker_port(request):
    return request.getfixturevalue(f"{request.param}_port")


def test_kills_of_the_controller_lose_and_duplicate_no_wager_and_every_wager_is_answered(
    broker_port, new_site, new_client
):
    site = new_site(broker_port, tables=len(TABLES))
    witness = new_client(broker_port, site.id, "tables/+/pads/+/lamp")
    site.start()
    floor = asyncio.run(play_and_kill(site, witness, broker_port, KILLS // 2))
    assert site.stop() == 0
    assert_kept(site, witness)
    result = floor.reconcile(read_books(site.answer("rounds", "--limit", "1000")))
    assert result.is_equal, (result.differences, result.unanswered, result.contradictions)
    assert site.verified()
    assert result.total.pads.wagers > 2 * KILLS, "the kills did not hit a controller at work"


async def play_and_kill(site, witness, port, kills):
    """Play while the controller is killed and started again; return the floor."""
    dice = random.Random(2016)  # the same numbers in every run
    ended = asyncio.Event()

    async def supervisor(table, number):
        """Confirm a win; a lost request is repeated at the next state of the table, after the start."""
        try:
            await asyncio.to_thread(site.act, f"rounds/{table}/{number}/confirm")
        except (OSError, HTTPException):
            return

    where, shoe = Broker(port=port), Shoe(0, WINS)
    floor = Floor(TABLES, site=site.id, broker=where, speed=200, habits=BUSY, shoe=shoe, confirm_win=supervisor)
    async with floor:
        playing = asyncio.create_task(floor.play(until=ended))
        for _ in range(kills):
            written = partial(has_written, site, site.head() + dice.randint(0, MAX_EVENTS))
            await asyncio.to_thread(wait_until, written, "the play")
            await asyncio.sleep(dice.uniform(0, MAX_DELAY_SECONDS))
            assert not playing.done() or playing.result()
            site.kill()
            unanswered = {wager.wager_id for wager in floor.wager_log.unanswered}
            await asyncio.to_thread(site.start)
            answered = partial(is_answered, floor, unanswered)
            assert await floor.wait_for(answered, LIMIT_SECONDS), floor.wager_log.unanswered
            assert_kept(site, witness)
            assert_verified(site)
        ended.set()
        await playing
        assert await floor.stop(), (floor.wager_log.unanswered, floor.snapshot().tables)
    return floor


def has_written(site, seq):
    """Return True if the trail has reached this sequence number."""
    return site.head() >= seq


def is_answered(floor, wagers):
    """Return True if all these wagers are answered."""
    return not wagers & {wager.wager_id for wager in floor.wager_log.unanswered}


def assert_verified(site):
    """Verify the chains, like `audit verify`, while the daemon serves."""
    database = Database(site.database)
    try:
        found = [verify(database, chain, site.verifier) for chain in ("site", "main")]
    finally:
        database.close()
    assert [row.problem for row in found] == [None, None]


def assert_kept(site, witness):
    """Check that every wager that a lamp showed as accepted is in the trail once, with its cents in the ledger."""
    shown = {lamp for topic, lamp in list(witness.all) for lamp in accepted(topic, lamp)}
    booked = [event for event in site.events() if event.type is EventType.WAGER_ACCEPTED]
    times = Counter((event.table, event.data["box"], event.data["wager_id"]) for event in booked)
    assert not shown - times.keys()
    assert not [wager for wager, count in times.items() if count > 1]
    assert all(sum(transfer.amount_cents for transfer in event.transfers) == 200 for event in booked)


def accepted(topic, lamp):
    """Return the wagers that a lamp message shows as accepted."""
    _, table, _, box, _ = topic.split("/")
    ids = [lamp["wager_id"]] if lamp["lit"] else []
    ids += [lamp["answer"]["wager_id"]] if lamp["answer"] and lamp["answer"]["verdict"] == "accepted" else []
    return [(table, int(box), wager_id) for wager_id in ids]
