"""The audit page: search the trail, show each event as a sentence, and verify it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.core.commands import DEVICES
from jackpot.core.events import EventType
from jackpot.core.site.events import SiteEventType
from jackpot.store.hash_chain import SITE
from jackpot.web.api import audit as api
from jackpot.web.api.schemas import Before, Paged
from jackpot.web.console.layout import Context, PageContext
from jackpot.web.console.query_params import PAGE_ROWS, Filter, address
from jackpot.web.console.sentences import event_name, indented, sentence, transfers
from jackpot.web.problems import Problem

router = APIRouter(include_in_schema=False)

CHECKPOINTS_SHOWN: Final = 5


@router.get("/audit")
async def audit(  # noqa: PLR0913 - one for each filter
    *,
    context: Context,
    chain: Filter = None,
    since: Filter = None,
    until: Filter = None,
    type: Filter = None,  # noqa: A002 - the parameter's name in the address
    table: Filter = None,
    actor: Filter = None,
    before: Before = None,
) -> HTMLResponse:
    """Show the events that match the filters, and the state of verification."""
    if chain is not None and chain != SITE:
        context.select_jackpot(chain)
    jackpot = context.jackpot if context.services.jackpots else None
    searched = chain or jackpot or SITE
    filters = {"since": since, "until": until, "type": type, "table": table, "actor": actor}
    try:
        found, problem = await _search(context, searched, filters, before), None
    except Problem as error:
        found, problem = Paged[api.AuditEvent](rows=[], before=None), error.detail
    return context.render(
        "console/audit.html",
        status=422 if problem else 200,
        found=found,
        problem=problem,
        before=before,
        chain=searched,
        chosen={name: value or "" for name, value in filters.items()} | _field_times(context, since=since, until=until),
        is_filtered=any(filters.values()),
        sentence=sentence,
        transfers=transfers,
        indented=indented,
        kinds=_event_types(searched),
        unfiltered=address("/audit", chain=searched, jackpot=jackpot),
        base=address("/audit", chain=searched, jackpot=jackpot, **filters),
        **_choices(context),
        **await _verification(context, searched),
    )


async def _search(
    context: PageContext, chain: str, filters: dict[str, str | None], before: int | None
) -> Paged[api.AuditEvent]:
    return await api.audit(
        _caller=context.caller,
        services=context.services,
        chain=chain,
        since=_with_zone(context, filters["since"]),
        until=_with_zone(context, filters["until"]),
        kind=filters["type"],
        table=filters["table"],
        actor=filters["actor"],
        before=before,
        limit=PAGE_ROWS,
    )


def _with_zone(context: PageContext, text: str | None) -> str | None:
    """Return a local time of the site with its zone; the API refuses a text that is not a time."""
    moment = None if text is None else _parsed(context, text)
    return text if moment is None else moment.isoformat()


def _field_times(context: PageContext, **times: str | None) -> dict[str, str]:
    """Return the values of datetime-local fields."""
    return {name: _field_time(context, text) if text else "" for name, text in times.items()}


def _field_time(context: PageContext, text: str) -> str:
    """Return a time in the site's zone for a datetime-local field; empty if it is not a time or out of range."""
    moment = _parsed(context, text)
    try:
        local = moment and moment.astimezone(ZoneInfo(context.services.zone)).replace(tzinfo=None)
    except OverflowError:
        return ""
    return local.isoformat(timespec="seconds") if local else ""


def _parsed(context: PageContext, text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(context.services.zone))


def _event_types(chain: str) -> list[tuple[str, str]]:
    """Return the event types that a chain can have, each with its name."""
    types = SiteEventType if chain == SITE else EventType
    return sorted((kind.value, event_name(kind.value)) for kind in types)


def _choices(context: PageContext) -> dict[str, Any]:
    """Return the options of the filters."""
    site = context.services.site
    return {
        "chains": [*sorted(context.services.jackpots), SITE],
        "tables": sorted(site.tables),
        "actors": [*sorted(site.operators), *sorted(DEVICES)],
    }


async def _verification(context: PageContext, chain: str) -> dict[str, Any]:
    """Return the last verification of each chain, and the newest checkpoints of this one."""
    verified = await api.verified(context.caller, context.services)
    signed = await api.checkpoints(context.caller, context.services, chain=chain, limit=CHECKPOINTS_SHOWN)
    return {"verified": {row.chains[0].chain: row for row in verified}, "checkpoints": signed.rows}
