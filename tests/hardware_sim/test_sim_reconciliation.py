"""The reconciliation finds every difference: in totals, boxes or ids; and names what it compared with."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
from sqlalchemy import DDL

from hardware_sim import controller_books
from hardware_sim.controller_books import find_config, read_controller_books
from hardware_sim.reconciliation import Books, Reconciliation, compare, wagers_from_events
from hardware_sim.wager_log import StandingWager, WagerTotal, total_of
from tests.support.daemon import REPO

LIMIT_SECONDS = 180
ROUND = ("t1", 4)
PADS = {ROUND: {StandingWager(3, "b3-1", 200), StandingWager(5, "b5-1", 200)}}
TOTALS = {ROUND: WagerTotal(2, 400)}


def run_simulator(site, broker, *arguments, **environment):
    """Run the simulator in the site's folder."""
    command = [sys.executable, "-m", "hardware_sim", "--broker", str(broker), "--site", site.id, "--tables", "1"]
    return subprocess.run(
        [*command, "--speed", "200", "--rounds", "2", "--seed", "3", *arguments], cwd=site.folder, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(REPO), **environment}, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip


def reconciled(wagers, totals=TOTALS):
    books = Books("these books", totals, wagers)
    return Reconciliation(books, compare([ROUND], PADS, books), 0, ())


def test_the_same_wagers_are_equal():
    assert reconciled({ROUND: sorted(PADS[ROUND])}).is_equal


@pytest.mark.parametrize(
    "booked",
    [
        pytest.param([StandingWager(4, "b3-1", 200), StandingWager(5, "b5-1", 200)], id="on another box"),
        pytest.param([StandingWager(3, "b3-2", 200), StandingWager(5, "b5-1", 200)], id="under another id"),
        pytest.param([StandingWager(3, "b3-1", 201), StandingWager(5, "b5-1", 199)], id="of other amounts"),
        pytest.param([StandingWager(3, "b3-1", 200), *[StandingWager(5, "b5-1", 200)] * 2], id="twice"),
    ],
)
def test_equal_totals_do_not_hide_a_wager_that_is_booked_differently(booked):
    (line,) = reconciled({ROUND: booked}).differences
    assert (line.table, line.round) == ROUND
    assert {*line.not_booked} == PADS[ROUND] - {*booked}
    assert {*line.not_at_pads} >= {*booked} - PADS[ROUND]


def test_a_wager_booked_in_a_round_that_was_not_played_is_found():
    misplaced = {ROUND: [StandingWager(3, "b3-1", 200)], ("t9", 1): [StandingWager(5, "b5-1", 200)]}
    differences = reconciled(misplaced).differences
    assert [(line.table, line.round) for line in differences] == [ROUND, ("t9", 1)]


def event(kind, **data):
    return {"table_id": "t1", "round": 4, "type": kind, "data": json.dumps(data)}


def test_voided_wagers_do_not_stand():
    wagers = [event("wager_accepted", box=box, wager_id=f"b{box}", amount_cents=200) for box in (1, 2)]
    assert wagers_from_events(wagers)[ROUND] == [StandingWager(1, "b1", 200), StandingWager(2, "b2", 200)]
    assert wagers_from_events([*wagers, event("hand_voided", box=1, wager_id="b1")])[ROUND] == [
        StandingWager(2, "b2", 200)
    ]
    assert wagers_from_events([*wagers, event("round_voided")])[ROUND] == []


def test_the_configuration_is_found_as_the_commands_find_it_if_it_is_the_sites(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JACKPOT_CONFIG", raising=False)
    assert find_config("casino") is None
    (tmp_path / "jackpot.toml").write_text('site = "casino"\n')
    assert find_config("casino").name == "jackpot.toml"
    assert find_config("elsewhere") is None
    (tmp_path / "other.toml").write_text('site = "elsewhere"\n')
    monkeypatch.setenv("JACKPOT_CONFIG", "other.toml")
    assert find_config("casino") is None
    assert find_config("elsewhere").name == "other.toml"
    monkeypatch.setenv("JACKPOT_CONFIG", "nowhere.toml")
    assert find_config("casino") is None


def test_the_command_line_finds_the_books_and_compares_wager_by_wager(new_site, broker):
    site = new_site(tables=1)
    done = run_simulator(site, broker)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the controller's books (jackpot.toml), wager by wager" in done.stdout
    assert "Equal to the cent" in done.stdout
    done = run_simulator(site, broker, JACKPOT_CONFIG="nowhere.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Equal to the cent:" not in done.stdout
    assert "Equal to the cent on the wire" in done.stdout
    assert "the controller's books were not compared" in done.stdout


def test_books_of_many_pages_are_read_back_to_the_first_played_round(new_site, broker, monkeypatch):
    site = new_site(tables=1)
    assert run_simulator(site, broker).returncode == 0
    config = site.folder / "jackpot.toml"
    whole = asyncio.run(read_controller_books(config, "main", [("t1", 1), ("t1", 2)]))
    assert [whole.totals[key] for key in (("t1", 1), ("t1", 2))] == [total_of(whole.wagers["t1", n]) for n in (1, 2)]
    monkeypatch.setattr(controller_books, "PAGE_ROWS", 9)
    assert asyncio.run(read_controller_books(config, "main", [("t1", 1), ("t1", 2)])) == whole
    last = asyncio.run(read_controller_books(config, "main", [("t1", 2)]))
    assert last.totals == {("t1", 2): whole.totals["t1", 2]}
    assert last.wagers["t1", 2] == whole.wagers["t1", 2]


def test_books_are_read_from_a_folder_with_a_foreign_package_of_the_same_name(new_site, broker, tmp_path, monkeypatch):
    site = new_site(tables=1)
    for name in ("jackpot", "rules"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    books = asyncio.run(read_controller_books(site.folder / "jackpot.toml", "main", [("t1", 1)]))
    assert (books.totals, books.wagers) == ({}, {})


MISBOOKED = {
    "another box": ("""replace(data, '"box":3,', '"box":2,')""", ("box 3: ", "box 2: ")),
    "another id": ("""replace(data, '"wager_id":"t1b3-', '"wager_id":"t1b8-')""", ("box 3: t1b3-", "box 3: t1b8-")),
}


@pytest.mark.parametrize(("changed", "places"), MISBOOKED.values(), ids=MISBOOKED)
def test_the_command_line_names_round_and_box_of_a_wager_that_is_booked_differently(new_site, broker, changed, places):
    site = new_site(tables=1)
    site.change(DDL("DROP TRIGGER events_no_update"))
    site.change(
        DDL(
            "CREATE TRIGGER misbooked AFTER INSERT ON events WHEN NEW.type = 'wager_accepted' AND NEW.round = 2 BEGIN "
            f"UPDATE events SET data = {changed} WHERE chain = NEW.chain AND seq = NEW.seq; END"
        )
    )
    done = run_simulator(site, broker, "--rig", "t1:3:one_pair@2")
    assert (done.returncode, done.stderr) == (1, "")
    for where in places:
        assert f"t1 round 2 {where}" in done.stdout
    assert "t1 round 1" not in done.stdout
    assert "Different" in done.stdout
