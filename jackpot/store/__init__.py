"""What lasts: tables, transactions, the hash chain, leases, checkpoints, queries and reports, over SQLAlchemy Core."""
