"""Live views: each fragment is rendered once per change, at most four times a second, and only on request."""

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
from jackpot.web.sse import FeedSubscriber, SseFeed
from rules.odds import prize_table
from tests.support.core_floor import AT, FLUSH, MANAGER, ROYALS, STRAIGHT_FLUSHES, Floor


class Service:
    """A jackpot service without broker and store: it delivers the events of a simulated floor."""

    def __init__(self, **options):
        self.floor = Floor(**options)
        self.id, self.equipment = "main", SimpleNamespace(pads=Pads())
        self.committed = CommittedState(self.floor.jackpot, self._position())
        self.committed.broker_connected = True
        self._delivered = len(self.floor.events)

    def _position(self):
        return Position(1, len(self.floor.events))

    def deliver(self):
        """Deliver all events since the last delivery as one batch."""
        self.committed.jackpot, self.committed.position = self.floor.jackpot, self._position()
        events = list(enumerate(self.floor.events, 1))[self._delivered :]
        self._delivered = len(self.floor.events)
        self.committed.notify_commit(events)


@pytest.fixture
def clock(monkeypatch):
    """The clock of the live view."""
    moment = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(live_view, "time", SimpleNamespace(monotonic=lambda: moment.now, time_ns=lambda: 1))
    return moment


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def view(service):
    live = LiveView({"main": service})
    fragments.install(live)
    display.install(live)
    return live.views["main"]


def changes(view, *kinds, since=0):
    """Return (version, {name: body}) of the fragments that changed."""
    version, encoded = view.changes_since(since, kinds)
    bodies = [json.loads(event.decode().split("data: ")[1]) for event in encoded]
    return version, {one["name"]: one["body"] for one in bodies}


def test_a_fragment_is_rendered_once_for_all_subscribers_and_again_only_after_a_change(service, view, clock):
    rendered = []
    view.add("count", lambda b: rendered.append(1) or len(rendered), (Subject.WINS,))
    for _ in range(100):
        assert changes(view, "count")[1] == {"count": 1}
    service.floor.open("t1")
    service.floor.wager(1, table="t1")
    service.deliver()
    clock.now += 10
    assert changes(view, "count")[1] == {"count": 1}
    service.floor.close("t1")
    service.floor.settle("t1")
    service.deliver()
    for _ in range(100):
        assert changes(view, "count")[1] == {"count": 2}


def test_fragments_that_are_not_requested_are_not_rendered(service, view, clock):
    rendered = []
    view.add("count", lambda b: rendered.append(1), (Subject.ANYTHING,))
    service.floor.open("t1")
    service.deliver()
    assert changes(view, "meter")[1]["meter"]["seq"] == len(service.floor.events)
    assert rendered == []


def test_a_fragment_that_changes_constantly_is_rendered_at_most_four_times_a_second(service, view, clock):
    rendered = []
    view.add("count", lambda b: rendered.append(1), (Subject.ANYTHING,))
    changes(view, "count")
    service.floor.open("t1")
    for step in range(1, 101):
        service.floor.wager(1, table="t1")
        service.floor.void_hand(1, "t1")
        service.deliver()
        clock.now = 1_000 + step / 100
        changes(view, "count")
    assert 4 <= len(rendered) <= 5


def test_a_fragment_that_renders_to_the_same_text_is_no_change(service, view, clock):
    view.add("same", lambda b: "always", (Subject.ANYTHING,))
    version, first = changes(view, "same")
    service.floor.open("t1")
    service.deliver()
    clock.now += 1
    assert (first, changes(view, "same", since=version)) == ({"same": "always"}, (version, {}))


def table_summary(view, table):
    offline = [box for box in range(1, table.boxes + 1) if view.pads.is_offline(table.id, box)]
    return {"table": table.id, "phase": table.phase.value, "offline": offline}


def test_the_fragment_of_a_table_changes_with_that_table_only(service, view, clock):
    view.add_for_tables("table", table_summary)
    version, first = changes(view, "table")
    assert set(first) == {"table:t1", "table:t2"}
    service.floor.open("t2")
    service.deliver()
    clock.now += 1
    version, changed = changes(view, "table", since=version)
    assert (set(changed), changed["table:t2"]["phase"]) == ({"table:t2"}, "open")
    service.equipment.pads.set_status("t1", 4, online=False)
    service.committed.notify_status("t1")
    clock.now += 1
    assert changes(view, "table", since=version)[1]["table:t1"]["offline"] == [4]


def test_a_wager_changes_the_lamps_and_renders_no_table_again(service, view, clock):
    rendered = []
    view.add_for_tables("count", lambda _, table: rendered.append(table.id) or len(rendered))
    service.floor.open("t2")
    service.deliver()
    version, _ = changes(view, "count")
    since, _ = changes(view, "lamps")
    before = len(rendered)
    service.floor.wager(3, table="t2")
    service.deliver()
    clock.now += 1
    assert (changes(view, "count", since=version)[1], len(rendered)) == ({}, before)
    assert changes(view, "lamps", since=since)[1] == {"lamps": {"t1": [], "t2": [3]}}


def test_a_linked_table_gets_a_fragment_which_is_null_after_it_is_unlinked(service, view, clock):
    view.add_for_tables("table", table_summary)
    version, _ = changes(view, "table")
    service.floor.execute(LinkTable(AT, MANAGER, "t9", 7))
    service.deliver()
    version, changed = changes(view, "table", since=version)
    assert (set(changed), changed["table:t9"]["table"]) == ({"table:t9"}, "t9")
    service.floor.execute(UnlinkTable(AT, MANAGER, "t9", "a test"))
    service.deliver()
    clock.now += 1
    assert changes(view, "table", since=version)[1] == {"table:t9": None}


def test_a_failed_store_or_broker_makes_the_meter_unavailable_at_the_same_seq(service, view, clock):
    version, first = changes(view, "meter")
    service.committed.store_failed = True
    service.committed.notify_status(None)
    clock.now += 1
    version, failed = changes(view, "meter", since=version)
    assert (failed["meter"]["unavailable"], failed["meter"]["seq"]) == ("store", first["meter"]["seq"])
    service.committed.store_failed, service.committed.broker_connected = False, False
    service.committed.notify_status(None)
    clock.now += 1
    assert changes(view, "meter", since=version)[1]["meter"]["unavailable"] == "broker"


def test_only_the_newest_prizes_are_kept(service, view, clock):
    for _ in range(live_view.MAX_WINS + 5):
        service.floor.open("t1")
        service.floor.wager(1, table="t1")
        service.floor.close("t1")
        service.floor.declare(1, FLUSH, "t1")
        service.floor.settle("t1")
        service.deliver()
    wins = changes(view, "wins")[1]["wins"]
    assert len(wins) == live_view.MAX_WINS
    assert [win["seq"] for win in wins] == sorted((win["seq"] for win in wins), reverse=True)
    assert wins[0]["round"] == live_view.MAX_WINS + 5


def test_a_fall_of_the_meter_is_shown_even_if_it_rises_again_in_the_same_batch(service, view, clock):
    service.floor.open("t1")
    service.floor.open("t2")
    service.floor.wager(1, table="t1")
    service.floor.close("t1")
    service.floor.declare(1, ROYALS[0], "t1")
    service.floor.settle("t1")
    settled_at = len(service.floor.events)
    service.floor.wager(1, table="t2")
    service.deliver()
    meter = changes(view, "meter")[1]["meter"]
    assert meter["fall"] == {"reason": "win", "seq": settled_at}
    assert meter["seq"] == settled_at + 1


def test_an_approved_configuration_changes_the_shown_prizes(service, view, clock):
    version, first = changes(view, "prizes")
    assert "70% to this meter, 30% to the reserve." in " ".join(first["prizes"].split())
    assert "starts again" not in first["prizes"]
    service.floor.approve(service.floor.propose(jackpot_bps=6_667, reserve_bps=3_333, reset_cents=2_500_000))
    service.deliver()
    clock.now += 1
    changed = " ".join(changes(view, "prizes", since=version)[1]["prizes"].split())
    assert "66.67% to this meter, 33.33% to the reserve." in changed
    assert "starts again at $25,000.00 or more" in changed


@pytest.mark.parametrize("rules", ["canberra-poker-2016", "canberra-poker-1997"])
def test_every_prize_of_the_instrument_is_shown_with_its_amount(rules, clock):
    found = LiveView({"main": Service(rules=rules)})
    display.install(found)
    html = changes(found.views["main"], "prizes")[1]["prizes"]
    table = prize_table(rules)
    for hand, cents in table.fixed_cents.items():
        assert f">{hand_name(hand)}</p>" in html
        assert f">{money(cents)}</p>" in html
    for hand, (percent, least) in table.percent.items():
        assert f">{hand_name(hand)}</p>" in html
        assert f'data-percent="{percent}" data-least="{least}"' in html
        assert f"at least {money(least)}" in html


def test_with_many_subscribers_each_polls_less_often():
    async def paces(counts):
        feed, found = SseFeed("1"), []
        with ExitStack() as subscriptions:
            for n in range(max(counts)):
                if n in counts:
                    found.append(feed.poll_seconds)
                subscriptions.enter_context(feed.subscription(FeedSubscriber()))
            return [*found, feed.poll_seconds]

    assert asyncio.run(paces([0, 50, 200])) == [0.5, 0.5, 2.0]


def test_the_heading_of_a_round_names_all_its_prizes(service, clock):
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
    assert (
        "<h2>Straight flush and royal flush at table t1</h2>" in changes(found.views["main"], "pending")[1]["pending"]
    )
