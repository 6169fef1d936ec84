"""The site's state after an event: evolve_site(site, event)."""

from __future__ import annotations

from collections.abc import Mapping

from jackpot.core.commands import Role
from jackpot.core.site.events import SiteEvent, SiteEventType
from jackpot.core.site.state import Operator, Site


def evolve_site(site: Site, event: SiteEvent) -> Site:
    """Return the site after this event."""
    data = event.data
    match event.type:
        case SiteEventType.OPERATOR_ADDED:
            added = Operator(
                data["name"], Role(data["role"]), data["token_hash"], expires_at=data.get("expires_at", "")
            )
            return _without_proposal(site, added.name)._replace(operators={**site.operators, added.name: added})
        case SiteEventType.OPERATOR_REVOKED:
            revoked = site.operators[data["name"]]._replace(active=False, token_hash="")
            return _without_proposal(site, revoked.name)._replace(operators={**site.operators, revoked.name: revoked})
        case SiteEventType.MANAGER_PROPOSED | SiteEventType.RENEWAL_PROPOSED:
            return site._replace(
                waiting={**site.waiting, data["name"]: event.actor},
                halves={**site.halves, data["name"]: data.get("half_hash", "")},
            )
        case SiteEventType.PERSON_WITHDRAWN:
            return _without_proposal(site, data["name"])
        case SiteEventType.TOKEN_RENEWED:
            until = data.get("expires_at", "")
            renewed = site.operators[data["name"]]._replace(token_hash=data["token_hash"], expires_at=until)
            return _without_proposal(site, renewed.name)._replace(operators={**site.operators, renewed.name: renewed})
        case SiteEventType.JACKPOT_ADDED:
            return site._replace(jackpots=(*site.jackpots, data["jackpot"]))
        case SiteEventType.TABLE_ADDED:
            return site._replace(tables={**site.tables, data["table"]: data["jackpot"]})
        case SiteEventType.SOFTWARE_STARTED:
            return site._replace(software=data["digest"])
        case (
            SiteEventType.SIGNED_IN
            | SiteEventType.SIGNED_OUT
            | SiteEventType.SIGN_IN_REFUSED
            | SiteEventType.HANDOVER_REQUESTED
            | SiteEventType.HISTORY_RECOVERED
            | SiteEventType.STORE_RESTORED
            | SiteEventType.CLOCK_STEPPED
        ):
            return site


def _without_proposal(site: Site, name: str) -> Site:
    return site._replace(waiting=_without(site.waiting, name), halves=_without(site.halves, name))


def _without(values: Mapping[str, str], name: str) -> dict[str, str]:
    return {other: value for other, value in values.items() if other != name}
