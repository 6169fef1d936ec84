"""Looks after the audit trail while the daemon runs: verifies it again and again, in a process of its own."""
