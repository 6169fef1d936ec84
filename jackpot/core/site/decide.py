"""Decide a command of the site: decide_site(site, command) returns an event and an answer, or raises `Refused`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from jackpot.core.administration import recovery_data
from jackpot.core.commands import CONTROLLER, DEVICES, Actor, RecoverHistory, Role
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
    RecordClockStep,
    RecordRestore,
    RefuseSignIn,
    RenewToken,
    RequestHandover,
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
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""The format of times in events: all of one length, so that they sort as text."""


class SiteDecision(NamedTuple):
    """The event and the answer of a command that was carried out; a repeat has no event."""

    event: SiteEvent | None
    answer: Mapping[str, Any]


def decide_site(site: Site, command: SiteCommand | IdentifiedSite) -> SiteDecision:
    """Decide a command; one that was carried out under the same id gets the same answer and acts once."""
    if not isinstance(command, IdentifiedSite):
        event = _decide_event(site, command)
        return SiteDecision(event, _answer(event))
    if command.earlier is not None:
        digest, earlier_answer = command.earlier
        if digest != command.digest:
            raise Refused(
                CommandError.COMMAND_ID_REUSED, f"command {command.command_id} was carried out with other content"
            )
        return SiteDecision(None, json.loads(earlier_answer))
    event = _decide_event(site, command.command)
    answer = _answer(event)
    recorded = {"id": command.command_id, "digest": command.digest, "answer": answer}
    return SiteDecision(event._replace(data={**event.data, "command": recorded}), answer)


def _answer(event: SiteEvent) -> dict[str, Any]:
    """Return the answer to the command of an event; it never contains a token or its hash."""
    public = ("role", "expires_at", "jackpot", "table")
    name = {"operator": event.data["name"]} if "name" in event.data else {}
    return {**name, **{key: event.data[key] for key in public if key in event.data}}


def _decide_event(site: Site, command: SiteCommand) -> SiteEvent:
    """Return the event of a command, or raise `Refused`."""
    if not _is_known_manager(site, command.actor) and not _is_allowed_for_others(site, command):
        raise Refused(CommandError.FORBIDDEN, f"{command.actor.name} may not do this: only a manager may")
    if not all(is_storable(value) for value in command if isinstance(value, str)):
        raise Refused(CommandError.MALFORMED, "a text contains a NUL or an unpaired surrogate")
    return _HANDLERS[type(command)](site, command)


def joined_hash(one_half: str, other_half: str) -> str:
    """Return the hash of a token of two halves, from the hash of each, in any order."""
    return sha256("".join(sorted((one_half, other_half))).encode()).hexdigest()


def _is_known_manager(site: Site, actor: Actor) -> bool:
    known = site.operators.get(actor.name)
    return known is not None and known.active and known.actor == actor and actor.manages


def _is_allowed_for_others(site: Site, command: SiteCommand) -> bool:
    """Return True if this actor, who is no manager, may send this command."""
    match command:
        case AddOperator():
            return _is_setting_up(site, command)
        case RenewToken():
            own = site.operators.get(command.actor.name)
            itself = own is not None and own.active and own.actor == command.actor and command.name == own.name
            return itself or command.actor == KEYHOLDER
        case StartSoftware() | RefuseSignIn() | RecordClockStep():
            return command.actor == CONTROLLER
        case RequestHandover():
            own = site.operators.get(command.actor.name)
            return own is not None and own.active and own.actor == command.actor and own.role is Role.SUPERVISOR
        case RecordRestore():
            return command.actor == KEYHOLDER
        case SignIn() | SignOut():
            own = site.operators.get(command.actor.name)
            return own is not None and own.active and own.actor == command.actor
    return False


def _is_setting_up(site: Site, command: AddOperator) -> bool:
    """Return True if the installer adds one of the first two managers, whom two-person control needs."""
    return command.role is Role.MANAGER and len(site.operators) < 2 and command.actor == INSTALLER


def _propose_manager(site: Site, command: ProposeManager) -> SiteEvent:
    """Propose a new manager, or a new token for an existing one."""
    if command.name in site.waiting:
        raise Refused(CommandError.CONFLICT, f"{command.name} is waiting for approval already")
    if len(site.waiting) >= MAX_WAITING:
        raise Refused(
            CommandError.CONFLICT, f"{MAX_WAITING} proposals are waiting already: approve or withdraw some first"
        )
    known = site.operators.get(command.name)
    if known is not None and known.active and known.role is Role.MANAGER:
        return _event(command, SiteEventType.RENEWAL_PROPOSED, name=command.name, half_hash=command.half_hash)
    _require_new(command.name, site.operators, "operator")
    return _event(command, SiteEventType.MANAGER_PROPOSED, name=command.name, half_hash=command.half_hash)


def _approve_manager(site: Site, command: ApproveManager) -> SiteEvent:
    proposed_by = _require_waiting(site, command.name)
    if proposed_by == command.actor.name:
        raise Refused(CommandError.SAME_PERSON, f"{proposed_by} proposed this: another manager must approve it")
    if not site.halves.get(command.name):
        raise Refused(
            CommandError.CONFLICT, "the other half of this token is not known: withdraw the proposal and propose again"
        )
    joined = joined_hash(site.halves[command.name], command.half_hash)
    data = {"name": command.name, "token_hash": joined, **_expiry(command), "proposed_by": proposed_by}
    if command.name in site.operators:
        return _event(command, SiteEventType.TOKEN_RENEWED, **data)
    return _event(command, SiteEventType.OPERATOR_ADDED, **data, role=Role.MANAGER.value)


def _require_waiting(site: Site, name: str) -> str:
    if name not in site.waiting:
        raise Refused(CommandError.UNKNOWN_PROPOSAL, f"there is no proposal for {name!r} waiting for approval")
    return site.waiting[name]


def _revoke(site: Site, command: RevokeOperator) -> SiteEvent:
    _require_active(site, command.name)
    if _last_two_managers(site, command.name):
        raise Refused(CommandError.CONFLICT, "two managers must remain, because every approval needs two")
    return _event(command, SiteEventType.OPERATOR_REVOKED, name=command.name, reason=command.reason)


def _renew(site: Site, command: RenewToken) -> SiteEvent:
    _require_active(site, command.name)
    is_other_manager = site.operators[command.name].role is Role.MANAGER and command.name != command.actor.name
    if is_other_manager and command.actor != KEYHOLDER:
        raise Refused(
            CommandError.FORBIDDEN,
            f"{command.name} is a manager: propose a new token and let a second manager approve it",
        )
    return _event(
        command, SiteEventType.TOKEN_RENEWED, name=command.name, token_hash=command.token_hash, **_expiry(command)
    )


def _withdraw_manager(site: Site, command: WithdrawManager) -> SiteEvent:
    _require_waiting(site, command.name)
    return _event(command, SiteEventType.PERSON_WITHDRAWN, name=command.name, reason=command.reason)


def _add_jackpot(site: Site, command: AddJackpot) -> SiteEvent:
    _require_new(command.jackpot, site.jackpots, "jackpot")
    return _event(command, SiteEventType.JACKPOT_ADDED, jackpot=command.jackpot)


def _add_table(site: Site, command: AddTable) -> SiteEvent:
    _require_new(command.table, site.tables, "table")
    if command.jackpot not in site.jackpots:
        raise Refused(CommandError.CONFLICT, f"the site has no jackpot {command.jackpot!r}")
    return _event(command, SiteEventType.TABLE_ADDED, table=command.table, jackpot=command.jackpot)


def _start_software(_site: Site, command: StartSoftware) -> SiteEvent:
    data = {"version": command.version, "digest": command.digest, "reserve_floor_cents": command.reserve_floor_cents}
    return _event(command, SiteEventType.SOFTWARE_STARTED, **data)


def _add_operator(site: Site, command: AddOperator) -> SiteEvent:
    _require_new(command.name, site.operators, "operator")
    if command.role is Role.MANAGER and command.actor != INSTALLER:
        raise Refused(CommandError.FORBIDDEN, "a new manager needs two managers: one proposes, another approves")
    data = {"name": command.name, "role": command.role.value, "token_hash": command.token_hash, **_expiry(command)}
    return SiteEvent(SiteEventType.OPERATOR_ADDED, command.at, command.actor.name, data)


def _expiry(command: AddOperator | RenewToken | ApproveManager) -> dict[str, str]:
    """Return when the new token expires: a time in the future, or "" for never."""
    if command.expires_at and (not _TIME.fullmatch(command.expires_at) or command.expires_at <= command.at):
        raise Refused(
            CommandError.CONFLICT, f"a token cannot expire at {command.expires_at[:40]!r}: give a time in the future"
        )
    return {"expires_at": command.expires_at}


def _request_handover(site: Site, command: RequestHandover) -> SiteEvent:
    if command.jackpot not in site.jackpots:
        raise Refused(CommandError.MALFORMED, f"the site has no jackpot {command.jackpot!r}")
    asked = {"jackpot": command.jackpot, "controller": command.controller, "reason": command.reason}
    return _event(command, SiteEventType.HANDOVER_REQUESTED, **asked)


def _step_clock(_site: Site, command: RecordClockStep) -> SiteEvent:
    return _event(command, SiteEventType.CLOCK_STEPPED, seconds=command.seconds)


def _sign_in(_site: Site, command: SignIn) -> SiteEvent:
    return _event(command, SiteEventType.SIGNED_IN, address=command.address)


def _sign_out(_site: Site, command: SignOut) -> SiteEvent:
    return _event(command, SiteEventType.SIGNED_OUT, address=command.address)


def _refuse_sign_in(_site: Site, command: RefuseSignIn) -> SiteEvent:
    return _event(command, SiteEventType.SIGN_IN_REFUSED, address=command.address, attempts=command.attempts)


def _recover_history(site: Site, command: RecoverHistory) -> SiteEvent:
    if not _is_known_manager(site, command.second):
        raise Refused(CommandError.FORBIDDEN, f"{command.second.name} may not do this: only a manager may")
    return _event(command, SiteEventType.HISTORY_RECOVERED, **recovery_data(command))


def _record_restore(_site: Site, command: RecordRestore) -> SiteEvent:
    return _event(command, SiteEventType.STORE_RESTORED, heads=command.heads, behind=command.behind)


def _require_active(site: Site, name: str) -> None:
    operator = site.operators.get(name)
    if operator is None or not operator.active:
        raise Refused(CommandError.CONFLICT, f"there is no active operator {name!r}")


def _last_two_managers(site: Site, name: str) -> bool:
    managers = {o.name for o in site.operators.values() if o.active and o.role is Role.MANAGER}
    return name in managers and len(managers) <= 2


def _require_new(name: str, known: Mapping[str, object] | tuple[str, ...], what: str) -> None:
    if not _ID.fullmatch(name):
        raise Refused(
            CommandError.MALFORMED, f"{name!r} cannot be the name of a {what}: use 1 to 64 of A-Z a-z 0-9 _ . -"
        )
    if what == "operator" and name in {*DEVICES, INSTALLER.name, KEYHOLDER.name}:
        raise Refused(CommandError.CONFLICT, f"{name} cannot be the name of an operator: it is reserved")
    if name in known:
        raise Refused(CommandError.CONFLICT, f"the {what} {name} exists already")


def _event(command: SiteCommand, kind: SiteEventType, **data: object) -> SiteEvent:
    return SiteEvent(kind, command.at, command.actor.name, data)


_HANDLERS: Final[dict[type, Callable[..., SiteEvent]]] = {
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
    RequestHandover: _request_handover,
    RecoverHistory: _recover_history,
    RecordRestore: _record_restore,
    RecordClockStep: _step_clock,
}
