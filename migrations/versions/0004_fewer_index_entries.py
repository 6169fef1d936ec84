"""Put wagers in fewer indexes: nearly all events are wagers by pads, so an index on them is of no use; transfers are
found by the time of their events.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

PARTIAL = {"type": "type <> 'wager_accepted'", "actor": "actor <> 'pad'"}


def upgrade() -> None:
    for column, where in PARTIAL.items():
        name, only = f"events_by_{column}", sa.text(where)
        op.drop_index(name, "events")
        op.create_index(
            name, "events", ["chain", column, "seq"], unique=False, sqlite_where=only, postgresql_where=only
        )
    op.drop_index("transfers_by_time", "transfers")
