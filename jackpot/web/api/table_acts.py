"""Acts of operators at a table: each path is one command in the operator's name, through the jackpot's writer."""

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
    Box,
    Cents,
    EmptyResponse,
    Id,
    Note,
    ReasonText,
    RequestModel,
    ResponseModel,
    RoundPath,
    TablePath,
)
from jackpot.web.problems import Problem

router = APIRouter(prefix="/api/v1", tags=["acts"])

Hand = Annotated[list[Annotated[str, Field(max_length=10)]], Field(max_length=10, examples=[["As", "Ks"]])]


class CorrectionRequest(RequestModel):
    """Boxes and their true cards; null for a hand that wins nothing."""

    hands: Annotated[
        dict[Annotated[str, Field(pattern=r"^[1-9][0-9]?$")], Hand | None],
        Field(max_length=MAX_BOXES, json_schema_extra={"additionalProperties": False, "minProperties": 1}),
    ]
    reason: ReasonText


class VoidRequest(RequestModel):
    """The boxes to void, all or none of them; without boxes the whole round is void."""

    boxes: Annotated[list[Box] | None, Field(min_length=1, max_length=MAX_BOXES)] = None
    reason: ReasonText


class ResumeRequest(RequestModel):
    """A note on why a table may resume."""

    note: Note = ""


class ModeRequest(RequestModel):
    """Tournament mode, and if its conditions restrict jackpot wagers."""

    tournament: bool
    restricted: bool = False


class BoxRequest(RequestModel):
    """An act at one box."""

    box: Box
    reason: Note = ""


class DeclarationRequest(RequestModel):
    """A box's cards."""

    box: Box
    cards: Hand


class LinkRequest(RequestModel):
    """A table to link to a jackpot."""

    table: Id
    jackpot: Id | None = None
    boxes: Box = 7


class UnlinkRequest(RequestModel):
    """The reason why a table is unlinked."""

    reason: ReasonText


class Payouts(ResponseModel):
    """The round's prizes, in the order they are paid."""

    payouts: list[TablePayout]


class ReturnedWagers(ResponseModel):
    """The amount returned to the players."""

    returned_cents: Cents


class ClosedWagers(ResponseModel):
    """The boxes that play for the jackpot in this round."""

    lit: list[int]
    unconfirmed: Annotated[list[int], Field(description="boxes among them whose pad reports a dark lamp")]


class DeclarationResult(ResponseModel):
    """The hand of the cards, and its prize at this moment if no other box won."""

    hand: str
    qualifies: bool
    amount_cents: Cents


class TableMode(ResponseModel):
    """The table's new mode."""

    tournament: bool
    restricted: bool


class LinkedTable(ResponseModel):
    """A table and its jackpot."""

    table: str
    jackpot: str


class UnlinkedTable(ResponseModel):
    """A table that was unlinked."""

    table: str
    removed: bool


@router.post("/rounds/{table}/{number}/confirm")
async def confirm(table: TablePath, number: RoundPath, act: BySupervisor) -> Payouts:
    """Confirm all of a round's pending prizes."""
    return Payouts(**await act.at_table(core.Confirm, table, number))


@router.post("/rounds/{table}/{number}/correct")
async def correct(table: TablePath, number: RoundPath, body: CorrectionRequest, act: BySupervisor) -> Payouts:
    """Settle a pending round again with the true hands."""
    if not body.hands:
        raise Problem(422, "malformed", "name at least one hand to correct")
    hands = {int(box): None if cards is None else tuple(cards) for box, cards in body.hands.items()}
    return Payouts(**await act.at_table(core.Correct, table, number, hands, body.reason))


@router.post("/rounds/{table}/{number}/void")
async def void(table: TablePath, number: RoundPath, body: VoidRequest, act: BySupervisor) -> ReturnedWagers:
    """Void a round, or several of its boxes together."""
    if body.boxes is None:
        return ReturnedWagers(**await act.at_table(core.VoidRound, table, number, body.reason))
    return ReturnedWagers(**await act.at_table(core.VoidHands, table, number, tuple(body.boxes), body.reason))


@router.post("/rounds/{table}/{number}/close")
async def close(table: TablePath, number: RoundPath, act: BySupervisor) -> ClosedWagers:
    """Close the wagers of an open round, in place of a failed dealer terminal."""
    dark = act.service_of(table).equipment.pads.dark(table, number)
    return ClosedWagers(**await act.at_table(core.CloseWagers, table, number, dark, content=(table, number)))


@router.post("/rounds/{table}/{number}/fold")
async def fold(table: TablePath, number: RoundPath, body: BoxRequest, act: BySupervisor) -> EmptyResponse:
    """Fold a box."""
    return EmptyResponse(**await act.at_table(core.Fold, table, number, body.box, body.reason))


@router.post("/rounds/{table}/{number}/unfold")
async def unfold(table: TablePath, number: RoundPath, body: BoxRequest, act: BySupervisor) -> EmptyResponse:
    """Undo a fold; a declaration that the fold removed is not restored."""
    return EmptyResponse(**await act.at_table(core.Unfold, table, number, body.box, body.reason))


@router.post("/rounds/{table}/{number}/declare")
async def declare(
    table: TablePath, number: RoundPath, body: DeclarationRequest, act: BySupervisor
) -> DeclarationResult:
    """Declare a box's cards."""
    shown = act.service_of(table).committed.displayed_cents
    content = (table, number, body.box, body.cards)
    return DeclarationResult(
        **await act.at_table(core.Declare, table, number, body.box, tuple(body.cards), shown, content=content)
    )


@router.post("/rounds/{table}/{number}/settle")
async def settle(table: TablePath, number: RoundPath, act: BySupervisor) -> Payouts:
    """Settle a closed round."""
    return Payouts(**await act.at_table(core.Settle, table, number))


@router.post("/tables/{table}/resume")
async def resume(table: TablePath, body: ResumeRequest, act: BySupervisor) -> EmptyResponse:
    """Resume a suspended table."""
    return EmptyResponse(**await act.at_table(core.ResumeTable, table, body.note))


@router.post("/tables/{table}/mode")
async def mode(table: TablePath, body: ModeRequest, act: ByManager) -> TableMode:
    """Set tournament mode."""
    return TableMode(**await act.at_table(core.SetMode, table, body.tournament, body.restricted))


@router.post("/tables")
async def link(body: LinkRequest, act: ByManager) -> LinkedTable:
    """Link a table to a jackpot: a new table, or one that was unlinked from it."""
    jackpot = act.services.resolve(body.jackpot)
    act.services.owned(jackpot)  # before the table is added to the site
    if not await act.was_carried_out(jackpot):
        await _add_to_site(body, jackpot, act)
    answer: dict[str, Any] = await act.at_jackpot(core.LinkTable, jackpot, body.table, body.boxes)
    return LinkedTable(table=answer["table"], jackpot=jackpot)


@router.post("/tables/{table}/unlink")
async def unlink(table: TablePath, body: UnlinkRequest, act: ByManager) -> UnlinkedTable:
    """Unlink a table from its jackpot, between rounds."""
    jackpot = act.services.jackpot_of(table)
    answer: dict[str, Any] = await act.at_jackpot(core.UnlinkTable, jackpot, table, body.reason)
    return UnlinkedTable(table=answer["table"], removed=True)


async def _add_to_site(body: LinkRequest, jackpot: str, act: Act) -> None:
    """Add a new table to the site first, unless its jackpot would refuse it."""
    known = act.services.site.tables.get(body.table)
    if known == jackpot:
        return
    if known is not None:
        raise Problem(409, "conflict", f"table {body.table} belongs to the jackpot {known}")
    decide(act.services.state(jackpot), core.LinkTable(now(), act.caller.actor, body.table, body.boxes))
    await act._replace(key=None).at_site(AddTable, body.table, jackpot)
