"""The quick part of the fault harness: one trial of the kinds that need no root; `make faults` runs them all."""

import pytest

from tests.faults import broker_faults, controller_faults, store_faults
from tests.faults.trial import run

QUICK = (
    ("sqlite", "mosquitto", controller_faults.killed),
    ("sqlite", "mosquitto", broker_faults.killed),
    ("postgresql", "nats", store_faults.reset_during_commit),
    ("postgresql", "nats", store_faults.postmaster_killed),
)
KINDS = {kind.inject: kind for kind in (*controller_faults.KINDS, *store_faults.KINDS, *broker_faults.KINDS)}


@pytest.mark.parametrize(("store", "broker", "inject"), QUICK, ids=lambda value: getattr(value, "__name__", value))
def test_a_fault_loses_no_wager_and_play_goes_on(store, broker, inject):
    result = run(KINDS[inject], store, broker, trials=1)
    assert result.recovery_seconds
    assert result.is_kept, result
