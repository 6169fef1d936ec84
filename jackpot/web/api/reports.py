"""The daily report, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from jackpot import clock
from jackpot.store import reports
from jackpot.web.api.permissions import Auditor, Services
from jackpot.web.api.schemas import Cents, ResponseModel
from jackpot.web.problems import Problem

router = APIRouter(prefix="/api/v1", tags=["reports"])


class DailyPool(ResponseModel):
    """One day of a pool: closing = opening + all movements; `ties` is true if the ledger agrees."""

    jackpot: str
    pool: str
    opening_cents: Cents
    contribution_cents: Cents
    void_cents: Cents
    prize_cents: Cents
    correction_cents: Cents
    reset_cents: Cents
    advance_cents: Cents
    repayment_cents: Cents
    adjustment_cents: Cents
    closing_cents: Cents
    ties: bool


@router.get(
    "/reports/daily",
    response_model=list[DailyPool],
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def daily(
    *,
    request: Request,
    _caller: Auditor,
    services: Services,
    day: Annotated[
        str | None,
        Query(description="a day of the site; default: today", json_schema_extra={"format": "date"}),
    ] = None,
    form: Annotated[Literal["json", "csv"] | None, Query(alias="format", description="default: as Accept asks")] = None,
) -> Any:  # noqa: ANN401 - rows, or a CSV response
    """Show the movements of each pool in a day, reconciled to the cent."""
    chosen = reports.today(services.zone) if day is None else _day(day)
    if not reports.is_reportable(chosen):
        raise Problem(404, "no_such_day", f"no report can be made for {chosen}: it is at the end of the calendar")
    rows = await services.read(lambda connection: reports.daily(connection, chosen, services.zone))
    if form == "csv" or (form is None and _wants_csv(request)):
        return Response(_csv(rows), media_type="text/csv", headers={"Vary": "Accept"})
    return rows


def _day(text: str) -> date:
    try:
        return clock.day(text)
    except ValueError as error:
        raise Problem(422, "malformed", str(error)) from None


def _wants_csv(request: Request) -> bool:
    """Return True if the client accepts CSV but not JSON."""
    accepted = [part.partition(";")[0].strip() for part in request.headers.get("Accept", "").split(",")]
    return "text/csv" in accepted and "application/json" not in accepted


def _csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(DailyPool.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
