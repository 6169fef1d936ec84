"""Decide a command of the site: decide_site(site, command) gives an event and an answer, or a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from jackpot.core.commands import CONTROLLER, DEVICES, Actor, Role
from jackpot.core.results import CommandError, Refused
from jackpot.core.site.commands import (
    INSTALLER,
    KEYHOLDER,
    AddJackpot,
    AddOperator,
    AddTable,
    ApproveManager,
    IdentifiedSite,
    ProposeManager,
    RefuseSignIn,
    RenewToken,
    RevokeOperator,
    SignIn,
    SignOut,
    SiteCommand,
    StartSoftware,
    WithdrawManager,
)
from jackpot.core.site.events import SiteEvent, SiteEventType
from jackpot.core.site.state import Site
from jackpot.core.text import is_storable

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_WAITING: Final = 100
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""Times as events tell them: all of one length, so that they sort as text."""


class SiteDecision(NamedTuple):
    """Carried out: what happened, and the answer. A repeat of something carried out has no event."""

    event: SiteEvent | None
    answer: Mapping[str, Any]


def decide_site(site: Site, asked: SiteCommand | IdentifiedSite) -> SiteDecision:
    """Carry out a command; one that was carried out under the same id is answered again and acts once."""
    if not isinstance(asked, IdentifiedSite):
        event = _event_of(site, asked)
        return SiteDecision(event, _answer(event))
    if asked.earlier is not None:
        digest, answer = asked.earlier
        if digest != asked.digest:
            raise Refused(
                CommandError.COMMAND_ID_REUSED, f"command {asked.command_id} was carried out with other content"
            )
        return SiteDecision(None, json.loads(answer))
    event = _event_of(site, asked.command)
    answered = _answer(event)
    mark = {"id": asked.command_id, "digest": asked.digest, "answer": answered}
    return SiteDecision(event._replace(data={**event.data, "command": mark}), answered)


def _answer(event: SiteEvent) -> dict[str, Any]:
    """What is told of an event to whoever asked for it; never a token, nor its hash."""
    told = ("role", "expires_at", "jackpot", "table")
    name = {"operator": event.data["name"]} if "name" in event.data else {}
    return {**name, **{key: event.data[key] for key in told if key in event.data}}


def _event_of(site: Site, asked: SiteCommand) -> SiteEvent:
    """The event a command makes, or `Refused`."""
    if not _is_known_manager(site, asked.actor) and not _is_allowed_without(site, asked):
        raise Refused(CommandError.FORBIDDEN, f"{asked.actor.name} may not do this: it is a manager's act")
    if not all(is_storable(value) for value in asked if isinstance(value, str)):
        raise Refused(CommandError.MALFORMED, "this text cannot be kept: it has signs that no database takes")
    return _DECIDING[type(asked)](site, asked)


def joined_hash(one_half: str, other_half: str) -> str:
    """The hash of a token of two halves, from the hash of each, in whichever order."""
    return sha256("".join(sorted((one_half, other_half))).encode()).hexdigest()


def _is_known_manager(site: Site, actor: Actor) -> bool:
    known = site.operators.get(actor.name)
    return known is not None and known.active and known.actor == actor and actor.manages


def _is_allowed_without(site: Site, asked: SiteCommand) -> bool:
    """What is not a manager's act: setting up, renewing one's own token, and what key holder and program record."""
    match asked:
        case AddOperator():
            return _is_setting_up(site, asked)
        case RenewToken():
            own = site.operators.get(asked.actor.name)
            itself = own is not None and own.active and own.actor == asked.actor and asked.name == own.name
            return itself or asked.actor == KEYHOLDER
        case StartSoftware() | RefuseSignIn():
            return asked.actor == CONTROLLER
        case SignIn() | SignOut():
            own = site.operators.get(asked.actor.name)
            return own is not None and own.active and own.actor == asked.actor
    return False


def _is_setting_up(site: Site, asked: AddOperator) -> bool:
    """Only the first two operators are added by the installer: two managers, so that two-person control can work."""
    return asked.role is Role.MANAGER and len(site.operators) < 2 and asked.actor == INSTALLER


def _propose_manager(site: Site, asked: ProposeManager) -> SiteEvent:
    """A new name becomes a manager; a manager's name gets a new token."""
    if asked.name in site.waiting:
        raise Refused(CommandError.CONFLICT, f"{asked.name} waits for approval already")
    if len(site.waiting) >= MAX_WAITING:
        raise Refused(CommandError.CONFLICT, f"{MAX_WAITING} wait already: approve or withdraw some first")
    known = site.operators.get(asked.name)
    if known is not None and known.active and known.role is Role.MANAGER:
        return _event(asked, SiteEventType.RENEWAL_PROPOSED, name=asked.name, half_hash=asked.half_hash)
    _require_new(asked.name, site.operators, "operator")
    return _event(asked, SiteEventType.MANAGER_PROPOSED, name=asked.name, half_hash=asked.half_hash)


def _approve_manager(site: Site, asked: ApproveManager) -> SiteEvent:
    proposed_by = _require_waiting(site, asked.name)
    if proposed_by == asked.actor.name:
        raise Refused(CommandError.SAME_PERSON, f"{proposed_by} proposed this: another manager must approve it")
    if not site.halves.get(asked.name):
        raise Refused(
            CommandError.CONFLICT, "nobody was told the other half of this token: withdraw it, propose it anew"
        )
    joined = joined_hash(site.halves[asked.name], asked.half_hash)
    data = {"name": asked.name, "token_hash": joined, **_expiry(asked), "proposed_by": proposed_by}
    if asked.name in site.operators:
        return _event(asked, SiteEventType.TOKEN_RENEWED, **data)
    return _event(asked, SiteEventType.OPERATOR_ADDED, **data, role=Role.MANAGER.value)


def _require_waiting(site: Site, name: str) -> str:
    if name not in site.waiting:
        raise Refused(CommandError.UNKNOWN_PROPOSAL, f"no proposal for {name!r} waits for approval")
    return site.waiting[name]


def _revoke(site: Site, asked: RevokeOperator) -> SiteEvent:
    _require_active(site, asked.name)
    if _last_two_managers(site, asked.name):
        raise Refused(CommandError.CONFLICT, "two managers must remain, or nothing could be approved")
    return _event(asked, SiteEventType.OPERATOR_REVOKED, name=asked.name, reason=asked.reason)


def _renew(site: Site, asked: RenewToken) -> SiteEvent:
    _require_active(site, asked.name)
    anothers = site.operators[asked.name].role is Role.MANAGER and asked.name != asked.actor.name
    if anothers and asked.actor != KEYHOLDER:
        raise Refused(
            CommandError.FORBIDDEN, f"{asked.name} is a manager: a new token takes a proposal and a second manager"
        )
    return _event(asked, SiteEventType.TOKEN_RENEWED, name=asked.name, token_hash=asked.token_hash, **_expiry(asked))


def _withdraw_manager(site: Site, asked: WithdrawManager) -> SiteEvent:
    _require_waiting(site, asked.name)
    return _event(asked, SiteEventType.PERSON_WITHDRAWN, name=asked.name, reason=asked.reason)


def _add_jackpot(site: Site, asked: AddJackpot) -> SiteEvent:
    _require_new(asked.jackpot, site.jackpots, "jackpot")
    return _event(asked, SiteEventType.JACKPOT_ADDED, jackpot=asked.jackpot)


def _add_table(site: Site, asked: AddTable) -> SiteEvent:
    _require_new(asked.table, site.tables, "table")
    if asked.jackpot not in site.jackpots:
        raise Refused(CommandError.CONFLICT, f"the site has no jackpot {asked.jackpot!r}")
    return _event(asked, SiteEventType.TABLE_ADDED, table=asked.table, jackpot=asked.jackpot)


def _start_software(_site: Site, asked: StartSoftware) -> SiteEvent:
    data = {"version": asked.version, "digest": asked.digest, "reserve_floor_cents": asked.reserve_floor_cents}
    return _event(asked, SiteEventType.SOFTWARE_STARTED, **data)


def _add_operator(site: Site, asked: AddOperator) -> SiteEvent:
    _require_new(asked.name, site.operators, "operator")
    if asked.role is Role.MANAGER and asked.actor != INSTALLER:
        raise Refused(CommandError.FORBIDDEN, "a new manager takes two: one proposes, another approves")
    data = {"name": asked.name, "role": asked.role.value, "token_hash": asked.token_hash, **_expiry(asked)}
    return SiteEvent(SiteEventType.OPERATOR_ADDED, asked.at, asked.actor.name, data)


def _expiry(asked: AddOperator | RenewToken | ApproveManager) -> dict[str, str]:
    """When the new token ends: a moment to come, or never."""
    if asked.expires_at and (not _MOMENT.fullmatch(asked.expires_at) or asked.expires_at <= asked.at):
        raise Refused(CommandError.CONFLICT, f"a token cannot end at {asked.expires_at[:40]!r}: name a moment to come")
    return {"expires_at": asked.expires_at}


def _sign_in(_site: Site, asked: SignIn) -> SiteEvent:
    return _event(asked, SiteEventType.SIGNED_IN, address=asked.address)


def _sign_out(_site: Site, asked: SignOut) -> SiteEvent:
    return _event(asked, SiteEventType.SIGNED_OUT, address=asked.address)


def _refuse_sign_in(_site: Site, asked: RefuseSignIn) -> SiteEvent:
    return _event(asked, SiteEventType.SIGN_IN_REFUSED, address=asked.address, attempts=asked.attempts)


def _require_active(site: Site, name: str) -> None:
    operator = site.operators.get(name)
    if operator is None or not operator.active:
        raise Refused(CommandError.CONFLICT, f"there is no active operator {name!r}")


def _last_two_managers(site: Site, name: str) -> bool:
    managers = {o.name for o in site.operators.values() if o.active and o.role is Role.MANAGER}
    return name in managers and len(managers) <= 2


def _require_new(name: str, known: Mapping[str, object] | tuple[str, ...], what: str) -> None:
    if not _ID.fullmatch(name):
        raise Refused(CommandError.MALFORMED, f"{name!r} cannot name a {what}: 1 to 64 of A-Z a-z 0-9 _ . -")
    if what == "operator" and name in {*DEVICES, INSTALLER.name, KEYHOLDER.name}:
        raise Refused(CommandError.CONFLICT, f"{name} cannot be an operator's name: it stands for something else")
    if name in known:
        raise Refused(CommandError.CONFLICT, f"the {what} {name} is there already")


def _event(asked: SiteCommand, kind: SiteEventType, **data: object) -> SiteEvent:
    return SiteEvent(kind, asked.at, asked.actor.name, data)


_DECIDING: Final[dict[type, Callable[..., SiteEvent]]] = {
    AddOperator: _add_operator,
    RevokeOperator: _revoke,
    RenewToken: _renew,
    ProposeManager: _propose_manager,
    ApproveManager: _approve_manager,
    WithdrawManager: _withdraw_manager,
    AddJackpot: _add_jackpot,
    AddTable: _add_table,
    StartSoftware: _start_software,
    SignIn: _sign_in,
    SignOut: _sign_out,
    RefuseSignIn: _refuse_sign_in,
}
