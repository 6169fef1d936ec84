"""Create what two controllers need: leases that are renewed, the controllers that run, and signed snapshots.

PostgreSQL's fence also compares the hash of the head, so that a changed history is not extended.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ADVANCE_HEAD = """
CREATE FUNCTION advance_head(
    of_chain text, at_epoch bigint, from_seq bigint, from_head bytea, to_seq bigint, new_head bytea
)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE chains SET seq = to_seq, head = new_head
    WHERE chain = of_chain AND epoch = at_epoch AND seq = from_seq AND head = from_head;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the head of chain % is not at epoch %, seq %', of_chain, at_epoch, from_seq
        USING ERRCODE = 'JP001';
    END IF;
END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION advance_head(text, bigint, bigint, bigint, bytea)")
        op.execute(ADVANCE_HEAD)
    op.create_table(
        "leases",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("renewed_ms", sa.BigInteger(), nullable=False),
        sa.Column("wanted_by", sa.String(length=255), nullable=False),
        sa.Column("seal", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain"),
    )
    op.create_table(
        "controllers",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("address", sa.String(length=255), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("broker", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "snapshots",
        sa.Column("chain", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain"),
    )
