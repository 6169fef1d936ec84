"""The publisher: what each change of the committed state publishes, retained or not, at once or after a while."""

import time

import pytest

from jackpot.core.commands import ReportMalfunction, UnlinkTable
from jackpot.engine.view_models import MeterMessage, TableStateMessage
from jackpot.wire import publisher as publisher_module
from jackpot.wire.messages import LampMessage, WinMessage
from jackpot.wire.payloads import MAX_TEXT, WagerAnswer, lamp, shorten
from jackpot.wire.publisher import MAX_QUEUED_WINS, MAX_UNKNOWN_BOXES
from tests.support.core_floor import AT, DEALER, FLUSH, MANAGER, NOTHING, ROYALS
from tests.support.wire_floor import WireFloor


@pytest.fixture
def wire():
    return WireFloor()


def test_everything_retained_is_published_on_a_connect(wire):
    wire.publisher.publish_all_retained()
    expected = ["jackpots/main/controller"]
    for table in ("t1", "t2"):
        expected += [f"tables/{table}/state", *(f"tables/{table}/pads/{box}/lamp" for box in range(1, 8))]
    assert wire.topics_published() == [*expected, "jackpots/main/meter"]
    assert all(message.retain for message in wire.published)
    assert wire.published[0].body == {"state": "online", "epoch": 7}


def test_an_opened_round_is_published_with_a_dark_lamp_for_each_box(wire):
    wire.floor.open()
    wire.publisher.publish_changes(wire.commit())
    lamps = [wire.bodies(f"tables/t1/pads/{box}/lamp") for box in range(1, 8)]
    assert all(
        [(body["round"], body["lit"], body["answer"]) for body in bodies] == [(1, False, None)] for bodies in lamps
    )
    assert wire.bodies("tables/t1/state")[-1]["phase"] == "open"
    assert wire.bodies("tables/t2/state") == []


def test_states_that_only_wagers_changed_wait_and_go_out_one_table_at_a_time(wire, monkeypatch):
    now = 100.0
    monkeypatch.setattr(publisher_module, "time", type("Time", (), {"monotonic": staticmethod(lambda: now)}))
    for table in ("t1", "t2"):
        wire.floor.open(table)
    wire.publisher.publish_changes(wire.commit())
    wire.published.clear()
    for table in ("t1", "t2"):
        wire.floor.wager(1, 2, table=table)
    wire.publisher.publish_changes(wire.commit())
    assert (wire.topics_published(), len(wire.calls)) == ([], 1)
    wire.calls.pop()[1]()
    assert wire.topics_published() == []  # the states were published less than a quarter of a second ago
    now = 100.3
    for table in ("t1", "t2"):
        wire.calls.pop()[1]()
        assert wire.topics_published() == [f"tables/{table}/state"]
        wire.published.clear()
    assert wire.calls == []


def test_a_stop_publishes_the_states_that_wait_and_the_meter(wire):
    wire.floor.open()
    wire.publisher.publish_changes(wire.commit())
    wire.floor.wager(1)
    wire.publisher.publish_changes(wire.commit())
    wire.published.clear()
    wire.publisher.publish_waiting()
    assert wire.topics_published() == ["tables/t1/state", "jackpots/main/meter"]
    assert wire.published[0].body["lit"] == [1]


def test_lamps_go_dark_when_a_round_ends_and_not_before(wire):
    wire.floor.open()
    wire.floor.wager(1, 3)
    wire.floor.close()
    wire.floor.declare(3, ROYALS[0])
    wire.publisher.publish_changes(wire.commit())
    wire.published.clear()
    wire.floor.settle()
    wire.publisher.publish_changes(wire.commit())
    assert not [topic for topic in wire.topics_published() if topic.endswith("/lamp")]
    wire.floor.confirm()
    wire.publisher.publish_changes(wire.commit())
    dark = {topic for topic in wire.topics_published() if topic.endswith("/lamp")}
    assert dark == {"tables/t1/pads/1/lamp", "tables/t1/pads/3/lamp"}
    assert all(not body["lit"] for topic in dark for body in wire.bodies(topic))


def test_wins_are_published_at_the_lock_and_at_confirmation_with_the_same_id(wire):
    wire.floor.play({1: FLUSH, 2: ROYALS[0]})
    wire.publisher.publish_changes(wire.commit())
    wire.floor.confirm()
    wire.publisher.publish_changes(wire.commit())
    wins = wire.bodies("jackpots/main/wins")
    assert [(win["box"], win["status"]) for win in wins] == [(2, "pending"), (1, "paid"), (2, "paid")]
    assert wins[0]["win_id"] == wins[2]["win_id"]
    assert all(WinMessage.model_validate(win) for win in wins)
    assert not any(message.retain for message in wire.published if message.topic == "jackpots/main/wins")


def test_a_win_lost_on_its_way_is_published_again_at_the_next_connect(wire):
    wire.floor.play({1: FLUSH})
    wire.publisher.publish_changes(wire.commit())
    (sent,) = [message for message in wire.published if message.topic == "jackpots/main/wins"]
    sent.on_delivery(False)
    wire.published.clear()
    wire.publisher.publish_all_retained()
    assert [win["win_id"] for win in wire.bodies("jackpots/main/wins")] == [sent.body["win_id"]]
    wire.published.clear()
    wire.publisher.publish_all_retained()
    assert wire.bodies("jackpots/main/wins") == []


def test_wins_that_cannot_be_published_wait_up_to_a_limit(wire):
    wire.connected = False
    for _ in range(MAX_QUEUED_WINS + 5):
        wire.floor.play({1: FLUSH})
    wire.publisher.publish_changes(wire.commit())
    wire.connected = True
    wire.publisher.publish_all_retained()
    assert len(wire.bodies("jackpots/main/wins")) == MAX_QUEUED_WINS


def test_a_removed_table_is_cleared_with_the_lamps_of_boxes_it_never_had(wire):
    table = wire.committed.jackpot.tables["t1"]
    assert wire.publisher.lamp(table, 9, WagerAnswer("w1", "rejected", "unknown_box"))
    wire.publisher.load_lamps([("t1", 12), ("t1", 3), ("t9", 1)])
    wire.published.clear()
    wire.floor.execute(UnlinkTable(AT, MANAGER, "t1", "moved"))
    wire.publisher.publish_changes(wire.commit())
    cleared = {message.topic for message in wire.published if message.body is None and message.retain}
    boxes = {*range(1, 8), 9, 12}
    assert cleared == {"tables/t1/state", *(f"tables/t1/pads/{box}/lamp" for box in boxes)}


def test_only_so_many_lamps_of_unknown_boxes_are_retained(wire):
    table = wire.committed.jackpot.tables["t1"]
    for box in range(100, 100 + MAX_UNKNOWN_BOXES + 1):
        wire.publisher.lamp(table, box, WagerAnswer("w", "rejected", "unknown_box"))
    assert [message.retain for message in wire.published] == [True] * MAX_UNKNOWN_BOXES + [False]


def test_the_meter_is_noted_as_displayed_only_if_it_was_published(wire):
    wire.connected = False
    wire.publisher.meter()
    assert wire.committed.displayed_cents is None
    wire.connected = True
    began = time.monotonic()
    wire.publisher.meter()
    assert wire.committed.displayed_cents == wire.floor.jackpot.meter_cents
    assert wire.committed.meter_published_at >= began
    assert MeterMessage.model_validate(wire.bodies("jackpots/main/meter")[-1]).state == "live"


def test_a_failing_store_is_published_in_meter_and_states_until_it_is_back(wire):
    wire.committed.store_failed = True
    wire.publisher.publish_all_retained()
    assert wire.bodies("jackpots/main/meter")[-1]["state"] == "suspended"
    assert {wire.bodies(f"tables/{table}/state")[-1]["suspended"] for table in ("t1", "t2")} == {"store"}
    wire.committed.store_failed = False
    wire.publisher.publish_all_retained()
    assert wire.bodies("jackpots/main/meter")[-1]["state"] == "live"
    assert TableStateMessage.model_validate(wire.bodies("tables/t1/state")[-1]).suspended is None


def test_a_new_configuration_is_published_in_every_tables_state(wire):
    wire.floor.approve(wire.floor.propose(version=2, wager_cents=500))
    wire.publisher.publish_changes(wire.commit())
    assert {wire.bodies(f"tables/{table}/state")[-1]["wager_cents"] for table in ("t1", "t2")} == {500}


def test_a_suspended_table_is_published_at_once(wire):
    wire.floor.execute(ReportMalfunction(AT, DEALER, "t2", "shoe", "jammed", "dealer_report"))
    wire.publisher.publish_changes(wire.commit())
    assert wire.bodies("tables/t2/state")[-1]["suspended"] == "dealer_report"


def test_a_lamp_carries_the_standing_wager_and_the_answer(wire):
    wire.floor.open()
    wire.floor.execute(wire.floor.wagered(3, wager_id="w3"))
    wire.commit()
    answer = WagerAnswer("other", "rejected", "no_ante")
    text = lamp(wire.committed.jackpot.tables["t1"], 3, answer, wire.committed.position)
    found = LampMessage.model_validate_json(text)
    assert (found.lit, found.wager_id, found.answer.wager_id, found.answer.reason) == (True, "w3", "other", "no_ante")
    assert (found.epoch, found.seq) == wire.committed.position


@pytest.mark.parametrize("text", ["ü" * 5_000, "\x07" * 5_000, '"' * 5_000, "short", NOTHING[0]])
def test_a_long_text_is_cut_to_fit_into_a_payload(text):
    cut = shorten(text)
    assert len(cut.encode()) <= MAX_TEXT
    assert cut == text if len(text) < 100 else cut.endswith("…") and text.startswith(cut[:-1])
