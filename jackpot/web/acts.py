"""What operators do at a table: each path is one command, in the operator's name, through the table's own writer."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Request
from pydantic import BaseModel, ConfigDict, Field

from jackpot.clock import now
from jackpot.core import commands as core
from jackpot.core.commands import Actor, Command
from jackpot.web.floor import Floor, floor_of, operator
from jackpot.web.problems import Problem

Reason = Annotated[str, Field(min_length=1, max_length=1_000, description="it stays in the audit trail")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]
MOST_BOXES: Final = 20


class Body(BaseModel):
    """What an act says; nothing unknown is taken for granted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Correction(Body):
    """Boxes and their true cards, or null for a hand that wins nothing."""

    hands: Annotated[dict[str, list[str] | None], Field(min_length=1, max_length=MOST_BOXES)]
    reason: Reason


class Void(Body):
    """Which boxes are void; none named: the whole round."""

    boxes: Annotated[list[int] | None, Field(max_length=MOST_BOXES)] = None
    reason: Reason


class Note(Body):
    """Why a table may play on."""

    note: Annotated[str, Field(max_length=1_000)] = ""


class Mode(Body):
    """Tournament mode, and whether its conditions restrict jackpot wagers."""

    tournament: bool
    restricted: bool = False


class BoxAct(Body):
    """An act at one box."""

    box: int
    reason: Annotated[str, Field(max_length=1_000)] = ""


class Declaration(Body):
    """A box's cards."""

    box: int
    cards: Annotated[list[str], Field(max_length=10)]


class Desk:
    """The present operator at the present floor, with the request's idempotency key."""

    def __init__(self, floor: Floor, actor: Actor, key: str | None) -> None:
        self._floor = floor
        self._actor = actor
        self._key = key

    async def do(self, kind: type, table: str, *fields: Any) -> dict[str, Any]:  # noqa: ANN401 - each command's own
        """Carry out one command of a table."""
        command: Command = kind(now(), self._actor, table, *fields)
        if self._key is None:
            return await self._floor.ask(table, command)
        content = json.dumps([kind.__name__, self._actor.name, table, *fields], default=str, sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()
        name = hashlib.sha256(f"{self._actor.name} {self._key}".encode()).hexdigest()[:48]
        return await self._floor.ask(table, core.Identified(f"operator.{name}", digest, command))


def _desk(request: Request, actor: Annotated[Actor, Depends(operator)], key: Key = None) -> Desk:
    return Desk(floor_of(request), actor, key)


At = Annotated[Desk, Depends(_desk)]
router = APIRouter(prefix="/api/v1", tags=["acts"])


@router.post("/rounds/{table}/{number}/confirm")
async def confirm(table: str, number: int, at: At) -> dict[str, Any]:
    """Confirm all of a round's pending prizes."""
    return await at.do(core.Confirm, table, number)


@router.post("/rounds/{table}/{number}/correct")
async def correct(table: str, number: int, body: Correction, at: At) -> dict[str, Any]:
    """Settle a pending round anew with the true hands."""
    hands = {_box(box): None if cards is None else tuple(cards) for box, cards in body.hands.items()}
    return await at.do(core.Correct, table, number, hands, body.reason)


@router.post("/rounds/{table}/{number}/void")
async def void(table: str, number: int, body: Void, at: At) -> dict[str, Any]:
    """Void a round, or single hands of it."""
    if body.boxes is None:
        return await at.do(core.VoidRound, table, number, body.reason)
    returned = [await at.do(core.VoidHand, table, number, box, body.reason) for box in body.boxes]
    return {"returned_cents": sum(answer["returned_cents"] for answer in returned)}


@router.post("/tables/{table}/resume")
async def resume(table: str, body: Note, at: At) -> dict[str, Any]:
    """Let a suspended table play on."""
    return await at.do(core.ResumeTable, table, body.note)


@router.post("/tables/{table}/mode")
async def mode(table: str, body: Mode, at: At) -> dict[str, Any]:
    """Set tournament mode."""
    return await at.do(core.SetMode, table, body.tournament, body.restricted)


@router.post("/rounds/{table}/{number}/close")
async def close(table: str, number: int, at: At) -> dict[str, Any]:
    """Close the wagers of an open round."""
    return await at.do(core.CloseWagers, table, number)


@router.post("/rounds/{table}/{number}/fold")
async def fold(table: str, number: int, body: BoxAct, at: At) -> dict[str, Any]:
    """Fold a box."""
    return await at.do(core.Fold, table, number, body.box, body.reason)


@router.post("/rounds/{table}/{number}/declare")
async def declare(table: str, number: int, body: Declaration, at: At) -> dict[str, Any]:
    """Declare a box's cards."""
    return await at.do(core.Declare, table, number, body.box, tuple(body.cards))


@router.post("/rounds/{table}/{number}/settle")
async def settle(table: str, number: int, at: At) -> dict[str, Any]:
    """Settle a closed round."""
    return await at.do(core.Settle, table, number)


def _box(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 3:
        raise Problem(422, "malformed", f"a box is a number, not {text[:20]!r}")
    return int(text)
