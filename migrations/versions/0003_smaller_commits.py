"""Make commits smaller: index wagers by round, then table, so that wagers of one time are neighbours, and leave wagers
out of the index of a table's events.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("wagers_by_round", "wagers")
    op.create_index("wagers_by_round", "wagers", ["chain", "round", "table_id", "status", "amount_cents"], unique=False)
    op.drop_index("events_by_table", "events")
    op.create_index(
        "events_by_table",
        "events",
        ["chain", "table_id", "seq"],
        unique=False,
        sqlite_where=sa.text("type <> 'wager_accepted'"),
        postgresql_where=sa.text("type <> 'wager_accepted'"),
    )
