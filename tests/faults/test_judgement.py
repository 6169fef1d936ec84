"""The harness finds what it looks for: a lost, a doubled, a hung, an unsent wager, an outage, a silent time."""

import json
import sqlite3
from contextlib import closing
from itertools import count

import pytest

from tests.faults import report
from tests.faults.floor import Table
from tests.faults.judgement import judge
from tests.faults.record import Record, Wager
from tests.faults.trial import Notices, Result


@pytest.fixture
def record():
    """A record of three wagers: accepted, rejected and unanswered."""
    made = Record()
    for box, verdict in ((1, "accepted"), (2, "rejected"), (3, None)):
        made.sent(Wager("t1", box, f"w{box}", 1, 0.0))
        if verdict:
            made.answered(("t1", box, f"w{box}"), verdict, None if verdict == "accepted" else "no_ante")
    return made


@pytest.fixture
def store(tmp_path):
    """Make a store with these wagers in its trail; each costs $2."""

    def make(*wagers, paid_cents=None):
        file = tmp_path / "store.db"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE events (chain, seq, type, table_id, data, transfers)")
            connection.execute("CREATE TABLE transfers (source, amount_cents)")
            for seq, (table, box, wager_id) in zip(count(1), wagers):
                data = json.dumps({"box": box, "wager_id": wager_id})
                event = ("main", seq, "wager_accepted", table, data, "[]")
                connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", event)
            paid = 200 * len(wagers) if paid_cents is None else paid_cents
            connection.execute("INSERT INTO transfers VALUES ('players', ?)", (paid,))
        return f"sqlite:///{file}"

    return make


FIRST = ("t1", 1, "w1")


def test_an_accepted_wager_that_is_in_the_trail_once_is_right(record, store):
    judged = judge(record, store(FIRST))
    assert (judged.lost, judged.doubled, judged.problems) == ([], [], [])


def test_an_accepted_wager_that_is_not_in_the_trail_is_lost(record, store):
    assert judge(record, store()).lost == [FIRST]


def test_a_wager_that_only_a_lit_lamp_showed_counts_as_accepted(record, store):
    record.lit(("t1", 3, "w3"))
    assert judge(record, store(FIRST)).lost == [("t1", 3, "w3")]


def test_a_wager_that_is_in_the_trail_twice_is_doubled(record, store):
    assert judge(record, store(FIRST, FIRST)).doubled == [FIRST]


def test_an_unanswered_wager_is_hung(record, store):
    assert judge(record, store(FIRST)).hung == [("t1", 3, "w3")]


def test_a_wager_that_was_never_sent_is_a_problem(record, store):
    assert "never sent" in judge(record, store(FIRST, ("t1", 4, "x"))).problems[0]


def test_money_that_does_not_fit_the_wagers_is_a_problem(record, store):
    assert "paid 400 cents" in judge(record, store(FIRST, paid_cents=400)).problems[0]


def test_the_outage_is_measured_from_the_fault_to_the_end_of_the_longest_time_without_a_wager():
    record = Record()
    record.accepted_at = [9.9, 10.1, 14.0, 14.1, 14.2]
    assert record.outage_seconds(10.0, 14.3) == pytest.approx(4.0)


def test_a_planned_act_is_measured_by_the_longest_time_without_a_wager():
    record = Record()
    record.accepted_at = [10.1, 11.0, 11.8, 11.9]
    assert record.gap_seconds(10.0, 12.0) == pytest.approx(0.9)


def test_play_without_an_outage_has_a_short_recovery():
    record = Record()
    record.accepted_at = [10.1, 10.2, 10.3]
    assert record.outage_seconds(10.0, 10.4) == pytest.approx(0.1)


def test_a_table_drops_a_state_that_is_older_than_one_it_has_seen():
    table = Table("t1", 7, "f")
    state = {"phase": "open", "round": 1, "suspended": None}
    assert table.set_state({**state, "epoch": 2, "seq": 5})
    assert not table.set_state({**state, "epoch": 1, "seq": 9})


@pytest.mark.parametrize("name", ["lost", "doubled", "hung", "stuck", "silent", "stale", "late"])
def test_a_result_with_any_finding_is_not_right_and_the_page_shows_it_in_bold(name):
    result = Result("a fault", "sqlite", "mosquitto", 5.0, trials=1)
    assert result.is_right
    setattr(result, name, 7)
    assert not result.is_right
    found = {"version": "1", "faults": [result.as_json()], "forgeries": []}
    assert "**7**" in report.page(found)


def test_a_forgery_that_was_not_noticed_is_not_right():
    assert not Notices("a forgery", "sqlite", "mosquitto", trials=2, noticed=1).is_right


def test_the_page_is_written_from_the_results():
    assert report.PAGE.read_text() == report.page(json.loads(report.RESULTS.read_text()))
