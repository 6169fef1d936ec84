"""The site's own chain: who the operators are, and which jackpots and tables there are. The same two functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from jackpot.core.answers import Error, Refused
from jackpot.core.commands import CONTROLLER, DEVICES, Actor, Role
from jackpot.core.texts import can_be_kept

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
INSTALLER: Final = Actor("init")
"""Who sets a site up, and may add its first two operators."""
KEYHOLDER: Final = Actor("keyholder")
"""Who holds the site's private key, and may renew a lost token where no second manager is left to approve it."""
MOST_WAITING: Final = 100
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""Times as events tell them: all of one length, so that they sort as text."""


class SiteEventType(StrEnum):
    """Everything that can happen to a site."""

    OPERATOR_ADDED = "operator_added"
    OPERATOR_REVOKED = "operator_revoked"
    MANAGER_PROPOSED = "manager_proposed"
    RENEWAL_PROPOSED = "renewal_proposed"
    PERSON_WITHDRAWN = "person_withdrawn"
    TOKEN_RENEWED = "token_renewed"  # noqa: S105 - the name of an event
    JACKPOT_ADDED = "jackpot_added"
    TABLE_ADDED = "table_added"
    SOFTWARE_STARTED = "software_started"
    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    SIGN_IN_REFUSED = "sign_in_refused"


class SiteEvent(NamedTuple):
    """One thing that happened: when, who, what. `data` is ready for JSON."""

    type: SiteEventType
    at: str
    actor: str
    data: Mapping[str, Any]


class Operator(NamedTuple):
    """A person with a role; of the token only its hash is kept, and when it ends ("" for one that never does)."""

    name: str
    role: Role
    token_hash: str
    active: bool = True
    expires_at: str = ""

    @property
    def actor(self) -> Actor:
        """Who acts when this operator does."""
        return Actor(self.name, self.role)

    def is_expired(self, at: str) -> bool:
        """Whether the token is worth nothing at this moment."""
        return bool(self.expires_at) and at >= self.expires_at


class Site(NamedTuple):
    """What belongs to no single jackpot.

    `waiting`: managers to be added or to get a new token, and who proposed it; `halves`: the hash of the half of each
    one's token that the proposer was told.
    """

    operators: Mapping[str, Operator] = {}
    jackpots: tuple[str, ...] = ()
    tables: Mapping[str, str] = {}
    waiting: Mapping[str, str] = {}
    software: str = ""
    halves: Mapping[str, str] = {}


class AddOperator(NamedTuple):
    """A manager adds an auditor or a supervisor; a new manager takes two managers."""

    at: str
    actor: Actor
    name: str
    role: Role
    token_hash: str
    expires_at: str = ""


class RevokeOperator(NamedTuple):
    """A manager takes an operator's access away, for good."""

    at: str
    actor: Actor
    name: str
    reason: str


class RenewToken(NamedTuple):
    """An operator gets a new token, and the old one is worth nothing; another manager's takes two persons."""

    at: str
    actor: Actor
    name: str
    token_hash: str
    expires_at: str = ""


class ProposeManager(NamedTuple):
    """A manager proposes another manager, new or with a lost token, and knows one half of the token."""

    at: str
    actor: Actor
    name: str
    half_hash: str


class ApproveManager(NamedTuple):
    """A second manager approves, and knows the other half; whoever knew both could act as two persons."""

    at: str
    actor: Actor
    name: str
    half_hash: str
    expires_at: str = ""


class WithdrawManager(NamedTuple):
    """A manager takes such a proposal off the list."""

    at: str
    actor: Actor
    name: str
    reason: str


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


class StartSoftware(NamedTuple):
    """The controller records which software it is; a changed digest is a modification an auditor will ask about.

    With it the floor of the reserve that supervisors are told of from now on, so that the next start knows.
    """

    at: str
    actor: Actor
    version: str
    digest: str
    reserve_floor_cents: int = 0


class SignIn(NamedTuple):
    """An operator signs in from a browser: the entry log has the person and the address."""

    at: str
    actor: Actor
    address: str


class SignOut(NamedTuple):
    """An operator signs out."""

    at: str
    actor: Actor
    address: str


class RefuseSignIn(NamedTuple):
    """The controller has refused sign-ins from an address; `attempts` is how many since it last said so."""

    at: str
    actor: Actor
    address: str
    attempts: int


SiteCommand = (
    AddOperator | RevokeOperator | RenewToken | ProposeManager | ApproveManager | WithdrawManager | AddJackpot
    | AddTable | StartSoftware | SignIn | SignOut | RefuseSignIn
)  # fmt: skip


def joined_hash(one_half: str, other_half: str) -> str:
    """The hash of a token of two halves, from the hash of each, in whichever order."""
    return sha256("".join(sorted((one_half, other_half))).encode()).hexdigest()


def decide_site(site: Site, asked: SiteCommand) -> SiteEvent:
    """The event a command makes, or `Refused`."""
    if not _is_known_manager(site, asked.actor) and not _is_allowed_without(site, asked):
        raise Refused(Error.FORBIDDEN, f"{asked.actor.name} may not do this: it is a manager's act")
    if not all(can_be_kept(value) for value in asked if isinstance(value, str)):
        raise Refused(Error.MALFORMED, "this text cannot be kept: it has signs that no database takes")
    return _DECIDING[type(asked)](site, asked)


def evolve_site(site: Site, event: SiteEvent) -> Site:
    """The site after this event."""
    data = event.data
    match event.type:
        case SiteEventType.OPERATOR_ADDED:
            added = Operator(
                data["name"], Role(data["role"]), data["token_hash"], expires_at=data.get("expires_at", "")
            )
            return _decided(site, added.name)._replace(operators={**site.operators, added.name: added})
        case SiteEventType.OPERATOR_REVOKED:
            revoked = site.operators[data["name"]]._replace(active=False, token_hash="")
            return _decided(site, revoked.name)._replace(operators={**site.operators, revoked.name: revoked})
        case SiteEventType.MANAGER_PROPOSED | SiteEventType.RENEWAL_PROPOSED:
            return site._replace(
                waiting={**site.waiting, data["name"]: event.actor},
                halves={**site.halves, data["name"]: data.get("half_hash", "")},
            )
        case SiteEventType.PERSON_WITHDRAWN:
            return _decided(site, data["name"])
        case SiteEventType.TOKEN_RENEWED:
            until = data.get("expires_at", "")
            renewed = site.operators[data["name"]]._replace(token_hash=data["token_hash"], expires_at=until)
            return _decided(site, renewed.name)._replace(operators={**site.operators, renewed.name: renewed})
        case SiteEventType.JACKPOT_ADDED:
            return site._replace(jackpots=(*site.jackpots, data["jackpot"]))
        case SiteEventType.TABLE_ADDED:
            return site._replace(tables={**site.tables, data["table"]: data["jackpot"]})
        case SiteEventType.SOFTWARE_STARTED:
            return site._replace(software=data["digest"])
        case SiteEventType.SIGNED_IN | SiteEventType.SIGNED_OUT | SiteEventType.SIGN_IN_REFUSED:
            return site


def plain_site(site: Site) -> dict[str, Any]:
    """A site ready for JSON; tokens that never end, and no halves, are written as before there were such things."""
    people = [list(o) if o.expires_at else list(o[:_BEFORE_EXPIRY]) for o in site.operators.values()]
    plain = {**site._asdict(), "operators": people, "jackpots": list(site.jackpots)}
    if not any(site.halves.values()):
        del plain["halves"]
    return plain


_BEFORE_EXPIRY: Final = Operator._fields.index("expires_at")


def site_of(plain: Mapping[str, Any]) -> Site:
    """A site read back."""
    operators = [Operator(name, Role(role), *rest) for name, role, *rest in plain["operators"]]
    named = {operator.name: operator for operator in operators}
    return Site(**{**plain, "operators": named, "jackpots": tuple(plain["jackpots"])})


def _decided(site: Site, name: str) -> Site:
    return site._replace(waiting=_without(site.waiting, name), halves=_without(site.halves, name))


def _without(named: Mapping[str, str], name: str) -> dict[str, str]:
    return {other: value for other, value in named.items() if other != name}


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
        raise Refused(Error.MAKES_NO_SENSE, f"{asked.name} waits for approval already")
    if len(site.waiting) >= MOST_WAITING:
        raise Refused(Error.MAKES_NO_SENSE, f"{MOST_WAITING} wait already: approve or withdraw some first")
    known = site.operators.get(asked.name)
    if known is not None and known.active and known.role is Role.MANAGER:
        return _event(asked, SiteEventType.RENEWAL_PROPOSED, name=asked.name, half_hash=asked.half_hash)
    _require_new(asked.name, site.operators, "operator")
    return _event(asked, SiteEventType.MANAGER_PROPOSED, name=asked.name, half_hash=asked.half_hash)


def _approve_manager(site: Site, asked: ApproveManager) -> SiteEvent:
    proposed_by = _require_waiting(site, asked.name)
    if proposed_by == asked.actor.name:
        raise Refused(Error.SAME_PERSON, f"{proposed_by} proposed this: another manager must approve it")
    if not site.halves.get(asked.name):
        raise Refused(
            Error.MAKES_NO_SENSE, "nobody was told the other half of this token: withdraw it, propose it anew"
        )
    joined = joined_hash(site.halves[asked.name], asked.half_hash)
    data = {"name": asked.name, "token_hash": joined, **_expiry(asked), "proposed_by": proposed_by}
    if asked.name in site.operators:
        return _event(asked, SiteEventType.TOKEN_RENEWED, **data)
    return _event(asked, SiteEventType.OPERATOR_ADDED, **data, role=Role.MANAGER.value)


def _require_waiting(site: Site, name: str) -> str:
    if name not in site.waiting:
        raise Refused(Error.UNKNOWN_PROPOSAL, f"no proposal for {name!r} waits for approval")
    return site.waiting[name]


def _revoke(site: Site, asked: RevokeOperator) -> SiteEvent:
    _require_active(site, asked.name)
    if _last_two_managers(site, asked.name):
        raise Refused(Error.MAKES_NO_SENSE, "two managers must remain, or nothing could be approved")
    return _event(asked, SiteEventType.OPERATOR_REVOKED, name=asked.name, reason=asked.reason)


def _renew(site: Site, asked: RenewToken) -> SiteEvent:
    _require_active(site, asked.name)
    anothers = site.operators[asked.name].role is Role.MANAGER and asked.name != asked.actor.name
    if anothers and asked.actor != KEYHOLDER:
        raise Refused(Error.FORBIDDEN, f"{asked.name} is a manager: a new token takes a proposal and a second manager")
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
        raise Refused(Error.MAKES_NO_SENSE, f"the site has no jackpot {asked.jackpot!r}")
    return _event(asked, SiteEventType.TABLE_ADDED, table=asked.table, jackpot=asked.jackpot)


def _start_software(_site: Site, asked: StartSoftware) -> SiteEvent:
    data = {"version": asked.version, "digest": asked.digest, "reserve_floor_cents": asked.reserve_floor_cents}
    return _event(asked, SiteEventType.SOFTWARE_STARTED, **data)


def _add_operator(site: Site, asked: AddOperator) -> SiteEvent:
    _require_new(asked.name, site.operators, "operator")
    if asked.role is Role.MANAGER and asked.actor != INSTALLER:
        raise Refused(Error.FORBIDDEN, "a new manager takes two: one proposes, another approves")
    data = {"name": asked.name, "role": asked.role.value, "token_hash": asked.token_hash, **_expiry(asked)}
    return SiteEvent(SiteEventType.OPERATOR_ADDED, asked.at, asked.actor.name, data)


def _expiry(asked: AddOperator | RenewToken | ApproveManager) -> dict[str, str]:
    """When the new token ends: a moment to come, or never."""
    if asked.expires_at and (not _MOMENT.fullmatch(asked.expires_at) or asked.expires_at <= asked.at):
        raise Refused(Error.MAKES_NO_SENSE, f"a token cannot end at {asked.expires_at[:40]!r}: name a moment to come")
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
        raise Refused(Error.MAKES_NO_SENSE, f"there is no active operator {name!r}")


def _last_two_managers(site: Site, name: str) -> bool:
    managers = {o.name for o in site.operators.values() if o.active and o.role is Role.MANAGER}
    return name in managers and len(managers) <= 2


def _require_new(name: str, known: Mapping[str, object] | tuple[str, ...], what: str) -> None:
    if not _ID.fullmatch(name):
        raise Refused(Error.MALFORMED, f"{name!r} cannot name a {what}: 1 to 64 of A-Z a-z 0-9 _ . -")
    if what == "operator" and name in {*DEVICES, INSTALLER.name, KEYHOLDER.name}:
        raise Refused(Error.MAKES_NO_SENSE, f"{name} cannot be an operator's name: it stands for something else")
    if name in known:
        raise Refused(Error.MAKES_NO_SENSE, f"the {what} {name} is there already")


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
