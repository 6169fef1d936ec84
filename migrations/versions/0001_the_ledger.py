"""Create the ledger: chains of events, transfers and balances, and the tables that queries read."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "balances",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("account", sa.String(length=16), nullable=False),
        sa.Column("balance_cents", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "balance_cents >= 0 OR account NOT IN ('jackpot', 'reserve', 'payable', 'wagers')", name="never_negative"
        ),
        sa.PrimaryKeyConstraint("chain", "account"),
    )
    op.create_table(
        "chains",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column("signed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain"),
    )
    op.create_table(
        "checkpoints",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq"),
    )
    op.create_table(
        "commands",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("table_id", sa.String(length=64), nullable=False),
        sa.Column("command_id", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "table_id", "command_id"),
    )
    op.create_table(
        "payouts",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("box", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("table_id", sa.String(length=64), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("pay_order", sa.Integer(), nullable=False),
        sa.Column("hand", sa.String(length=32), nullable=False),
        sa.Column("amount_cents", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("clause", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq", "box"),
    )
    op.create_index("payouts_by_round", "payouts", ["chain", "table_id", "round"], unique=False)
    op.create_table(
        "rounds",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("table_id", sa.String(length=64), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("config_version", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("opened_at", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "table_id", "round"),
    )
    op.create_index("rounds_by_seq", "rounds", ["chain", "seq"], unique=False)
    op.create_table(
        "states",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("part", sa.String(length=80), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "part"),
    )
    op.create_table(
        "transfers",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("target", sa.String(length=16), nullable=False),
        sa.Column("amount_cents", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.CheckConstraint("amount_cents > 0", name="money_moves"),
        sa.CheckConstraint("source <> target", name="between_two_accounts"),
        sa.PrimaryKeyConstraint("chain", "seq", "n"),
        sqlite_with_rowid=False,
    )
    op.create_index("transfers_by_time", "transfers", ["chain", "at"], unique=False)
    op.create_table(
        "wagers",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("table_id", sa.String(length=64), nullable=False),
        sa.Column("box", sa.Integer(), nullable=False),
        sa.Column("wager_id", sa.String(length=64), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("amount_cents", sa.BigInteger(), nullable=False),
        sa.Column("jackpot_cents", sa.BigInteger(), nullable=False),
        sa.Column("reserve_cents", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "table_id", "box", "wager_id"),
    )
    op.create_index("wagers_by_round", "wagers", ["chain", "table_id", "round", "status", "amount_cents"], unique=False)
    op.create_table(
        "events",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("actor", sa.String(length=255), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("table_id", sa.String(length=64), nullable=True),
        sa.Column("round", sa.BigInteger(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("transfers", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["chain"], ["chains.chain"]),
        sa.PrimaryKeyConstraint("chain", "seq"),
        sqlite_with_rowid=False,
    )
    op.create_index("events_by_actor", "events", ["chain", "actor", "seq"], unique=False)
    op.create_index("events_by_table", "events", ["chain", "table_id", "seq"], unique=False)
    op.create_index("events_by_time", "events", ["chain", "at", "seq"], unique=False)
    op.create_index("events_by_type", "events", ["chain", "type", "seq"], unique=False)
    for table in ("events", "transfers", "checkpoints"):
        _forbid_changes(table)


def _forbid_changes(table: str) -> None:
    """Let the database refuse every change or deletion of a row of this table."""
    if op.get_bind().dialect.name == "sqlite":
        for act in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are never changed'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_stay() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{table} are never changed'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_stay()"
    )
