"""The site's own chain: who the operators are, and which jackpots and tables there are. The same two functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from jackpot.core.answers import Error, Refused
from jackpot.core.commands import Actor, Role

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
INSTALLER: Final = Actor("init")
"""Who sets a site up, and may add its first two operators."""


class SiteEventType(StrEnum):
    """Everything that can happen to a site."""

    OPERATOR_ADDED = "operator_added"
    OPERATOR_REVOKED = "operator_revoked"
    TOKEN_RENEWED = "token_renewed"  # noqa: S105 - the name of an event
    JACKPOT_ADDED = "jackpot_added"
    TABLE_ADDED = "table_added"


class SiteEvent(NamedTuple):
    """One thing that happened: when, who, what. `data` is ready for JSON."""

    type: SiteEventType
    at: str
    actor: str
    data: Mapping[str, Any]


class Operator(NamedTuple):
    """A person with a role; of the token only its hash is kept."""

    name: str
    role: Role
    token_hash: str
    active: bool = True

    @property
    def actor(self) -> Actor:
        """Who acts when this operator does."""
        return Actor(self.name, self.role)


class Site(NamedTuple):
    """What belongs to no single jackpot."""

    operators: Mapping[str, Operator] = {}
    jackpots: tuple[str, ...] = ()
    tables: Mapping[str, str] = {}


class AddOperator(NamedTuple):
    """A manager adds an operator."""

    at: str
    actor: Actor
    name: str
    role: Role
    token_hash: str


class RevokeOperator(NamedTuple):
    """A manager takes an operator's access away, for good."""

    at: str
    actor: Actor
    name: str
    reason: str


class RenewToken(NamedTuple):
    """An operator gets a new token; the old one is worth nothing from then on."""

    at: str
    actor: Actor
    name: str
    token_hash: str


class AddJackpot(NamedTuple):
    """A jackpot is entered in the site's list; its own chain begins with its creation."""

    at: str
    actor: Actor
    jackpot: str


class AddTable(NamedTuple):
    """A table is entered in the site's list, with the jackpot it is linked to."""

    at: str
    actor: Actor
    table: str
    jackpot: str


SiteCommand = AddOperator | RevokeOperator | RenewToken | AddJackpot | AddTable


def decide_site(site: Site, asked: SiteCommand) -> SiteEvent:
    """The event a command makes, or `Refused`."""
    if not _is_known_manager(site, asked.actor) and not _is_setting_up(site, asked):
        raise Refused(Error.FORBIDDEN, f"{asked.actor.name} may not do this: it is a manager's act")
    match asked:
        case AddOperator():
            return _add_operator(site, asked)
        case RevokeOperator():
            _require_active(site, asked.name)
            if _last_two_managers(site, asked.name):
                raise Refused(Error.MAKES_NO_SENSE, "two managers must remain, or nothing could be approved")
            return _event(asked, SiteEventType.OPERATOR_REVOKED, name=asked.name, reason=asked.reason)
        case RenewToken():
            _require_active(site, asked.name)
            return _event(asked, SiteEventType.TOKEN_RENEWED, name=asked.name, token_hash=asked.token_hash)
        case AddJackpot():
            _require_new(asked.jackpot, site.jackpots, "jackpot")
            return _event(asked, SiteEventType.JACKPOT_ADDED, jackpot=asked.jackpot)
        case AddTable():
            _require_new(asked.table, site.tables, "table")
            if asked.jackpot not in site.jackpots:
                raise Refused(Error.MAKES_NO_SENSE, f"the site has no jackpot {asked.jackpot!r}")
            return _event(asked, SiteEventType.TABLE_ADDED, table=asked.table, jackpot=asked.jackpot)


def evolve_site(site: Site, event: SiteEvent) -> Site:
    """The site after this event."""
    data = event.data
    match event.type:
        case SiteEventType.OPERATOR_ADDED:
            added = Operator(data["name"], Role(data["role"]), data["token_hash"])
            return site._replace(operators={**site.operators, added.name: added})
        case SiteEventType.OPERATOR_REVOKED:
            revoked = site.operators[data["name"]]._replace(active=False, token_hash="")
            return site._replace(operators={**site.operators, revoked.name: revoked})
        case SiteEventType.TOKEN_RENEWED:
            renewed = site.operators[data["name"]]._replace(token_hash=data["token_hash"])
            return site._replace(operators={**site.operators, renewed.name: renewed})
        case SiteEventType.JACKPOT_ADDED:
            return site._replace(jackpots=(*site.jackpots, data["jackpot"]))
        case SiteEventType.TABLE_ADDED:
            return site._replace(tables={**site.tables, data["table"]: data["jackpot"]})


def plain_site(site: Site) -> dict[str, Any]:
    """A site ready for JSON."""
    return {"operators": list(site.operators.values()), "jackpots": list(site.jackpots), "tables": dict(site.tables)}


def site_of(plain: Mapping[str, Any]) -> Site:
    """A site read back."""
    operators = [Operator(name, Role(role), token, active) for name, role, token, active in plain["operators"]]
    return Site({operator.name: operator for operator in operators}, tuple(plain["jackpots"]), plain["tables"])


def _is_known_manager(site: Site, actor: Actor) -> bool:
    known = site.operators.get(actor.name)
    return known is not None and known.active and known.actor == actor and actor.manages


def _is_setting_up(site: Site, asked: SiteCommand) -> bool:
    """Only the first two operators are added by the installer: two managers, so that two-person control can work."""
    first_two = type(asked) is AddOperator and asked.role is Role.MANAGER and len(site.operators) < 2
    return first_two and asked.actor == INSTALLER


def _add_operator(site: Site, asked: AddOperator) -> SiteEvent:
    _require_new(asked.name, site.operators, "operator")
    data = {"name": asked.name, "role": asked.role.value, "token_hash": asked.token_hash}
    return SiteEvent(SiteEventType.OPERATOR_ADDED, asked.at, asked.actor.name, data)


def _require_active(site: Site, name: str) -> None:
    operator = site.operators.get(name)
    if operator is None or not operator.active:
        raise Refused(Error.MAKES_NO_SENSE, f"there is no active operator {name!r}")


def _last_two_managers(site: Site, name: str) -> bool:
    managers = {o.name for o in site.operators.values() if o.active and o.role is Role.MANAGER}
    return name in managers and len(managers) <= 2


def _require_new(name: str, known: Mapping[str, object] | tuple[str, ...], what: str) -> None:
    if not _ID.fullmatch(name):
        raise Refused(Error.MALFORMED, f"{name!r} cannot name a {what}: 1 to 64 of A-Z a-z 0-9 _ . -")
    if name in known:
        raise Refused(Error.MAKES_NO_SENSE, f"there is a {what} {name} already")


def _event(asked: SiteCommand, kind: SiteEventType, **data: object) -> SiteEvent:
    return SiteEvent(kind, asked.at, asked.actor.name, data)
