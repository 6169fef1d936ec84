"""Every kind of fault, in the order of the report."""

from tests.faults import broker_faults, controller_faults, pair_faults, store_faults

KINDS = (*controller_faults.KINDS, *store_faults.KINDS, *broker_faults.KINDS, *pair_faults.KINDS)
