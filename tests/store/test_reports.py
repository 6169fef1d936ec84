"""Queries and reports: the present, the history page by page, and a daily report that ties to the cent."""

from collections import Counter
from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import event as listening
from sqlalchemy import select, text

from jackpot.core.commands import ReportMalfunction, Role
from jackpot.core.ledger import POOLS
from jackpot.core.results import Refused
from jackpot.core.site.commands import INSTALLER, AddOperator
from jackpot.engine.journal import Journal
from jackpot.engine.site_journal import SiteJournal
from jackpot.store import event_lookup, queries, tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.queries import EventFilter, Page
from jackpot.store.reports import LINES, daily
from jackpot.store.schema import migrate
from tests.support.core_floor import DEALER, FLUSH, NOTHING, ROYALS, STRAIGHT_FLUSHES, SUPERVISOR, Floor
from tests.support.postgres import empty_database

ZONES = ("UTC", "Australia/Canberra")
LINE_NAMES = [f"{kind}_cents" for kind in LINES]


def new_database(kind, request, folder):
    made = empty_database(kind, folder, request)
    migrate(made)
    return made


class DatedFloor(Floor):
    """A floor in a database whose commands are executed at the time `at`; `rows` are its events, numbered."""

    def __init__(self, database, name, at, **changes):
        self.journal, self.at = Journal.open(database, name, "test"), at
        super().__init__(**changes)

    def execute(self, command):
        command = command._replace(at=self.at)
        command = command._replace(jackpot=self.journal.lease.chain) if hasattr(command, "jackpot_cents") else command
        (outcome,) = self.journal.execute([command])
        self.jackpot = self.journal.jackpot
        if isinstance(outcome, Refused):
            raise outcome
        self.events += outcome.events
        return outcome.answer

    @property
    def rows(self):
        return list(enumerate(self.events, start=1))


# A week of two jackpots. In Canberra the clocks go forward on 4 October 2026: that day has 23 hours.


def play_a_week(floor):
    """Play everything that changes a pool, at the day boundaries of both zones."""
    floor.play({1: FLUSH, 2: NOTHING, 3: None}, "t1")
    floor.at = "2026-10-02T13:59:59.999Z"
    floor.play({7: STRAIGHT_FLUSHES[0], 5: STRAIGHT_FLUSHES[1], 1: FLUSH}, "t2")
    floor.at = "2026-10-02T14:00:00.000Z"
    floor.open("t1")
    floor.wager(1, 2, 3)
    floor.void_hand(2, actor=DEALER)
    floor.correct({5: None}, "t2")
    floor.at = "2026-10-02T23:59:59.999Z"
    floor.void(actor=DEALER)
    floor.confirm("t2")
    floor.at = "2026-10-03T00:00:00.000Z"
    floor.approve(floor.propose(wager_cents=300, jackpot_bps=6_667, reserve_bps=3_333, reset_cents=6_000_000))
    floor.play({6: ROYALS[0], 4: FLUSH}, "t1")
    floor.at = "2026-10-03T14:30:00.000Z"
    floor.play({3: STRAIGHT_FLUSHES[2], 1: NOTHING}, "t2")
    floor.correct({6: STRAIGHT_FLUSHES[3]}, "t1")
    floor.at = "2026-10-04T12:59:59.999Z"
    floor.confirm("t1")
    floor.void("t2")
    floor.at = "2026-10-04T13:00:00.000Z"
    floor.approve(floor.adjust("jackpot", "house_advance", 12_345))
    floor.approve(floor.adjust("reserve", "house_advance", 11))
    floor.approve(floor.adjust("house", "reserve", 777))
    floor.at = "2026-10-05T08:00:00.000Z"
    floor.approve(floor.adjust("reserve", "jackpot", 70_000))
    floor.approve(floor.adjust("house_advance", "jackpot", 5))
    for table in ("t1", "t2"):
        floor.play({6: ROYALS[2], 4: ROYALS[3], 2: FLUSH}, table)
    floor.confirm("t1")
    floor.execute(ReportMalfunction("", DEALER, "t1", "pad", "dark"))


class Week:
    def __init__(self, database):
        self.database = database
        site = SiteJournal.open(database, "test")
        site.execute(AddOperator("2026-10-01T00:00:00.000Z", INSTALLER, "max", Role.MANAGER, "hash"))
        self.main = DatedFloor(database, "main", "2026-10-02T08:00:00.000Z", reset_cents=1_000_000)
        play_a_week(self.main)
        self.vip = DatedFloor(database, "vip", "2026-10-04T10:00:00.000Z", confirm=(), jackpot=100, reserve=0)
        for box in (1, 2, 3):
            self.vip.play({box: FLUSH, box + 1: NOTHING}, "t2")

    @property
    def floors(self):
        return {"main": self.main, "vip": self.vip}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def week(request, tmp_path_factory):
    database = new_database(request.param, request, tmp_path_factory.mktemp("week"))
    yield Week(database)
    database.close()


def days(first="2026-10-01", last="2026-10-07"):
    day, last = date.fromisoformat(first), date.fromisoformat(last)
    while day <= last:
        yield day
        day += timedelta(days=1)


def local_day(at, zone):
    return datetime.fromisoformat(at).astimezone(ZoneInfo(zone)).date()


def reported(database, day, zone="UTC"):
    with database.reader() as connection:
        return {(row["jackpot"], row["pool"]): row for row in daily(connection, day, zone)}


@pytest.mark.parametrize("zone", ZONES)
def test_each_day_reports_the_sum_of_each_kind_of_transfer(week, zone):
    for day in days():
        report = reported(week.database, day, zone)
        assert list(report) == [(jackpot, pool.value) for jackpot in ("main", "vip") for pool in POOLS]
        for (jackpot, pool), row in report.items():
            moved = Counter()
            for event in week.floors[jackpot].events:
                if local_day(event.at, zone) == day:
                    for source, target, cents, kind in event.transfers:
                        moved[f"{kind}_cents"] += cents * ((target == pool) - (source == pool))
            assert {name: row[name] for name in LINE_NAMES} == {name: moved[name] for name in LINE_NAMES}


@pytest.mark.parametrize("zone", ZONES)
def test_every_day_ties_to_the_cent_and_opens_with_the_closing_of_the_day_before(week, zone):
    week_of_reports = [reported(week.database, day, zone) for day in days()]
    for pool in week_of_reports[0]:
        rows = [report[pool] for report in week_of_reports]
        for row in rows:
            assert row["ties"] is True
            assert row["opening_cents"] + sum(row[name] for name in LINE_NAMES) == row["closing_cents"]
        assert all(after["opening_cents"] == before["closing_cents"] for before, after in pairwise(rows))
        assert rows[0]["opening_cents"] == 0
        assert rows[-1]["closing_cents"] == week.floors[pool[0]].holds(pool[1])


def test_the_week_has_every_kind_of_line(week):
    seen = {name for day in days() for row in reported(week.database, day).values() for name in LINE_NAMES if row[name]}
    assert seen == set(LINE_NAMES)


def test_the_two_zones_have_different_day_boundaries(week):
    utc, canberra = ([reported(week.database, day, zone)["main", "jackpot"] for day in days()] for zone in ZONES)
    assert utc != canberra
    assert [sum(row[name] for row in utc) for name in LINE_NAMES] == [
        sum(row[name] for row in canberra) for name in LINE_NAMES
    ]


def test_a_day_worked_out_by_hand(request, tmp_path, week):
    database = new_database("sqlite" if week.database.is_sqlite else "postgresql", request, tmp_path)
    floor = DatedFloor(database, "main", "2026-11-14T10:00:00.000Z", reset_cents=1_000_000)
    floor.play({1: FLUSH, 2: None, 3: None, 4: None, 5: None})
    floor.open("t2")
    floor.wager(1, table="t2")
    floor.void("t2")
    floor.at = "2026-11-15T10:00:00.000Z"
    assert floor.play({7: STRAIGHT_FLUSHES[0]})[0]["amount_cents"] == 500_042
    floor.correct({7: None})
    floor.approve(floor.adjust("jackpot", "house_advance", 1_000))
    floor.approve(floor.adjust("house", "reserve", 500))
    assert floor.play({1: ROYALS[0]}, "t2")[0]["amount_cents"] == 4_999_490
    floor.confirm("t2")
    found = [
        {name.removesuffix("_cents"): value for name, value in row.items() if value and name.endswith("_cents")}
        for day in days("2026-11-14", "2026-11-16")
        for row in reported(database, day).values()
    ]
    database.close()
    assert found == [
        {"contribution": 420, "void": -70, "advance": 5_000_000, "closing": 5_000_350},
        {"contribution": 180, "void": -30, "prize": -10_000, "advance": 2_000_000, "closing": 1_990_150},
        {
            "opening": 5_000_350,
            "contribution": 140,
            "prize": -500_042 - 4_999_490,
            "correction": 500_042,
            "reset": 1_000_000,
            "repayment": -1_000,
            "closing": 1_000_000,
        },
        {"opening": 1_990_150, "contribution": 60, "reset": -1_000_000, "adjustment": 500, "closing": 990_710},
        {"opening": 1_000_000, "closing": 1_000_000},
        {"opening": 990_710, "closing": 990_710},
    ]


def test_a_pool_whose_balance_is_not_the_sum_of_its_transfers_does_not_tie(request, tmp_path, week):
    database = new_database("sqlite" if week.database.is_sqlite else "postgresql", request, tmp_path)
    DatedFloor(database, "main", "2026-11-14T10:00:00.000Z")
    with database.transaction() as connection:
        connection.execute(text("UPDATE balances SET balance_cents = balance_cents + 1 WHERE account = 'reserve'"))
    ties = {pool: row["ties"] for (_, pool), row in reported(database, date(2026, 11, 14)).items()}
    database.close()
    assert ties == {"jackpot": True, "reserve": False}


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../UTC", "/etc/passwd", "utc\x00"])
def test_an_unknown_zone_is_refused_with_a_message(week, zone):
    with week.database.reader() as connection, pytest.raises(StoreError, match="there is no time zone"):
        daily(connection, date(2026, 11, 14), zone)


@pytest.mark.parametrize(("day", "zone"), [(date.max, "UTC"), (date.min, "Australia/Canberra"), (date.min, "UTC")])
def test_a_day_at_the_end_of_the_calendar_is_answered_or_refused(week, day, zone):
    with week.database.reader() as connection:
        try:
            rows = daily(connection, day, zone)
        except StoreError:
            return
    assert all(row["ties"] and not any(row[name] for name in LINE_NAMES) for row in rows)


def test_a_day_before_all_events_reports_zero_even_in_year_1(week):
    rows = reported(week.database, date(3, 2, 1)).values()
    assert all(row["ties"] and row["opening_cents"] == row["closing_cents"] == 0 for row in rows)


# The present.


def test_pools_are_the_sum_of_their_transfers(week):
    with week.database.reader() as connection:
        found = {row["jackpot"]: row for row in queries.pools(connection)}
    assert list(found) == ["main", "vip"]
    for jackpot, floor in week.floors.items():
        held = Counter()
        for event in floor.events:
            for source, target, cents, _ in event.transfers:
                held[source.value] -= cents
                held[target.value] += cents
        row = found[jackpot]
        assert row["balances"] == {account: held[account] for account in row["balances"]}
        assert (row["meter_cents"], row["reserve_cents"]) == (held["jackpot"], held["reserve"])
        assert (row["payable_cents"], row["advance_owed_cents"]) == (held["payable"], -held["house_advance"])
        assert sum(row["balances"].values()) == 0
    assert (found["main"]["config_version"], found["vip"]["config_version"]) == (2, 1)
    assert found["main"]["payable_cents"] > 0


def test_tables_are_listed_in_their_present_state(week):
    with week.database.reader() as connection:
        every, of_main = queries.floor(connection), queries.floor(connection, "main")
    assert [(row["jackpot"], row["table"]) for row in every] == [
        ("main", "t1"),
        ("main", "t2"),
        ("vip", "t1"),
        ("vip", "t2"),
    ]
    assert of_main == every[:2]
    one, two = of_main
    assert (one["phase"], one["suspended"], one["lit"], one["boxes"]) == ("idle", "dealer_report", [], 7)
    assert (two["phase"], two["suspended"], two["lit"], two["mode"]) == ("pending", None, [2, 4, 6], "normal")


# History, page by page.


def found_pages(database, query, page, wanted):
    """Return all results, page after page."""
    rows, before = [], page.before
    with database.reader() as connection:
        while True:
            found = query(connection, page._replace(before=before), wanted)
            rows += found.rows
            if found.before is None:
                return rows
            assert before is None or found.before < before
            before = found.before


def event_pages(database, page, wanted):
    return found_pages(database, queries.events, page, wanted)


def round_pages(database, page, outcome=None):
    return found_pages(database, queries.rounds, page, outcome)


def pages(database, query, page, *more):
    """Return every page, each starting where the one before ended."""
    with database.reader() as connection:
        rows = []
        while found := query(connection, page, *more):
            assert len(rows) < 10_000
            rows += found
            page = page._replace(before=found[-1]["seq"])
        return rows


def kept(database, table, **values):
    with database.reader() as connection:
        chosen = select(table).where(*(table.c[name] == value for name, value in values.items()))
        return [dict(row._mapping) for row in connection.execute(chosen)]


def keys(rows, *names):
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_pages_of_rounds_give_every_round_once_the_newest_first(week, limit):
    for jackpot in ("main", "vip"):
        rows = round_pages(week.database, Page(jackpot, limit=limit))
        expected = kept(week.database, tables.rounds, chain=jackpot)
        assert keys(rows, "seq") == sorted(keys(expected, "seq"), reverse=True)
        assert len(rows) == sum(event.type == "round_opened" for event in week.floors[jackpot].events) > 2
    of_table = round_pages(week.database, Page("main", "t2", limit=limit))
    assert keys(of_table, "table_id", "round") == [("t2", 3), ("t2", 2), ("t2", 1)]


@pytest.mark.parametrize("tried", [1, 2, 3, 1_000])
@pytest.mark.parametrize("table", [None, "t1", "t2"])
@pytest.mark.parametrize("outcome", ["played", "void", "playing"])
def test_rounds_of_one_outcome_are_found_page_by_page_without_gaps(week, monkeypatch, outcome, table, tried):
    every = [row for row in round_pages(week.database, Page("main")) if table in (None, row["table_id"])]
    expected = [row for row in every if (row["outcome"] or "playing") == outcome]
    monkeypatch.setattr(queries, "MAX_SCANNED", tried)
    for limit in (1, 2, 50):
        assert round_pages(week.database, Page("main", table, limit=limit), outcome) == expected


def test_a_search_for_rounds_scans_a_limited_number_and_returns_where_to_continue(week, monkeypatch):
    monkeypatch.setattr(queries, "MAX_SCANNED", 2)
    newest = [row["seq"] for row in round_pages(week.database, Page("main"))]
    with week.database.reader() as connection:
        assert queries.rounds(connection, Page("main"), "void") == ([], newest[1])
        found = queries.rounds(connection, Page("main", before=newest[1]), "void")
    assert (keys(found.rows, "table_id", "round"), found.before) == ([("t2", 2)], newest[3])


@pytest.mark.parametrize(("table", "index"), [(None, "rounds_by_seq"), ("t1", "sqlite_autoindex_rounds_1")])
@pytest.mark.parametrize("before", [None, 1_000])
def test_a_page_of_rounds_is_looked_up_by_an_index(tmp_path, table, index, before):
    database, statements = Database(f"sqlite:///{tmp_path / 'store.db'}"), []
    migrate(database)
    listening.listen(database.reading, "before_cursor_execute", lambda *seen: statements.append(seen[2:4]))
    with database.reader() as connection:
        queries.rounds(connection, Page("main", table, before), "void")
        statement, values = next(one for one in statements if "wagered_cents" in one[0])
        plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    database.close()
    assert any(f"SEARCH rounds USING INDEX {index}" in line for line in plan), plan
    assert sum("TEMP B-TREE" in line for line in plan) <= 1, plan  # of the scanned rows, not of all


def test_a_round_lists_its_wagers_and_its_outcome(week):
    with week.database.reader() as connection:
        rows = {(row["table_id"], row["round"]): row for row in queries.rounds(connection, Page("main")).rows}
    found = {
        key: (row["phase"], row["outcome"], row["wagers"], row["wagered_cents"], row["config_version"])
        for key, row in rows.items()
    }
    assert found == {
        ("t1", 1): ("idle", "played", 3, 300, 1),
        ("t2", 1): ("idle", "played", 3, 300, 1),
        ("t1", 2): ("idle", "void", 0, 0, 1),
        ("t1", 3): ("idle", "played", 2, 600, 2),
        ("t2", 2): ("idle", "void", 0, 0, 2),
        ("t1", 4): ("idle", "played", 3, 900, 2),
        ("t2", 3): ("pending", None, 3, 900, 2),
    }
    assert rows["t2", 1]["opened_at"] == "2026-10-02T13:59:59.999Z"
    assert rows["t2", 1]["ended_at"] == "2026-10-02T23:59:59.999Z"
    assert rows["t2", 3]["ended_at"] is None


def test_the_detail_of_a_round_has_each_wager_and_prize(week):
    with week.database.reader() as connection:
        found = queries.round_detail(connection, "main", "t2", 1)
        assert queries.round_detail(connection, "main", "t2", 99) is None
        assert queries.round_detail(connection, "vip", "t1", 1) is None
    assert keys(found["wagers"], "box", "amount_cents", "status") == [(box, 100, "accepted") for box in (1, 5, 7)]
    assert keys(found["payouts"], "box", "hand", "status") == [
        (7, "straight_flush", "corrected"),
        (5, "straight_flush", "corrected"),
        (1, "flush", "corrected"),
        (7, "straight_flush", "paid"),
        (1, "flush", "paid"),
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 50])
def test_pages_of_wins_give_every_prize_once_the_newest_first(week, limit):
    """Several boxes win in one settlement; a page that ends between them must not lose the others."""
    for page in (Page("main", limit=limit), Page("main", "t2", limit=limit), Page("vip", limit=limit)):
        rows = pages(week.database, queries.wins, page)
        where = {"chain": page.jackpot} | ({"table_id": page.table} if page.table else {})
        expected = kept(week.database, tables.payouts, **where)
        assert sorted(keys(rows, "seq", "box")) == sorted(keys(expected, "seq", "box"))
        assert keys(rows, "seq") == sorted(keys(rows, "seq"), reverse=True)


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_pages_of_events_give_every_event_once_the_newest_first(week, limit):
    for jackpot, floor in week.floors.items():
        rows = event_pages(week.database, Page(jackpot, limit=limit), EventFilter())
        assert keys(rows, "seq", "type", "at", "actor", "table_id", "round") == [
            (seq, event.type, event.at, event.actor, event.table, event.round) for seq, event in reversed(floor.rows)
        ]
    assert keys(event_pages(week.database, Page("site"), EventFilter()), "type") == [("operator_added",)]


FILTERS = {
    "since": (EventFilter(since="2026-10-03T00:00:00.000Z"), lambda e: e.at >= "2026-10-03T00:00:00.000Z"),
    "until": (EventFilter(until="2026-10-03T00:00:00.000Z"), lambda e: e.at < "2026-10-03T00:00:00.000Z"),
    "a short time": (
        EventFilter("2026-10-02T13:59:59.999Z", "2026-10-02T14:00:00.000Z"),
        lambda e: e.at == "2026-10-02T13:59:59.999Z",
    ),
    "type": (EventFilter(type="wager_accepted"), lambda e: e.type == "wager_accepted"),
    "actor": (EventFilter(actor=SUPERVISOR.name), lambda e: e.actor == "sue"),
    "all at once": (
        EventFilter("2026-10-02T14:00:00.000Z", "2026-10-05T00:00:00.000Z", "payouts_confirmed", "sue"),
        lambda e: e.type == "payouts_confirmed" and "2026-10-02T14" <= e.at < "2026-10-05",
    ),
}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("table", [None, "t1", "t2"])
def test_events_are_filtered_by_time_type_table_and_actor(week, name, table):
    wanted, holds = FILTERS[name]
    expected = [seq for seq, event in reversed(week.main.rows) if holds(event) and table in (None, event.table)]
    for limit in (2, 1_000):
        rows = event_pages(week.database, Page("main", table, limit=limit), wanted)
        assert keys(rows, "seq") == [(seq,) for seq in expected]
    assert expected or table


@pytest.mark.parametrize("tried", [1, 3, 10])
def test_a_long_search_continues_from_page_to_page_without_gaps(week, monkeypatch, tried):
    monkeypatch.setattr(queries, "MAX_SCANNED", tried)
    wanted = EventFilter(type="wager_accepted", actor="pad")
    expected = [(seq,) for seq, e in reversed(week.main.rows) if e.type == "wager_accepted" and e.table == "t2"]
    assert keys(event_pages(week.database, Page("main", "t2"), wanted), "seq") == expected
    with week.database.reader() as connection:
        assert queries.events(connection, Page("main", "t2"), wanted).before is not None


def test_filters_without_a_match_find_nothing(week):
    for wanted in (EventFilter(type="nonsense"), EventFilter(actor="nobody"), EventFilter(since="2027-01-01")):
        assert event_pages(week.database, Page("main"), wanted) == []
    assert event_pages(week.database, Page("nowhere"), EventFilter()) == []
    assert round_pages(week.database, Page("main", "t9")) == []


def test_a_page_is_never_longer_than_the_maximum(week, monkeypatch):
    monkeypatch.setattr(queries, "MAX_ROWS", 5)
    with week.database.reader() as connection:
        assert len(queries.events(connection, Page("main", limit=10**9), EventFilter()).rows) == 5


@pytest.mark.parametrize(
    "times", [(None, None), ("2026-01-01", None), (None, "2027-01-01"), ("2026-01-01", "2027-01-01")]
)
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        ((None, None, None), "PRIMARY KEY"),
        ((None, "round_settled", None), "events_by_type"),
        ((None, None, "max"), "events_by_actor"),
        ((None, "wager_accepted", None), "PRIMARY KEY"),
        ((None, None, "pad"), "PRIMARY KEY"),
        ((None, "wager_accepted", "pad"), "PRIMARY KEY"),
        (("t1", "wager_accepted", "max"), "events_by_actor"),
        (("t1", "round_settled", "pad"), "events_by_type"),
    ],
)
def test_a_page_of_events_is_looked_up_by_the_most_selective_index(tmp_path, times, wanted, index):
    """SQLite's query plan: without the hint it would read whole ranges of the trail."""
    database, statements = Database(f"sqlite:///{tmp_path / 'store.db'}"), []
    migrate(database)
    listening.listen(database.reading, "before_cursor_execute", lambda *seen: statements.append(seen[2:4]))
    with database.reader() as connection:
        table, kind, actor = wanted
        queries.events(connection, Page("main", table), EventFilter(*times, kind, actor))
        executed = [(statement, values) for statement, values in list(statements) if "DESC" in statement]
        statement, values = next(one for one in reversed(executed) if "events.data" in one[0])
        plan = " ".join(row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values))
    database.close()
    assert (index in plan, "SCAN events" in plan, "TEMP B-TREE" in plan) == (True, False, False), plan


@pytest.mark.parametrize("times", [(None, None), ("2026-01-01", "2027-01-01")])
@pytest.mark.parametrize("others", [(None, None), ("wager_accepted", "pad")])
def test_a_tables_events_are_looked_up_by_rounds_and_by_the_index_without_wagers(week, times, others):
    statements = []
    database = Database(week.database.url)
    listening.listen(database.reading, "before_cursor_execute", lambda *seen: statements.append(seen[2:4]))
    with database.reader() as connection:
        queries.events(connection, Page("main", "t1"), EventFilter(*times, *others))
        queries.round_events(connection, "main", "t1", 1)
        executed = [one for one in list(statements) if "FROM" in one[0]]
        if connection.dialect.name == "sqlite":
            plans = [
                " ".join(row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values))
                for statement, values in executed
            ]
            assert any("events_by_table" in plan for plan in plans)
            assert any("wagers_by_round" in plan for plan in plans)
            assert not [
                plan for plan in plans if any(f"SCAN {name}" in plan for name in ("events", "wagers", "rounds"))
            ]
    database.close()


@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize("wanted", [EventFilter(), EventFilter(type="wager_accepted"), EventFilter(actor="dealer")])
def test_all_events_of_a_table_are_found_with_any_limit_of_rounds(week, monkeypatch, limit, wanted):
    monkeypatch.setattr(event_lookup, "ROUNDS_PER_QUERY", 2)
    monkeypatch.setattr(event_lookup, "MAX_ROUNDS", 4)
    for table in ("t1", "t2"):
        expected = [
            (seq,)
            for seq, e in reversed(week.main.rows)
            if e.table == table and wanted.type in (None, e.type) and wanted.actor in (None, e.actor)
        ]
        assert keys(event_pages(week.database, Page("main", table, limit=limit), wanted), "seq") == expected
