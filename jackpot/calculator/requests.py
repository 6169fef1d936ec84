"""The JSON that describes a round; an unknown key, a wrong type or a bad card is refused with its place."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, PositiveInt, TypeAdapter
from pydantic import ValidationError as PydanticError

from rules import INSTRUMENTS, Cards, parse
from rules.jackpot_prizes import FixedFrom


class RequestError(ValueError):
    """JSON that does not describe a round; the message says what is wrong and where."""


def _cards(value: object) -> Cards:
    return parse(value)  # type: ignore[arg-type]  # parse refuses what is not cards, with a message


CardsField = Annotated[Cards, BeforeValidator(_cards)]
Cents = NonNegativeInt


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class PoolsInput(_Input):
    """The pools as at the lock."""

    jackpot_cents: Cents
    reserve_cents: Cents


class PoolsInput1997(PoolsInput):
    """1997 pays on the amount displayed, which may differ from the amount in the pool."""

    displayed_cents: Cents | None = None


class ApprovedInput(_Input):
    """The part of the approved configuration that decides a settlement."""

    fixed_prizes_from: Annotated[FixedFrom, Field(strict=False)] = FixedFrom.RESERVE
    reset_cents: Cents = 0


class ApprovedInput1997(ApprovedInput):
    """1997 pools the losing wagers at settlement, so it needs their amount and their split."""

    wager_cents: Cents = 0
    jackpot_bps: Annotated[int, Field(ge=0, le=10_000)] = 0
    split_total_cents: Cents = 0


class CanberraPlayerInput(_Input):
    """One box of Canberra Poker; `cards` may be left out if it folded or was not declared."""

    box: PositiveInt
    cards: CardsField | None = None
    ante_cents: Cents | None = None
    bet_cents: Cents | None = None
    jackpot_wager: bool = False
    folded: bool = False


class CanberraPlayerInput1997(CanberraPlayerInput):
    """1997 also needs misdealt hands, and the amount displayed when this box was declared."""

    misdealt: bool = False
    displayed_cents: Cents | None = None


class Canberra2016(_Input):
    """A round of Canberra Poker under NI2016-268."""

    rules: Literal["canberra-poker-2016"]
    pools: PoolsInput
    approved: ApprovedInput = ApprovedInput()
    dealer: CardsField | None = None
    max_payout_cents: Cents | None = None
    players: list[CanberraPlayerInput]


class Canberra1997(_Input):
    """A round of Canberra Poker under Gazette S89 of 1997."""

    rules: Literal["canberra-poker-1997"]
    pools: PoolsInput1997
    approved: ApprovedInput1997 = ApprovedInput1997()
    dealer: CardsField | None = None
    max_payout_cents: Cents | None = None
    players: list[CanberraPlayerInput1997]


class HoldemPlayerInput(_Input):
    """One box of Ultimate Texas Hold-em."""

    box: PositiveInt
    hole: CardsField | None = None
    ante_cents: Cents
    blind_cents: Cents
    play_cents: Cents = 0
    trips_cents: Cents = 0
    folded: bool = False


class Holdem2025(_Input):
    """A round of Ultimate Texas Hold-em."""

    rules: Literal["ultimate-texas-holdem-2025"]
    board: CardsField
    dealer: CardsField
    max_payout_cents: Cents | None = None
    players: list[HoldemPlayerInput]


class CommissionTerms(_Input):
    """The commission the house takes from the pots."""

    percent: Literal[5, 10]
    cap_cents: Cents


class PotOptions(_Input):
    """The options the operator chose for the table."""

    deck: Literal[52, 48, 44, 40, 36, 32] = 52
    joker: bool = False
    ace_low: bool = False
    low_ace: Literal["high", "low"] = "high"
    win: Literal["high", "low", "high_low"] = "high"
    eight_or_better: bool = False
    smallest_chip_cents: PositiveInt = 100
    commission: CommissionTerms | None = None


class PotPlayerInput(_Input):
    """One seat at the showdown."""

    seat: PositiveInt
    hole: CardsField | None = None
    put_in_cents: Cents
    blind_or_ante_cents: Cents = 0
    folded: bool = False


class PotRound(_Input):
    """A showdown of Canberra Manila or Seven Card Stud."""

    rules: Literal["canberra-manila-2005", "seven-card-stud-2005"]
    options: PotOptions = PotOptions()
    button: PositiveInt
    board: CardsField | None = None
    players: list[PotPlayerInput]


RoundRequest = Annotated[Canberra2016 | Canberra1997 | Holdem2025 | PotRound, Field(discriminator="rules")]
_ADAPTER: TypeAdapter[RoundRequest] = TypeAdapter(RoundRequest)


def read(text: str) -> RoundRequest:
    """Return the request in a JSON text; RequestError says what is wrong with it and where."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (json.JSONDecodeError, RecursionError) as error:
        raise RequestError(f"this is not JSON: {error}") from None
    if not isinstance(value, dict) or value.get("rules") not in tuple(INSTRUMENTS):
        raise RequestError(f'a round is a JSON object whose "rules" is one of {", ".join(INSTRUMENTS)}')
    try:
        return _ADAPTER.validate_python(value)
    except PydanticError as error:
        raise RequestError(_message(error)) from None


def _refuse_constant(name: str) -> object:
    raise RequestError(f"this is not JSON: {name} is not a number")


def _message(error: PydanticError) -> str:
    first, *more = error.errors(include_url=False, include_context=False)
    place = ""
    for step in first["loc"][1:]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "there is no such key here"
    rest = f" (and {len(more)} more)" if more else ""
    return f"{place or 'the round'}: {message}{rest}"
