"""The commands as processes: their output and exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rules import INSTRUMENTS

ROUND = {
    "rules": "canberra-poker-2016",
    "pools": {"jackpot_cents": 4876543, "reserve_cents": 1000000},
    "approved": {"fixed_prizes_from": "reserve", "reset_cents": 0},
    "dealer": "Ah Kd 9c 5s 2d",
    "max_payout_cents": 5000000,
    "players": [
        {
            "box": 7, "cards": "9s 8s 7s 6s 5h", "ante_cents": 1000, "bet_cents": 2000,
            "jackpot_wager": True, "folded": False,
        }
    ],
}  # fmt: skip


def jackpot(*arguments, stdin=""):
    return subprocess.run(
        [sys.executable, "-m", "jackpot", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1"},
    )


def answer(document):
    done = jackpot("settle", "--json", stdin=json.dumps(document))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def with_player(**changes):
    return ROUND | {"players": [ROUND["players"][0] | changes]}


def test_settle_prints_the_documented_answer_to_the_documented_example():
    found = answer(ROUND | {"dealer": "Ah Kd 9c 5c 2d", "players": [ROUND["players"][0] | {"cards": "9s 8s 7s 6s 5s"}]})
    assert found["jackpot"] == {
        "payouts": [
            {
                "order": 1, "box": 7, "hand": "straight_flush", "amount_cents": 487654, "from_jackpot_cents": 487654,
                "from_reserve_cents": 0, "from_house_cents": 0, "clause": "NI2016-268 r 11.1(b)",
            }
        ],
        "reset_cents": 0,
        "jackpot_after_cents": 4388889,
        "reserve_after_cents": 1000000,
        "house_cents": 0,
    }  # fmt: skip
    assert found["table"] == [
        {
            "box": 7, "hand": "straight_flush", "ante": "win", "ante_paid_cents": 1000,
            "bet": "win", "bet_paid_cents": 100000,
        }
    ]  # fmt: skip
    assert found["clauses"] == [{"box": 7, "clause": "NI2016-268 r 9.4"}]


def test_settle_without_antes_settles_only_the_jackpot():
    player = {"box": 7, "cards": "9s 8s 7s 6s 5s", "jackpot_wager": True}
    found = answer({"rules": ROUND["rules"], "pools": ROUND["pools"], "players": [player]})
    assert found["jackpot"]["payouts"][0]["amount_cents"] == 487654
    assert "table" not in found


def test_settle_takes_the_boomerang_jackpot():
    found = answer(
        {
            "rules": "canberra-poker-1997",
            "pools": {"jackpot_cents": 5_000_000, "reserve_cents": 0, "displayed_cents": 5_000_000},
            "approved": {"wager_cents": 100, "jackpot_bps": 7000},
            "players": [
                {"box": 1, "cards": "As Ks Qs Js Ts", "jackpot_wager": True},
                {"box": 2, "cards": "2c 3d 5h 7s 9c", "jackpot_wager": True},
                {"box": 3, "folded": True, "jackpot_wager": True},
                {"box": 4, "cards": "2d 3h 5s 7c 9d", "jackpot_wager": True},
                {"box": 5, "jackpot_wager": True},
            ],
        }
    )
    jackpot_part = found["jackpot"]
    assert jackpot_part["payouts"][0]["amount_cents"] == 5_000_000
    assert (jackpot_part["jackpot_after_cents"], jackpot_part["reserve_after_cents"]) == (280, 120)
    assert jackpot_part["wagers"]["to_house_cents"] == 100


def test_settle_takes_ultimate_texas_holdem():
    found = answer(
        {
            "rules": "ultimate-texas-holdem-2025", "board": "Qs Js Ts 2c 3d", "dealer": "2d 2h",
            "players": [{"box": 1, "hole": "As Ks", "ante_cents": 1000, "blind_cents": 1000, "play_cents": 4000,
                         "trips_cents": 500}],
        }
    )  # fmt: skip
    assert found["table"] == [
        {
            "box": 1, "hand": "royal_flush", "ante": "win", "ante_paid_cents": 1000, "blind": "win",
            "blind_paid_cents": 500_000, "play": "win", "play_paid_cents": 4000, "trips": "win",
            "trips_paid_cents": 25_000,
        }
    ]  # fmt: skip


def test_settle_takes_manila_pots():
    found = answer(
        {
            "rules": "canberra-manila-2005",
            "options": {"deck": 32, "ace_low": True, "smallest_chip_cents": 100,
                        "commission": {"percent": 5, "cap_cents": 1000}},
            "button": 1, "board": "Ks Kd 9c 8h 7s",
            "players": [
                {"seat": 1, "hole": "Kh Jc", "put_in_cents": 5000, "blind_or_ante_cents": 100},
                {"seat": 2, "hole": "9d 9h", "put_in_cents": 2000, "blind_or_ante_cents": 100},
                {"seat": 3, "put_in_cents": 3000, "folded": True},
                {"seat": 4, "hole": "Ac Qd", "put_in_cents": 9000},
            ],
        }
    )  # fmt: skip
    assert found["pots"] == [
        {"amount_cents": 8000, "eligible": [1, 2, 4], "high_winners": [2], "low_winners": []},
        {"amount_cents": 7000, "eligible": [1, 4], "high_winners": [1], "low_winners": []},
    ]
    assert (found["commission_cents"], found["returned_cents"], found["returned_to"]) == (700, 4000, 4)
    assert found["paid"] == {"1": 7000, "2": 7300}
    assert found["hands"]["2"]["high"] == "Full house, nines over kings"


def test_json_lines_give_one_result_a_line_and_an_error_for_a_bad_line():
    good = json.dumps(ROUND | {"dealer": "Ah Kd 9c 5c 2d"})
    done = jackpot("settle", "-", stdin=f"{good}\nnot json\n{good}\n")
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert first == third
    assert first["rules"] == "canberra-poker-2016"
    assert "not JSON" in second["error"]
    assert done.returncode == 1


def test_json_lines_whose_first_line_is_bad_are_still_settled():
    good = json.dumps(ROUND | {"dealer": "Ah Kd 9c 5c 2d"})
    done = jackpot("settle", "--json", stdin=f'{{"rules": \n{good}\n')
    assert [("error" in json.loads(line)) for line in done.stdout.splitlines()] == [True, False]
    assert done.returncode == 1


def test_json_lines_are_answered_as_they_come():
    good = json.dumps(ROUND | {"dealer": "Ah Kd 9c 5c 2d"})
    with subprocess.Popen(
        [sys.executable, "-m", "jackpot", "settle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(f"{good}\n{good}\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["rules"] == "canberra-poker-2016"
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_settle_reads_a_file_and_draws_tables(tmp_path):
    path = tmp_path / "round.json"
    path.write_text(json.dumps(ROUND | {"dealer": "Ah Kd 9c 5c 2d"}, indent=1))
    done = jackpot("settle", str(path))
    assert done.returncode == 0
    assert "NI2016-268 r 9.4" in done.stdout
    assert "$48,765.43" in done.stdout


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("", "not JSON"),
        ("[]", 'whose "rules" is one of'),
        ('{"rules": "whist"}', 'whose "rules" is one of'),
        ('{"rules": ["canberra-poker-2016"]}', 'whose "rules" is one of'),
        (json.dumps(with_player(cards="9s 8s 7s 6s 9s")), "players[0].cards: 9s appears twice"),
        (json.dumps(with_player(cards="9s 8s 7s 6s Xs")), "'Xs' is not a card"),
        (json.dumps(with_player(cards="9s 8s 7s 6s")), "5 cards are needed and 4 were given"),
        (json.dumps(with_player(cards="9s 8s 7s 6s Jk")), "Jk is not in this deck"),
        (json.dumps(with_player(cards="9s 8s 7s 6s Ah")), "Ah is held by"),
        (json.dumps(with_player(ante_cents=10.5)), "players[0].ante_cents"),
        (json.dumps(with_player(ante_cents="1000")), "players[0].ante_cents"),
        (json.dumps(with_player(ante_cents=-1)), "players[0].ante_cents"),
        (json.dumps(with_player(ante_cents=True)), "players[0].ante_cents"),
        (json.dumps(with_player(bet_cents=1999)), "exactly twice the ante"),
        (json.dumps(with_player(ante_cents=0, bet_cents=0)), "without an ante"),
        (json.dumps(with_player(colour="red")), "players[0].colour: there is no such key here"),
        (json.dumps(ROUND | {"pools": {"jackpot_cents": 1}}), "pools.reserve_cents"),
        ('{"rules": "canberra-poker-2016", "pools": NaN}', "NaN"),
        ("[" * 100_000, "not JSON"),
    ],
)  # fmt: skip
def test_a_bad_round_is_refused_with_one_message_that_names_the_place(document, complaint):
    done = jackpot("settle", "--json", stdin=document)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("settle", "no-such-file.json"), 1, "no-such-file.json"),
        (("hand", "As Kd"), 2, "5 cards are needed and 2 were given"),
        (("hand",), 2, "Missing argument"),
        (("hand", "--rules", "whist", "As Kd Qc Js Th"), 2, "there is no instrument 'whist'"),
        (("hand", "--rules", "canberra-manila-2005", "--deck", "50", "As Kd Qc Js Th"), 2, "a deck has 52, 48"),
        (("odds", "--wager-cents", "0"), 2, "wager-cents"),
        (("odds", "--rules", "canberra-manila-2005", "--meter-cents", "5"), 2, "has no jackpot"),
        (("odds", "--cards", "6"), 2, "5 or 7 cards"),
        (("rules", "whist"), 2, "there is no instrument"),
        (("fly",), 2, "No such command"),
    ],
)
def test_errors_are_one_sentence_on_stderr_with_an_exit_code(arguments, code, complaint):
    done = jackpot(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr


def test_a_directory_or_a_binary_file_is_refused_in_one_sentence(tmp_path):
    assert jackpot("settle", str(tmp_path)).returncode == 1
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    done = jackpot("settle", str(tmp_path / "binary"))
    assert done.returncode == 2
    assert "is not UTF-8 text" in done.stderr


def test_hand_ranks_hands_and_shows_ties():
    done = jackpot("hand", "--json", "Kc Kd Kh Jc Jd", "As Ks Qs Js 10s", "Kc Kd Kh Js Jh")
    hands = json.loads(done.stdout)["hands"]
    assert [hand["place"] for hand in hands] == [1, 2, 2]
    assert hands[0]["category"] == "royal_flush"
    assert hands[1]["describe"] == "Full house, kings over jacks"
    assert hands[1]["strength"] == hands[2]["strength"]


def test_hand_finds_the_best_hand_of_a_deal():
    manila = jackpot("hand", "--json", "--rules", "canberra-manila-2005", "--board", "Qs Js Ts 2c 3d", "As Kd", "2s 2d")
    assert [hand["category"] for hand in json.loads(manila.stdout)["hands"]] == ["straight", "three_of_a_kind"]
    stud = jackpot(
        "hand", "--json", "--rules", "seven-card-stud-2005", "--low", "--low-ace", "low", "--eight-or-better",
        "8h 6c 4c 3d 2s Kd Kc", "9h 9c 4c 3d 2s Kd Kc",
    )  # fmt: skip
    low = json.loads(stud.stdout)["hands"]
    assert low[0]["cards"] == "8h 6c 4c 3d 2s"
    assert low[1]["describe"] == "No low hand qualifies"


def test_odds_prints_the_known_figures():
    found = json.loads(jackpot("odds", "--json", "--wager-cents", "100", "--meter-cents", "15981053").stdout)
    assert found["counts"]["royal_flush"] == 4
    assert found["total"] == 2_598_960
    assert found["fixed_cost_per_wager"] == "17305/32487"
    assert found["break_even_meter_cents"] == 15_981_053
    assert found["expected_return"]["decimal"] == "1.000000"
    assert found["reserve_starves"] is True
    default = json.loads(jackpot("odds", "--json", "--wagers", "1000").stdout)
    assert default["mean_pool_at_royal_cents"] == 48_401_895
    assert 0 < default["chance_of_running_dry"]["chance"] < 1e-5


def test_odds_counts_the_hands_of_every_game():
    stud = json.loads(
        jackpot("odds", "--json", "--rules", "seven-card-stud-2005", "--deck", "32", "--joker", "--ace-low").stdout
    )
    assert stud["total"] == 4_272_048
    assert sum(stud["counts"].values()) == stud["total"]
    holdem = json.loads(jackpot("odds", "--json", "--rules", "ultimate-texas-holdem-2025").stdout)
    assert holdem["trips_house_edge"]["decimal"] == "0.034979"


def test_rules_lists_the_instruments_and_their_clauses():
    listed = json.loads(jackpot("rules", "--json").stdout)["instruments"]
    assert [entry["id"] for entry in listed] == list(INSTRUMENTS)
    clauses = json.loads(jackpot("rules", "canberra-poker-2016", "--json", "--clause", "11.3").stdout)["clauses"]
    assert [clause["number"] for clause in clauses] == ["11.3", "11.3(a)", "11.3(b)"]
    assert clauses[0]["where"]
    assert clauses[0]["tests"]


@pytest.mark.parametrize(
    "arguments",
    [("hand", "As Kd Qc Js Th"), ("odds",), ("odds", "--rules", "ultimate-texas-holdem-2025"), ("rules",)]
    + [("rules", instrument_id) for instrument_id in INSTRUMENTS],
    ids=" ".join,
)
def test_every_query_draws_a_table_for_people(arguments):
    done = jackpot(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "┃" in done.stdout


def test_help_is_shown_without_arguments():
    done = jackpot()
    assert done.returncode == 0
    assert "settle" in done.stdout


def test_the_console_script_is_the_same_program():
    script = Path(sys.executable).with_name("jackpot")
    done = subprocess.run([script, "hand", "--json", "As Kd Qc Js Th"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["hands"][0]["category"] == "straight"
