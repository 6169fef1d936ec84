"""The pools page: balances now and over time, accounts, the configuration in force, and recent wins."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from jackpot.core.ledger import Account
from jackpot.store.pool_history import MAX_HOURS
from jackpot.web.api import configs
from jackpot.web.api import pools as api
from jackpot.web.api import wins as wins_api
from jackpot.web.console import chart
from jackpot.web.console.layout import Context, PageContext
from jackpot.web.formatting import local, money
from jackpot.web.templates import page

SPANS: Final = ((1, "1 hour"), (24, "24 hours"), (7 * 24, "7 days"), (30 * 24, "30 days"))
MAX_WINS_SHOWN: Final = 10
ACCOUNTS: Final = {
    Account.JACKPOT: "Jackpot pool (the meter)",
    Account.RESERVE: "Reserve pool",
    Account.PAYABLE: "Prizes awaiting confirmation",
    Account.WAGERS: "Wagers of rounds not yet settled (1997 rules)",
    Account.PLAYERS: "Players: paid out minus wagered",
    Account.HOUSE: "House: received minus paid in",
    Account.HOUSE_ADVANCE: "House advances still owed by the pools",
}
"""The accounts in the order of the page, each with its description."""

Hours = Annotated[int, Query(ge=1, le=MAX_HOURS)]

router = APIRouter(include_in_schema=False)


@router.get("/pools")
async def pools(context: Context, hours: Hours = 1) -> HTMLResponse:
    """Show the page."""
    return context.render("console/pools.html", spans=SPANS, **await _figures(context, hours))


@router.get("/pools/figures")
async def figures(context: Context, hours: Hours = 1) -> HTMLResponse:
    """Return the part of the page that it polls."""
    return page(
        "console/pools_figures.html",
        jackpot=context.jackpot,
        zone=context.services.zone,
        **await _figures(context, hours),
    )


async def _figures(context: PageContext, hours: int) -> dict[str, Any]:
    name, caller, services = context.jackpot, context.caller, context.services
    configurations = await configs.configs(caller, services, name)
    history = await api.history(name, caller, services, hours)
    wins = await wins_api.wins(_caller=caller, services=services, jackpot=name, limit=MAX_WINS_SHOWN)
    pools = await api.one(name, caller, services)
    points = _without_leading_zeros(history.points)
    return {
        "hours": hours,
        "span": dict(SPANS).get(hours, f"{hours} hours"),
        "pools": pools,
        "accounts": [(account.value, text, pools.balances[account]) for account, text in ACCOUNTS.items()],
        "config": next(version for version in configurations.versions if version.in_force),
        "wins": wins.rows[:MAX_WINS_SHOWN],
        "hits": await api.hits(name, caller, services, hours),
        "charts": [_chart(which, points, history.points, services.zone) for which in ("meter", "reserve")],
        "changes": _changes(points),
    }


def _without_leading_zeros(points: list[api.HistoryPoint]) -> list[api.HistoryPoint]:
    """Drop the points before the pools held any money: they would only shrink the rest of the chart."""
    first = next((n for n, point in enumerate(points) if point.meter_cents or point.reserve_cents), len(points) - 1)
    return points[first:]


def _changes(points: list[api.HistoryPoint]) -> list[api.HistoryPoint]:
    """Return the points at which a balance changed, and the first and the last, newest first."""
    last = len(points) - 1
    held = [(point.meter_cents, point.reserve_cents) for point in points]
    return [point for n, point in enumerate(points) if n in (0, last) or held[n] != held[n - 1]][::-1]


def _chart(which: str, points: list[api.HistoryPoint], unfiltered: list[api.HistoryPoint], zone: str) -> str:
    values = [point.meter_cents if which == "meter" else point.reserve_cents for point in points]
    moments = [datetime.fromisoformat(point.at) for point in points]
    drawn = [(chart.milliseconds(moment), value) for moment, value in zip(moments, values, strict=True)]
    start = moments[0] if len(moments) > 1 else datetime.fromisoformat(unfiltered[0].at)
    lowest, highest = min(values), max(values)
    summary = (
        f"From {money(values[0])} on {local(points[0].at, zone)} to {money(values[-1])} now; "
        f"the lowest is {money(lowest)}, the highest {money(highest)}."
    )
    return chart.svg(
        chart.Chart(
            name=f"chart-{which}",
            title=f"The {which} over time",
            summary=summary,
            across=chart.time_axis(start, moments[-1], ZoneInfo(zone)),
            up=chart.money_axis(values),
            series=[chart.Series(which, which, drawn)],
        )
    )
