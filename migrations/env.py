"""Run the migrations on the connection that `jackpot.store.schema` passes in, in one transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
