"""The metrics, each named once, by Prometheus' conventions; what they mean stands beside the name."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, Info, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for every counter, which nothing here asks for

_SIZES = (1, 2, 5, 10, 25, 50, 100, 250, 500)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

BUILD = Info("jackpot_build", "The software that runs")

# What comes in, and what comes of it.
WAGERS = Counter("jackpot_wagers", "Wager messages answered", ["jackpot", "verdict", "reason"])
COMMANDS = Counter("jackpot_commands", "Dealer commands answered", ["jackpot", "type", "error"])
MALFORMED = Counter("jackpot_malformed_messages", "Messages that are not of the protocol", ["jackpot", "kind"])
UNTAKEN = Counter("jackpot_untaken_messages", "Messages left with the broker because too many wait", ["jackpot"])
ROUNDS = Counter("jackpot_rounds", "Rounds that ended", ["jackpot", "outcome"])
PAYOUTS = Counter("jackpot_payouts", "Prizes of rounds that ended", ["jackpot", "hand"])
PAYOUT_CENTS = Counter("jackpot_payout_cents", "Prizes of rounds that ended, in cents", ["jackpot", "hand"])
MALFUNCTIONS = Counter("jackpot_malfunctions", "Malfunctions reported or seen", ["jackpot", "cause"])
ERRORS = Counter("jackpot_errors", "Failures of a part of the controller", ["jackpot", "part"])

# The money.
POOL_CENTS = Gauge("jackpot_pool_cents", "What a pool holds", ["jackpot", "pool"])
RESERVE_FLOOR_CENTS = Gauge("jackpot_reserve_floor_cents", "What the reserve should hold; 0 where nobody said")
ADVANCE_CENTS = Gauge("jackpot_house_advance_cents", "What the pools owe the operator", ["jackpot"])
PENDING_CENTS = Gauge("jackpot_pending_cents", "Prizes that await confirmation", ["jackpot"])
PENDING_ROUNDS = Gauge("jackpot_pending_rounds", "Rounds with a prize that awaits confirmation", ["jackpot"])
PENDING_AGE = Gauge("jackpot_pending_age_seconds", "Since the oldest win awaits confirmation; 0: none", ["jackpot"])

# How quickly.
STORE_FAILING = Gauge("jackpot_store_failing", "Whether the store refuses what is written", ["jackpot"])
BATCH = Histogram("jackpot_batch_commands", "Commands in a batch", ["jackpot"], buckets=_SIZES)
COMMIT = Histogram("jackpot_commit_seconds", "Time to carry out and commit a batch", ["jackpot"], buckets=_SECONDS)
LAMP = Histogram("jackpot_wager_to_lamp_seconds", "From a wager's arrival to its lamp", ["jackpot"], buckets=_SECONDS)
METER_AGE = Gauge("jackpot_meter_age_seconds", "Since the meter was last published", ["jackpot"])
INTAKE = Gauge("jackpot_intake_commands", "Commands that wait for the writer", ["jackpot"])

# The floor.
TABLES = Gauge("jackpot_tables", "Tables linked to the jackpot", ["jackpot"])
SUSPENDED = Gauge("jackpot_suspended_tables", "Tables that are suspended", ["jackpot", "cause"])
ONLINE = Gauge("jackpot_devices_online", "Devices that say they are there", ["jackpot", "kind"])
CONNECTED = Gauge("jackpot_broker_connected", "Whether the broker is connected", ["jackpot"])
CONNECTIONS = Counter("jackpot_broker_connections", "Connections made to the broker", ["jackpot"])
CERTIFICATE = Gauge(
    "jackpot_broker_certificate_expiry_timestamp_seconds", "When the broker's certificate ends; 0: no TLS", ["jackpot"]
)

# The audit trail; the site's own chain goes by the name of site.
AUDIT_SEQ = Gauge("jackpot_audit_seq", "The last event's number", ["jackpot"])
EPOCH = Gauge("jackpot_lease_epoch", "The epoch at which the jackpot is written", ["jackpot"])
VERIFIED_SEQ = Gauge("jackpot_audit_verified_seq", "The last event that was verified", ["jackpot"])
VERIFIED_AT = Gauge(
    "jackpot_audit_verified_timestamp_seconds", "When verification last found nothing wrong", ["jackpot"]
)
AUDIT_WRONG = Gauge("jackpot_audit_wrong", "Whether the last verification found something wrong", ["jackpot"])
VERIFICATION_INTERVAL = Gauge(
    "jackpot_audit_verification_interval_seconds", "How often what is new is verified; 0 where nothing is"
)
VERIFICATION_SECONDS = Gauge(
    "jackpot_audit_verification_duration_seconds", "How long the last verification took", ["jackpot", "extent"]
)

# Notices to supervisors.
NOTICES = Counter("jackpot_webhook_notices", "What became of notices, and tries that failed", ["outcome"])
NOTICES_WAITING = Gauge("jackpot_webhook_waiting_notices", "Notices not delivered yet")
NOTICES_AGE = Gauge("jackpot_webhook_oldest_age_seconds", "Since the oldest notice waits to be delivered; 0: none does")
for _outcome in ("delivered", "failed", "refused", "given_up"):
    NOTICES.labels(_outcome)  # counts begin at zero, so that the first of each is seen as an increase

# Whoever is fed live.
SUBSCRIBERS = Gauge("jackpot_feed_subscribers", "Displays and consoles that are fed live", ["kind"])
REFUSED_SUBSCRIBERS = Counter("jackpot_feed_refused", "Refused because too many are fed already", ["kind"])
for _kind in ("display", "console"):
    REFUSED_SUBSCRIBERS.labels(_kind)

# Whoever connects.
ENDED_CONNECTIONS = Counter(
    "jackpot_http_ended_connections", "Ended: slow (no whole request came in time), or crowded (too many)", ["reason"]
)
for _reason in ("slow", "crowded"):
    ENDED_CONNECTIONS.labels(_reason)
