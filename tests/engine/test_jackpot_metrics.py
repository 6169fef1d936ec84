"""The metrics of one jackpot follow its committed state, its devices and its writer."""

import time
from types import SimpleNamespace

import pytest
from prometheus_client import REGISTRY

from jackpot.core.commands import ReportMalfunction
from jackpot.engine.jackpot_metrics import JackpotMetrics
from tests.support.core_floor import AT, DEALER, ROYALS
from tests.support.wire_floor import WireFloor


def sample(name, **labels):
    return REGISTRY.get_sample_value(name, {"jackpot": "main", **labels})


@pytest.fixture
def wire():
    return WireFloor()


@pytest.fixture
def measured(wire):
    return JackpotMetrics(wire.committed, wire.equipment, SimpleNamespace(waiting=17, oldest_wait_seconds=lambda: 2.5))


def test_pools_and_position_are_those_of_the_committed_state(wire, measured):
    wire.floor.open()
    wire.floor.wager(1, 2)
    measured.measure()
    assert sample("jackpot_pool_cents", pool="jackpot") == 5_000_000
    wire.commit()
    measured.measure()
    assert sample("jackpot_pool_cents", pool="jackpot") == 5_000_140
    assert sample("jackpot_pool_cents", pool="reserve") == 2_000_060
    assert (sample("jackpot_lease_epoch"), sample("jackpot_audit_seq")) == wire.committed.position


def test_what_can_change_at_any_moment_is_computed_when_it_is_read(wire, measured):
    assert sample("jackpot_intake_commands") == 17
    wire.committed.store_failed, wire.committed.broker_connected = True, False
    assert (sample("jackpot_store_failing"), sample("jackpot_broker_connected")) == (1, 0)
    wire.committed.store_failed, wire.committed.broker_connected = False, True
    assert (sample("jackpot_store_failing"), sample("jackpot_broker_connected")) == (0, 1)
    wire.committed.meter_published_at = time.monotonic() - 100
    assert 100 <= sample("jackpot_meter_age_seconds") < 200


def test_suspended_tables_are_counted_by_cause(wire, measured):
    wire.floor.execute(ReportMalfunction(AT, DEALER, "t1", "shoe", "jammed", "dealer_report"))
    wire.commit()
    measured.measure()
    assert sample("jackpot_tables") == 2
    assert sample("jackpot_suspended_tables", cause="dealer_report") == 1
    assert sample("jackpot_suspended_tables", cause="store") == 0


def test_devices_online_are_counted_by_kind(wire, measured):
    wire.equipment.pads.set_status("t1", 3, online=True)
    wire.equipment.pads.set_status("t1", 4, online=False)
    wire.equipment.pads.set_status("t9", 1, online=True)  # a table of another jackpot
    wire.equipment.pads.set_dealer("t2", online=True)
    wire.equipment.displays.set_status("lobby", online=True)
    measured.measure()
    assert [sample("jackpot_devices_online", kind=kind) for kind in ("pad", "dealer", "display")] == [1, 1, 1]


def test_a_pending_win_has_its_amount_and_its_age_from_before_the_start(wire, measured):
    wire.floor.play({1: ROYALS[0]})
    wire.commit()
    measured.set_pending_since("t1", 1, "2026-01-01T00:00:00.000Z")
    measured.measure()
    assert (sample("jackpot_pending_rounds"), sample("jackpot_pending_cents")) == (1, wire.floor.holds("payable"))
    assert sample("jackpot_pending_age_seconds") > 86_400
    wire.floor.confirm()
    wire.commit()
    measured.measure()
    assert (sample("jackpot_pending_rounds"), sample("jackpot_pending_age_seconds")) == (0, 0)


def test_counters_start_at_zero_so_that_the_first_increase_is_seen(measured):
    assert measured is not None
    for cause in ("dealer_report", "pad_offline", "display", "store"):
        assert sample("jackpot_malfunctions_total", cause=cause) is not None
    for outcome in ("played", "void"):
        assert sample("jackpot_rounds_total", outcome=outcome) is not None
