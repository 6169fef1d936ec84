"""The one clock of the shell; the core gets its time from here, as text."""

from __future__ import annotations

import time


def now() -> str:
    """The present moment, RFC 3339 in UTC to the millisecond; all such texts have the same length and sort by time."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    if seconds != _second.number:
        _second.number = seconds
        _second.text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{_second.text}.{milliseconds:03d}Z"


class _Second:
    """The last second that was told, as a number and as text: thousands of messages may come within it."""

    number = -1
    text = ""


_second = _Second()
