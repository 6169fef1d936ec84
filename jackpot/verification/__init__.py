"""Verification of the audit trail while the daemon runs, at intervals, in a separate process."""
