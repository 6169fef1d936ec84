"""Commands of the site: what operators and the controller itself ask for."""

from __future__ import annotations

from typing import Final, NamedTuple

from jackpot.core.commands import Actor, Role

INSTALLER: Final = Actor("init")
"""Who sets a site up, and may add its first two operators."""
KEYHOLDER: Final = Actor("keyholder")
"""Who holds the site's private key, and may renew a lost token where no second manager is left to approve it."""


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


class IdentifiedSite(NamedTuple):
    """A command of the site with its id and a digest of its content, so that a repeat acts once.

    `earlier` is the digest and the answer that the store keeps of this id.
    """

    command_id: str
    digest: str
    command: SiteCommand
    earlier: tuple[str, str] | None = None
