"""The one clock of the shell; the core gets its time from here, as text."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """The present moment, RFC 3339 in UTC to the millisecond; all such texts have the same length and sort by time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
