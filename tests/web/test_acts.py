"""Acts of operators over HTTP: recorded in their name, once per key, by two persons where two are needed."""

import json

import pytest

from tests.support.api_client import FLUSH, ROYAL, problem, unique


def events(api, table=None, limit=5):
    where = f"&table={table}" if table else ""
    return [(e["type"], e["actor"]) for e in api.get(f"/audit?limit={limit}{where}")["rows"]]


# At a table.


def test_a_supervisor_acts_in_place_of_a_failed_terminal_and_is_named_in_the_trail(api):
    number = api.open("t1", 3, 5)
    at = f"/rounds/t1/{number}"
    assert api.post(f"{at}/close", role="supervisor") == {"lit": [3, 5], "unconfirmed": []}
    assert api.post(f"{at}/fold", {"box": 5}, "supervisor") == {}
    assert api.refused(f"{at}/declare", {"box": 5, "cards": FLUSH}, "supervisor") == (409, "folded")
    assert api.post(f"{at}/unfold", {"box": 5}, "supervisor") == {}
    declared = api.post(f"{at}/declare", {"box": 3, "cards": ROYAL}, "supervisor")
    assert (declared["hand"], declared["qualifies"]) == ("royal_flush", True)
    (payout,) = api.post(f"{at}/settle", role="supervisor")["payouts"]
    assert (payout["box"], payout["status"], payout["amount_cents"]) == (3, "pending", declared["amount_cents"])
    assert api.post(f"{at}/confirm", role="supervisor") == {"payouts": [{**payout, "status": "paid"}]}
    acted = ["wagers_closed", "hand_folded", "hand_unfolded", "hand_declared", "round_settled", "payouts_confirmed"]
    assert events(api, "t1", 6) == [(kind, "sue") for kind in reversed(acted)]


def test_a_win_is_corrected_with_the_true_cards(api):
    number = api.play("t2", {4: ROYAL, 2: FLUSH})
    api.settle("t2", number)
    body = {"hands": {"4": None}, "reason": "misread"}
    (payout,) = api.post(f"/rounds/t2/{number}/correct", body, "supervisor")["payouts"]
    assert (payout["box"], payout["hand"], payout["status"]) == (2, "flush", "paid")
    for wrong in ({}, {"0": None}, {"x": None}, {"100": None}):
        assert api.refused(f"/rounds/t2/{number}/correct", {**body, "hands": wrong})[0] == 422
    nothing = api.act(f"/rounds/t2/{number}/correct", {**body, "hands": {}}, "supervisor")
    assert nothing.json()["detail"] == "name at least one hand to correct"


def test_several_boxes_are_voided_in_one_act_or_not_at_all(api):
    number = api.open("t3", 1, 3, 5)
    before = api.get("/jackpots/main")
    body = {"boxes": [1, 2, 3], "reason": "misdeal"}
    assert api.refused(f"/rounds/t3/{number}/void", body, "supervisor") == (409, "no_wager")
    assert api.get("/jackpots/main")["balances"] == before["balances"]
    assert api.get("/tables/t3")["lit"] == [1, 3, 5]
    key = unique("void")
    body = {"boxes": [1, 3], "reason": "misdeal"}
    assert api.post(f"/rounds/t3/{number}/void", body, "supervisor", key) == {"returned_cents": 400}
    assert api.post(f"/rounds/t3/{number}/void", body, "supervisor", key) == {"returned_cents": 400}
    assert api.get("/tables/t3")["lit"] == [5]
    voided = [e for e in api.get("/audit?table=t3&type=hand_voided")["rows"] if e["actor"] == "sue"]
    assert [json.loads(e["data"])["box"] for e in voided] == [3, 1]
    assert api.post(f"/rounds/t3/{number}/void", {"reason": "misdeal"}, "supervisor") == {"returned_cents": 200}


def test_a_supervisor_resumes_a_table_and_only_a_manager_sets_its_mode(api):
    api.floor.command("t3", unique("c"), "report_malfunction", equipment="pad 2", note="dark")
    assert api.get("/tables/t3")["suspended"] == "dealer_report"
    assert api.post("/tables/t3/resume", {"note": "a new pad"}, "supervisor") == {}
    assert api.refused("/tables/t3/resume", {"note": "again"}, "supervisor") == (409, "wrong_phase")
    mode = {"tournament": True, "restricted": True}
    assert api.refused("/tables/t3/mode", mode, "supervisor") == (403, "forbidden")
    assert api.post("/tables/t3/mode", mode) == mode
    assert api.get("/tables/t3")["mode"] == "tournament"
    api.post("/tables/t3/mode", {"tournament": False})


# Once per key.


def test_a_repeat_with_the_same_key_gets_the_same_answer_and_acts_once(api):
    number, key = api.play("t1", {3: ROYAL}), unique("k")
    api.settle("t1", number)
    first = api.post(f"/rounds/t1/{number}/confirm", role="supervisor", key=key)
    head = api.get("/jackpots/main")["seq"]
    assert api.post(f"/rounds/t1/{number}/confirm", role="supervisor", key=key) == first
    assert api.get("/jackpots/main")["seq"] == head
    assert api.refused(f"/rounds/t1/{number}/confirm", role="supervisor") == (409, "wrong_phase")
    again = (409, "command_id_reused")
    assert api.refused(f"/rounds/t1/{number}/void", {"reason": "misdeal"}, "supervisor", key) == again
    # Another operator's key of the same name is another key.
    assert api.refused(f"/rounds/t1/{number}/confirm", role="manager", key=key) == (409, "wrong_phase")


def test_the_key_of_a_refused_act_can_be_used_again(api):
    number, key = api.open("t1", 3), unique("k")
    assert api.refused(f"/rounds/t1/{number}/settle", role="supervisor", key=key) == (409, "wrong_phase")
    api.post(f"/rounds/t1/{number}/close", role="supervisor")
    assert api.post(f"/rounds/t1/{number}/settle", role="supervisor", key=key) == {"payouts": []}


def test_values_that_the_controller_adds_to_an_act_do_not_change_its_identity(api):
    number, key = api.open("t1", 3), unique("k")
    api.floor.publish("tables/t1/pads/3/shown", {"round": number, "wager_id": None, "lit": False}, retain=True)
    closed = api.post(f"/rounds/t1/{number}/close", role="supervisor", key=key)
    api.floor.publish("tables/t1/pads/3/shown", {"round": number, "wager_id": None, "lit": True}, retain=True)
    assert api.post(f"/rounds/t1/{number}/close", role="supervisor", key=key) == closed
    body, other = {"box": 3, "cards": FLUSH}, unique("k")
    declared = api.post(f"/rounds/t1/{number}/declare", body, "supervisor", other)
    two = api.open("t2", 1, 2, 3)  # the meter rises
    api.floor.wait("jackpots/main/meter", lambda m: m["amount_cents"] == api.get("/jackpots/main")["meter_cents"])
    assert api.post(f"/rounds/t1/{number}/declare", body, "supervisor", other) == declared
    api.post(f"/rounds/t2/{two}/void", {"reason": "test"}, "supervisor")
    api.post(f"/rounds/t1/{number}/void", {"reason": "test"}, "supervisor")


def test_keys_of_a_table_a_jackpot_and_the_site_are_known_after_a_restart(own_api):
    api = own_api
    number = api.open("t1", 3, 4)
    acts = [
        (f"/rounds/t1/{number}/void", {"boxes": [3], "reason": "misdeal"}, "supervisor"),
        ("/configs", {"wager_cents": 300, "reason": "season"}, "manager"),
        ("/adjustments", {"source": "reserve", "target": "jackpot", "amount_cents": 5, "reason": "count"}, "manager"),
        ("/tables", {"table": "t9", "boxes": 5}, "manager"),
        ("/tables/t2/unlink", {"reason": "moved"}, "manager"),
        ("/operators/moe/propose", None, "manager"),
        ("/operators", {"name": "bea", "role": "auditor"}, "manager"),
    ]
    first = [api.post(path, body, role, f"key of {path}") for path, body, role in acts]
    assert api.post("/configs/main/1/approve", role="second", key="approve") == {"version": 2}
    token = first[-1]["token"]
    api.restart()
    heads = api.get("/jackpots/main")["seq"], api.get("/audit?chain=site&limit=1")["rows"][0]["seq"]
    for (path, body, role), answered in zip(acts, first, strict=True):
        again = api.post(path, body, role, f"key of {path}")
        secret = {"token", "half"} & answered.keys()
        if secret:
            (secret,) = secret
            assert again[secret] is None
            assert "shown once" in again["note"]
            assert {**again, secret: answered[secret], "note": answered["note"]} == answered
        else:
            assert again == answered, path
        if body:
            other = {**body, **({"reason": "another"} if "reason" in body else {"name": "cid", "table": "t8"})}
            changed = {key: other[key] for key in body}
            assert api.refused(path, changed, role, f"key of {path}") == (409, "command_id_reused"), path
    assert api.post("/configs/main/1/approve", role="second", key="approve") == {"version": 2}
    assert (api.get("/jackpots/main")["seq"], api.get("/audit?chain=site&limit=1")["rows"][0]["seq"]) == heads
    assert api.request("GET", "/jackpots", role=None, Authorization=f"Bearer {token}").status_code == 200
    assert api.site.stop() == 0
    assert api.site.verified()


# By two persons.


def test_a_configuration_is_proposed_by_one_manager_and_approved_by_another(api):
    version = api.get("/configs")["in_force"]
    body = {"jackpot_bps": 9_000, "reserve_bps": 1_000, "reason": "season"}
    assert api.refused("/configs", body, "supervisor") == (403, "forbidden")
    proposed = api.post("/configs", body)
    assert "starve" in proposed["warning"]
    at = f"/configs/main/{proposed['proposal']}"
    (waiting,) = (p for p in api.get("/configs")["proposals"] if p["number"] == proposed["proposal"])
    assert (waiting["by"], waiting["warning"], waiting["reason"]) == ("manager1", proposed["warning"], "season")
    assert waiting["solvency"]["reserve_starves"]
    assert {c["name"]: (c["present"], c["proposed"]) for c in waiting["changes"]} == {
        "jackpot_bps": (7_000, 9_000),
        "reserve_bps": (3_000, 1_000),
    }
    assert api.refused(f"{at}/approve") == (403, "same_person")
    assert api.refused(f"{at}/approve", role="supervisor") == (403, "forbidden")
    assert api.post(f"{at}/approve", role="second") == {"version": version + 1}
    found = api.get("/configs")
    assert found["in_force"] == version + 1
    assert [v["version"] for v in found["versions"] if v["in_force"]] == [version + 1]
    assert api.refused(f"{at}/approve", role="second") == (404, "unknown_proposal")
    assert events(api, limit=2) == [("config_approved", "manager2"), ("config_proposed", "manager1")]
    back = api.post("/configs", {"jackpot_bps": 7_000, "reserve_bps": 3_000, "reason": "back"}, "second")
    api.post(f"/configs/main/{back['proposal']}/approve")


@pytest.mark.parametrize(
    "body",
    [{"jackpot_bps": 9_000}, {"confirm": ["no_such_hand"]}],
)
def test_an_inconsistent_configuration_is_refused(api, body):
    assert api.refused("/configs", {**body, "reason": "x"}) == (409, "conflict")


def test_an_adjustment_takes_two_managers_and_its_proposal_can_be_withdrawn(api):
    before = api.get("/jackpots/main")
    body = {"source": "house", "target": "jackpot", "amount_cents": 12_345, "reason": "count"}
    proposed, other = api.post("/adjustments", body)["proposal"], api.post("/adjustments", body)["proposal"]
    assert api.refused(f"/configs/main/{proposed}/approve", role="second") == (404, "unknown_proposal")
    assert api.refused(f"/adjustments/main/{proposed}/approve") == (403, "same_person")
    assert api.post(f"/adjustments/main/{proposed}/approve", role="second") == {"moved_cents": 12_345}
    withdrawn = api.post(f"/adjustments/main/{other}/withdraw", {"reason": "twice"}, "second")
    assert withdrawn == {"withdrawn": other}
    after = api.get("/jackpots/main")
    assert after["meter_cents"] - before["meter_cents"] == 12_345
    found = api.get("/adjustments")
    assert found["proposals"] == []
    approved = found["approved"][0]
    assert (approved["by"], approved["proposed_by"], approved["amount_cents"], approved["reason"]) == (
        "manager2",
        "manager1",
        12_345,
        "count",
    )
    body = {**body, "source": "reserve", "amount_cents": 10**12}
    assert api.refused("/adjustments", body) == (409, "insufficient")


def test_a_jackpot_can_only_be_retired_to_another_jackpot_of_the_site(api):
    body = {"jackpot": "main", "heir": "main", "reason": "renovation"}
    assert api.refused("/retirements", body) == (409, "conflict")
    assert api.refused("/retirements", {**body, "heir": "next"}) == (404, "unknown_jackpot")
    assert api.get("/retirements") == {"jackpot": "main", "retired": False, "proposals": []}


def test_a_table_is_linked_unlinked_and_linked_again(api):
    body = {"table": "t7", "boxes": 5}
    assert api.refused("/tables", body, "supervisor") == (403, "forbidden")
    assert api.post("/tables", body) == {"table": "t7", "jackpot": "main"}
    assert api.get("/tables/t7")["boxes"] == 5
    assert api.refused("/tables", body) == (409, "conflict")
    number = api.open("t7", 1)
    assert api.refused("/tables/t7/unlink", {"reason": "moved"}) == (409, "wrong_phase")
    api.post(f"/rounds/t7/{number}/void", {"reason": "moved"})
    assert api.post("/tables/t7/unlink", {"reason": "moved"}) == {"table": "t7", "removed": True}
    assert "t7" not in [t["table"] for t in api.get("/tables")]
    assert api.request("GET", "/tables/t7").status_code == 404
    assert api.get(f"/rounds/t7/{number}")["outcome"] == "void"  # its history stays
    assert api.refused("/tables/t7/resume", {}) == (404, "unknown_table")
    assert api.refused("/tables/t7/resume", {}, key="a key") == (404, "unknown_table")
    assert api.post("/tables", {"table": "t7"}) == {"table": "t7", "jackpot": "main"}
    assert api.refused("/tables/none/unlink", {"reason": "x"}) == (404, "unknown_table")


def test_a_repeat_gets_the_first_answer_also_after_its_table_was_unlinked(api):
    """Acts of the last round are in the state; those of the round before it are only in the store."""
    api.post("/tables", {"table": "t8"})
    acts = {}

    def act(path, body=None):
        acts[path] = body, api.post(path, body, key=f"once {path}")
        return acts[path][1]

    for number in (1, 2):
        assert api.open("t8", 1) == number
        act(f"/rounds/t8/{number}/close")
        act(f"/rounds/t8/{number}/declare", {"box": 1, "cards": FLUSH})
        assert len(act(f"/rounds/t8/{number}/settle")["payouts"]) == 1
    api.post("/tables/t8/unlink", {"reason": "moved"})
    seq = api.get("/jackpots/main")["seq"]
    for path, (body, first) in acts.items():
        assert api.post(path, body, key=f"once {path}") == first
    assert api.get("/jackpots/main")["seq"] == seq
    changed = {"box": 1, "cards": ROYAL}
    refused = api.refused("/rounds/t8/2/declare", changed, key="once /rounds/t8/2/declare")
    assert refused == (409, "command_id_reused")


def test_a_blank_reason_is_refused(api):
    for path in ("/configs/main/1/withdraw", "/rounds/t1/1/void", "/operators/sue/revoke", "/tables/t1/unlink"):
        answer = api.act(path, {"reason": "  "})
        assert (answer.status_code, problem(answer)["code"]) == (422, "malformed"), path


def test_the_trail_of_all_these_acts_verifies(api):
    found = api.get("/audit/verify")
    assert found["ok"], found
    assert {row["chain"] for row in found["chains"]} == {"main", "site"}
    last = {row["chains"][0]["chain"]: row for row in api.get("/audit/verified")}
    assert last["main"]["at"] >= found["at"]
