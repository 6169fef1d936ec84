"""The kinds of value that requests and answers are made of; what comes in is checked strictly."""

from __future__ import annotations

from typing import Annotated, Final, Generic, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from jackpot.store.queries import MAX_ROWS
from jackpot.tokens import MAX_DAYS

MAX_NUMBER: Final = 2**53 - 1
"""The greatest whole number that every JSON reader keeps exactly, and every database takes."""
MAX_BOXES: Final = 20
ID: Final = r"^[A-Za-z0-9_.-]{1,64}$"


def _whole(value: object) -> object:
    """JSON knows one kind of number: 200.0 is the whole number 200; strict checking sees to the rest."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_NUMBER else value


WHOLE: Final = BeforeValidator(_whole)
Id = Annotated[str, StringConstraints(pattern=ID)]
ReasonText = Annotated[
    str,
    Field(
        pattern=r"^[^\x00]*[^\s\x00][^\x00]*$", min_length=1, max_length=1_000, description="stays in the audit trail"
    ),
]
Note = Annotated[str, Field(pattern=r"^[^\x00]*$", max_length=1_000)]
Cents = Annotated[int, Field(description="integer cents")]
Number = Annotated[int, Field(ge=1, le=MAX_NUMBER), WHOLE]
Box = Annotated[int, Field(ge=1, le=MAX_BOXES), WHOLE]
Time = Annotated[str, Field(description="RFC 3339, UTC, to the millisecond")]
Days = Annotated[int, Field(ge=1, le=MAX_DAYS, description="how long the token is worth something"), WHOLE]

TablePath = Annotated[str, Path(pattern=ID, description="the table's id")]
JackpotPath = Annotated[str, Path(pattern=ID, description="the jackpot's id")]
OperatorPath = Annotated[str, Path(pattern=ID, description="the operator's name")]
RoundPath = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="the round's number at its table")]
ProposalPath = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="the proposal's number")]

JackpotQuery = Annotated[
    str | None, Query(pattern=ID, description="the jackpot; need not be named where there is one only")
]
TableQuery = Annotated[str | None, Query(pattern=ID, description="only this table")]
Before = Annotated[
    int | None, Query(ge=1, le=MAX_NUMBER, description="go on below this seq: `before` of the page before")
]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS, description="rows on a page")]


class Body(BaseModel):
    """What an act says; nothing unknown is taken for granted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Told(BaseModel):
    """What is answered."""

    model_config = ConfigDict(extra="forbid")


class Done(Told):
    """Carried out; there is nothing to tell."""


R = TypeVar("R")


class Paged(Told, Generic[R]):
    """A page of a long list, the newest first."""

    rows: list[R]
    before: Annotated[int | None, Field(description="ask for what comes after this page with it; null at the end")]


def paged(rows: list[R], limit: int) -> Paged[R]:
    """A page; one that is not full is the last."""
    last = getattr(rows[-1], "seq", None) if rows and len(rows) >= limit else None
    return Paged[R](rows=rows, before=last)
