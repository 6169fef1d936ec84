"""The odds: how often each hand comes, what a wager returns by the meter, and what moves the reserve."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.core.administration import MAX_POOL_CENTS, MAX_WAGER_CENTS
from jackpot.web.api import pools as api
from jackpot.web.console import chart
from jackpot.web.console.amounts import NotUnderstood, hundredths, plain
from jackpot.web.console.layout import Visit, Visiting
from jackpot.web.formatting import money, share
from rules.instruments import find
from rules.jackpot_prizes import WHOLE_BPS, FixedFrom
from rules.odds import prize_table
from rules.odds.figures import decimal

MICRO: Final = 1_000_000
"""Returns are drawn in millionths of a dollar: as fine as their decimals are told."""

router = APIRouter(include_in_schema=False)


class Field(NamedTuple):
    """One field of the form: its name there and in the API, what it asks, in which unit, within which bounds."""

    asks: str
    name: str
    label: str
    unit: str
    least: int
    most: int


FIELDS: Final = (
    Field("meter", "meter_cents", "Meter", "dollars", 0, MAX_POOL_CENTS),
    Field("wager", "wager_cents", "Wager", "dollars", 1, MAX_WAGER_CENTS),
    Field("split", "jackpot_bps", "To the jackpot pool", "per cent", 0, WHOLE_BPS),
    Field("reset", "reset_cents", "Reset", "dollars", 0, MAX_POOL_CENTS),
)

Written = Annotated[str, Query(max_length=40)]


@router.get("/odds")
async def odds(  # noqa: PLR0913 - one for each field of the form
    *,
    visit: Visiting,
    meter: Written = "",
    wager: Written = "",
    split: Written = "",
    reset: Written = "",
    prizes_from: Annotated[str, Query(alias="from", max_length=40)] = "",
) -> HTMLResponse:
    """The page; what the form does not say is as it is now."""
    written = {"meter_cents": meter, "wager_cents": wager, "jackpot_bps": split, "reset_cents": reset}
    asked, problems = _read(written)
    source = next((one for one in FixedFrom if one.value == prizes_from), None)
    told = await api.odds(
        _caller=visit.caller, services=visit.services, jackpot=visit.jackpot, fixed_prizes_from=source, **asked
    )
    state = visit.services.state(visit.jackpot)
    return visit.show(
        "console/odds.html",
        status=422 if problems else 200,
        odds=told,
        game=find(told.rules),
        hands=_hands(told),
        chart=_chart(told, state.meter_cents),
        present_cents=state.meter_cents,
        fields=_form(visit, written, problems),
        sources=[(one.value, one.value.replace("_", " ")) for one in FixedFrom],
        is_changed=any(value is not None for value in asked.values()) or source is not None,
        percent=decimal(Fraction(told.expected_return.fraction) / Fraction(told.wager_cents, 100) * 100, 2),
    )


def _read(written: dict[str, str]) -> tuple[dict[str, int | None], dict[str, str]]:
    """What the form says, and what is wrong with it; a field that is wrong counts as left empty."""
    asked: dict[str, int | None] = {}
    problems: dict[str, str] = {}
    for field in FIELDS:
        try:
            asked[field.name] = hundredths(written[field.name], field.least, field.most, field.unit)
        except NotUnderstood as problem:
            asked[field.name] = None
            problems[field.name] = str(problem)
    return asked, problems


def _form(visit: Visit, written: dict[str, str], problems: dict[str, str]) -> list[dict[str, Any]]:
    state = visit.services.state(visit.jackpot)
    present = {"meter_cents": state.meter_cents, **state.config._asdict()}
    return [
        {
            "name": field.asks,
            "label": field.label,
            "unit": {"dollars": "$", "per cent": "%"}[field.unit],
            "value": written[field.name],
            "present": plain(present[field.name]),
            "problem": problems.get(field.name, ""),
        }
        for field in FIELDS
    ]


def _hands(told: api.Odds) -> list[dict[str, Any]]:
    """Each hand with its odds and its prize, the rarest first; some prize hands are part of another hand."""
    prizes = prize_table(told.rules)
    paid = {hand: money(cents) for hand, cents in prizes.fixed_cents.items()}
    for hand, (percent, least) in prizes.percent.items():
        part = "the meter" if percent == 100 else f"{share(percent * 100)} of the meter"
        paid[hand] = f"{part}, at least {money(least)}" if least else part
    counts = {**told.counts, **told.prize_counts}
    return [
        {
            "hand": hand,
            "count": count,
            "chance": decimal(Fraction(count, told.total), 8),
            "fraction": str(Fraction(count, told.total)),
            "one_in": _one_in(Fraction(told.total, count)),
            "prize": paid.get(hand, ""),
        }
        for hand, count in sorted(counts.items(), key=lambda one: one[1])
    ]


def _one_in(deals: Fraction) -> str:
    """Odds as people read them: one deal in 508.8."""
    tenths = round(10 * deals)
    return f"{tenths // 10:,}.{tenths % 10}"


def _chart(told: api.Odds, present_cents: int) -> str:
    points = [(point.meter_cents, round(Fraction(point.decimal) * MICRO)) for point in told.chart]
    wager = told.wager_cents * (MICRO // 100)
    asked, even = told.expected_return.meter_cents, told.break_even_meter_cents
    marks = [
        chart.Mark(f"A wager costs {money(told.wager_cents)}", "cost", wager, is_level=True),
        chart.Mark(f"Break-even {money(even)}", "even", even),
        chart.Mark(f"Meter now {money(present_cents)}", "now", present_cents),
    ]
    if asked != present_cents:
        marks.append(chart.Mark(f"Asked {money(asked)}", "asked", asked))
    return chart.svg(
        chart.Chart(
            name="chart-return",
            title="What a wager returns, by the meter",
            summary=(
                f"It rises with the meter. At {money(asked)} a wager returns ${told.expected_return.decimal} "
                f"on average; from {money(even)} it returns what it costs, {money(told.wager_cents)}."
            ),
            across=chart.money_axis_from_nothing(points[-1][0]),
            up=chart.money_axis([0, wager, *(value for _, value in points)], MICRO),
            series=[chart.Series("return", "return", points)],
            marks=marks,
        )
    )
