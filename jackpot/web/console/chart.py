"""Charts as SVG: whole numbers in, a picture out that scales, and says in words what it shows. Pure."""

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
HALF_LETTER: Final = 4
_TENTHS: Final = 10
"""Places are told to a tenth of a pixel, as whole numbers until they are written."""
_TIME_STEPS: Final = (60, 300, 600, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000)
_DAY: Final = 86_400


class Tick(NamedTuple):
    """A place on an axis, and what stands there."""

    at: int
    label: str


class Axis(NamedTuple):
    """From where to where a chart goes, and its ticks."""

    low: int
    high: int
    ticks: tuple[Tick, ...]


class Series(NamedTuple):
    """A line: its name, how it is drawn (a class of the style sheet), and its points."""

    name: str
    kind: str
    points: Sequence[tuple[int, int]]


class Mark(NamedTuple):
    """A line right across the chart at one value, with a label; upright, unless it is a level."""

    label: str
    kind: str
    at: int
    is_level: bool = False


class Chart(NamedTuple):
    """All that is drawn, and the words for whoever does not see it; `name` makes its ids its own on the page."""

    name: str
    title: str
    summary: str
    across: Axis
    up: Axis
    series: Sequence[Series]
    marks: Sequence[Mark] = ()


def svg(chart: Chart) -> str:
    """The picture."""
    title, summary = f"{chart.name}-title", f"{chart.name}-summary"
    levels = [mark for mark in chart.marks if mark.is_level and chart.up.low <= mark.at <= chart.up.high]
    upright = [mark for mark in chart.marks if not mark.is_level and chart.across.low <= mark.at <= chart.across.high]
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{title} {summary}">',
        f'<title id="{title}">{escape(chart.title)}</title>',
        f'<desc id="{summary}">{escape(chart.summary)}</desc>',
        *(_rung(chart, tick) for tick in chart.up.ticks),
        *(_foot(chart, tick) for tick in chart.across.ticks),
        *(_level(chart, mark) for mark in levels),
        *(_line(chart, series) for series in chart.series),
        *(_upright(chart, mark, row) for row, mark in enumerate(upright)),
        "</svg>",
    ]
    return "".join(parts)


def money_axis(values: Sequence[int], per_dollar: int = 100, most_ticks: int = 6) -> Axis:
    """An axis around these values with round amounts on it; a dollar has so many of their units."""
    low, high = min(values), max(values)
    if low == high:
        aside = max(per_dollar, abs(low) // 20)
        low, high = (max(0, low - aside) if low >= 0 else low - aside), high + aside
    step = _round_step(-(-(high - low) // (most_ticks - 2)))
    low, high = low // step * step, -(-high // step) * step
    return Axis(low, high, tuple(Tick(at, _dollars(at, step, per_dollar)) for at in range(low, high + 1, step)))


def money_axis_from_nothing(high: int, per_dollar: int = 100, most_ticks: int = 6) -> Axis:
    """An axis from nothing to this value, which need not be a round one."""
    step = _round_step(-(-max(1, high) // (most_ticks - 1)))
    ticks = tuple(Tick(at, _dollars(at, step, per_dollar)) for at in range(0, high + 1, step))
    return Axis(0, max(1, high), ticks)


def time_axis(start: datetime, end: datetime, zone: tzinfo) -> Axis:
    """An axis of milliseconds, with ticks at round moments of this zone's clocks."""
    seconds = (end - start).total_seconds()
    step = next((step for step in _TIME_STEPS if seconds / step <= MAX_TICKS), _TIME_STEPS[-1])
    moment = start.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    ticks = []
    while (at := milliseconds(moment)) <= milliseconds(end):
        if at >= milliseconds(start):
            ticks.append(Tick(at, _clock(moment, step)))
        moment += timedelta(seconds=step)  # as clocks of the zone go, an hour set forward or back or not
    return Axis(milliseconds(start), milliseconds(end), tuple(ticks))


def milliseconds(moment: datetime) -> int:
    """A moment as a whole number."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _clock(moment: datetime, step: int) -> str:
    if step < _DAY:
        return f"{moment:%H:%M}"
    return f"{moment:%a} {moment.day}" if step == _DAY else f"{moment.day} {moment:%b}"


def _round_step(least: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, … that is no smaller."""
    for step in (1, 2, 5):
        if step >= least:
            return step
    ten = 10
    while True:
        for factor in (10, 20, 25, 50):
            if ten * factor // 10 >= least:
                return ten * factor // 10
        ten *= 10


def _dollars(value: int, step: int, per_dollar: int) -> str:
    """An amount on an axis: with cents where the steps have them."""
    sign, whole = ("-" if value < 0 else ""), abs(value)
    if step % per_dollar == 0:
        return f"{sign}${whole // per_dollar:,}"
    return f"{sign}${whole // per_dollar:,}.{whole % per_dollar * 100 // per_dollar:02d}"


def _line(chart: Chart, series: Series) -> str:
    if not series.points:
        return ""
    places = [_place(chart, at, value) for at, value in series.points]
    corners = [
        place
        for n, place in enumerate(places)
        if n in (0, len(places) - 1) or not places[n - 1][1] == place[1] == places[n + 1][1]
    ]
    drawn = " ".join(f"{_px(x)},{_px(y)}" for x, y in corners)
    x, y = places[-1]
    dot = f'<circle class="{series.kind}-dot" cx="{_px(x)}" cy="{_px(y)}" r="4"/>'
    return f'<polyline class="{series.kind}-line" points="{drawn}"/>{dot}'


def _rung(chart: Chart, tick: Tick) -> str:
    y = _px(_height(chart, tick.at))
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    return f'{line}<text x="{LEFT - 10}" y="{y}" dy="4.5" text-anchor="end">{escape(tick.label)}</text>'


def _foot(chart: Chart, tick: Tick) -> str:
    """The label stands below its tick, or as near to it as the picture's edge allows."""
    place, end = _across(chart, tick.at), HEIGHT - BOTTOM
    x, middle = _px(place), _px(min(place, (WIDTH - len(tick.label) * HALF_LETTER) * _TENTHS))
    line = f'<line class="grid" x1="{x}" x2="{x}" y1="{end}" y2="{end + 5}"/>'
    return f'{line}<text x="{middle}" y="{end + 22}" text-anchor="middle">{escape(tick.label)}</text>'


def _level(chart: Chart, mark: Mark) -> str:
    y = _px(_height(chart, mark.at))
    line = f'<line class="mark {mark.kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
    where = f'x="{WIDTH - RIGHT}" y="{y}" dy="-7" text-anchor="end"'
    return f'{line}<text class="mark-label {mark.kind}" {where}>{escape(mark.label)}</text>'


def _upright(chart: Chart, mark: Mark, row: int) -> str:
    """The labels stand below one another, each beside its line, on the side that has room."""
    place = _across(chart, mark.at)
    is_right = place > (LEFT + WIDTH - RIGHT) * _TENTHS // 2
    x, y = _px(place), TOP + (row + 1) * LABEL_HEIGHT
    line = f'<line class="mark {mark.kind}" x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
    aside, anchor = ("-8", "end") if is_right else ("8", "start")
    where = f'x="{x}" y="{y}" dx="{aside}" text-anchor="{anchor}"'
    return f'{line}<text class="mark-label {mark.kind}" {where}>{escape(mark.label)}</text>'


def _place(chart: Chart, at: int, value: int) -> tuple[int, int]:
    return _across(chart, at), _height(chart, value)


def _across(chart: Chart, at: int) -> int:
    axis = chart.across
    return LEFT * _TENTHS + (at - axis.low) * (WIDTH - LEFT - RIGHT) * _TENTHS // max(1, axis.high - axis.low)


def _height(chart: Chart, value: int) -> int:
    axis, end = chart.up, HEIGHT - BOTTOM
    return end * _TENTHS - (value - axis.low) * (end - TOP) * _TENTHS // max(1, axis.high - axis.low)


def _px(tenths: int) -> str:
    return f"{tenths // _TENTHS}.{tenths % _TENTHS}"
