"""Create PostgreSQL's fence, a function that moves a chain's head or raises an error with its own code.

With it a whole batch is sent in one round trip, and a head that has moved aborts the transaction on the server. SQLite
needs no function: its statements need no round trip.
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ADVANCE_HEAD = """
CREATE FUNCTION advance_head(of_chain text, at_epoch bigint, from_seq bigint, to_seq bigint, new_head bytea)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE chains SET seq = to_seq, head = new_head
    WHERE chain = of_chain AND epoch = at_epoch AND seq = from_seq;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the head of chain % is not at epoch %, seq %', of_chain, at_epoch, from_seq
        USING ERRCODE = 'JP001';
    END IF;
END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(ADVANCE_HEAD)
