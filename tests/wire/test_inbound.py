"""Inbound messages: decoded into commands, answered and acknowledged only when nothing more can be lost."""

import pytest
from structlog.testing import capture_logs

from jackpot import metrics
from jackpot.core.commands import (
    CloseWagers,
    Declare,
    Identified,
    PlaceWager,
    RecordShown,
    ReportMalfunction,
    UnlinkTable,
)
from jackpot.engine.quarantine import MAX_QUARANTINED
from jackpot.engine.writer import TooBusyError
from jackpot.store.errors import Rejected, Unreachable
from jackpot.wire import malformed_limit
from jackpot.wire.inbound import MAX_BOX
from jackpot.wire.malformed_limit import MAX_ON_A_TOPIC, MAX_ON_ALL_TOPICS
from jackpot.wire.messages import MAX_BYTES
from tests.support.core_floor import AT, MANAGER
from tests.support.wire_floor import WireFloor

WAGER = {"wager_id": "w1", "round": 1, "amount_cents": 100, "ante": True}


@pytest.fixture
def wire():
    made = WireFloor()
    made.floor.open()
    made.commit()
    return made


def answer(wire, box=3):
    return wire.bodies(f"tables/t1/pads/{box}/lamp")[-1]["answer"]


def test_a_wager_is_answered_and_acknowledged_only_when_it_is_carried_out(wire):
    message = wire.receive("tables/t1/pads/3/wager", WAGER)
    ((command, _),) = wire.queue
    assert isinstance(command, PlaceWager)
    assert (command.table, command.box, command.wager_id, command.round) == ("t1", 3, "w1", 1)
    assert (wire.published, wire.acknowledged) == ([], [])
    wire.carry_out()
    assert answer(wire) == {"wager_id": "w1", "verdict": "accepted", "reason": None}
    assert wire.acknowledged == [message]


def test_a_refused_wager_is_answered_with_its_reason(wire):
    wire.receive("tables/t1/pads/3/wager", {**WAGER, "amount_cents": 99})
    wire.carry_out()
    assert answer(wire) == {"wager_id": "w1", "verdict": "rejected", "reason": "wrong_amount"}
    assert len(wire.acknowledged) == 1


@pytest.mark.parametrize(
    ("body", "wager_id"),
    [(b"{", None), ({**WAGER, "round": "1"}, "w1"), ({"wager_id": "w1"}, "w1"), ({**WAGER, "wager_id": "a b"}, None)],
)
def test_a_malformed_wager_is_answered_quarantined_and_acknowledged(wire, body, wager_id):
    before = metrics.MALFORMED.labels("main", "wager")._value.get()
    message = wire.receive("tables/t1/pads/3/wager", body)
    assert answer(wire) == {"wager_id": wager_id, "verdict": "rejected", "reason": "malformed"}
    assert (wire.queue, wire.acknowledged) == ([], [message])
    assert [kept.topic for kept in wire.service.quarantine] == [message.topic]
    assert metrics.MALFORMED.labels("main", "wager")._value.get() == before + 1


def test_a_wager_that_is_not_durable_is_neither_answered_nor_acknowledged(wire):
    wire.receive("tables/t1/pads/3/wager", WAGER)
    ((_, reply),) = wire.queue
    reply(Unreachable("the disk is full"))
    assert (wire.published, wire.acknowledged) == ([], [])


def test_a_wager_that_the_database_refuses_is_quarantined_and_answered_as_malformed(wire):
    message = wire.receive("tables/t1/pads/3/wager", WAGER)
    ((_, reply),) = wire.queue
    reply(Rejected("a row is in the way"))
    assert answer(wire)["reason"] == "malformed"
    assert (wire.acknowledged, len(wire.service.quarantine)) == ([message], 1)


def test_an_answer_that_cannot_be_published_leaves_the_message_with_the_broker(wire):
    wire.receive("tables/t1/pads/3/wager", WAGER)
    wire.connected = False
    wire.carry_out()
    assert wire.acknowledged == []


def test_a_message_without_room_in_the_queue_is_left_with_the_broker(wire, monkeypatch):
    def full(_command, _reply):
        raise TooBusyError("full")

    monkeypatch.setattr(wire.service, "enqueue", full)
    before = metrics.UNTAKEN.labels("main")._value.get()
    wire.receive("tables/t1/pads/3/wager", WAGER)
    assert (wire.inbound.left_untaken, wire.acknowledged) == (True, [])
    assert metrics.UNTAKEN.labels("main")._value.get() == before + 1


def test_messages_for_tables_of_others_are_acknowledged_unread(wire):
    wire.receive("tables/t9/pads/3/wager", b"not even JSON")
    wire.receive("tables/t9/dealer/command", b"not even JSON")
    assert (len(wire.acknowledged), wire.published, list(wire.service.quarantine)) == (2, [], [])


def test_a_box_number_beyond_every_table_is_refused_without_the_store(wire):
    box = MAX_BOX + 1
    wire.receive(f"tables/t1/pads/{box}/wager", WAGER)
    assert (answer(wire, box)["reason"], wire.queue, len(wire.acknowledged)) == ("unknown_box", [], 1)


def test_a_wager_of_a_table_removed_meanwhile_is_acknowledged_unanswered(wire):
    wire.floor.void()
    wire.receive("tables/t1/pads/3/wager", WAGER)
    wire.floor.execute(UnlinkTable(AT, MANAGER, "t1", "moved"))
    wire.carry_out()
    answers = [body["answer"] for body in wire.bodies("tables/t1/pads/3/lamp") if body]
    assert (answers, len(wire.acknowledged)) == ([], 1)


def test_a_command_is_identified_and_its_reply_repeats_its_id(wire):
    wire.receive("tables/t2/dealer/command", {"command_id": "c1", "type": "open_round"})
    ((command, _),) = wire.queue
    assert isinstance(command, Identified)
    assert command.command_id == "c1"
    wire.carry_out()
    assert wire.bodies("tables/t2/dealer/reply") == [{"command_id": "c1", "ok": True, "round": 1}]
    assert len(wire.acknowledged) == 1


def test_the_digest_of_a_command_is_of_its_content_alone(wire):
    for command_id, round_number in (("c1", 1), ("c2", 1), ("c3", 2)):
        body = {"command_id": command_id, "type": "close_wagers", "round": round_number}
        wire.receive("tables/t1/dealer/command", body)
    first, second, third = (command.digest for command, _ in wire.queue)
    assert first == second != third


def test_a_refused_command_gets_its_code_and_a_sentence(wire):
    wire.receive("tables/t1/dealer/command", {"command_id": "c1", "type": "settle", "round": 1})
    wire.carry_out()
    (reply,) = wire.bodies("tables/t1/dealer/reply")
    assert (reply["ok"], reply["error"], bool(reply["message"])) == (False, "wrong_phase", True)


def test_a_malformed_command_is_answered_only_where_its_id_can_be_read(wire):
    wire.receive("tables/t1/dealer/command", {"command_id": "c1", "type": "nonsense"})
    wire.receive("tables/t1/dealer/command", {"type": "settle", "round": 1})
    assert [reply["command_id"] for reply in wire.bodies("tables/t1/dealer/reply")] == ["c1"]
    assert (len(wire.acknowledged), len(wire.service.quarantine)) == (2, 2)


def test_closing_names_the_boxes_whose_pad_reports_a_dark_lamp_in_this_round(wire):
    wire.receive("tables/t1/pads/3/shown", {"round": 1, "lit": False})
    wire.receive("tables/t1/pads/4/shown", {"round": 1, "lit": True})
    wire.receive("tables/t1/pads/5/shown", {"round": 0, "lit": False})
    wire.receive("tables/t1/dealer/command", {"command_id": "c1", "type": "close_wagers", "round": 1})
    close = wire.queue[-1][0].command
    assert isinstance(close, CloseWagers)
    assert close.dark == (3,)


def test_a_declaration_carries_the_meter_that_is_displayed(wire):
    wire.publisher.meter()
    cards = ["As", "Ks", "Qs", "Js", "Ts"]
    body = {"command_id": "c1", "type": "declare", "round": 1, "box": 3, "cards": cards}
    wire.receive("tables/t1/dealer/command", body)
    declare = wire.queue[-1][0].command
    assert isinstance(declare, Declare)
    assert declare.displayed_cents == wire.floor.jackpot.meter_cents


def test_a_pad_that_goes_offline_with_a_lit_wager_suspends_its_table_once_a_round(wire):
    wire.floor.wager(3)
    wire.commit()
    message = wire.receive("tables/t1/pads/3/status", {"state": "offline"})
    ((command, _),) = wire.queue
    assert isinstance(command, ReportMalfunction)
    assert (command.table, command.equipment, command.cause) == ("t1", "pad 3", "pad_offline")
    assert wire.acknowledged == []
    wire.carry_out()
    assert wire.acknowledged == [message]
    wire.receive("tables/t1/pads/3/status", {"state": "offline"})
    assert (wire.queue, len(wire.acknowledged)) == ([], 2)
    wire.receive("tables/t1/pads/3/status", {"state": "online"})
    wire.receive("tables/t1/pads/3/status", {"state": "offline"})
    assert len(wire.queue) == 1


def test_a_pad_that_goes_offline_without_a_wager_suspends_nothing(wire):
    wire.receive("tables/t1/pads/3/status", {"state": "offline"})
    assert (wire.queue, len(wire.acknowledged)) == ([], 1)
    assert wire.equipment.pads.is_offline("t1", 3)


def test_a_display_of_this_jackpot_is_recorded_and_one_of_another_is_not(wire):
    wire.publisher.meter()
    shown = {"jackpot": "main", "amount_cents": wire.floor.jackpot.meter_cents, "epoch": 7, "seq": wire.position().seq}
    wire.receive("displays/lobby/shown", {**shown, "jackpot": "other"})
    assert wire.queue == []
    wire.receive("displays/lobby/shown", shown)
    ((command, _),) = wire.queue
    assert isinstance(command, RecordShown)
    assert (command.display, command.right) == ("lobby", True)


def test_statuses_of_terminals_and_displays_are_noted(wire):
    wire.receive("tables/t1/dealer/status", {"state": "online"})
    wire.receive("displays/lobby/status", {"state": "online"})
    assert wire.equipment.pads.dealer_online("t1") is True
    assert wire.equipment.displays.count_online() == 1
    assert len(wire.acknowledged) == 2


def test_malformed_messages_are_logged_once_a_minute_for_each_device_and_kept_cut(wire):
    with capture_logs() as logs:
        for _ in range(5):
            wire.receive("tables/t1/pads/3/status", b"x" * (2 * MAX_BYTES))
        wire.receive("tables/t1/pads/4/status", b"x")
    assert [entry["topic"].split("/")[-2] for entry in logs if entry["event"] == "malformed message"] == ["3", "4"]
    assert {len(kept.payload) for kept in wire.service.quarantine} == {MAX_BYTES, 1}


def test_of_many_malformed_messages_in_a_second_only_some_are_answered_and_all_are_counted(wire, monkeypatch):
    monkeypatch.setattr(malformed_limit, "WINDOW_SECONDS", 1_000)
    counted, unanswered = metrics.MALFORMED.labels("main", "wager"), metrics.UNANSWERED.labels("main")
    before, before_unanswered = counted._value.get(), unanswered._value.get()
    for _ in range(MAX_ON_A_TOPIC + 5):
        wire.receive("tables/t1/pads/3/wager", b"{")
    assert len(wire.bodies("tables/t1/pads/3/lamp")) == MAX_ON_A_TOPIC
    for box in range(1, 2 * MAX_ON_ALL_TOPICS):
        wire.receive(f"tables/t1/pads/{box}/wager", b"{")
    assert len(wire.published) == MAX_ON_ALL_TOPICS
    sent = MAX_ON_A_TOPIC + 5 + 2 * MAX_ON_ALL_TOPICS - 1
    assert counted._value.get() - before == len(wire.acknowledged) == sent
    assert unanswered._value.get() - before_unanswered == sent - MAX_ON_ALL_TOPICS
    wire.receive("tables/t1/pads/3/wager", WAGER)
    wire.carry_out()
    assert answer(wire)["verdict"] == "accepted"


def test_a_flood_from_many_devices_is_not_logged_without_limit(wire, monkeypatch):
    monkeypatch.setattr(malformed_limit, "MAX_ON_ALL_TOPICS", 10_000)
    with capture_logs() as logs:
        for _ in range(2):
            for box in range(1, 3 * MAX_QUARANTINED):
                wire.receive(f"tables/t1/pads/{box}/status", b"{")
    assert len(logs) == MAX_QUARANTINED
