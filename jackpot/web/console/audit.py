"""The audit trail: searched, told in words, and verified."""

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
from jackpot.web.console.layout import Visit, Visiting
from jackpot.web.console.query_params import PAGE_ROWS, Filter, address
from jackpot.web.console.sentences import event_name, moves, pretty, sentence
from jackpot.web.problems import Problem

router = APIRouter(include_in_schema=False)

CHECKPOINTS_SHOWN: Final = 5


@router.get("/audit")
async def audit(  # noqa: PLR0913 - one for each filter
    *,
    visit: Visiting,
    chain: Filter = None,
    since: Filter = None,
    until: Filter = None,
    type: Filter = None,  # noqa: A002 - the word in the address
    table: Filter = None,
    actor: Filter = None,
    before: Before = None,
) -> HTMLResponse:
    """Search the trail."""
    if chain is not None and chain != SITE:
        visit.look_at(chain)
    jackpot = visit.jackpot if visit.services.jackpots else None
    searched = chain or jackpot or SITE
    asked = {"since": since, "until": until, "type": type, "table": table, "actor": actor}
    try:
        found, problem = await _search(visit, searched, asked, before), None
    except Problem as wrong:
        found, problem = Paged[api.AuditEvent](rows=[], before=None), wrong.detail
    return visit.show(
        "console/audit.html",
        status=422 if problem else 200,
        found=found,
        problem=problem,
        before=before,
        chain=searched,
        chosen={name: value or "" for name, value in asked.items()} | _clocks(visit, since=since, until=until),
        is_filtered=any(asked.values()),
        say=sentence,
        moves=moves,
        pretty=pretty,
        kinds=_kinds(searched),
        whole=address("/audit", chain=searched, jackpot=jackpot),
        base=address("/audit", chain=searched, jackpot=jackpot, **asked),
        **_choices(visit),
        **await _verification(visit, searched),
    )


async def _search(visit: Visit, chain: str, asked: dict[str, str | None], before: int | None) -> Paged[api.AuditEvent]:
    return await api.audit(
        _caller=visit.caller,
        services=visit.services,
        chain=chain,
        since=_moment(visit, asked["since"]),
        until=_moment(visit, asked["until"]),
        kind=asked["type"],
        table=asked["table"],
        actor=asked["actor"],
        before=before,
        limit=PAGE_ROWS,
    )


def _moment(visit: Visit, text: str | None) -> str | None:
    """What a clock at the site shows, as a moment; what is none is left to the API to judge."""
    told = None if text is None else _read(visit, text)
    return text if told is None else told.isoformat()


def _clocks(visit: Visit, **asked: str | None) -> dict[str, str]:
    """Moments as a field for them takes them."""
    return {name: _clock(visit, text) if text else "" for name, text in asked.items()}


def _clock(visit: Visit, text: str) -> str:
    """What a clock at the site shows at a moment; nothing where it is none, or beyond all calendars there."""
    told = _read(visit, text)
    try:
        shown = told and told.astimezone(ZoneInfo(visit.services.zone)).replace(tzinfo=None)
    except OverflowError:
        return ""
    return shown.isoformat(timespec="seconds") if shown else ""


def _read(visit: Visit, text: str) -> datetime | None:
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return None
    return told if told.tzinfo else told.replace(tzinfo=ZoneInfo(visit.services.zone))


def _kinds(chain: str) -> list[tuple[str, str]]:
    """The types of event that a chain can have."""
    types = SiteEventType if chain == SITE else EventType
    return sorted((kind.value, event_name(kind.value)) for kind in types)


def _choices(visit: Visit) -> dict[str, Any]:
    """What can be chosen in the filters."""
    site = visit.services.site
    return {
        "chains": [*sorted(visit.services.jackpots), SITE],
        "tables": sorted(site.tables),
        "actors": [*sorted(site.operators), *sorted(DEVICES)],
    }


async def _verification(visit: Visit, chain: str) -> dict[str, Any]:
    """What the last verification of each chain found, and the newest checkpoints of this one."""
    verified = await api.verified(visit.caller, visit.services)
    signed = await api.checkpoints(visit.caller, visit.services, chain=chain, limit=CHECKPOINTS_SHOWN)
    return {"verified": {row.chains[0].chain: row for row in verified}, "checkpoints": signed.rows}
