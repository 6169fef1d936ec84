"""The odds page: the odds of each hand, the return of a wager by meter, and what moves the reserve."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.core.administration import MAX_POOL_CENTS, MAX_WAGER_CENTS
from jackpot.web.api import pools as api
from jackpot.web.console import chart
from jackpot.web.console.amounts import AmountError, format_hundredths, parse_hundredths
from jackpot.web.console.layout import Context, PageContext
from jackpot.web.formatting import money, share
from rules.instruments import find
from rules.jackpot_prizes import WHOLE_BPS, FixedFrom
from rules.odds import prize_table
from rules.odds.figures import decimal

MICRO: Final = 1_000_000
"""Returns are drawn in millionths of a dollar, the precision of their decimals."""

router = APIRouter(include_in_schema=False)


class Field(NamedTuple):
    """One field of the form: its query parameter, its name in the API, label, unit and bounds."""

    param: str
    name: str
    label: str
    unit: str
    lowest: int
    highest: int


FIELDS: Final = (
    Field("meter", "meter_cents", "Meter", "dollars", 0, MAX_POOL_CENTS),
    Field("wager", "wager_cents", "Wager", "dollars", 1, MAX_WAGER_CENTS),
    Field("split", "jackpot_bps", "To the jackpot pool", "per cent", 0, WHOLE_BPS),
    Field("reset", "reset_cents", "Reset", "dollars", 0, MAX_POOL_CENTS),
)

FieldText = Annotated[str, Query(max_length=40)]


@router.get("/odds")
async def odds(  # noqa: PLR0913 - one for each field of the form
    *,
    context: Context,
    meter: FieldText = "",
    wager: FieldText = "",
    split: FieldText = "",
    reset: FieldText = "",
    prizes_from: Annotated[str, Query(alias="from", max_length=40)] = "",
) -> HTMLResponse:
    """Show the page; empty fields mean the present values."""
    texts = {"meter_cents": meter, "wager_cents": wager, "jackpot_bps": split, "reset_cents": reset}
    values, problems = _parse(texts)
    source = next((one for one in FixedFrom if one.value == prizes_from), None)
    odds = await api.odds(
        _caller=context.caller, services=context.services, jackpot=context.jackpot, fixed_prizes_from=source, **values
    )
    state = context.services.state(context.jackpot)
    return context.render(
        "console/odds.html",
        status=422 if problems else 200,
        odds=odds,
        game=find(odds.rules),
        hands=_hands(odds),
        chart=_chart(odds, state.meter_cents),
        present_cents=state.meter_cents,
        fields=_form(context, texts, problems),
        sources=[(one.value, one.value.replace("_", " ")) for one in FixedFrom],
        is_changed=any(value is not None for value in values.values()) or source is not None,
        percent=decimal(Fraction(odds.expected_return.fraction) / Fraction(odds.wager_cents, 100) * 100, 2),
    )


def _parse(texts: dict[str, str]) -> tuple[dict[str, int | None], dict[str, str]]:
    """Return the values of the form and its problems, by field; an invalid field counts as empty."""
    values: dict[str, int | None] = {}
    problems: dict[str, str] = {}
    for field in FIELDS:
        try:
            values[field.name] = parse_hundredths(texts[field.name], field.lowest, field.highest, field.unit)
        except AmountError as error:
            values[field.name] = None
            problems[field.name] = str(error)
    return values, problems


def _form(context: PageContext, texts: dict[str, str], problems: dict[str, str]) -> list[dict[str, Any]]:
    state = context.services.state(context.jackpot)
    present = {"meter_cents": state.meter_cents, **state.config._asdict()}
    return [
        {
            "name": field.param,
            "label": field.label,
            "unit": {"dollars": "$", "per cent": "%"}[field.unit],
            "value": texts[field.name],
            "present": format_hundredths(present[field.name]),
            "problem": problems.get(field.name, ""),
        }
        for field in FIELDS
    ]


def _hands(odds: api.Odds) -> list[dict[str, Any]]:
    """Return each hand with its odds and prize, rarest first; some prize hands are part of another hand."""
    prizes = prize_table(odds.rules)
    paid = {hand: money(cents) for hand, cents in prizes.fixed_cents.items()}
    for hand, (percent, lowest_cents) in prizes.percent.items():
        part = "the meter" if percent == 100 else f"{share(percent * 100)} of the meter"
        paid[hand] = f"{part}, at least {money(lowest_cents)}" if lowest_cents else part
    counts = {**odds.counts, **odds.prize_counts}
    return [
        {
            "hand": hand,
            "count": count,
            "chance": decimal(Fraction(count, odds.total), 8),
            "fraction": str(Fraction(count, odds.total)),
            "one_in": _one_in(Fraction(odds.total, count)),
            "prize": paid.get(hand, ""),
        }
        for hand, count in sorted(counts.items(), key=lambda one: one[1])
    ]


def _one_in(deals: Fraction) -> str:
    """Format odds as "one in …" with one decimal: "508.8"."""
    tenths = round(10 * deals)
    return f"{tenths // 10:,}.{tenths % 10}"


def _chart(odds: api.Odds, present_cents: int) -> str:
    points = [(point.meter_cents, round(Fraction(point.decimal) * MICRO)) for point in odds.chart]
    wager = odds.wager_cents * (MICRO // 100)
    chosen, even = odds.expected_return.meter_cents, odds.break_even_meter_cents
    marks = [
        chart.Mark(f"A wager costs {money(odds.wager_cents)}", "cost", wager, is_level=True),
        chart.Mark(f"Break-even {money(even)}", "even", even),
        chart.Mark(f"Meter now {money(present_cents)}", "now", present_cents),
    ]
    if chosen != present_cents:
        marks.append(chart.Mark(f"Chosen meter {money(chosen)}", "chosen", chosen))
    return chart.svg(
        chart.Chart(
            name="chart-return",
            title="Return per wager, by meter",
            summary=(
                f"It rises with the meter. At {money(chosen)} a wager returns ${odds.expected_return.decimal} "
                f"on average; at {money(even)} it returns what it costs, {money(odds.wager_cents)}."
            ),
            across=chart.money_axis_from_zero(points[-1][0]),
            up=chart.money_axis([0, wager, *(value for _, value in points)], MICRO),
            series=[chart.Series("return", "return", points)],
            marks=marks,
        )
    )
