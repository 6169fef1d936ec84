"""What is live of a jackpot: rendered once a change, at most four times a second, and only what somebody wants."""

import asyncio
import json
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from jackpot.core.commands import LinkTable, UnlinkTable
from jackpot.engine.committed_state import CommittedState, Position
from jackpot.engine.devices import Pads
from jackpot.web import display, fragments, live_view
from jackpot.web.console import fragments as console
from jackpot.web.formatting import hand_name, money
from jackpot.web.live_view import LiveView, Subject
from jackpot.web.sse import Feed, Subscriber
from rules.odds import prize_table
from tests.support.core_floor import AT, FLUSH, MANAGER, ROYALS, STRAIGHT_FLUSHES, Floor


class Service:
    """A service without broker and store: the state and events of a floor, delivered as a service delivers them."""

    def __init__(self, **options):
        self.floor = Floor(**options)
        self.id, self.equipment = "main", SimpleNamespace(pads=Pads())
        self.committed = CommittedState(self.floor.jackpot, self._position())
        self.committed.broker_connected = True
        self._delivered = len(self.floor.events)

    def _position(self):
        return Position(1, len(self.floor.events))

    def deliver(self):
        """Deliver everything that happened on the floor since the last time, as one batch."""
        self.committed.jackpot, self.committed.position = self.floor.jackpot, self._position()
        events = list(enumerate(self.floor.events, 1))[self._delivered :]
        self._delivered = len(self.floor.events)
        self.committed.notify_commit(events)


@pytest.fixture
def clock(monkeypatch):
    """The time as the live side reads it."""
    moment = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(live_view, "time", SimpleNamespace(monotonic=lambda: moment.now, time_ns=lambda: 1))
    return moment


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def board(service):
    found = LiveView({"main": service})
    fragments.install(found)
    display.install(found)
    return found.boards["main"]


def told(board, *kinds, since=0):
    """(version, {name: body}) of what changed."""
    version, news = board.news(since, kinds)
    bodies = [json.loads(wire.decode().split("data: ")[1]) for wire in news]
    return version, {one["name"]: one["body"] for one in bodies}


def test_a_fragment_is_rendered_once_for_all_who_ask_and_again_only_after_a_change(service, board, clock):
    rendered = []
    board.add("count", lambda b: rendered.append(1) or len(rendered), (Subject.WINS,))
    for _ in range(100):
        assert told(board, "count")[1] == {"count": 1}
    service.floor.open("t1")
    service.floor.wager(1, table="t1")
    service.deliver()
    clock.now += 10
    assert told(board, "count")[1] == {"count": 1}
    service.floor.close("t1")
    service.floor.settle("t1")
    service.deliver()
    for _ in range(100):
        assert told(board, "count")[1] == {"count": 2}


def test_nothing_is_rendered_that_nobody_asked_for(service, board, clock):
    rendered = []
    board.add("count", lambda b: rendered.append(1), (Subject.ANYTHING,))
    service.floor.open("t1")
    service.deliver()
    assert told(board, "meter")[1]["meter"]["seq"] == len(service.floor.events)
    assert rendered == []


def test_what_changes_all_the_time_is_rendered_at_most_four_times_a_second(service, board, clock):
    rendered = []
    board.add("count", lambda b: rendered.append(1), (Subject.ANYTHING,))
    told(board, "count")
    service.floor.open("t1")
    for step in range(1, 101):
        service.floor.wager(1, table="t1")
        service.floor.void_hand(1, "t1")
        service.deliver()
        clock.now = 1_000 + step / 100
        told(board, "count")
    assert 4 <= len(rendered) <= 5


def test_a_fragment_that_is_rendered_the_same_is_no_news(service, board, clock):
    board.add("same", lambda b: "always", (Subject.ANYTHING,))
    version, first = told(board, "same")
    service.floor.open("t1")
    service.deliver()
    clock.now += 1
    assert (first, told(board, "same", since=version)) == ({"same": "always"}, (version, {}))


def told_table(board, table):
    offline = [box for box in range(1, table.boxes + 1) if board.pads.is_offline(table.id, box)]
    return {"table": table.id, "phase": table.phase.value, "offline": offline}


def test_each_table_has_a_fragment_of_its_own_which_changes_with_it_alone(service, board, clock):
    board.add_for_tables("table", told_table)
    version, first = told(board, "table")
    assert set(first) == {"table:t1", "table:t2"}
    service.floor.open("t2")
    service.deliver()
    clock.now += 1
    version, changed = told(board, "table", since=version)
    assert (set(changed), changed["table:t2"]["phase"]) == ({"table:t2"}, "open")
    service.equipment.pads.set_status("t1", 4, online=False)
    service.committed.notify_status("t1")
    clock.now += 1
    assert told(board, "table", since=version)[1]["table:t1"]["offline"] == [4]


def test_a_wager_renders_no_table_anew_but_the_lamps_of_all(service, board, clock):
    rendered = []
    board.add_for_tables("count", lambda _, table: rendered.append(table.id) or len(rendered))
    service.floor.open("t2")
    service.deliver()
    version, _ = told(board, "count")
    since, _ = told(board, "lamps")
    before = len(rendered)
    service.floor.wager(3, table="t2")
    service.deliver()
    clock.now += 1
    assert (told(board, "count", since=version)[1], len(rendered)) == ({}, before)
    assert told(board, "lamps", since=since)[1] == {"lamps": {"t1": [], "t2": [3]}}


def test_a_table_that_joins_gets_a_fragment_and_one_that_leaves_has_none_left(service, board, clock):
    board.add_for_tables("table", told_table)
    version, _ = told(board, "table")
    service.floor.ask(LinkTable(AT, MANAGER, "t9", 7))
    service.deliver()
    version, changed = told(board, "table", since=version)
    assert (set(changed), changed["table:t9"]["table"]) == ({"table:t9"}, "t9")
    service.floor.ask(UnlinkTable(AT, MANAGER, "t9", "a test"))
    service.deliver()
    clock.now += 1
    assert told(board, "table", since=version)[1] == {"table:t9": None}


def test_the_store_and_the_broker_make_the_meter_unavailable_at_the_same_seq(service, board, clock):
    version, first = told(board, "meter")
    service.committed.store_failed = True
    service.committed.notify_status(None)
    clock.now += 1
    version, failed = told(board, "meter", since=version)
    assert (failed["meter"]["unavailable"], failed["meter"]["seq"]) == ("store", first["meter"]["seq"])
    service.committed.store_failed, service.committed.broker_connected = False, False
    service.committed.notify_status(None)
    clock.now += 1
    assert told(board, "meter", since=version)[1]["meter"]["unavailable"] == "broker"


def test_only_the_newest_prizes_are_kept(service, board, clock):
    for _ in range(live_view.MAX_WINS + 5):
        service.floor.open("t1")
        service.floor.wager(1, table="t1")
        service.floor.close("t1")
        service.floor.declare(1, FLUSH, "t1")
        service.floor.settle("t1")
        service.deliver()
    wins = told(board, "wins")[1]["wins"]
    assert len(wins) == live_view.MAX_WINS
    assert [win["seq"] for win in wins] == sorted((win["seq"] for win in wins), reverse=True)
    assert wins[0]["round"] == live_view.MAX_WINS + 5


def test_a_batch_in_which_the_meter_falls_and_rises_again_still_tells_of_the_fall(service, board, clock):
    service.floor.open("t1")
    service.floor.open("t2")
    service.floor.wager(1, table="t1")
    service.floor.close("t1")
    service.floor.declare(1, ROYALS[0], "t1")
    service.floor.settle("t1")
    settled_at = len(service.floor.events)
    service.floor.wager(1, table="t2")
    service.deliver()
    meter = told(board, "meter")[1]["meter"]
    assert meter["fall"] == {"reason": "win", "seq": settled_at}
    assert meter["seq"] == settled_at + 1


def test_an_approved_configuration_changes_the_prizes_that_are_shown(service, board, clock):
    version, first = told(board, "prizes")
    assert "70% to this meter, 30% to the reserve." in " ".join(first["prizes"].split())
    assert "starts again" not in first["prizes"]
    service.floor.approve(service.floor.propose(jackpot_bps=6_667, reserve_bps=3_333, reset_cents=2_500_000))
    service.deliver()
    clock.now += 1
    changed = " ".join(told(board, "prizes", since=version)[1]["prizes"].split())
    assert "66.67% to this meter, 33.33% to the reserve." in changed
    assert "starts again at $25,000.00 or more" in changed


@pytest.mark.parametrize("rules", ["canberra-poker-2016", "canberra-poker-1997"])
def test_every_prize_of_the_instrument_is_shown_with_its_amount(rules, clock):
    found = LiveView({"main": Service(rules=rules)})
    display.install(found)
    html = told(found.boards["main"], "prizes")[1]["prizes"]
    table = prize_table(rules)
    for hand, cents in table.fixed_cents.items():
        assert f">{hand_name(hand)}</p>" in html
        assert f">{money(cents)}</p>" in html
    for hand, (percent, least) in table.percent.items():
        assert f">{hand_name(hand)}</p>" in html
        assert f'data-percent="{percent}" data-least="{least}"' in html
        assert f"at least {money(least)}" in html


def test_where_many_are_fed_each_is_told_less_often_and_few_are_told_twice_a_second():
    async def paces(counts):
        feed, found = Feed("1"), []
        with ExitStack() as places:
            for n in range(max(counts)):
                if n in counts:
                    found.append(feed.pace_seconds)
                places.enter_context(feed.place(Subscriber()))
            return [*found, feed.pace_seconds]

    assert asyncio.run(paces([0, 50, 200])) == [0.5, 0.5, 2.0]


def test_a_round_with_several_prizes_is_headed_with_all_of_them(service, clock):
    found = LiveView({"main": service})
    console.install(found)
    service.floor.open("t1")
    for box in (1, 2):
        service.floor.wager(box, table="t1")
    service.floor.close("t1")
    service.floor.declare(1, ROYALS[0], "t1")
    service.floor.declare(2, STRAIGHT_FLUSHES[0], "t1")
    service.floor.settle("t1")
    service.deliver()
    assert "<h2>Straight flush and royal flush at table t1</h2>" in told(found.boards["main"], "pending")[1]["pending"]
