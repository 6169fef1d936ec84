"""The protocol over real brokers: the daemon is a process, the devices are MQTT clients."""

import json

import pytest

from jackpot.engine import view_models
from jackpot.wire import messages
from tests.support.daemon import Client, Site, Tools

ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
EVERYTHING = ("tables/#", "jackpots/#")


@pytest.fixture
def floor(port, new_site, new_client):
    """A daemon, and a client that receives all its messages."""
    site = new_site(port)
    client = new_client(port, site.id, *EVERYTHING)
    site.start()
    return site, client


def test_a_whole_round_with_a_royal_from_the_first_lamp_to_the_confirmation(floor):
    site, client = floor
    assert client.command("t1", "c1", "open_round") == {"command_id": "c1", "ok": True, "round": 1}
    lamp = client.wager("t1", 3, "w1", 1)
    assert (lamp["lit"], lamp["wager_id"], lamp["round"]) == (True, "w1", 1)
    assert lamp["answer"] == {"wager_id": "w1", "verdict": "accepted", "reason": None}
    meter = client.wait("jackpots/main/meter", lambda m: m["amount_cents"] == 1_000_140)
    assert (meter["text"], meter["state"], meter["pending"]) == ("$10,001.40", "live", [])
    assert client.command("t1", "c2", "close_wagers", round=1) == {
        "command_id": "c2", "ok": True, "lit": [3], "unconfirmed": [],
    }  # fmt: skip
    reply = client.command("t1", "c3", "declare", round=1, box=3, cards=ROYAL)
    assert (reply["hand"], reply["qualifies"], reply["amount_cents"]) == ("royal_flush", True, 1_000_140)
    settled = client.command("t1", "c4", "settle", round=1)
    (payout,) = settled["payouts"]
    assert (payout["box"], payout["amount_cents"], payout["status"]) == (3, 1_000_140, "pending")
    win = client.wait("jackpots/main/wins")
    state = client.wait("tables/t1/state", lambda s: s["phase"] == "pending")
    assert (win["status"], win["amount_cents"], state["lit"], state["declared"]) == (
        "pending",
        1_000_140,
        [3],
        {"3": ROYAL},
    )
    meter = client.wait("jackpots/main/meter", lambda m: m["pending"])
    assert meter["amount_cents"] == 1_000_000  # the reset
    assert site.act("rounds/t1/1/confirm") == (200, {"payouts": [{**payout, "status": "paid"}]})
    paid = client.wait("jackpots/main/wins")
    assert (paid["win_id"], paid["status"]) == (win["win_id"], "paid")
    dark = client.wait("tables/t1/pads/3/lamp", lambda lamp: not lamp["lit"])
    assert (dark["answer"], dark["round"]) == (None, 1)
    assert site.verified()


def test_after_a_restart_a_correction_publishes_only_the_prizes_it_corrects(floor):
    site, client = floor

    def play(number, **hands):
        client.command("t1", f"open-{number}", "open_round")
        for box in hands:
            client.wager("t1", int(box[1:]), f"w{number}", number)
        client.command("t1", f"close-{number}", "close_wagers", round=number)
        for box, cards in hands.items():
            client.command("t1", f"{box}-{number}", "declare", round=number, box=int(box[1:]), cards=cards)
        client.command("t1", f"settle-{number}", "settle", round=number)

    play(1, b1=FLUSH)
    play(2, b1=FLUSH, b3=ROYAL)
    site.kill()
    site.start()
    lock = site.head()
    site.act("rounds/t1/2/correct", {"hands": {"3": None}, "reason": "a test"})
    client.wait("jackpots/main/wins", lambda win: win["status"] == "paid" and win["seq"] > lock)  # the last message
    corrected = [win for _, win in client.times("jackpots/main/wins") if win["status"] == "corrected"]
    assert sorted((win["round"], win["box"]) for win in corrected) == [(2, 1), (2, 3)]


def test_a_repeated_wager_is_answered_again_and_posted_once_and_a_changed_one_is_rejected(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    for _ in range(3):
        assert client.wager("t1", 1, "w1", 1)["answer"]["verdict"] == "accepted"
    assert client.wager("t1", 1, "w1", 1, amount_cents=100)["answer"]["reason"] == "wager_id_reused"
    assert client.wager("t1", 1, "w2", 1)["answer"]["reason"] == "box_already_wagered"
    assert client.wager("t1", 2, "w1", 1, amount_cents=100)["answer"]["reason"] == "wrong_amount"
    assert client.wager("t1", 2, "w1", 1, ante=False)["answer"]["reason"] == "no_ante"
    assert client.wager("t1", 2, "w1", 7)["answer"]["reason"] == "stale_round"
    assert client.wager("t2", 2, "w1", 1)["answer"]["reason"] == "no_open_round"
    assert client.wager("t1", 8, "w1", 1)["answer"]["reason"] == "unknown_box"
    client.command("t1", "c2", "close_wagers", round=1)
    assert client.wager("t1", 2, "w9", 1)["answer"]["reason"] == "wagers_closed"
    assert client.command("t1", "c3", "settle", round=1)["ok"]
    assert client.wager("t1", 1, "w1", 1)["answer"]["verdict"] == "accepted"
    site.stop()
    assert [row["wagers"] for row in site.answer("rounds")] == [1]


@pytest.mark.parametrize(
    ("payload", "wager_id"),
    [
        (b"", None),
        (b"\xff\xfe", None),
        (b"[1]", None),
        (b'{"wager_id":"w1"', None),
        (b'{"wager_id":"w1","round":1,"amount_cents":"200","ante":true}', "w1"),
        (b'{"wager_id":"w1","round":1,"amount_cents":0,"ante":true}', "w1"),
        (b'{"wager_id":"w1","round":1,"amount_cents":200}', "w1"),
        (b'{"wager_id":"w1","round":"1","amount_cents":200,"ante":true}', "w1"),
        (b'{"wager_id":"w 1","round":1,"amount_cents":200,"ante":true}', None),
        (b'{"wager_id":"w1","round":1,"amount_cents":200,"ante":true,"x":"' + b"y" * 4_096 + b'"}', "w1"),
        (b'{"wager_id":"w1","round":1,"amount_cents":200,"ante":true,"x":"' + b"y" * 70_000 + b'"}', None),
    ],
)
def test_malformed_wagers_are_answered_malformed_and_the_next_is_answered(shared_floor, payload, wager_id):
    _, client = shared_floor
    client.skip()
    client.publish("tables/t1/pads/5/wager", payload)
    lamp = client.wait("tables/t1/pads/5/lamp")
    assert lamp["answer"] == {"wager_id": wager_id, "verdict": "rejected", "reason": "malformed"}
    assert client.wager("t1", 5, "fine", 99)["answer"]["verdict"] == "rejected"


@pytest.fixture(scope="module")
def shared_floor(mosquitto_port, tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("one"), f"mqtt://127.0.0.1:{mosquitto_port}")
    client = Client(mosquitto_port, site.id, *EVERYTHING)
    site.start()
    client.wait("jackpots/main/meter")  # published after all lamp messages of the start
    yield site, client
    client.close()
    site.kill()


def test_malformed_commands_are_answered_if_they_have_an_id_and_counted_if_not(shared_floor):
    site, client = shared_floor
    for body in ({"type": "nonsense"}, {"type": "settle"}, {"type": "declare", "round": 1, "box": 1, "cards": "As"}):
        client.publish("tables/t2/dealer/command", {"command_id": "bad", **body})
        reply = client.wait("tables/t2/dealer/reply")
        assert (reply["command_id"], reply["ok"], reply["error"]) == ("bad", False, "malformed")
        assert reply["message"]
    before = site.metric("jackpot_malformed_messages_total")
    client.skip()
    client.publish("tables/t2/dealer/command", {"type": "open_round"})
    assert client.command("t2", "good", "open_round")["ok"]
    assert site.metric("jackpot_malformed_messages_total") == before + 1


def test_a_repeated_command_is_executed_once(shared_floor):
    _, client = shared_floor
    first = client.command("t3", "same", "open_round")
    assert first == client.command("t3", "same", "open_round") == {"command_id": "same", "ok": True, "round": 1}
    assert client.command("t3", "same", "report_malfunction", equipment="x", note="y")["error"] == "command_id_reused"


def test_every_published_message_fits_its_model(shared_floor):
    _, client = shared_floor
    client.command("t1", "m1", "open_round")
    client.wager("t1", 1, "m1", 1)
    client.command("t1", "m2", "void_round", round=1, reason="a test")
    client.wait("tables/t1/state", lambda s: s["phase"] == "idle")
    models = {
        "lamp": messages.LampMessage,
        "state": view_models.TableStateMessage,
        "meter": view_models.MeterMessage,
        "wins": messages.WinMessage,
        "controller": messages.ControllerMessage,
        "reply": messages.ReplyMessage,
    }
    seen = set()
    for topic, body in client.all:
        kind = topic.rsplit("/", 1)[1]
        if kind in models and body is not None:
            seen.add(kind)
            message = models[kind].model_validate(body)
            assert kind == "reply" or set(body) == set(type(message).model_fields)
    assert seen >= {"lamp", "state", "meter", "controller", "reply"}


def test_voided_wagers_are_returned_and_repeats_are_answered_returned(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    client.wager("t1", 1, "w1", 1)
    client.wager("t1", 2, "w2", 1)
    assert client.command("t1", "c2", "void_hand", round=1, box=1, reason="no ante after all")["returned_cents"] == 200
    assert client.wait("tables/t1/pads/1/lamp", lambda lamp: not lamp["lit"])["answer"] is None
    again = client.wager("t1", 1, "w1", 1)["answer"]
    assert again == {"wager_id": "w1", "verdict": "returned", "reason": "no ante after all"}
    assert client.wager("t1", 1, "w3", 1)["lit"]
    client.command("t1", "c3", "close_wagers", round=1)
    assert client.command("t1", "c4", "void_round", round=1, reason="misdeal")["error"] == "needs_supervisor"
    assert site.act("rounds/t1/1/void", {"reason": "misdeal"}) == (200, {"returned_cents": 400})
    client.wait("tables/t1/pads/2/lamp", lambda lamp: not lamp["lit"])
    assert client.wager("t1", 2, "w2", 1)["answer"]["verdict"] == "returned"
    site.stop()
    assert site.answer("pools")[0]["meter_cents"] == 1_000_000
    assert site.verified()


def test_after_a_restart_the_epoch_is_higher_and_all_state_is_retained(floor, port, new_client):
    site, client = floor
    client.command("t1", "c1", "open_round")
    client.wager("t1", 1, "w1", 1)
    epoch = client.wait("jackpots/main/meter", lambda m: m["amount_cents"] == 1_000_140)["epoch"]
    assert site.stop() == 0
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "offline") == {
        "state": "offline",
        "epoch": epoch,
    }
    site.start()
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"] == epoch + 1
    client.wait("jackpots/main/meter", lambda m: m["epoch"] == epoch + 1)
    late = new_client(port, site.id, *EVERYTHING)
    state = late.wait("tables/t1/state")
    assert (state["phase"], state["lit"], state["epoch"]) == ("open", [1], epoch + 1)
    assert late.wait("tables/t1/pads/1/lamp", lambda lamp: lamp["lit"])["wager_id"] == "w1"
    assert client.wager("t1", 1, "w1", 1)["answer"]["verdict"] == "accepted"


def test_wagers_sent_while_the_controller_is_down_are_answered_when_it_is_back(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    site.kill()
    client.skip()
    for box in range(1, 8):
        body = {"wager_id": f"w{box}", "round": 1, "amount_cents": 200, "ante": True}
        client.publish(f"tables/t1/pads/{box}/wager", body)
    site.start()
    for box in range(1, 8):
        assert client.lamp("t1", box, f"w{box}")["answer"]["verdict"] == "accepted"
    assert site.stop() == 0
    assert site.answer("rounds")[0]["wagers"] == 7


def test_all_messages_queued_at_the_broker_are_answered_when_the_controller_is_back(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    client.wager("t1", 1, "w1", 1)
    site.kill()
    client.skip()
    for box in range(1, 8):
        client.publish(f"tables/t1/pads/{box}/wager", {"wager_id": f"malformed-{box}", "round": "1"})
    client.publish("tables/t1/pads/1/wager", {"wager_id": "w1", "round": 1, "amount_cents": 200, "ante": True})
    client.publish("tables/t1/pads/99/wager", {"wager_id": "w99", "round": 1, "amount_cents": 200, "ante": True})
    client.publish("tables/t1/dealer/command", {"command_id": "c2", "type": "deal_again"})
    client.publish("tables/t1/dealer/command", {"command_id": "c1", "type": "open_round"})
    site.start()
    for box in range(1, 8):
        assert client.lamp("t1", box, f"malformed-{box}")["answer"]["reason"] == "malformed"
    assert client.lamp("t1", 1, "w1")["answer"]["verdict"] == "accepted"
    assert client.lamp("t1", 99, "w99")["answer"]["reason"] == "unknown_box"
    replies = {reply["command_id"]: reply for topic, reply in client.all if topic == "tables/t1/dealer/reply"}
    assert (replies["c2"]["error"], replies["c1"]["ok"]) == ("malformed", True)


def test_a_box_that_is_not_a_plain_number_is_not_answered(shared_floor):
    _, client = shared_floor
    body = {"wager_id": "odd", "round": 1, "amount_cents": 200, "ante": True}
    for box in ("03", "1e1", "-1", "x", "٣"):
        client.publish(f"tables/t1/pads/{box}/wager", body)
    big = "9" * 30
    client.publish(f"tables/t1/pads/{big}/wager", body)
    assert client.lamp("t1", big, "odd")["answer"]["reason"] == "unknown_box"
    odd = [topic for topic, lamp in client.all if lamp and topic.endswith("/lamp") and lamp["answer"]]
    assert not [topic for topic in odd if topic.split("/")[3] in ("03", "1e1", "-1", "x", "٣")]


@pytest.mark.parametrize("restarted", [False, True])
def test_the_retained_messages_of_a_removed_table_are_cleared(floor, port, new_client, restarted):
    site, client = floor
    client.command("t3", "c1", "open_round")
    for box in (2, 99):
        client.wager("t3", box, f"w{box}", 1)
    if restarted:
        site.kill()
        site.start()
    client.command("t3", "c2", "void_round", round=1, reason="the table is moved")
    assert site.act("tables/t3/unlink", {"reason": "moved"})[0] == 200
    client.wait("tables/t2/state")
    assert client.wager("t2", 1, "w1", 1)["answer"]  # messages cleared before this one are cleared now
    late = new_client(port, site.id, "tables/t3/#", "jackpots/main/#")
    late.wait("jackpots/main/controller")
    assert [(topic, body) for topic, body in late.all if topic.startswith("tables/t3/")] == []


def test_a_stopped_controller_leaves_the_newest_state_retained(floor, port, new_client):
    site, client = floor
    client.command("t1", "c1", "open_round")
    lit = list(range(1, 8))
    seq = [client.wager("t1", box, f"w{box}", 1)["seq"] for box in lit][-1]
    assert site.stop() == 0
    late = new_client(port, site.id, *EVERYTHING)
    assert late.wait("jackpots/main/controller")["state"] == "offline"
    state, meter = late.wait("tables/t1/state"), late.wait("jackpots/main/meter")
    assert (state["lit"], state["seq"], meter["seq"]) == (lit, seq, seq)
    assert meter["amount_cents"] == 1_000_000 + 7 * 140


def test_an_approved_configuration_is_published_in_the_state_of_every_table(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    proposed = site.act("configs", {"wager_cents": 500, "reason": "season"})[1]["proposal"]
    assert site.act(f"configs/main/{proposed}/approve", token=1)[0] == 200
    assert client.wait("tables/t2/state", lambda s: s["wager_cents"] == 500)["phase"] == "idle"
    assert client.last("tables/t1/state")["wager_cents"] == 200  # its round keeps the configuration it was opened with


def test_an_epoch_that_no_controller_can_have_had_is_overwritten(floor):
    site, client = floor
    epoch = client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"]
    client.publish("jackpots/main/controller", {"state": "online", "epoch": 2**70}, retain=True)
    client.wait("jackpots/main/controller", lambda c: c["epoch"] == 2**70)
    client.wait("jackpots/main/controller", lambda c: c == {"state": "online", "epoch": epoch})
    client.publish("jackpots/main/controller", {"state": "online", "epoch": 2**53 - 1}, retain=True)
    client.wait("jackpots/main/controller", lambda c: c["epoch"] == 2**53 - 1)
    client.wait("jackpots/main/controller", lambda c: c == {"state": "online", "epoch": epoch})
    assert client.command("t1", "c1", "open_round")["ok"]
    assert client.wager("t1", 1, "w1", 1)["lit"]
    assert site.stop() == 0
    assert site.verified()


def test_a_reason_too_long_for_a_payload_is_shortened_and_stored_whole(floor):
    site, client = floor
    client.command("t1", "c1", "open_round")
    client.wager("t1", 1, "w1", 1)
    client.wager("t1", 2, "w2", 1)
    reasons = {1: "\x01" * 650, 2: "x" * 900}
    for box, reason in reasons.items():
        assert client.command("t1", f"void-{box}", "void_hand", round=1, box=box, reason=reason)["ok"]
    cut, whole = (client.wager("t1", box, f"w{box}", 1) for box in reasons)
    assert (cut["answer"]["verdict"], cut["answer"]["reason"][:570]) == ("returned", reasons[1][:570])
    assert cut["answer"]["reason"].endswith("…")
    assert 3_500 < len(json.dumps(cut, ensure_ascii=False).encode()) <= 4_096
    assert whole["answer"] == {"wager_id": "w2", "verdict": "returned", "reason": reasons[2]}
    assert [event.data["reason"] for event in site.events()[-2:]] == list(reasons.values())


def test_a_command_with_very_long_fields_is_answered(floor):
    _, client = floor
    unknown = "9" * 3_900
    client.publish("tables/t1/dealer/command", f'{{"command_id":"c1","type":"settle","round":{unknown}}}')
    refused = client.wait("tables/t1/dealer/reply", lambda reply: reply["command_id"] == "c1")
    assert (refused["error"], refused["message"]) == ("wrong_round", "table t1 has not played a round yet")
    assert client.command("t1", "c2", "open_round")["ok"]
    client.publish("tables/t1/dealer/command", f'{{"command_id":"c3","type":"settle","round":{unknown}}}')
    refused = client.wait("tables/t1/dealer/reply", lambda reply: reply["command_id"] == "c3")
    assert (refused["error"], refused["message"][-1]) == ("wrong_round", "…")
    assert len(json.dumps(refused, ensure_ascii=False).encode()) <= 4_096
    too_long = {"command_id": "c4", "type": "settle", "round": 1, "x": "y" * 4_100}
    client.publish("tables/t1/dealer/command", too_long)
    refused = client.wait("tables/t1/dealer/reply", lambda reply: reply["command_id"] == "c4")
    assert (refused["error"], refused["ok"]) == ("malformed", False)


def test_the_will_of_a_killed_controller_is_published_and_a_late_will_is_overwritten(floor):
    site, client = floor
    epoch = client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"]
    site.kill()
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "offline")["epoch"] == epoch
    site.start()
    client.wait("jackpots/main/controller", lambda c: c == {"state": "online", "epoch": epoch + 1})
    client.publish("jackpots/main/controller", {"state": "offline", "epoch": epoch}, retain=True)
    client.wait("jackpots/main/controller", lambda c: c["state"] == "offline")
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"] == epoch + 1


def test_the_new_epoch_exceeds_the_one_retained_at_the_broker(floor):
    site, client = floor
    site.stop()
    client.publish("jackpots/main/controller", {"state": "offline", "epoch": 40}, retain=True)
    client.skip()
    site.start()
    assert client.wait("jackpots/main/controller", lambda c: c["state"] == "online")["epoch"] == 41
    client.publish("jackpots/main/controller", {"state": "online", "epoch": 60}, retain=True)
    assert client.wait("jackpots/main/meter", lambda m: m["epoch"] > 41)["epoch"] == 61
    assert client.command("t1", "c1", "open_round")["ok"]


def test_the_tools_of_mosquitto_can_play(port, new_site):
    """Rounds with several winners, a void, a malfunction and a restart, with mosquitto_pub and mosquitto_sub only."""
    site = new_site(port)
    tools = Tools(port, site.id, *EVERYTHING)
    site.start()
    try:
        tools.wait("jackpots/main/controller", lambda c: c["state"] == "online")
        play_by_hand(site, tools)
    finally:
        tools.close()
    assert site.stop() == 0
    assert site.verified()


def play_by_hand(site, tools):
    assert tools.command("t1", "c1", "open_round")["round"] == 1
    assert all(tools.wager("t1", box, f"w{box}", 1)["lit"] for box in (2, 5, 6))
    assert tools.command("t1", "c2", "void_hand", round=1, box=6, reason="too late")["returned_cents"] == 200
    assert tools.wager("t1", 6, "w6", 1)["answer"] == {"wager_id": "w6", "verdict": "returned", "reason": "too late"}
    site.kill()
    tools.wait("jackpots/main/controller", lambda c: c["state"] == "offline")
    site.start()
    assert tools.command("t1", "c3", "close_wagers", round=1)["lit"] == [2, 5]
    assert tools.wager("t1", 3, "w3", 1)["answer"]["reason"] == "wagers_closed"
    for box, cards in ((2, ROYAL), (5, [f"{card[0]}h" for card in ROYAL])):
        assert tools.command("t1", f"d{box}", "declare", round=1, box=box, cards=cards)["hand"] == "royal_flush"
    payouts = tools.command("t1", "c4", "settle", round=1)["payouts"]
    assert [(payout["box"], payout["amount_cents"]) for payout in payouts] == [(5, 1_000_000), (2, 1_000_000)]
    assert {tools.wait("jackpots/main/wins")["box"] for _ in payouts} == {2, 5}
    assert tools.wait("jackpots/main/meter", lambda m: m["pending"])["amount_cents"] == 1_000_000
    report = tools.command("t2", "c1", "report_malfunction", equipment="shoe", note="jammed")
    assert report["ok"]
    assert tools.wait("tables/t2/state", lambda s: s["suspended"])["suspended"] == "dealer_report"
    assert site.act("tables/t2/resume", {"note": "repaired"}) == (200, {})
    assert tools.wait("tables/t2/state", lambda s: not s["suspended"])["phase"] == "idle"
