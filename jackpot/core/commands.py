"""The commands of a jackpot. Each carries its time and its actor; the shell supplies both."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from jackpot.core.ledger import Account
from jackpot.core.state import Config, Wager


class Role(StrEnum):
    """An operator's role: an auditor reads, a supervisor also acts, a manager also proposes and approves."""

    AUDITOR = "auditor"
    SUPERVISOR = "supervisor"
    MANAGER = "manager"


class Actor(NamedTuple):
    """The sender of a command: an operator with a role, or a device or the controller, which have none."""

    name: str
    role: Role | None = None

    @property
    def supervises(self) -> bool:
        """Return True for a supervisor or a manager."""
        return self.role in (Role.SUPERVISOR, Role.MANAGER)

    @property
    def manages(self) -> bool:
        """Return True for a manager."""
        return self.role is Role.MANAGER


PAD, DEALER, DISPLAY, CONTROLLER = Actor("pad"), Actor("dealer"), Actor("display"), Actor("controller")
DEVICES = frozenset(actor.name for actor in (PAD, DEALER, DISPLAY, CONTROLLER))
"""Actors that are not operators; the table and the box are separate fields of a command."""


class PlaceWager(NamedTuple):
    """A pad reports a wager. `earlier` is the wager that the store knows by this id from past rounds."""

    at: str
    actor: Actor
    table: str
    box: int
    wager_id: str
    round: int
    amount_cents: int
    ante: bool
    earlier: Wager | None = None


class OpenRound(NamedTuple):
    """The dealer opens the next round for wagers."""

    at: str
    actor: Actor
    table: str


class CloseWagers(NamedTuple):
    """The first card is dealt; `dark` lists the boxes whose pad reports a dark lamp."""

    at: str
    actor: Actor
    table: str
    round: int
    dark: tuple[int, ...] = ()


class Fold(NamedTuple):
    """A box folds, or is excluded from the round with a reason."""

    at: str
    actor: Actor
    table: str
    round: int
    box: int
    reason: str = ""


class Unfold(NamedTuple):
    """A fold entered by mistake is taken back."""

    at: str
    actor: Actor
    table: str
    round: int
    box: int
    reason: str = ""


class Declare(NamedTuple):
    """The dealer states a box's cards; `displayed_cents` is the last meter published by then."""

    at: str
    actor: Actor
    table: str
    round: int
    box: int
    cards: tuple[str, ...]
    displayed_cents: int | None = None


class Settle(NamedTuple):
    """The lock: compute and post the round's prizes."""

    at: str
    actor: Actor
    table: str
    round: int


class Confirm(NamedTuple):
    """A supervisor confirms all of a round's pending prizes."""

    at: str
    actor: Actor
    table: str
    round: int


class Correct(NamedTuple):
    """A supervisor corrects named hands: box → true cards, or None for a hand that wins nothing."""

    at: str
    actor: Actor
    table: str
    round: int
    hands: Mapping[int, tuple[str, ...] | None]
    reason: str


class VoidRound(NamedTuple):
    """A round is void: every wager is returned and every posting is reversed."""

    at: str
    actor: Actor
    table: str
    round: int
    reason: str


class VoidHand(NamedTuple):
    """One box's wager is returned."""

    at: str
    actor: Actor
    table: str
    round: int
    box: int
    reason: str


class VoidHands(NamedTuple):
    """The wagers of several boxes are returned, all of them or none."""

    at: str
    actor: Actor
    table: str
    round: int
    boxes: tuple[int, ...]
    reason: str


class ReportMalfunction(NamedTuple):
    """Equipment fails, as reported by the dealer or detected by the controller (see `cause`)."""

    at: str
    actor: Actor
    table: str
    equipment: str
    note: str
    cause: str = "dealer_report"


class RecordShown(NamedTuple):
    """A display reports the meter it shows; a sample of the reports is kept."""

    at: str
    actor: Actor
    display: str
    amount_cents: int
    epoch: int
    seq: int
    right: bool


class ResumeTable(NamedTuple):
    """A supervisor approves that a suspended table plays on."""

    at: str
    actor: Actor
    table: str
    note: str = ""


class SetMode(NamedTuple):
    """A manager sets tournament mode and whether its conditions restrict jackpot wagers."""

    at: str
    actor: Actor
    table: str
    tournament: bool
    restricted: bool


class CreateJackpot(NamedTuple):
    """A jackpot is created, with its first approved configuration and the operator's advances to its pools."""

    at: str
    actor: Actor
    jackpot: str
    instrument: str
    config: Config
    approved_by: str
    jackpot_cents: int
    reserve_cents: int


class LinkTable(NamedTuple):
    """A table is linked to the jackpot."""

    at: str
    actor: Actor
    table: str
    boxes: int


class UnlinkTable(NamedTuple):
    """A table is unlinked from the jackpot, between rounds."""

    at: str
    actor: Actor
    table: str
    reason: str


class ProposeRetirement(NamedTuple):
    """A manager proposes to retire the jackpot; `heir` is the jackpot that receives the players' money."""

    at: str
    actor: Actor
    heir: str
    reason: str


class ProposeConfig(NamedTuple):
    """A manager proposes a configuration; approval gives it its version."""

    at: str
    actor: Actor
    config: Config
    reason: str


class ProposeAdjustment(NamedTuple):
    """A manager proposes to move money by hand, naming the round if it corrects one."""

    at: str
    actor: Actor
    source: Account
    target: Account
    amount_cents: int
    reason: str
    table: str | None = None
    round: int | None = None


class Approve(NamedTuple):
    """A second manager approves a proposal."""

    at: str
    actor: Actor
    proposal: int


class Withdraw(NamedTuple):
    """A manager withdraws or rejects a proposal."""

    at: str
    actor: Actor
    proposal: int
    reason: str


class RecoverHistory(NamedTuple):
    """Two managers give up the events of a chain that its store has lost, from `from_seq` to `to_seq` at least.

    `lost_head` is the hash of the last lost event that is known, and `epoch` the highest epoch of the lost history.
    """

    at: str
    actor: Actor
    second: Actor
    from_seq: int
    to_seq: int
    lost_head: str
    epoch: int
    reason: str


class Identified(NamedTuple):
    """A command with its id and a digest of its content, so that a repeat acts once.

    `earlier` is the digest and the answer that the store keeps for this id.
    """

    command_id: str
    digest: str
    command: Command
    earlier: tuple[str, str] | None = None

    @property
    def at(self) -> str:
        """The command's time."""
        return self.command.at


Command = (
    PlaceWager | OpenRound | CloseWagers | Fold | Unfold | Declare | Settle | Confirm | Correct | VoidRound | VoidHand
    | VoidHands | ReportMalfunction | RecordShown | ResumeTable | SetMode | CreateJackpot | LinkTable | UnlinkTable
    | ProposeConfig | ProposeAdjustment | ProposeRetirement | Approve | Withdraw | RecoverHistory
)  # fmt: skip


def not_before(command: Command | Identified, at: str) -> Command | Identified:
    """Return the command, moved to this time if its own is earlier: times never run backwards within a chain."""
    if command.at >= at:
        return command
    if isinstance(command, Identified):
        return command._replace(command=command.command._replace(at=at))
    return command._replace(at=at)
