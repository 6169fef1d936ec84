"""The one clock of the shell; the core gets its time from here, as text."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from typing import Final

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def now() -> str:
    """The present moment, RFC 3339 in UTC to the millisecond; all such texts have the same length and sort by time."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    if seconds != _second.number:
        _second.number = seconds
        _second.text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{_second.text}.{milliseconds:03d}Z"


def in_days(days: int) -> str:
    """The moment that many days from now."""
    return in_seconds(86_400 * days)


def in_seconds(seconds: float) -> str:
    """The moment that many seconds from now."""
    return _told(datetime.now(UTC) + timedelta(seconds=seconds))


def earlier(text: str, seconds: float) -> str:
    """The moment that many seconds before another."""
    return _told(datetime.fromisoformat(text) - timedelta(seconds=seconds))


def moment(text: str) -> str:
    """A moment as events tell it, whichever way RFC 3339 writes it; `ValueError` where it is none."""
    try:
        told = datetime.fromisoformat(text)
        return _told(told.replace(tzinfo=told.tzinfo or UTC).astimezone(UTC))
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:60]!r} is not a moment: write 2026-11-15T09:30:00Z") from None


def day(text: str) -> date:
    """A day, written 2026-11-15 and in no other way; `ValueError` where it is none."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass  # there is no such day in that month
    raise ValueError(f"{text[:40]!r} is not a day: write 2026-11-15")


def _told(told: datetime) -> str:
    return f"{told:%Y-%m-%dT%H:%M:%S}.{told.microsecond // 1_000:03d}Z".rjust(24, "0")


class _Second:
    """The last second that was told, as a number and as text: thousands of messages may come within it."""

    number = -1
    text = ""


_second = _Second()
