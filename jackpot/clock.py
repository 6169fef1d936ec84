"""The clock of the shell; the core gets its time from here, as text."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from typing import Final

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def now() -> str:
    """Return the present time, RFC 3339 in UTC to the millisecond; such texts have one length and sort by time."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    if seconds != _second.number:
        _second.number = seconds
        _second.text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{_second.text}.{milliseconds:03d}Z"


def in_days(days: int) -> str:
    """Return the time that many days from now."""
    return in_seconds(86_400 * days)


def in_seconds(seconds: float) -> str:
    """Return the time that many seconds from now."""
    return _format(datetime.now(UTC) + timedelta(seconds=seconds))


def earlier(text: str, seconds: float) -> str:
    """Return the time that many seconds before another."""
    return _format(datetime.fromisoformat(text) - timedelta(seconds=seconds))


def moment(text: str) -> str:
    """Return any RFC 3339 time in the format of events; raise `ValueError` if it is none."""
    try:
        parsed = datetime.fromisoformat(text)
        return _format(parsed.replace(tzinfo=parsed.tzinfo or UTC).astimezone(UTC))
    except (ValueError, OverflowError):
        raise ValueError(f"{text[:60]!r} is not a time: write 2026-11-15T09:30:00Z") from None


def day(text: str) -> date:
    """Return the date of a text such as 2026-11-15; raise `ValueError` for any other format."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass  # the month has no such day
    raise ValueError(f"{text[:40]!r} is not a day: write 2026-11-15")


def _format(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03d}Z".rjust(24, "0")


class _CachedSecond:
    """The last second as a number and as text; thousands of messages may arrive within it."""

    number = -1
    text = ""


_second = _CachedSecond()
