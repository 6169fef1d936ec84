"""Draw charts as SVG from whole numbers, with a title and a summary for screen readers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 640
HEIGHT: Final = 280
LEFT: Final = 96
RIGHT: Final = 24
TOP: Final = 16
BOTTOM: Final = 34
MAX_TICKS: Final = 7
LABEL_HEIGHT: Final = 18
HALF_CHARACTER_WIDTH: Final = 4
_TENTHS: Final = 10
"""Coordinates are whole numbers of tenths of a pixel until they are written."""
_TIME_STEPS: Final = (60, 300, 600, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000)
_DAY: Final = 86_400


class Tick(NamedTuple):
    """A labelled position on an axis."""

    at: int
    label: str


class Axis(NamedTuple):
    """The range of an axis and its ticks."""

    low: int
    high: int
    ticks: tuple[Tick, ...]


class Series(NamedTuple):
    """A line: its name, its CSS class, and its points."""

    name: str
    kind: str
    points: Sequence[tuple[int, int]]


class Mark(NamedTuple):
    """A labelled line across the chart at one value; vertical unless `is_level`."""

    label: str
    kind: str
    at: int
    is_level: bool = False


class Chart(NamedTuple):
    """A chart with its text for screen readers; `name` prefixes its ids, which must be unique on the page."""

    name: str
    title: str
    summary: str
    across: Axis
    up: Axis
    series: Sequence[Series]
    marks: Sequence[Mark] = ()


def svg(chart: Chart) -> str:
    """Return the chart as an SVG element."""
    title, summary = f"{chart.name}-title", f"{chart.name}-summary"
    levels = [mark for mark in chart.marks if mark.is_level and chart.up.low <= mark.at <= chart.up.high]
    vertical = [mark for mark in chart.marks if not mark.is_level and chart.across.low <= mark.at <= chart.across.high]
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{title} {summary}">',
        f'<title id="{title}">{escape(chart.title)}</title>',
        f'<desc id="{summary}">{escape(chart.summary)}</desc>',
        *(_horizontal_tick(chart, tick) for tick in chart.up.ticks),
        *(_vertical_tick(chart, tick) for tick in chart.across.ticks),
        *(_level(chart, mark) for mark in levels),
        *(_line(chart, series) for series in chart.series),
        *(_vertical(chart, mark, row) for row, mark in enumerate(vertical)),
        "</svg>",
    ]
    return "".join(parts)


def money_axis(values: Sequence[int], per_dollar: int = 100, max_ticks: int = 6) -> Axis:
    """Return an axis that covers these values, with ticks at round amounts; `per_dollar` units make a dollar."""
    low, high = min(values), max(values)
    if low == high:
        margin = max(per_dollar, abs(low) // 20)
        low, high = (max(0, low - margin) if low >= 0 else low - margin), high + margin
    step = _round_step(-(-(high - low) // (max_ticks - 2)))
    low, high = low // step * step, -(-high // step) * step
    return Axis(low, high, tuple(Tick(at, _dollars(at, step, per_dollar)) for at in range(low, high + 1, step)))


def money_axis_from_zero(high: int, per_dollar: int = 100, max_ticks: int = 6) -> Axis:
    """Return an axis from zero to this value, which need not be round."""
    step = _round_step(-(-max(1, high) // (max_ticks - 1)))
    ticks = tuple(Tick(at, _dollars(at, step, per_dollar)) for at in range(0, high + 1, step))
    return Axis(0, max(1, high), ticks)


def time_axis(start: datetime, end: datetime, zone: tzinfo) -> Axis:
    """Return an axis of milliseconds, with ticks at round local times of this zone."""
    seconds = (end - start).total_seconds()
    step = next((step for step in _TIME_STEPS if seconds / step <= MAX_TICKS), _TIME_STEPS[-1])
    moment = start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    ticks = []
    while (at := milliseconds(moment)) <= milliseconds(end):
        if at >= milliseconds(start):
            ticks.append(Tick(at, _time_label(moment, step)))
        moment += timedelta(seconds=step)  # local time: daylight saving does not shift the ticks
    return Axis(milliseconds(start), milliseconds(end), tuple(ticks))


def milliseconds(moment: datetime) -> int:
    """Return a moment as milliseconds since 1970."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _time_label(moment: datetime, step: int) -> str:
    if step < _DAY:
        return f"{moment:%H:%M}"
    return f"{moment:%a} {moment.day}" if step == _DAY else f"{moment.day} {moment:%b}"


def _round_step(lowest: int) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, … that is at least `lowest`."""
    for step in (1, 2, 5):
        if step >= lowest:
            return step
    power = 10
    while True:
        for factor in (10, 20, 25, 50):
            if power * factor // 10 >= lowest:
                return power * factor // 10
        power *= 10


def _dollars(value: int, step: int, per_dollar: int) -> str:
    """Format an amount on an axis, with cents only if the steps need them."""
    sign, whole = ("-" if value < 0 else ""), abs(value)
    if step % per_dollar == 0:
        return f"{sign}${whole // per_dollar:,}"
    return f"{sign}${whole // per_dollar:,}.{whole % per_dollar * 100 // per_dollar:02d}"


def _line(chart: Chart, series: Series) -> str:
    if not series.points:
        return ""
    points = [_point(chart, at, value) for at, value in series.points]
    corners = [
        point
        for n, point in enumerate(points)
        if n in (0, len(points) - 1) or not points[n - 1][1] == point[1] == points[n + 1][1]
    ]
    drawn = " ".join(f"{_px(x)},{_px(y)}" for x, y in corners)
    x, y = points[-1]
    dot = f'<circle class="{series.kind}-dot" cx="{_px(x)}" cy="{_px(y)}" r="4"/>'
    return f'<polyline class="{series.kind}-line" points="{drawn}"/>{dot}'


def _horizontal_tick(chart: Chart, tick: Tick) -> str:
    y = _px(_height(chart, tick.at))
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    return f'{line}<text x="{LEFT - 10}" y="{y}" dy="4.5" text-anchor="end">{escape(tick.label)}</text>'


def _vertical_tick(chart: Chart, tick: Tick) -> str:
    """Draw a tick with its label below, shifted left where it would cross the edge."""
    position, end = _across(chart, tick.at), HEIGHT - BOTTOM
    x, middle = _px(position), _px(min(position, (WIDTH - len(tick.label) * HALF_CHARACTER_WIDTH) * _TENTHS))
    line = f'<line class="grid" x1="{x}" x2="{x}" y1="{end}" y2="{end + 5}"/>'
    return f'{line}<text x="{middle}" y="{end + 22}" text-anchor="middle">{escape(tick.label)}</text>'


def _level(chart: Chart, mark: Mark) -> str:
    y = _px(_height(chart, mark.at))
    line = f'<line class="mark {mark.kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    where = f'x="{WIDTH - RIGHT}" y="{y}" dy="-7" text-anchor="end"'
    return f'{line}<text class="mark-label {mark.kind}" {where}>{escape(mark.label)}</text>'


def _vertical(chart: Chart, mark: Mark, row: int) -> str:
    """Draw a vertical line; labels are stacked in rows, each on the side of its line that has more space."""
    position = _across(chart, mark.at)
    is_right = position > (LEFT + WIDTH - RIGHT) * _TENTHS // 2
    x, y = _px(position), TOP + (row + 1) * LABEL_HEIGHT
    line = f'<line class="mark {mark.kind}" x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
    offset, anchor = ("-8", "end") if is_right else ("8", "start")
    where = f'x="{x}" y="{y}" dx="{offset}" text-anchor="{anchor}"'
    return f'{line}<text class="mark-label {mark.kind}" {where}>{escape(mark.label)}</text>'


def _point(chart: Chart, at: int, value: int) -> tuple[int, int]:
    return _across(chart, at), _height(chart, value)


def _across(chart: Chart, at: int) -> int:
    axis = chart.across
    return LEFT * _TENTHS + (at - axis.low) * (WIDTH - LEFT - RIGHT) * _TENTHS // max(1, axis.high - axis.low)


def _height(chart: Chart, value: int) -> int:
    axis, end = chart.up, HEIGHT - BOTTOM
    return end * _TENTHS - (value - axis.low) * (end - TOP) * _TENTHS // max(1, axis.high - axis.low)


def _px(tenths: int) -> str:
    return f"{tenths // _TENTHS}.{tenths % _TENTHS}"
