"""Notices to supervisors: posts from the outbox to the site's webhook until they are accepted."""
