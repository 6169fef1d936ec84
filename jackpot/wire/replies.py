"""What a dealer terminal is answered: one model for each kind of result, one for a refusal."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from jackpot.wire.messages import Cents, Id, Message, ToldPayout


class CommandDoneMessage(Message):
    """Carried out; where a command has a result, it stands beside `ok`."""

    command_id: Annotated[Id, Field(description="the command that this answers")]
    ok: Literal[True]


class RoundOpened(CommandDoneMessage):
    """The round that is open now."""

    round: int


class WagersClosed(CommandDoneMessage):
    """The boxes that play for the jackpot in this round."""

    lit: Annotated[list[int], Field(description="boxes with a standing wager")]
    unconfirmed: Annotated[list[int], Field(description="those of them whose pad reports a dark lamp")]


class HandDeclared(CommandDoneMessage):
    """What the cards are, and what they would be paid now if no other box won."""

    hand: str
    qualifies: bool
    amount_cents: Annotated[Cents, Field(description="integer cents; 0 where nothing would be paid")]


class RoundSettled(CommandDoneMessage):
    """The round's prizes."""

    payouts: Annotated[list[ToldPayout], Field(description="in the order in which they are paid")]


class WagersReturned(CommandDoneMessage):
    """What goes back to the players."""

    returned_cents: Cents


class CommandRefusedMessage(Message):
    """Not carried out, and nothing changed."""

    command_id: Annotated[Id, Field(description="the command that this answers")]
    ok: Literal[False]
    error: Annotated[
        Literal[
            "malformed",
            "command_id_reused",
            "table_suspended",
            "wrong_round",
            "needs_supervisor",
            "wrong_phase",
            "unknown_box",
            "no_wager",
            "folded",
            "wrong_cards",
            "card_already_declared",
        ],
        Field(description="the first that applies, in the order of this list"),
    ]
    message: Annotated[str, Field(description="a sentence for a person")]
