"""Whole rounds on a floor: dealer terminals that restart in a round, every kind of fault, books equal to the cent."""

import asyncio
import json
import sys

from hardware_sim import Faults, Floor, Habits, Rig, Shoe, read_books
from hardware_sim.messages import encode
from tests.support.scripted_controller import Table, controller, reached

LIMIT_SECONDS = 120
SPEED = 200
ALL_WAGER = Habits(play=1, wager=1, misplace=0, fold=0.5, void_hand=0, void_round=0)


def run(scene, broker, tables=("t1",), **more):
    async def whole():
        async with controller(broker, scene.__name__, tables) as scripted:
            more.setdefault("habits", ALL_WAGER)
            floor = Floor(tables, site=scene.__name__, broker=broker, speed=SPEED, **more)
            async with asyncio.timeout(LIMIT_SECONDS), floor:
                await scene(floor, scripted)

    asyncio.run(whole())


def commands(scripted, kind):
    sent = [json.loads(payload) for topic, payload in scripted.received if topic.endswith("/command")]
    return [command for command in sent if command["type"] == kind]


def test_rounds_are_played_and_reconcile(broker):
    async def plays(floor, scripted):
        await floor.play(rounds=3)
        assert await floor.stop()
        assert {name: table.round for name, table in scripted.tables.items()} == {"t1": 3, "t2": 3}
        result = floor.reconcile(read_books(scripted.rows()))
        assert result.is_equal
        assert result.total.rounds == 6
        assert result.total.pads.wagers == 42
        assert floor.reconcile().is_equal

    run(plays, broker, ("t1", "t2"))


def test_devices_publish_offline_when_they_close(broker):
    async def leaves():
        async with controller(broker, "leaves", ["t1"]) as scripted:
            async with Floor(["t1"], site="leaves", broker=broker, displays=0):
                await reached(lambda: list(scripted.statuses.values()).count("online") == 8)
            await reached(lambda: set(scripted.statuses.values()) == {"offline"})

    asyncio.run(leaves())


def test_a_rigged_royal_flush_waits_for_a_supervisor_while_other_tables_play(broker):
    calls = []

    async def rigged(floor, scripted):
        await floor.play(seconds=0.01)
        await reached(lambda: scripted.tables["t1"].phase == "pending" and scripted.tables["t2"].round > 3)
        assert [(payout["box"], payout["hand"]) for payout in scripted.tables["t1"].payouts] == [
            (3, "royal_flush"),
            (5, "straight_flush"),
        ]
        assert [win.hand for win in floor.snapshot().wins if win.table == "t1"] == ["royal_flush", "straight_flush"]
        assert calls == [("t1", 2)]
        await scripted.confirm("t1", 2)
        await reached(lambda: scripted.tables["t1"].round == 3)
        assert await floor.stop()
        assert floor.reconcile(read_books(scripted.rows())).is_equal

    async def supervisor(table, number):
        calls.append((table, number))

    shoe = Shoe(0, [Rig("t1", 3, "royal_flush", 2), Rig("t1", 5, "straight_flush", 2)])
    run(rigged, broker, ("t1", "t2"), shoe=shoe, confirm_win=supervisor)


def test_a_dealer_terminal_that_restarts_continues_the_round(broker):
    async def restarts(floor, scripted):
        floor.faults.force("power_cycle", "t1/dealer")
        await floor.play(rounds=1)
        assert scripted.tables["t1"].round == 1
        assert floor.dealers["t1"].connection.connects == 2
        play = asyncio.create_task(floor.play(rounds=1))
        await reached(lambda: len(scripted.tables["t1"].declared) + len(scripted.tables["t1"].folded) == 3)
        floor.device("t1/dealer").power_cycle()
        await play
        assert scripted.tables["t1"].round == 2
        assert len(scripted.tables["t1"].declared) + len(scripted.tables["t1"].folded) == 7
        hands = [command["cards"] for command in commands(scripted, "declare") if command["round"] == 2]
        cards = [card for hand in {tuple(hand) for hand in hands} for card in hand]
        assert len(set(cards)) == len(cards)
        assert await floor.stop()
        assert floor.reconcile(read_books(scripted.rows())).is_equal

    run(restarts, broker)


def test_a_round_of_an_earlier_run_is_finished_but_not_counted(broker):
    async def inherits():
        async with controller(broker, "inherits", ["t1"]) as scripted:
            royal = ["As", "Ks", "Qs", "Js", "Ts"]
            scripted.tables["t1"] = Table(9, "closed", {2: "old-1", 3: "old-2"}, declared={3: royal})
            scripted.publish_lamps("t1")
            scripted.publish_state("t1")
            floor = Floor(
                ["t1"], site="inherits", broker=broker, speed=SPEED, habits=ALL_WAGER, confirm_win=scripted.confirm
            )
            async with asyncio.timeout(LIMIT_SECONDS), floor:
                await floor.play(rounds=1)
                assert await floor.stop()
            assert floor.played == [("t1", 10)]
            declared = commands(scripted, "declare") + commands(scripted, "fold")
            assert {command["box"] for command in declared if command["round"] == 9} == {2}
            assert floor.reconcile(read_books(scripted.rows())).is_equal

    asyncio.run(inherits())


def test_a_command_is_repeated_with_the_same_id_until_the_reply(broker):
    async def repeats(floor, scripted):
        scripted.ignored_commands = 2
        await floor.play(rounds=1)
        opened = commands(scripted, "open_round")
        assert len(opened) >= 3
        assert len({command["command_id"] for command in opened}) == 1

    run(repeats, broker)


def test_a_reordered_command_arrives_once_more_after_the_next_one(broker):
    async def reordered(floor, scripted):
        floor.faults.force("reorder", "t1/dealer")
        await floor.play(rounds=1)
        assert await floor.stop()
        received = [json.loads(payload)["type"] for topic, payload in scripted.received if topic.endswith("/command")]
        assert received[:3] == ["open_round", "close_wagers", "open_round"]
        assert scripted.tables["t1"].round == 1
        assert floor.reconcile(read_books(scripted.rows())).is_equal

    run(reordered, broker)


def test_a_suspended_table_waits_until_it_is_resumed(broker):
    async def resumes(floor, scripted):
        controllers.append(scripted)
        scripted.tables["t1"].suspended = "dealer_report"
        scripted.seq += 1
        scripted.publish_state("t1")
        await reached(lambda: floor.tables["t1"].state.suspended)
        await floor.play(rounds=1)
        assert scripted.tables["t1"].round == 1

    async def resume(table):
        scripted = controllers[0]
        scripted.tables[table].suspended = None
        scripted.seq += 1
        scripted.publish_state(table)

    controllers = []
    run(resumes, broker, resume_table=resume)


def test_every_fault_at_once_leaves_the_books_equal(broker):
    async def faulty(floor, scripted):
        await floor.play(rounds=3)
        assert await floor.stop()
        result = floor.reconcile(read_books(scripted.rows()))
        assert result.is_equal, (result.differences, result.unanswered, result.contradictions)
        assert sum(floor.faults.counts.values()) > 20

    habits = Habits(play=1, wager=1, misplace=0.05, void_hand=0.1, void_round=0.1)
    faults = Faults.parse("all=0.08", seed=4)
    run(faulty, broker, ("t1", "t2", "t3"), habits=habits, faults=faults)


def test_a_display_shows_the_meter_and_never_a_stale_one(broker):
    async def shows(floor, scripted):
        display = floor.displays[0]
        await reached(lambda: display.shown is not None)
        assert display.shown.text == "$10,000.00"
        await reached(lambda: scripted.shown.get("displays/sim-display-1/shown", {}).get("amount_cents") == 1_000_000)
        scripted.publish("jackpots/main/controller", {"state": "offline"}, position=(6, 0))
        scripted.seq += 1
        scripted.publish_meter()
        await reached(lambda: display.shown.position.seq == scripted.seq)
        scripted.publish("jackpots/main/controller", {"state": "offline"})
        await reached(lambda: display.shown is None)
        scripted.epoch += 1
        scripted.publish_meter()
        await reached(lambda: display.shown is not None)
        display._meter_received_at -= 16
        assert display.shown is None

    run(shows, broker)


def test_malformed_messages_from_the_controller_stop_no_device(broker):
    async def malformed(floor, scripted):
        topics = ("tables/t1/state", "tables/t1/pads/3/lamp", "tables/t1/dealer/reply", "jackpots/main/meter")
        for topic in (*topics, "jackpots/main/wins", "jackpots/main/controller"):
            for payload in (b"", b"\xff", b"null", b"[]", encode({"round": "x", "answer": 4}), b"[" * 3000):
                scripted.client._client.publish(f"{scripted.root}/{topic}", payload, 1)
        await floor.play(rounds=1)
        assert all(device.connection.connects == 1 for device in floor.devices)

    run(malformed, broker)


async def command_line(*arguments):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hardware_sim", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def test_the_exit_code_tells_whether_the_books_are_equal(broker, tmp_path):
    async def whole():
        async with controller(broker, "cli", ["t1", "t2"]) as scripted:
            where = ("--broker", str(broker), "--site", "cli", "--speed", "400", "--rounds", "1")
            code, out, err = await command_line(*where, "--tables", "2")
            assert (code, err) == (0, "")
            assert "Equal to the cent on the wire" in out
            assert "Equal to the cent:" not in out
            wrong = tmp_path / "books.json"
            rows = [{**row, "round": row["round"] + 1} for row in scripted.rows()]
            rows[0]["wagered_cents"] += 1
            wrong.write_text(json.dumps(rows))
            code, out, err = await command_line(*where, "--tables", "1", "--books", str(wrong))
            assert (code, err) == (1, "")
            assert "Different" in out

    asyncio.run(whole())


def test_the_command_line_refuses_wrong_arguments_in_one_sentence(broker):
    async def whole():
        wrong = [
            ("--broker", "http://x"),
            ("--rig", "t1:3:fives@1"),
            ("--faults", "fire=1"),
            ("--speed", "0"),
            ("--boxes", "12"),
            ("--tables", "many"),
        ]
        for result in await asyncio.gather(*(command_line(*arguments) for arguments in wrong[:3])):
            assert_one_sentence(result)
        for result in await asyncio.gather(*(command_line(*arguments) for arguments in wrong[3:])):
            assert_one_sentence(result)

        known = ("--broker", str(broker), "--site", "refuses")
        async with controller(broker, "refuses", ["t1"]):
            unknown_table = command_line(*known, "--tables", "2")
            no_controller = command_line(*known[:3], "no-controller", "--tables", "1", "--seconds", "0.1")
            for result in await asyncio.gather(unknown_table, no_controller):
                code, _, err = result
                assert code == 2
                assert len(err.splitlines()) == 1

    def assert_one_sentence(result):
        code, out, err = result
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1

    asyncio.run(whole())
