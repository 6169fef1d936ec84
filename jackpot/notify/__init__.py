"""Tells supervisors without being asked: posts what waits in the outbox to the site's webhook until it is taken."""
