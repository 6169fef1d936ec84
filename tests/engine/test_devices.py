"""The device registry: pads and displays; times are passed in."""

import pytest

from jackpot.engine.committed_state import Position
from jackpot.engine.devices import MISMATCH_SECONDS, SAMPLE_SECONDS, DisplayReport, Displays, PadReport, Pads
from jackpot.engine.views import dollars
from jackpot.wire.mqtt_session import Address, AddressError
from jackpot.wire.topics import InboundKind, Source, Topics


def shown(amount, seq=1, epoch=1):
    return DisplayReport(amount, epoch, seq)


@pytest.fixture
def displays():
    made = Displays()
    made.add_published(Position(1, 1), 1_000, at=0.0)
    return made


def test_a_display_that_shows_the_meter_is_never_overdue(displays):
    displays.set_report("d1", shown(1_000), at=1.0)
    assert displays.overdue(at=1_000.0) == []
    assert displays.is_right("d1")


def test_a_display_with_a_wrong_amount_is_reported_once_after_thirty_seconds(displays):
    displays.set_report("d1", shown(999), at=1.0)
    assert not displays.is_right("d1")
    assert displays.overdue(at=1.0 + MISMATCH_SECONDS) == []
    assert displays.overdue(at=1.1 + MISMATCH_SECONDS) == [("d1", shown(999))]
    assert displays.overdue(at=500.0) == []


def test_a_repeated_wrong_amount_counts_from_its_first_report(displays):
    displays.set_report("d1", shown(999), at=1.0)
    displays.set_report("d1", shown(999), at=20.0)
    assert displays.overdue(at=1.1 + MISMATCH_SECONDS) == [("d1", shown(999))]


@pytest.mark.parametrize("mark", [(1, 10**6), (2, 1), (10**6, 10**6)])
def test_a_display_that_claims_a_future_meter_is_wrong(displays, mark):
    epoch, seq = mark
    displays.set_report("d1", shown(999_999, seq, epoch), at=1.0)
    assert not displays.is_right("d1")
    assert displays.overdue(at=1.1 + MISMATCH_SECONDS)


def test_a_display_that_could_not_be_reported_is_reported_again(displays):
    displays.set_report("d1", shown(999), at=1.0)
    for at in (40.0, 41.0):
        assert displays.overdue(at) == [("d1", shown(999))]
        displays.report_again("d1")


def test_a_meter_from_before_this_controller_is_neither_right_nor_wrong(displays):
    displays.add_published(Position(3, 9), 2_000, at=0.0)
    fresh = Displays()
    fresh.add_published(Position(3, 9), 2_000, at=0.0)
    fresh.set_report("d1", shown(1_500, seq=8, epoch=2), at=1.0)
    assert fresh.is_right("d1")


def test_a_stale_display_is_reported_thirty_seconds_after_the_meter_moved_on(displays):
    displays.set_report("d1", shown(1_000), at=1.0)
    displays.add_published(Position(1, 2), 1_140, at=100.0)
    assert displays.overdue(at=100.0 + MISMATCH_SECONDS) == []
    assert displays.overdue(at=100.1 + MISMATCH_SECONDS) == [("d1", shown(1_000))]


def test_a_display_that_follows_with_a_delay_is_never_reported(displays):
    for n in range(2, 200):
        displays.add_published(Position(1, n), 1_000 + n, at=float(n))
        displays.set_report("d1", shown(1_000 + max(2, n - 10), seq=max(2, n - 10)), at=float(n))
        assert displays.overdue(at=float(n)) == []


def test_a_display_that_is_right_again_is_reported_again_when_wrong(displays):
    displays.set_report("d1", shown(999), at=1.0)
    assert displays.overdue(at=40.0)
    displays.set_report("d1", shown(1_000), at=41.0)
    displays.set_report("d1", shown(998), at=50.0)
    assert displays.overdue(at=81.0) == [("d1", shown(998))]


def test_an_offline_display_is_not_reported(displays):
    displays.set_report("d1", shown(999), at=1.0)
    displays.set_status("d1", online=False)
    assert displays.overdue(at=100.0) == []


def test_a_display_is_recorded_first_when_it_turns_wrong_and_once_a_minute(displays):
    assert displays.set_report("d1", shown(1_000), at=0.0)
    assert not displays.set_report("d1", shown(1_000), at=1.0)
    assert displays.set_report("d1", shown(999), at=2.0)
    assert not displays.set_report("d1", shown(999), at=3.0)
    assert displays.set_report("d1", shown(1_000), at=3.0 + SAMPLE_SECONDS)


def test_a_report_that_could_not_be_recorded_is_recorded_next_time(displays):
    assert displays.set_report("d1", shown(1_000), at=1.0)
    displays.sample_again("d1")
    assert displays.set_report("d1", shown(1_000), at=2.0)
    assert not displays.set_report("d1", shown(1_000), at=3.0)


def test_only_a_dark_lamp_in_the_present_round_is_unconfirmed():
    pads = Pads()
    pads.set_report("t1", 3, PadReport(round=7, lit=False))
    pads.set_report("t1", 4, PadReport(round=7, lit=True))
    pads.set_report("t1", 5, PadReport(round=6, lit=False))
    pads.set_report("t2", 6, PadReport(round=7, lit=False))
    assert pads.dark("t1", 7) == (3,)


@pytest.mark.parametrize(
    ("topic", "source"),
    [
        ("tables/t1/pads/3/wager", Source(InboundKind.WAGER, "t1", 3)),
        ("tables/t1/pads/0/wager", Source(InboundKind.WAGER, "t1", 0)),
        ("tables/t1/pads/12/status", Source(InboundKind.PAD_STATUS, "t1", 12)),
        ("tables/t1/dealer/command", Source(InboundKind.COMMAND, "t1")),
        ("displays/lobby.1/shown", Source(InboundKind.DISPLAY_SHOWN, "lobby.1")),
        ("jackpots/main/controller", Source(InboundKind.CONTROLLER, "main")),
        ("tables/t1/pads/03/wager", None),
        ("tables/t1/pads/x/wager", None),
        ("tables/t1/pads/-1/wager", None),
        ("tables/t1/pads/3/lamp", None),
        ("tables/t 1/pads/3/wager", None),
    ],
)
def test_a_topic_gives_its_sender_and_a_box_is_a_plain_number(topic, source):
    assert Topics("casino").source(f"jackpot/v1/casino/{topic}") == source
    assert Topics("other").source(f"jackpot/v1/casino/{topic}") is None


def test_broker_addresses_are_parsed_or_refused_with_a_sentence():
    assert Address.of("mqtt://broker") == Address("broker", 1883)
    assert Address.of("mqtt://a%40b:c@broker:1884")[:4] == ("broker", 1884, "a@b", "c")
    assert Address.of("mqtts://broker").port == 8883
    assert "secret" not in Address.of("mqtt://me:secret@broker").shown
    for wrong in ("http://broker", "mqtt://", "broker:1883", "mqtt://broker:port"):
        with pytest.raises(AddressError, match="broker address"):
            Address.of(wrong)


@pytest.mark.parametrize(("cents", "text"), [(0, "$0.00"), (5, "$0.05"), (12_345_678, "$123,456.78")])
def test_money_is_formatted_in_dollars(cents, text):
    assert dollars(cents) == text
