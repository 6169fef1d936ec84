"""The metrics, each named once, by Prometheus' conventions; what they mean stands beside the name."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_SIZES = (1, 2, 5, 10, 25, 50, 100, 250, 500)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

WAGERS = Counter("jackpot_wagers", "Wager messages answered", ["jackpot", "verdict", "reason"])
COMMANDS = Counter("jackpot_commands", "Dealer commands answered", ["jackpot", "type", "error"])
MALFORMED = Counter("jackpot_malformed_messages", "Messages that are not of the protocol", ["jackpot", "kind"])
UNTAKEN = Counter("jackpot_untaken_messages", "Messages left with the broker because too many wait", ["jackpot"])
ROUNDS = Counter("jackpot_rounds", "Rounds that ended", ["jackpot", "outcome"])
PAYOUTS = Counter("jackpot_payouts", "Prizes settled", ["jackpot", "hand"])
PAYOUT_CENTS = Counter("jackpot_payout_cents", "Prizes settled, in cents", ["jackpot", "hand"])
MALFUNCTIONS = Counter("jackpot_malfunctions", "Malfunctions reported or seen", ["jackpot", "cause"])
ERRORS = Counter("jackpot_errors", "Failures of a part of the controller", ["jackpot", "part"])
POOL_CENTS = Gauge("jackpot_pool_cents", "What a pool holds", ["jackpot", "pool"])
ADVANCE_CENTS = Gauge("jackpot_house_advance_cents", "What the pools owe the operator", ["jackpot"])
PENDING_CENTS = Gauge("jackpot_pending_cents", "Prizes that await confirmation", ["jackpot"])
SUSPENDED = Gauge("jackpot_suspended_tables", "Tables that are suspended", ["jackpot", "cause"])
BATCH = Histogram("jackpot_batch_commands", "Commands in a batch", ["jackpot"], buckets=_SIZES)
COMMIT = Histogram("jackpot_commit_seconds", "Time to carry out and commit a batch", ["jackpot"], buckets=_SECONDS)
LAMP = Histogram("jackpot_wager_to_lamp_seconds", "From a wager's arrival to its lamp", ["jackpot"], buckets=_SECONDS)
METER_AGE = Gauge("jackpot_meter_age_seconds", "Since the meter was last published", ["jackpot"])
INTAKE = Gauge("jackpot_intake_commands", "Commands that wait for the writer", ["jackpot"])
ONLINE = Gauge("jackpot_devices_online", "Devices that say they are there", ["jackpot", "kind"])
AUDIT_SEQ = Gauge("jackpot_audit_seq", "The last event's number", ["jackpot"])
EPOCH = Gauge("jackpot_lease_epoch", "The epoch at which the jackpot is written", ["jackpot"])
CONNECTED = Gauge("jackpot_broker_connected", "Whether the broker is connected", ["jackpot"])
SUBSCRIBERS = Gauge("jackpot_feed_subscribers", "Displays and consoles that are fed live")
REFUSED_SUBSCRIBERS = Counter("jackpot_feed_refused", "Displays and consoles refused because too many are fed already")
