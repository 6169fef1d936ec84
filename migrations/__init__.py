"""The schema's history, one Alembic revision a file; `jackpot migrate` brings a database to its head."""
