"""The migrations of the schema, one Alembic revision per file; `jackpot migrate` runs them."""
