"""The controller killed at random moments under load: nothing accepted is lost, nothing is posted twice."""

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
from tests.support.daemon import LIMIT_SECONDS

KILLS = max(50, int(os.environ.get("JACKPOT_KILLS", "50")))
"""In the whole file; half of them on each broker."""
LONGEST_LIFE_SECONDS = 0.5
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
    floor, lives = asyncio.run(killed(site, witness, broker_port, KILLS // 2))
    assert site.stop() == 0
    assert_kept(site, witness)
    told = floor.reconcile(read_books(site.answer("rounds", "--limit", "1000")))
    assert told.is_equal, (told.differences, told.unanswered, told.contradictions)
    assert site.verified()
    assert sum(grown > 0 for grown in lives) > 0.8 * len(lives), lives  # the kills hit a controller at work
    assert told.total.pads.wagers > 4 * len(lives)


async def killed(site, witness, port, kills):
    """A floor that plays through all the kills; also how many events each life wrote."""
    dice, lives, head = random.Random(2016), [], site.head()  # the same moments every time
    ended = asyncio.Event()

    async def supervisor(table, number):
        """Whoever is not heard is called again: after a start there is a new state."""
        try:
            await asyncio.to_thread(site.act, f"rounds/{table}/{number}/confirm")
        except (OSError, HTTPException):
            return

    where, shoe = Broker(port=port), Shoe(0, WINS)
    floor = Floor(TABLES, site=site.id, broker=where, speed=200, habits=BUSY, shoe=shoe, confirm_win=supervisor)
    async with floor:
        playing = asyncio.create_task(floor.play(until=ended))
        for _ in range(kills):
            await asyncio.sleep(dice.uniform(0, LONGEST_LIFE_SECONDS))
            assert not playing.done() or playing.result()
            site.kill()
            unanswered = {wager.wager_id for wager in floor.wager_log.unanswered}
            await asyncio.to_thread(site.start)
            answered = partial(is_answered, floor, unanswered)
            assert await floor.wait_for(answered, LIMIT_SECONDS), floor.wager_log.unanswered
            assert_kept(site, witness)
            assert_verified(site)
            before, head = head, site.head()
            lives.append(head - before)
        ended.set()
        await playing
        assert await floor.stop(), (floor.wager_log.unanswered, floor.snapshot().tables)
    return floor, lives


def is_answered(floor, wagers):
    """Whether none of these wagers lacks its answer."""
    return not wagers & {wager.wager_id for wager in floor.wager_log.unanswered}


def assert_verified(site):
    """What `audit verify` does, beside the daemon that plays on."""
    database = Database(site.database)
    try:
        found = [verify(database, chain, site.verifier) for chain in ("site", "main")]
    finally:
        database.close()
    assert [row.problem for row in found] == [None, None]


def assert_kept(site, witness):
    """Every wager that a lamp called accepted is in the trail, once, and its cents are in the pools' ledger."""
    told = {lamp for topic, lamp in list(witness.all) for lamp in accepted(topic, lamp)}
    booked = [event for event in site.events() if event.type is EventType.WAGER_ACCEPTED]
    times = Counter((event.table, event.data["box"], event.data["wager_id"]) for event in booked)
    assert not told - times.keys()
    assert not [wager for wager, count in times.items() if count > 1]
    assert all(sum(transfer.amount_cents for transfer in event.transfers) == 200 for event in booked)


def accepted(topic, lamp):
    """The wagers of which a lamp says that they were accepted."""
    _, table, _, box, _ = topic.split("/")
    ids = [lamp["wager_id"]] if lamp["lit"] else []
    ids += [lamp["answer"]["wager_id"]] if lamp["answer"] and lamp["answer"]["verdict"] == "accepted" else []
    return [(table, int(box), wager_id) for wager_id in ids]
