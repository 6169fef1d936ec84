"""The commands of the site, from operators and from the controller itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from jackpot.core.commands import Actor, RecoverHistory, Role

INSTALLER: Final = Actor("init")
"""The actor that sets a site up; it may add the first two operators."""
KEYHOLDER: Final = Actor("keyholder")
"""The holder of the site's private key; may renew a lost token if no second manager can approve it."""


class AddOperator(NamedTuple):
    """A manager adds an auditor or a supervisor; a new manager takes two managers."""

    at: str
    actor: Actor
    name: str
    role: Role
    token_hash: str
    expires_at: str = ""


class RevokeOperator(NamedTuple):
    """A manager revokes an operator's access for good."""

    at: str
    actor: Actor
    name: str
    reason: str


class RenewToken(NamedTuple):
    """An operator gets a new token, which replaces the old one; renewing another manager's token takes two persons."""

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
    """A second manager approves and knows the other half; a person who knew both could act as two persons."""

    at: str
    actor: Actor
    name: str
    half_hash: str
    expires_at: str = ""


class WithdrawManager(NamedTuple):
    """A manager withdraws the proposal of a manager."""

    at: str
    actor: Actor
    name: str
    reason: str


class AddJackpot(NamedTuple):
    """A jackpot is added to the site's list; its own chain begins with its creation."""

    at: str
    actor: Actor
    jackpot: str


class AddTable(NamedTuple):
    """A table is added to the site's list, with the jackpot it is linked to."""

    at: str
    actor: Actor
    table: str
    jackpot: str


class StartSoftware(NamedTuple):
    """The controller records the version and digest of its software; auditors look for changes of the digest.

    It also records the floor of the reserve, so that the next start notices a raised one.
    """

    at: str
    actor: Actor
    version: str
    digest: str
    reserve_floor_cents: int = 0


class RequestHandover(NamedTuple):
    """A supervisor or manager asks the owner of a jackpot to hand it over to a controller; "*" is any."""

    at: str
    actor: Actor
    jackpot: str
    controller: str
    reason: str


class RecordClockStep(NamedTuple):
    """The controller records that its clock was set forward or, with negative `seconds`, back."""

    at: str
    actor: Actor
    seconds: int


class SignIn(NamedTuple):
    """An operator signs in from a browser; the person and the address are recorded."""

    at: str
    actor: Actor
    address: str


class SignOut(NamedTuple):
    """An operator signs out."""

    at: str
    actor: Actor
    address: str


class RefuseSignIn(NamedTuple):
    """The controller refused sign-ins from an address; `attempts` counts them since the last such record."""

    at: str
    actor: Actor
    address: str
    attempts: int


class RecordRestore(NamedTuple):
    """The holder of the key has restored a copy; `heads` are the restored ones, `behind` the marks above them."""

    at: str
    actor: Actor
    heads: Mapping[str, Mapping[str, int | str]]
    behind: Mapping[str, Mapping[str, int | str]]


SiteCommand = (
    AddOperator | RevokeOperator | RenewToken | ProposeManager | ApproveManager | WithdrawManager | AddJackpot
    | AddTable | StartSoftware | SignIn | SignOut | RefuseSignIn | RequestHandover | RecoverHistory | RecordRestore
    | RecordClockStep
)  # fmt: skip


class IdentifiedSite(NamedTuple):
    """A command of the site with its id and a digest of its content, so that a repeat acts once.

    `earlier` is the digest and the answer that the store keeps for this id.
    """

    command_id: str
    digest: str
    command: SiteCommand
    earlier: tuple[str, str] | None = None

    @property
    def at(self) -> str:
        """The command's time."""
        return self.command.at


def not_before(command: SiteCommand | IdentifiedSite, at: str) -> SiteCommand | IdentifiedSite:
    """Return the command, moved to this time if its own is earlier: times never run backwards within a chain."""
    if command.at >= at:
        return command
    if isinstance(command, IdentifiedSite):
        return command._replace(command=command.command._replace(at=at))
    return command._replace(at=at)
