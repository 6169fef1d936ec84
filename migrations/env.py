"""How Alembic runs here: on the connection that `jackpot.store.schema` hands over, in one transaction."""

from alembic import context

from jackpot.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
