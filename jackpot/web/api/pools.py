"""Jackpots: their pools and meters, now and over the last hours, and the odds of a wager."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import Field

from jackpot.clock import in_seconds, now
from jackpot.core.administration import MAX_POOL_CENTS, MAX_WAGER_CENTS
from jackpot.core.state import Jackpot
from jackpot.engine import views
from jackpot.engine.view_models import MeterMessage
from jackpot.store import queries
from jackpot.store.pool_history import MAX_HOURS
from jackpot.store.queries import pools_of
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import Cents, JackpotPath, JackpotQuery, ResponseModel, Time
from jackpot.web.services import WebServices
from rules import load
from rules.jackpot_prizes import WHOLE_BPS, FixedFrom
from rules.odds import Configuration, prize_table
from rules.odds.figures import hand_figures, jackpot_figures, return_at

router = APIRouter(prefix="/api/v1", tags=["jackpots"])

CHART_POINTS: Final = 50


class Pools(ResponseModel):
    """A jackpot's pools, its meter, and what the pools owe the house."""

    jackpot: str
    instrument: str
    retired: bool
    meter_cents: Cents
    reserve_cents: Cents
    payable_cents: Annotated[Cents, Field(description="prizes that await confirmation")]
    advance_owed_cents: Cents
    config_version: int
    tables: Annotated[int, Field(description="number of linked tables")]
    balances: dict[str, int]


class JackpotDetail(Pools):
    """A jackpot with its position (epoch and seq)."""

    state: Annotated[str, Field(description="live, suspended or retired")]
    proposals: Annotated[int, Field(description="number that wait for a second manager")]
    epoch: int
    seq: int


class HistoryPoint(ResponseModel):
    """The pools at one time."""

    at: Time
    meter_cents: Cents
    reserve_cents: Cents


class HistoryResponse(ResponseModel):
    """The pools over the last hours, the oldest first; the last point is now."""

    jackpot: str
    hours: int
    points: list[HistoryPoint]


class HandHits(ResponseModel):
    """Number and amount of a hand's prizes; corrected prizes do not count."""

    hand: str
    prizes: int
    amount_cents: Cents


class HitCounts(ResponseModel):
    """The prizes over the last hours for every hand that has one, the highest hand first."""

    jackpot: str
    hours: int
    hands: list[HandHits]


class ReturnAt(ResponseModel):
    """The expected return of a wager at a meter, in dollars: exact, and as a decimal."""

    meter_cents: Cents
    fraction: str
    decimal: str


class Deck(ResponseModel):
    """The deck of cards."""

    size: int
    joker: bool
    ace_low: bool


class Odds(ResponseModel):
    """Exact odds, the return by meter, and the effect on the reserve, under one configuration."""

    rules: str
    cards: int
    deck: Deck
    counts: dict[str, int]
    total: int
    prize_counts: dict[str, int]
    wager_cents: Cents
    jackpot_bps: int
    reset_cents: Cents
    fixed_prizes_from: FixedFrom
    fixed_cost_per_wager: str
    break_even_meter_cents: Cents
    expected_return: ReturnAt
    return_by_meter: list[ReturnAt]
    chart: Annotated[list[ReturnAt], Field(description="even steps from zero to beyond the break-even and the meter")]
    mean_wagers_to_royal: int
    mean_pool_at_royal_cents: Cents
    reserve_gain_per_wager: str
    reserve_fixed_cost_per_wager: str
    reserve_reset_cost_per_wager: str
    reserve_drift_per_wager: str
    reserve_drift_per_wager_decimal: str
    reserve_starves: bool


@router.get("/jackpots")
async def jackpots(_caller: Auditor, services: Services) -> list[Pools]:
    """Show each jackpot's pools, its meter, and what the pools owe the house."""
    return [Pools(**pools_of(services.state(name))) for name in sorted(services.jackpots)]


@router.get("/jackpots/{jackpot}")
async def one(jackpot: JackpotPath, _caller: Auditor, services: Services) -> JackpotDetail:
    """Show one jackpot."""
    state, meter = services.state(jackpot), _meter(services, jackpot)
    shown = {key: meter[key] for key in ("state", "epoch", "seq")}
    return JackpotDetail(**pools_of(state), **shown, proposals=len(state.proposals))


@router.get("/jackpots/{jackpot}/meter")
async def meter(jackpot: JackpotPath, _caller: Auditor, services: Services) -> MeterMessage:
    """Show the meter, as published over MQTT."""
    return MeterMessage(**_meter(services, jackpot))


@router.get("/jackpots/{jackpot}/history")
async def history(
    jackpot: JackpotPath, _caller: Auditor, services: Services, hours: Annotated[int, Query(ge=1, le=MAX_HOURS)] = 24
) -> HistoryResponse:
    """Show the pools over the last hours, in at most 300 points."""
    name = services.service(jackpot).id
    points = await services.read(lambda connection: services.history.points(connection, name, hours, now()))
    return HistoryResponse(jackpot=name, hours=hours, points=[HistoryPoint(**point._asdict()) for point in points])


@router.get("/jackpots/{jackpot}/hits")
async def hits(
    jackpot: JackpotPath, _caller: Auditor, services: Services, hours: Annotated[int, Query(ge=1, le=MAX_HOURS)] = 24
) -> HitCounts:
    """Show how often each hand has won over the last hours."""
    name = services.service(jackpot).id
    found = await services.read(lambda connection: queries.hits(connection, name, in_seconds(-3_600 * hours)))
    won, prizes = {row["hand"]: row for row in found}, prize_table(services.state(name).instrument)
    none = {"prizes": 0, "amount_cents": 0}
    hands = [HandHits(**{"hand": hand, **none, **won.get(hand, {})}) for hand in (*prizes.percent, *prizes.fixed_cents)]
    return HitCounts(jackpot=name, hours=hours, hands=hands)


@router.get("/odds")
async def odds(  # noqa: PLR0913 - one for each value of the configuration
    *,
    _caller: Auditor,
    services: Services,
    jackpot: JackpotQuery = None,
    meter_cents: Annotated[int | None, Query(ge=0, le=MAX_POOL_CENTS, description="default: the present meter")] = None,
    wager_cents: Annotated[int | None, Query(ge=1, le=MAX_WAGER_CENTS)] = None,
    jackpot_bps: Annotated[int | None, Query(ge=0, le=WHOLE_BPS)] = None,
    reset_cents: Annotated[int | None, Query(ge=0, le=MAX_POOL_CENTS)] = None,
    fixed_prizes_from: FixedFrom | None = None,
) -> Odds:
    """Show odds and solvency of a jackpot; given values replace those of its configuration, to try a change."""
    state = services.state(services.resolve(jackpot))
    present = state.config
    config = Configuration(
        wager_cents=present.wager_cents if wager_cents is None else wager_cents,
        jackpot_bps=present.jackpot_bps if jackpot_bps is None else jackpot_bps,
        reset_cents=present.reset_cents if reset_cents is None else reset_cents,
        fixed_prizes_from=fixed_prizes_from or present.fixed_prizes_from,
    )
    at_meter = state.meter_cents if meter_cents is None else meter_cents
    return Odds(**await services.compute(lambda: _odds(state, config, at_meter)))


def _odds(state: Jackpot, config: Configuration, meter_cents: int) -> dict[str, Any]:
    rules = state.instrument
    figures = jackpot_figures(rules, config, meter_cents)
    widest = max(2 * figures["break_even_meter_cents"], meter_cents * 5 // 4, CHART_POINTS)
    meters = [widest * step // CHART_POINTS for step in range(CHART_POINTS + 1)]
    chart = [return_at(prize_table(rules), cents) for cents in meters]
    return {"rules": rules, "chart": chart, **hand_figures(load(rules)), **figures}


def _meter(services: WebServices, jackpot: str) -> dict[str, Any]:
    committed = services.service(jackpot).committed
    return views.meter(committed, now())
