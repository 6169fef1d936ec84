"""The tables. Events and transfers are never changed; the others are written with them and can be rebuilt from them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()
# Append-only tables are stored in the order of their key (without rowid): one B-tree less to write for each row.
_SHORT = String(64)
_NO_WAGER = text("type <> 'wager_accepted'")
"""A table's wagers are found by their rounds (see `event_lookup`); a jackpot's are found without an index."""
_NO_PAD = text("actor <> 'pad'")
"""Most events are by pads, so a search for them needs no index."""

chains = Table(
    "chains",
    metadata,
    Column("chain", _SHORT, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("owner", String(255), nullable=False),
    Column("signed", BigInteger, nullable=False),
)
"""One row per chain: its length, its last hash, its owner and epoch (the fence), its number of checkpoints."""

events = Table(
    "events",
    metadata,
    Column("chain", _SHORT, ForeignKey("chains.chain"), nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", String(32), nullable=False),
    Column("actor", String(255), nullable=False),
    Column("type", _SHORT, nullable=False),
    Column("table_id", _SHORT),
    Column("round", BigInteger),
    Column("data", Text, nullable=False),
    Column("transfers", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    PrimaryKeyConstraint("chain", "seq"),
    Index("events_by_time", "chain", "at", "seq"),
    Index("events_by_type", "chain", "type", "seq", sqlite_where=_NO_WAGER, postgresql_where=_NO_WAGER),
    Index("events_by_table", "chain", "table_id", "seq", sqlite_where=_NO_WAGER, postgresql_where=_NO_WAGER),
    Index("events_by_actor", "chain", "actor", "seq", sqlite_where=_NO_PAD, postgresql_where=_NO_PAD),
    sqlite_with_rowid=False,
)

transfers = Table(
    "transfers",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("n", Integer, nullable=False),
    Column("at", String(32), nullable=False),
    Column("source", String(16), nullable=False),
    Column("target", String(16), nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    PrimaryKeyConstraint("chain", "seq", "n"),
    CheckConstraint("amount_cents > 0", name="money_moves"),
    CheckConstraint("source <> target", name="between_two_accounts"),
    sqlite_with_rowid=False,
)

balances = Table(
    "balances",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("account", String(16), nullable=False),
    Column("balance_cents", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain", "account"),
    CheckConstraint(
        "balance_cents >= 0 OR account NOT IN ('jackpot', 'reserve', 'payable', 'wagers')", name="never_negative"
    ),
)

states = Table(
    "states",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("part", String(80), nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("chain", "part"),
)
"""The state in parts, as read at start-up."""

wagers = Table(
    "wagers",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("table_id", _SHORT, nullable=False),
    Column("box", Integer, nullable=False),
    Column("wager_id", _SHORT, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
    Column("jackpot_cents", BigInteger, nullable=False),
    Column("reserve_cents", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text),
    Column("seq", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain", "table_id", "box", "wager_id"),
    Index("wagers_by_round", "chain", "round", "table_id", "status", "amount_cents"),
)

commands = Table(
    "commands",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("table_id", _SHORT, nullable=False),
    Column("command_id", _SHORT, nullable=False),
    Column("digest", _SHORT, nullable=False),
    Column("answer", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain", "table_id", "command_id"),
)

rounds = Table(
    "rounds",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("table_id", _SHORT, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("config_version", Integer, nullable=False),
    Column("phase", String(16), nullable=False),
    Column("outcome", String(16)),
    Column("opened_at", String(32), nullable=False),
    Column("ended_at", String(32)),
    Column("seq", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain", "table_id", "round"),
    Index("rounds_by_seq", "chain", "seq"),
)

payouts = Table(
    "payouts",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("box", Integer, nullable=False),
    Column("at", String(32), nullable=False),
    Column("table_id", _SHORT, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("pay_order", Integer, nullable=False),
    Column("hand", String(32), nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("clause", String(64), nullable=False),
    PrimaryKeyConstraint("chain", "seq", "box"),
    Index("payouts_by_round", "chain", "table_id", "round"),
)
"""A prize belongs to the settlement (its seq) that computed it; a correction adds new ones."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    PrimaryKeyConstraint("chain", "seq"),
)
"""Signed notes over a chain's head."""

leases = Table(
    "leases",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("renewed_ms", BigInteger, nullable=False),
    Column("wanted_by", String(255), nullable=False),
    Column("seal", Text, nullable=False),
    PrimaryKeyConstraint("chain"),
)
"""One row per chain that a controller owns or owned: the last renewal by the database's clock, the controller that asks
for a hand-over, and the signature over epoch and owner. Not backed up: a restored store has no owner."""

controllers = Table(
    "controllers",
    metadata,
    Column("name", String(255), nullable=False),
    Column("address", String(255), nullable=False),
    Column("seen_ms", BigInteger, nullable=False),
    Column("broker", Integer, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("name"),
)
"""The controllers that run, or ran, on this database: HTTP address, last report, and whether each has the broker."""

snapshots = Table(
    "snapshots",
    metadata,
    Column("chain", _SHORT, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("note", Text, nullable=False),
    PrimaryKeyConstraint("chain"),
)
"""The newest signed snapshot of each chain's state, from which a start replays the later events."""

outbox = Table(
    "outbox",
    metadata,
    Column("id", _SHORT, nullable=False),
    Column("at", String(32), nullable=False),
    Column("chain", _SHORT, nullable=False),
    Column("type", String(32), nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("id"),
    Index("outbox_by_time", "at", "id"),
)
"""Notices to supervisors waiting for delivery; not part of the trail, and not backed up, as they would be outdated."""

APPEND_ONLY = (events, transfers, checkpoints)
