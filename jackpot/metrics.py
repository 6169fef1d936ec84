"""The metrics, each defined once with its help text, named by Prometheus' conventions."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram, Info, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # would double every counter's series

_SIZES = (1, 2, 5, 10, 25, 50, 100, 250, 500)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

BUILD = Info("jackpot_build", "The running software")

# Messages and rounds.
WAGERS = Counter("jackpot_wagers", "Wager messages answered", ["jackpot", "verdict", "reason"])
COMMANDS = Counter("jackpot_commands", "Dealer commands answered", ["jackpot", "type", "error"])
MALFORMED = Counter("jackpot_malformed_messages", "Messages that do not follow the protocol", ["jackpot", "kind"])
UNANSWERED = Counter(
    "jackpot_malformed_unanswered_messages", "Malformed messages not answered: too many in a second", ["jackpot"]
)
UNTAKEN = Counter("jackpot_untaken_messages", "Messages left with the broker because the queue is full", ["jackpot"])
FOREIGN = Counter(
    "jackpot_foreign_messages", "Messages of other clients on the controller's own topics", ["jackpot", "kind"]
)
ROUNDS = Counter("jackpot_rounds", "Rounds that ended", ["jackpot", "outcome"])
PAYOUTS = Counter("jackpot_payouts", "Prizes of rounds that ended", ["jackpot", "hand"])
PAYOUT_CENTS = Counter("jackpot_payout_cents", "Prizes of rounds that ended, in cents", ["jackpot", "hand"])
MALFUNCTIONS = Counter("jackpot_malfunctions", "Malfunctions reported or detected", ["jackpot", "cause"])
ERRORS = Counter("jackpot_errors", "Failures of a part of the controller", ["jackpot", "part"])

# Money.
POOL_CENTS = Gauge("jackpot_pool_cents", "Balance of a pool", ["jackpot", "pool"])
RESERVE_FLOOR_CENTS = Gauge("jackpot_reserve_floor_cents", "Configured floor of the reserve pool; 0 if none")
ADVANCE_CENTS = Gauge("jackpot_house_advance_cents", "Advances that the pools owe the operator", ["jackpot"])
PENDING_CENTS = Gauge("jackpot_pending_cents", "Prizes awaiting confirmation", ["jackpot"])
PENDING_ROUNDS = Gauge("jackpot_pending_rounds", "Rounds with a prize awaiting confirmation", ["jackpot"])
PENDING_AGE = Gauge(
    "jackpot_pending_age_seconds", "Age of the oldest win awaiting confirmation; 0 if none", ["jackpot"]
)

# Speed.
STORE_FAILING = Gauge("jackpot_store_failing", "1 if writes to the store fail", ["jackpot"])
BATCH = Histogram("jackpot_batch_commands", "Commands in a batch", ["jackpot"], buckets=_SIZES)
COMMIT = Histogram("jackpot_commit_seconds", "Time to decide and commit a batch", ["jackpot"], buckets=_SECONDS)
LAMP = Histogram(
    "jackpot_wager_to_lamp_seconds", "Time from a wager's arrival to its lamp message", ["jackpot"], buckets=_SECONDS
)
METER_AGE = Gauge("jackpot_meter_age_seconds", "Time since the meter was last published", ["jackpot"])
OLDEST_WAIT = Gauge(
    "jackpot_oldest_waiting_seconds", "How long the oldest command has waited for its answer; 0 if none", ["jackpot"]
)
INTAKE = Gauge("jackpot_intake_commands", "Commands waiting for the writer", ["jackpot"])

# The floor.
TABLES = Gauge("jackpot_tables", "Tables linked to the jackpot", ["jackpot"])
SUSPENDED = Gauge("jackpot_suspended_tables", "Suspended tables", ["jackpot", "cause"])
ONLINE = Gauge("jackpot_devices_online", "Devices that are online", ["jackpot", "kind"])
CONNECTED = Gauge("jackpot_broker_connected", "1 if the broker is connected", ["jackpot"])
CONNECTIONS = Counter("jackpot_broker_connections", "Connections made to the broker", ["jackpot"])
CERTIFICATE = Gauge(
    "jackpot_broker_certificate_expiry_timestamp_seconds",
    "Expiry of the broker's certificate; 0 without TLS",
    ["jackpot"],
)

# Conditions that need attention; the site's own chain has the name site.
ALARM = Gauge("jackpot_alarm", "1 while an alarm is raised", ["jackpot", "code"])

# The clock.
CLOCK_STEPS = Counter("jackpot_clock_steps", "Steps of the clock by more than 2 s")

# The audit trail; the site's own chain has the name site.
AUDIT_SEQ = Gauge("jackpot_audit_seq", "Number of the last event", ["jackpot"])
EPOCH = Gauge("jackpot_lease_epoch", "Epoch of the jackpot's lease", ["jackpot"])
VERIFIED_SEQ = Gauge("jackpot_audit_verified_seq", "Number of the last verified event", ["jackpot"])
VERIFIED_AT = Gauge(
    "jackpot_audit_verified_timestamp_seconds", "Time of the last verification that found no problem", ["jackpot"]
)
AUDIT_WRONG = Gauge("jackpot_audit_wrong", "1 if the last verification found a problem", ["jackpot"])
VERIFICATION_INTERVAL = Gauge("jackpot_audit_verification_interval_seconds", "Interval of verification; 0 if it is off")
VERIFICATION_SECONDS = Gauge(
    "jackpot_audit_verification_duration_seconds", "Duration of the last verification", ["jackpot", "extent"]
)

# Notices to supervisors.
NOTICES = Counter("jackpot_webhook_notices", "Notices by outcome, with failed attempts", ["outcome"])
NOTICES_WAITING = Gauge("jackpot_webhook_waiting_notices", "Notices waiting for delivery")
NOTICES_AGE = Gauge("jackpot_webhook_oldest_age_seconds", "Age of the oldest notice waiting for delivery; 0 if none")
for _outcome in ("delivered", "failed", "refused", "given_up"):
    NOTICES.labels(_outcome)  # counters start at zero, so that the first of each is seen as an increase

# Live feeds.
SUBSCRIBERS = Gauge("jackpot_feed_subscribers", "Displays and consoles subscribed to live updates", ["kind"])
REFUSED_SUBSCRIBERS = Counter("jackpot_feed_refused", "Subscribers refused because there are too many", ["kind"])
for _kind in ("display", "console"):
    REFUSED_SUBSCRIBERS.labels(_kind)

# HTTP connections.
ENDED_CONNECTIONS = Counter(
    "jackpot_http_ended_connections",
    "Connections closed: slow (no complete request in time) or crowded (too many)",
    ["reason"],
)
for _reason in ("slow", "crowded"):
    ENDED_CONNECTIONS.labels(_reason)
