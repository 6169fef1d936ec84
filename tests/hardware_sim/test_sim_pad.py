"""A pad repeats its wagers until they are answered, follows its lamp, and ignores older messages."""

import asyncio
import json
from contextlib import asynccontextmanager

from hardware_sim.connection import Broker
from hardware_sim.device_context import DeviceContext, new_nonce
from hardware_sim.faults import Faults
from hardware_sim.pad import SimulatedPad
from hardware_sim.player import Habits, People
from hardware_sim.shoe import Shoe
from hardware_sim.table import SimulatedTable
from hardware_sim.timing import Timing
from hardware_sim.topics import DeviceTopics
from hardware_sim.wager_log import WagerLog, WagerTotal
from tests.support.scripted_controller import WAGER_CENTS, Table, controller, reached

EAGER = Habits(play=1, wager=1, misplace=0, fold=0, void_hand=0, void_round=0)


def run(scene, broker, **more):
    async def whole():
        async with pad_and_controller(broker, f"pad-{scene.__name__}", **more) as (pad, scripted):
            await scene(pad, scripted)

    asyncio.run(whole())


@asynccontextmanager
async def pad_and_controller(broker: Broker, site: str, habits=EAGER):
    async with controller(broker, site, ["t1"]) as scripted:
        context = DeviceContext(broker, DeviceTopics(site), "main", Timing(100), Faults(), WagerLog(), new_nonce())
        shoe = Shoe(0)
        pad = SimulatedPad(SimulatedTable("t1", 7, shoe, People(0, "t1", habits, shoe)), 3, context)
        pad.table, pad.wager_log = pad._table, context.wager_log
        pad.faults = context.faults
        pad.connection.start()
        await reached(lambda: pad.table.state is not None)
        try:
            yield pad, scripted
        finally:
            pad.close()
            await pad.connection.close()


def open_round(scripted, number=1):
    scripted.seq += 1
    scripted.tables["t1"] = Table(number, "open")
    scripted.publish_lamps("t1")
    scripted.publish_state("t1")


def wagers_received(scripted):
    return [json.loads(payload) for topic, payload in scripted.received if topic.endswith("/wager")]


def test_a_wager_is_repeated_unchanged_until_the_lamp_answers(broker):
    async def repeats(pad, scripted):
        scripted.ignored_wagers = 2
        open_round(scripted)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        received = wagers_received(scripted)
        assert len(received) >= 3
        assert all(wager == received[0] for wager in received)
        assert (received[0]["round"], received[0]["amount_cents"], received[0]["ante"]) == (1, WAGER_CENTS, True)
        assert pad.wager_log.all_answered
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(1, WAGER_CENTS)}
        await reached(lambda: scripted.shown.get("tables/t1/pads/3/shown", {}).get("lit") is True)

    run(repeats, broker)


def test_messages_of_an_older_epoch_are_ignored(broker):
    async def ignores(pad, scripted):
        scripted.ignored_wagers = 1
        open_round(scripted)
        await reached(lambda: wagers_received(scripted))
        own_id = wagers_received(scripted)[0]["wager_id"]
        answer = {"wager_id": own_id, "verdict": "rejected", "reason": "no_ante"}
        scripted.publish_lamp("t1", 3, answer, position=(scripted.epoch - 1, scripted.seq + 1000))
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        assert not pad.wager_log.rejected
        assert pad.wager_log.verdicts["accepted"] == 1

    run(ignores, broker)


def test_a_rejected_wager_is_not_counted(broker):
    async def rejected(pad, scripted):
        scripted.tables["t1"] = Table(1, "open", suspended="display")
        scripted.seq += 1
        scripted.publish_state("t1")
        await reached(lambda: pad.wager_log.rejected)
        assert pad.wager_log.rejected == {"table_suspended": 1}
        assert sum(total.cents for total in pad.wager_log.totals.values()) == 0

    run(rejected, broker)


def test_a_voided_wager_is_queried_and_replaced(broker):
    async def voided(pad, scripted):
        open_round(scripted)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        first = pad.lamp.wager_id
        scripted.seq += 1
        scripted.void("t1", 3)
        scripted.publish_state("t1")
        await reached(lambda: pad.lamp.lit and pad.lamp.wager_id != first)
        assert pad.wager_log.verdicts == {"returned": 1, "accepted": 1}
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(1, WAGER_CENTS)}

    run(voided, broker)


def test_a_round_voided_after_its_close_is_queried(broker):
    async def voided_later(pad, scripted):
        open_round(scripted)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        scripted.tables["t1"].phase = "closed"
        scripted.do_void_round("t1", scripted.tables["t1"], {})
        scripted.seq += 1
        scripted.publish_state("t1")
        pad.table.end(1)
        await reached(lambda: pad.wager_log.all_answered)
        assert pad.wager_log.verdicts["returned"] == 1
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(0, 0)}

    run(voided_later, broker)


def test_a_wager_delayed_into_the_next_round_is_rejected(broker):
    async def delayed(pad, scripted):
        pad.faults.force("delay", "t1/3")
        open_round(scripted)
        await reached(lambda: pad.wager_log.sent == 1)
        open_round(scripted, 2)
        await reached(lambda: pad.wager_log.all_answered and pad.wager_log.sent == 2)
        assert scripted.rejected == {"stale_round": 1, None: 0}
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(0, 0), ("t1", 2): WagerTotal(1, WAGER_CENTS)}

    run(delayed, broker)


def test_a_reordered_wager_first_arrives_after_the_next_one(broker):
    async def reordered(pad, scripted):
        pad.faults.force("reorder", "t1/3")
        open_round(scripted)
        await reached(lambda: pad.wager_log.repeated >= 3)
        pad.disconnect()
        await reached(lambda: pad.connection.connects == 2 and pad.connection.online.is_set())
        pad.table.end(1)
        assert not pad.table.unlit
        open_round(scripted, 2)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit and pad.wager_log.all_answered)
        assert [wager["round"] for wager in wagers_received(scripted)][:2] == [2, 1]
        assert scripted.rejected["stale_round"] >= 1
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(0, 0), ("t1", 2): WagerTotal(1, WAGER_CENTS)}

    run(reordered, broker)


def test_a_reordered_wager_arrives_at_the_end_if_no_other_follows(broker):
    async def released(pad, scripted):
        pad.faults.force("reorder", "t1/3")
        open_round(scripted)
        await reached(lambda: pad.wager_log.repeated >= 3)
        assert not wagers_received(scripted)
        pad.stop_wagering()
        await reached(lambda: pad.lamp is not None and pad.lamp.lit and pad.wager_log.all_answered)
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(1, WAGER_CENTS)}

    run(released, broker)


def test_after_a_power_cycle_the_retained_lamp_is_shown_again(broker):
    async def cycled(pad, scripted):
        open_round(scripted)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        pad.power_cycle()
        assert pad.lamp is None
        await reached(lambda: scripted.statuses.get("t1/pads/3") == "offline")
        await reached(lambda: scripted.statuses["t1/pads/3"] == "online" and pad.lamp is not None and pad.lamp.lit)
        assert pad.connection.connects == 2
        assert len(wagers_received(scripted)) == 1

    run(cycled, broker)


def test_a_wager_lost_in_a_power_cycle_is_queried_when_the_round_ends(broker):
    async def lost(pad, scripted):
        scripted.ignored_wagers = 1
        pad.faults.force("power_cycle", "t1/3")
        open_round(scripted)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        assert len({wager["wager_id"] for wager in wagers_received(scripted)}) == 2
        assert not pad.wager_log.all_answered
        pad.table.end(1)
        await reached(lambda: pad.wager_log.all_answered)
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(1, WAGER_CENTS)}
        assert pad.wager_log.verdicts == {"accepted": 1, "rejected": 1}

    run(lost, broker)


def test_an_answer_that_contradicts_an_earlier_one_is_recorded(broker):
    async def contradicted(pad, scripted):
        open_round(scripted)
        await reached(lambda: pad.lamp is not None and pad.lamp.lit)
        answer = {"wager_id": pad.lamp.wager_id, "verdict": "rejected", "reason": "no_ante"}
        scripted.publish_lamp("t1", 3, answer)
        await reached(lambda: pad.wager_log.contradictions)
        assert pad.wager_log.totals == {("t1", 1): WagerTotal(1, WAGER_CENTS)}

    run(contradicted, broker)
