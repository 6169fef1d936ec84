"""Charts: positions of points, ticks and marks, and the texts for screen readers."""

import itertools
import re
from datetime import UTC, datetime
from fractions import Fraction
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackpot.web.console import chart
from jackpot.web.console.chart import Axis, Chart, Mark, Series, Tick

SVG = "{http://www.w3.org/2000/svg}"
CENTS = st.integers(0, 10**13)


def drawn(points, up=None, across=None, **other):
    """Draw a chart and return its SVG tree."""
    values = [value for _, value in points]
    across = across or Axis(points[0][0], points[-1][0], ())
    picture = Chart(
        "c", "The meter", "It rises.", across, up or chart.money_axis(values), [Series("m", "m", points)], **other
    )
    text = chart.svg(picture).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return ET.fromstring(text)


def corners(tree):
    """Return the corners of the line."""
    return [tuple(Fraction(n) for n in pair.split(",")) for pair in tree.find(f"{SVG}polyline").get("points").split()]


def test_a_line_spans_its_axes():
    tree = drawn([(0, 0), (50, 500), (100, 1_000)], Axis(0, 1_000, ()))
    bottom, right = chart.HEIGHT - chart.BOTTOM, chart.WIDTH - chart.RIGHT
    middle = Fraction(chart.LEFT + right, 2), Fraction(chart.TOP + bottom, 2)
    assert corners(tree) == [(chart.LEFT, bottom), middle, (right, chart.TOP)]


@given(st.lists(CENTS, min_size=1, max_size=20))
def test_every_value_can_be_read_off_the_chart(values):
    points = list(enumerate(values))
    tree = drawn(points, across=Axis(0, max(1, len(values) - 1), ()))
    axis = chart.money_axis(values)
    height = chart.HEIGHT - chart.BOTTOM - chart.TOP
    pixel = Fraction(axis.high - axis.low, height)
    lowest = chart.HEIGHT - chart.BOTTOM
    read = {x: axis.low + (lowest - y) * pixel for x, y in corners(tree)}
    assert abs(read[corners(tree)[-1][0]] - values[-1]) <= pixel / 5
    assert all(chart.TOP <= y <= lowest for _, y in corners(tree))
    assert axis.low <= min(values) <= max(values) <= axis.high


@given(st.lists(CENTS, min_size=1, max_size=5), st.sampled_from([100, 1_000_000]))
def test_an_axis_has_a_few_distinct_ticks_at_even_steps(values, per_dollar):
    axis = chart.money_axis([value // 100 * per_dollar for value in values], per_dollar)
    at = [tick.at for tick in axis.ticks]
    assert 2 <= len(at) <= 7
    assert len({b - a for a, b in itertools.pairwise(at)}) == 1
    assert (at[0], at[-1]) == (axis.low, axis.high)
    for tick in axis.ticks:
        assert Fraction(tick.label.replace("$", "").replace(",", "")) == Fraction(tick.at, per_dollar)


def test_ticks_are_round_amounts_in_dollars():
    assert [tick.label for tick in chart.money_axis([913_400, 917_080]).ticks] == [
        "$9,130", "$9,140", "$9,150", "$9,160", "$9,170", "$9,180"
    ]  # fmt: skip
    assert [tick.label for tick in chart.money_axis([100, 130]).ticks] == ["$1.00", "$1.10", "$1.20", "$1.30"]
    assert [tick.label for tick in chart.money_axis_from_zero(100_355_790).ticks] == [
        "$0", "$250,000", "$500,000", "$750,000", "$1,000,000"
    ]  # fmt: skip


def test_unchanged_pools_are_a_level_line_inside_the_axis():
    axis = chart.money_axis([1_000_000, 1_000_000])
    assert axis.low < 1_000_000 < axis.high
    (_, first), (_, last) = corners(drawn([(0, 1_000_000), (9, 1_000_000)]))
    assert first == last
    assert chart.money_axis([0]).low == 0


def test_a_single_point_is_a_dot():
    tree = drawn([(7, 500)])
    assert len(corners(tree)) == 1
    assert tree.find(f"{SVG}circle").get("class") == "m-dot"


def test_a_level_stretch_is_drawn_by_its_ends():
    assert len(corners(drawn([(n, 5) for n in range(300)]))) == 2
    assert len(corners(drawn([(0, 1), (1, 1), (2, 1), (3, 9), (4, 9), (5, 9)]))) == 4


@pytest.mark.parametrize(
    ("hours", "zone", "labels"),
    [
        (1, "UTC", ["09:00", "09:10", "09:20", "09:30", "09:40", "09:50"]),
        (24, "UTC", ["12:00", "16:00", "20:00", "00:00", "04:00", "08:00"]),
        (24, "Australia/Sydney", ["00:00", "04:00", "08:00", "12:00", "16:00", "20:00"]),
        (168, "UTC", ["Mon 9", "Tue 10", "Wed 11", "Thu 12", "Fri 13", "Sat 14", "Sun 15"]),
        (720, "UTC", ["21 Oct", "26 Oct", "31 Oct", "5 Nov", "10 Nov", "15 Nov"]),
    ],
)
def test_time_ticks_are_round_local_times(hours, zone, labels):
    end = datetime(2026, 11, 15, 9, 53, tzinfo=UTC)
    start = datetime.fromtimestamp(end.timestamp() - 3_600 * hours, UTC)
    axis = chart.time_axis(start, end, ZoneInfo(zone))
    assert [tick.label for tick in axis.ticks] == labels
    assert (axis.low, axis.high) == (chart.milliseconds(start), chart.milliseconds(end))
    assert all(axis.low <= tick.at <= axis.high for tick in axis.ticks)


def test_daylight_saving_leaves_ticks_at_midnight():
    # Daylight saving began in Sydney on the 4th.
    start, end = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 7, tzinfo=UTC)
    ticks = chart.time_axis(start, end, ZoneInfo("Australia/Sydney")).ticks
    at = {datetime.fromtimestamp(tick.at / 1_000, ZoneInfo("Australia/Sydney")).hour for tick in ticks}
    assert at == {0}


def test_marks_are_drawn_at_their_values_and_omitted_outside_the_chart():
    marks = [Mark("Here", "now", 50), Mark("Level", "cost", 5, is_level=True), Mark("Far", "now", 101)]
    tree = drawn([(0, 0), (100, 10)], Axis(0, 10, ()), marks=marks)
    here, level = (next(e for e in tree.iter(f"{SVG}line") if e.get("class") == f"mark {k}") for k in ("now", "cost"))
    assert Fraction(here.get("x1")) == Fraction(here.get("x2")) == Fraction(chart.LEFT + chart.WIDTH - chart.RIGHT, 2)
    assert Fraction(level.get("y1")) == Fraction(chart.TOP + chart.HEIGHT - chart.BOTTOM, 2)
    assert {e.text for e in tree.iter(f"{SVG}text")} == {"Here", "Level"}


def test_a_chart_has_a_title_and_a_summary_and_escapes_its_texts():
    axis = Axis(0, 1, (Tick(0, "<b>"),))
    text = chart.svg(Chart("c", "A & B", "<script>", axis, axis, [Series("m", "m", [(0, 0), (1, 1)])]))
    tree = ET.fromstring(text)
    assert tree.get("role") == "img"
    assert tree.get("aria-labelledby") == "c-title c-summary"
    assert (tree.find("title").text, tree.find("desc").text) == ("A & B", "<script>")
    assert not re.search("<script>|<b>", text)
