"""What operators do at a table: each path is one command, in the operator's name, through the table's own writer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from jackpot.clock import now
from jackpot.core import commands as core
from jackpot.core.decide import decide
from jackpot.core.site.commands import AddTable
from jackpot.engine.view_models import TablePayout
from jackpot.web.api.permissions import Act, ByManager, BySupervisor
from jackpot.web.api.schemas import (
    MAX_BOXES,
    Body,
    Box,
    Cents,
    Done,
    Id,
    Note,
    ReasonText,
    RoundPath,
    TablePath,
    Told,
)
from jackpot.web.problems import Problem

router = APIRouter(prefix="/api/v1", tags=["acts"])

Hand = Annotated[list[Annotated[str, Field(max_length=10)]], Field(max_length=10, examples=[["As", "Ks"]])]


class Correction(Body):
    """Boxes and their true cards, or null for a hand that wins nothing."""

    hands: Annotated[
        dict[Annotated[str, Field(pattern=r"^[1-9][0-9]?$")], Hand | None],
        Field(max_length=MAX_BOXES, json_schema_extra={"additionalProperties": False, "minProperties": 1}),
    ]
    reason: ReasonText


class Void(Body):
    """Which boxes are void, all of them or none; none named: the whole round."""

    boxes: Annotated[list[Box] | None, Field(min_length=1, max_length=MAX_BOXES)] = None
    reason: ReasonText


class Resumption(Body):
    """Why a table may play on."""

    note: Note = ""


class Mode(Body):
    """Tournament mode, and whether its conditions restrict jackpot wagers."""

    tournament: bool
    restricted: bool = False


class BoxAct(Body):
    """An act at one box."""

    box: Box
    reason: Note = ""


class Declaration(Body):
    """A box's cards."""

    box: Box
    cards: Hand


class Linking(Body):
    """A table that joins a jackpot."""

    table: Id
    jackpot: Id | None = None
    boxes: Box = 7


class Unlinking(Body):
    """Why a table leaves."""

    reason: ReasonText


class Payouts(Told):
    """The round's prizes, in the order in which they are paid."""

    payouts: list[TablePayout]


class Returned(Told):
    """What goes back to the players."""

    returned_cents: Cents


class Closed(Told):
    """The boxes that play for the jackpot in this round."""

    lit: list[int]
    unconfirmed: Annotated[list[int], Field(description="those of them whose pad reports a dark lamp")]


class Declared(Told):
    """What the cards are, and what they would be paid now if no other box won."""

    hand: str
    qualifies: bool
    amount_cents: Cents


class ModeSet(Told):
    """The mode as it is now."""

    tournament: bool
    restricted: bool


class Linked(Told):
    """A table and its jackpot."""

    table: str
    jackpot: str


class Removed(Told):
    """A table that is linked no more."""

    table: str
    removed: bool


@router.post("/rounds/{table}/{number}/confirm")
async def confirm(table: TablePath, number: RoundPath, act: BySupervisor) -> Payouts:
    """Confirm all of a round's pending prizes."""
    return Payouts(**await act.at_table(core.Confirm, table, number))


@router.post("/rounds/{table}/{number}/correct")
async def correct(table: TablePath, number: RoundPath, body: Correction, act: BySupervisor) -> Payouts:
    """Settle a pending round anew with the true hands."""
    if not body.hands:
        raise Problem(422, "malformed", "name at least one hand to correct")
    hands = {int(box): None if cards is None else tuple(cards) for box, cards in body.hands.items()}
    return Payouts(**await act.at_table(core.Correct, table, number, hands, body.reason))


@router.post("/rounds/{table}/{number}/void")
async def void(table: TablePath, number: RoundPath, body: Void, act: BySupervisor) -> Returned:
    """Void a round, or some hands of it together."""
    if body.boxes is None:
        return Returned(**await act.at_table(core.VoidRound, table, number, body.reason))
    return Returned(**await act.at_table(core.VoidHands, table, number, tuple(body.boxes), body.reason))


@router.post("/rounds/{table}/{number}/close")
async def close(table: TablePath, number: RoundPath, act: BySupervisor) -> Closed:
    """Close the wagers of an open round, for a dead dealer terminal."""
    dark = act.service_of(table).equipment.pads.dark(table, number)
    return Closed(**await act.at_table(core.CloseWagers, table, number, dark, said=(table, number)))


@router.post("/rounds/{table}/{number}/fold")
async def fold(table: TablePath, number: RoundPath, body: BoxAct, act: BySupervisor) -> Done:
    """Fold a box."""
    return Done(**await act.at_table(core.Fold, table, number, body.box, body.reason))


@router.post("/rounds/{table}/{number}/unfold")
async def unfold(table: TablePath, number: RoundPath, body: BoxAct, act: BySupervisor) -> Done:
    """Take a fold back; the declaration it dropped does not come back."""
    return Done(**await act.at_table(core.Unfold, table, number, body.box, body.reason))


@router.post("/rounds/{table}/{number}/declare")
async def declare(table: TablePath, number: RoundPath, body: Declaration, act: BySupervisor) -> Declared:
    """Declare a box's cards."""
    shown = act.service_of(table).committed.displayed_cents
    said = (table, number, body.box, body.cards)
    return Declared(**await act.at_table(core.Declare, table, number, body.box, tuple(body.cards), shown, said=said))


@router.post("/rounds/{table}/{number}/settle")
async def settle(table: TablePath, number: RoundPath, act: BySupervisor) -> Payouts:
    """Settle a closed round."""
    return Payouts(**await act.at_table(core.Settle, table, number))


@router.post("/tables/{table}/resume")
async def resume(table: TablePath, body: Resumption, act: BySupervisor) -> Done:
    """Let a suspended table play on."""
    return Done(**await act.at_table(core.ResumeTable, table, body.note))


@router.post("/tables/{table}/mode")
async def mode(table: TablePath, body: Mode, act: ByManager) -> ModeSet:
    """Set tournament mode."""
    return ModeSet(**await act.at_table(core.SetMode, table, body.tournament, body.restricted))


@router.post("/tables")
async def link(body: Linking, act: ByManager) -> Linked:
    """Link a table to a jackpot, a new one or one that was removed from it."""
    jackpot = act.services.meant(body.jackpot)
    if not await act.was_carried_out(jackpot):
        await _enter(body, jackpot, act)
    answer: dict[str, Any] = await act.at_jackpot(core.LinkTable, jackpot, body.table, body.boxes)
    return Linked(table=answer["table"], jackpot=jackpot)


@router.post("/tables/{table}/unlink")
async def unlink(table: TablePath, body: Unlinking, act: ByManager) -> Removed:
    """Take a table off its jackpot, between rounds."""
    jackpot = act.services.jackpot_of(table)
    answer: dict[str, Any] = await act.at_jackpot(core.UnlinkTable, jackpot, table, body.reason)
    return Removed(table=answer["table"], removed=True)


async def _enter(body: Linking, jackpot: str, act: Act) -> None:
    """A new table is entered in the site's list first, unless its jackpot would refuse it."""
    known = act.services.site.tables.get(body.table)
    if known == jackpot:
        return
    if known is not None:
        raise Problem(409, "conflict", f"table {body.table} belongs to the jackpot {known}")
    decide(act.services.state(jackpot), core.LinkTable(now(), act.caller.actor, body.table, body.boxes))
    await act._replace(key=None).at_site(AddTable, body.table, jackpot)
