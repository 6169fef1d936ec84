"""Persistence: tables, transactions, the hash chain, checkpoints, queries and reports, over SQLAlchemy Core."""
