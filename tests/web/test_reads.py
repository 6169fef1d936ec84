"""Reads over HTTP agree with the command line and with the ledger."""

import csv
import io
import json
import threading

import pytest

from tests.support.api_client import FLUSH, ROYAL
from tests.support.daemon import wait_until


@pytest.fixture(scope="module")
def played(api):
    """A site with rounds played, void, pending and open, an adjustment, and a message that cannot be read."""
    for table in ("t1", "t2", "t1"):
        api.settle(table, api.play(table, {2: FLUSH, 4: None}))
    number = api.open("t2", 1, 7)
    api.post(f"/rounds/t2/{number}/void", {"reason": "misdeal"}, "supervisor")
    pending = api.play("t1", {3: ROYAL, 5: FLUSH})
    api.settle("t1", pending)
    body = {
        "source": "reserve",
        "target": "jackpot",
        "amount_cents": 77,
        "reason": "count",
        "table": "t1",
        "round": 1,
    }
    proposal = api.post("/adjustments", body)["proposal"]
    api.post(f"/adjustments/main/{proposal}/approve", role="second")
    api.floor.publish("tables/t1/pads/3/status", {"state": "online"}, retain=True)
    api.floor.publish("tables/t1/dealer/status", {"state": "online"}, retain=True)
    api.floor.publish("displays/d1/status", {"state": "online"}, retain=True)
    api.floor.publish("tables/t1/pads/6/wager", b"\xff no JSON")
    api.floor.wait("tables/t1/pads/6/lamp", lambda lamp: lamp["answer"])
    api.open("t3", 1, 2)
    api.pending = pending
    return api


def test_jackpots_tables_and_operators_are_those_of_the_command_line(played):
    assert played.get("/jackpots") == played.site.answer("pools")
    assert played.get("/tables") == played.site.answer("tables")
    assert played.get("/operators") == played.site.answer("operator", "list")
    assert played.get("/operators/proposals") == played.site.answer("operator", "proposals")
    assert played.get("/tables?jackpot=main") == played.site.answer("tables", "--jackpot", "main")


def test_rounds_wins_and_events_are_those_of_the_command_line(played):
    assert played.get("/rounds")["rows"] == played.site.answer("rounds")
    wins = played.get("/wins")["rows"]
    assert [{k: v for k, v in win.items() if k != "cards"} for win in wins] == played.site.answer("wins")
    assert played.get("/audit?limit=20")["rows"] == played.site.answer("audit", "list", "--limit", "20")
    site = played.site.answer("audit", "list", "--chain", "site")
    assert played.get("/audit?chain=site")["rows"] == site


def test_configurations_and_proposals_are_those_of_the_command_line(played):
    found = played.get("/configs")
    versions = [{k: v for k, v in row.items() if k != "solvency"} for row in found["versions"]]
    assert versions == played.site.answer("config", "show")
    odds = played.site.answer("odds")
    for name, value in found["versions"][0]["solvency"].items():
        assert odds[name] == value


def test_the_odds_are_those_of_the_command_line(played):
    found = played.get("/odds?meter_cents=25000000")
    odds = played.site.answer("odds", "--meter-cents", "25000000")
    assert {name: found[name] for name in odds} == odds
    assert len(found["chart"]) == 51
    meters = [point["meter_cents"] for point in found["chart"]]
    assert meters[0] == 0
    assert meters[-1] >= 2 * found["break_even_meter_cents"]
    here = played.get("/odds")["expected_return"]
    assert here["meter_cents"] == played.get("/jackpots/main")["meter_cents"]
    changed = played.get("/odds?jackpot_bps=9000")
    assert changed["reserve_starves"]
    assert not found["reserve_starves"]


def test_the_meter_is_the_message_published_over_mqtt(played):
    meter = played.get("/jackpots/main/meter")
    wait_until(lambda: played.floor.last("jackpots/main/meter")["seq"] == meter["seq"], "the newest meter")
    published = played.floor.last("jackpots/main/meter")
    assert {**meter, "as_of": None} == {**published, "as_of": None}
    one = played.get("/jackpots/main")
    assert (one["meter_cents"], one["state"], one["seq"]) == (meter["amount_cents"], "live", meter["seq"])


def test_a_table_is_shown_with_its_pads_and_its_published_state(played):
    table = played.get("/tables/t1")
    published = played.floor.last("tables/t1/state")
    assert {**table["state"], "seq": 0} == {**published, "seq": 0}
    assert (table["phase"], table["dealer_online"]) == ("pending", True)
    assert {pad["box"]: pad["online"] for pad in table["pads"]} == {
        **dict.fromkeys(range(1, 8)),
        3: True,
    }
    assert [pad["box"] for pad in table["pads"] if pad["lit"]] == [3, 5]


def test_a_round_is_shown_with_each_wager_declaration_prize_transfer_and_event(played):
    found = played.get(f"/rounds/t1/{played.pending}")
    assert (found["phase"], found["outcome"]) == ("pending", None)
    assert [w["box"] for w in found["wagers"]] == [3, 5]
    assert [(d["box"], d["cards"], d["hand"], d["by"], d["corrected"]) for d in found["declarations"]] == [
        (3, ROYAL, "royal_flush", "dealer", False),
        (5, FLUSH, "flush", "dealer", False),
    ]
    assert {(p["box"], p["status"]) for p in found["payouts"]} == {(3, "pending"), (5, "paid")}
    events = found["events"]
    assert [e["type"] for e in events] == [
        "round_opened", "wager_accepted", "wager_accepted", "wagers_closed", "hand_declared", "hand_declared",
        "round_settled",
    ]  # fmt: skip
    moved = [[t["source"], t["target"], t["amount_cents"], t["kind"]] for t in found["transfers"]]
    assert moved == [transfer for e in events for transfer in json.loads(e["transfers"])]
    assert sum(cents for source, _, cents, _ in moved if source == "players") == 400


def test_a_round_includes_a_later_adjustment(played):
    found = played.get("/rounds/t1/1")
    assert [e["type"] for e in found["events"]][-2:] == ["adjustment_proposed", "adjustment_approved"]
    assert found["transfers"][-1]["amount_cents"] == 77
    assert "round_opened" in [e["type"] for e in found["events"]]
    assert all(e["round"] == 1 for e in found["events"])


def test_a_pending_win_has_its_cards(played):
    (win,) = played.get("/wins?status=pending")["rows"]
    assert (win["box"], win["cards"], win["clause"]) == (3, ROYAL, "NI2016-268 r 11.1(a)")
    assert {w["status"] for w in played.get("/wins?status=paid")["rows"]} == {"paid"}
    assert played.get("/wins?status=corrected")["rows"] == []
    assert {w["table_id"] for w in played.get("/wins?table=t2")["rows"]} == {"t2"}


def test_rounds_are_found_by_table_and_outcome(played):
    assert {r["table_id"] for r in played.get("/rounds?table=t2")["rows"]} == {"t2"}
    (void,) = played.get("/rounds?outcome=void")["rows"]
    assert (void["table_id"], void["outcome"]) == ("t2", "void")
    playing = played.get("/rounds?outcome=playing")["rows"]
    assert {(r["table_id"], r["phase"]) for r in playing} == {("t1", "pending"), ("t3", "open")}
    assert len(played.get("/rounds?outcome=played")["rows"]) == 3


@pytest.mark.parametrize("path", ["/rounds", "/audit", "/audit?chain=site", "/wins", "/audit/checkpoints?chain=site"])
def test_long_lists_are_paged_to_their_end_without_gaps_or_repeats(played, path):
    joint = "&" if "?" in path else "?"
    whole, pages, before = played.get(f"{path}{joint}limit=1000")["rows"], [], ""
    while True:
        page = played.get(f"{path}{joint}limit=2{before}")
        pages += page["rows"]
        if page["before"] is None:
            break
        before = f"&before={page['before']}"
    assert pages == whole


def test_events_are_found_by_time_type_table_and_actor(played):
    everything = played.get("/audit?limit=1000")["rows"]
    middle = everything[len(everything) // 2]["at"]
    assert played.get(f"/audit?limit=1000&since={middle}")["rows"] == [e for e in everything if e["at"] >= middle]
    assert played.get(f"/audit?limit=1000&until={middle}")["rows"] == [e for e in everything if e["at"] < middle]
    for query, holds in {
        "type=wager_accepted": lambda e: e["type"] == "wager_accepted",
        "table=t2": lambda e: e["table_id"] == "t2",
        "actor=sue": lambda e: e["actor"] == "sue",
        "actor=dealer&table=t1&type=hand_declared": lambda e: (
            (e["actor"], e["table_id"], e["type"]) == ("dealer", "t1", "hand_declared")
        ),
    }.items():
        found = played.get(f"/audit?limit=1000&{query}")["rows"]
        assert found == [e for e in everything if holds(e)] != []


def test_the_daily_report_is_that_of_the_command_line_in_json_and_csv(played):
    rows = played.get("/reports/daily")
    assert rows == played.site.answer("report", "daily")
    assert all(row["ties"] for row in rows)
    by_format = played.request("GET", "/reports/daily?format=csv", "auditor")
    by_accept = played.request("GET", "/reports/daily", "auditor", Accept="text/csv")
    assert by_format.text == by_accept.text == played.site.run("report", "daily", "--csv").out
    assert by_accept.headers["Content-Type"].startswith("text/csv")
    in_csv = list(csv.DictReader(io.StringIO(by_format.text)))
    assert [(row["pool"], int(row["closing_cents"])) for row in in_csv] == [
        (row["pool"], row["closing_cents"]) for row in rows
    ]
    old = played.get("/reports/daily?day=2020-02-29")
    assert {row["closing_cents"] for row in old} == {0}


def test_the_history_ends_with_the_present_pools_and_has_at_most_300_points(played):
    for hours in (1, 24, 24 * 30, 24 * 298):
        found = played.get(f"/jackpots/main/history?hours={hours}")
        jackpot = played.get("/jackpots/main")
        assert found["points"][-1]["meter_cents"] == jackpot["meter_cents"]
        assert found["points"][-1]["reserve_cents"] == jackpot["reserve_cents"]
        assert found["points"][0]["meter_cents"] == 0  # before the jackpot began
        assert len(found["points"]) <= 300
    assert len(played.get("/jackpots/main/history")["points"]) > 200


def test_devices_are_shown_with_their_last_status(played):
    (found,) = played.get("/devices")
    assert found == {
        "jackpot": "main",
        "pads": [{"table": "t1", "box": 3, "online": True}],
        "dealers": [{"table": "t1", "online": True}],
        "displays": [{"display": "d1", "online": True, "shows_cents": None, "right": True}],
    }


def test_an_unreadable_message_is_kept_in_the_quarantine(played):
    (kept,) = played.get("/quarantine", role="supervisor")
    assert kept["topic"].endswith("tables/t1/pads/6/wager")
    assert kept["payload"] == "\\xff no JSON"
    assert kept["problem"]


def test_verification_counts_every_checkpoint(played):
    counted = {row["chain"]: row["checkpoints"] for row in played.get("/audit/verify")["chains"]}
    for chain, number in counted.items():
        found = played.get(f"/audit/checkpoints?chain={chain}&limit=1000")["rows"]
        assert len(found) == number
        assert all(row["note"].startswith(f"{played.site.id}/{chain}\n{row['seq']}\n") for row in found)


def test_reading_writes_nothing(played):
    before = played.get("/jackpots/main")["seq"], played.site.head("site")
    for path in ("/rounds", "/wins", "/audit", "/audit/verify", "/reports/daily", "/jackpots/main/history", "/odds"):
        played.get(path)
    assert (played.get("/jackpots/main")["seq"], played.site.head("site")) == before


def test_one_verification_runs_at_a_time(played):
    """Of several requests at once each gets the result, or a refusal because one is running."""
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(played.request("GET", "/audit/verify"))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = sorted(answer.status_code for answer in answers)
    assert set(codes) == {200, 409}
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["code"] == "verification_running"
            assert int(answer.headers["Retry-After"]) >= 1
