"""Models of the values that MQTT and HTTP both show: table state, meter, payouts and pending wins."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="1 to 64 of A-Z a-z 0-9 _ . -")]
Cents = Annotated[int, Field(description="integer cents")]
Time = Annotated[str, Field(description="RFC 3339 UTC with Z")]
Epoch = Annotated[int, Field(description="grows with each takeover, restart or restore")]
Seq = Annotated[int, Field(description="the jackpot's audit sequence; drop what is older than (epoch, seq) seen")]


class StrictModel(BaseModel):
    """Strict in types; unknown fields are ignored, so that firmware can grow."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class TablePayout(StrictModel):
    """A prize in a table's state."""

    box: int
    hand: str
    amount_cents: Cents
    status: Literal["paid", "pending"]
    clause: str


class TableStateMessage(StrictModel):
    """A table's round and phase: enough for a dealer terminal to start again mid-round."""

    round: int
    phase: Literal["idle", "open", "closed", "pending"]
    jackpot: Id
    wager_cents: Cents
    boxes: int
    lit: list[int]
    folded: list[int]
    declared: dict[str, list[str]]
    payouts: list[TablePayout]
    suspended: Literal["dealer_report", "pad_offline", "display", "store"] | None
    epoch: Epoch
    seq: Seq


class PendingWin(StrictModel):
    """A prize that awaits confirmation."""

    table: Id
    round: int
    box: int
    hand: str
    amount_cents: Cents


class MeterMessage(StrictModel):
    """The meter: at most ten a second, at least one every five seconds."""

    jackpot: Id
    amount_cents: Cents
    text: str
    state: Literal["live", "suspended", "retired"]
    pending: list[PendingWin]
    epoch: Epoch
    seq: Seq
    as_of: Time
