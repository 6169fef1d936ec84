"""The types of values in requests and responses; requests are checked strictly."""

from __future__ import annotations

from typing import Annotated, Final, Generic, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from jackpot.store.queries import MAX_ROWS
from jackpot.tokens import MAX_DAYS

MAX_NUMBER: Final = 2**53 - 1
"""The greatest integer that every JSON reader keeps exactly, and every database accepts."""
MAX_BOXES: Final = 20
ID: Final = r"^[A-Za-z0-9_.-]{1,64}$"


def _whole(value: object) -> object:
    """Turn 200.0 into 200, which are the same number in JSON; strict validation refuses other floats."""
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
Days = Annotated[int, Field(ge=1, le=MAX_DAYS, description="lifetime of the token in days"), WHOLE]

TablePath = Annotated[str, Path(pattern=ID, description="the table's id")]
JackpotPath = Annotated[str, Path(pattern=ID, description="the jackpot's id")]
OperatorPath = Annotated[str, Path(pattern=ID, description="the operator's name")]
RoundPath = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="the round's number at its table")]
ProposalPath = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="the proposal's number")]

JackpotQuery = Annotated[str | None, Query(pattern=ID, description="the jackpot; may be omitted if there is only one")]
TableQuery = Annotated[str | None, Query(pattern=ID, description="only this table")]
Before = Annotated[
    int | None, Query(ge=1, le=MAX_NUMBER, description="continue below this seq: `before` of the previous page")
]
Limit = Annotated[int, Query(ge=1, le=MAX_ROWS, description="rows on a page")]


class RequestModel(BaseModel):
    """The base of request bodies: strict, unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseModel(BaseModel):
    """The base of response bodies."""

    model_config = ConfigDict(extra="forbid")


class EmptyResponse(ResponseModel):
    """An empty object: the act was carried out."""


R = TypeVar("R")


class Paged(ResponseModel, Generic[R]):
    """A page of a long list, the newest first."""

    rows: list[R]
    before: Annotated[int | None, Field(description="pass it as `before` to get the next page; null at the end")]


def paged(rows: list[R], limit: int) -> Paged[R]:
    """Return a page of rows; one that is not full is the last."""
    last = getattr(rows[-1], "seq", None) if rows and len(rows) >= limit else None
    return Paged[R](rows=rows, before=last)
