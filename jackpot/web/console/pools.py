"""The pools: what they hold and owe, what they held, every account, the configuration in force, and what won."""

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
from jackpot.web.console.layout import Visit, Visiting
from jackpot.web.formatting import local, money
from jackpot.web.templates import page

SPANS: Final = ((1, "1 hour"), (24, "24 hours"), (7 * 24, "7 days"), (30 * 24, "30 days"))
SHOWN_WINS: Final = 10
ACCOUNTS: Final = {
    Account.JACKPOT: "The jackpot pool: the meter",
    Account.RESERVE: "The reserve pool",
    Account.PAYABLE: "Prizes that await confirmation",
    Account.WAGERS: "Wagers of rounds not yet settled (1997 rules)",
    Account.PLAYERS: "Players: what they were paid, less what they wagered",
    Account.HOUSE: "The house: what it received, less what it put in",
    Account.HOUSE_ADVANCE: "Advances of the house that the pools still owe back",
}
"""What each account is, in the order that people ask for."""

Hours = Annotated[int, Query(ge=1, le=MAX_HOURS)]

router = APIRouter(include_in_schema=False)


@router.get("/pools")
async def pools(visit: Visiting, hours: Hours = 1) -> HTMLResponse:
    """The page."""
    return visit.show("console/pools.html", spans=SPANS, **await _figures(visit, hours))


@router.get("/pools/figures")
async def figures(visit: Visiting, hours: Hours = 1) -> HTMLResponse:
    """What changes on it, for a page that is looked at."""
    return page(
        "console/pools_figures.html", jackpot=visit.jackpot, zone=visit.services.zone, **await _figures(visit, hours)
    )


async def _figures(visit: Visit, hours: int) -> dict[str, Any]:
    name, caller, services = visit.jackpot, visit.caller, visit.services
    told = await configs.configs(caller, services, name)
    history = await api.history(name, caller, services, hours)
    wins = await wins_api.wins(_caller=caller, services=services, jackpot=name, limit=SHOWN_WINS)
    pools = await api.one(name, caller, services)
    points = _since_the_beginning(history.points)
    return {
        "hours": hours,
        "span": dict(SPANS).get(hours, f"{hours} hours"),
        "pools": pools,
        "accounts": [(account.value, text, pools.balances[account]) for account, text in ACCOUNTS.items()],
        "config": next(version for version in told.versions if version.in_force),
        "wins": wins.rows[:SHOWN_WINS],
        "hits": await api.hits(name, caller, services, hours),
        "charts": [_chart(which, points, history.points, services.zone) for which in ("meter", "reserve")],
        "moments": _moments(points),
    }


def _since_the_beginning(points: list[api.HistoryPoint]) -> list[api.HistoryPoint]:
    """Without the time when the pools did not hold anything yet: it would only make the rest of the picture small."""
    first = next((n for n, point in enumerate(points) if point.meter_cents or point.reserve_cents), len(points) - 1)
    return points[first:]


def _moments(points: list[api.HistoryPoint]) -> list[api.HistoryPoint]:
    """The points at which something had moved, and the first and the last, the newest first."""
    last = len(points) - 1
    held = [(point.meter_cents, point.reserve_cents) for point in points]
    return [point for n, point in enumerate(points) if n in (0, last) or held[n] != held[n - 1]][::-1]


def _chart(which: str, points: list[api.HistoryPoint], whole: list[api.HistoryPoint], zone: str) -> str:
    values = [point.meter_cents if which == "meter" else point.reserve_cents for point in points]
    moments = [datetime.fromisoformat(point.at) for point in points]
    drawn = [(chart.milliseconds(moment), value) for moment, value in zip(moments, values, strict=True)]
    start = moments[0] if len(moments) > 1 else datetime.fromisoformat(whole[0].at)
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
