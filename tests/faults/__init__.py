"""Faults on purpose: an independent client plays, faults are injected, and its record is compared with the store."""
