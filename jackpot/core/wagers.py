"""A wager: accepted once, or rejected with the first reason that applies."""

from __future__ import annotations

from typing import Final

from jackpot.core.commands import PlaceWager
from jackpot.core.events import Event, EventType
from jackpot.core.ledger import Account, Kind, Transfer
from jackpot.core.results import Decision, Refused, WagerRejection
from jackpot.core.state import Jackpot, Phase, Table, Wager, WagerStatus, wager_key
from rules import INSTRUMENTS
from rules.jackpot_prizes import split

MAX_WAGERS: Final = 1_000
"""Wagers of one round, voided ones included: more than any table can need."""


def place_wager(jackpot: Jackpot, table: Table, asked: PlaceWager) -> Decision:
    """Accept a wager, or say why not; a repeat of an accepted one is answered again and posted once."""
    if not 1 <= asked.box <= table.boxes:
        raise Refused(
            WagerRejection.UNKNOWN_BOX, f"table {table.id} has boxes 1 to {table.boxes}, and no box {asked.box}"
        )
    known = _known(table, asked)
    if known is not None:
        return _again(known, asked)
    _require_acceptable(jackpot, table, asked)
    return Decision((_accepted(jackpot, table, asked),), {"verdict": "accepted", "reason": None})


def _known(table: Table, asked: PlaceWager) -> Wager | None:
    in_round = table.round.wagers.get(wager_key(asked.box, asked.wager_id)) if table.round else None
    return in_round or asked.earlier


def _again(known: Wager, asked: PlaceWager) -> Decision:
    """The same content gets the same answer for ever; any other content is refused."""
    if not asked.ante or (known.round, known.amount_cents) != (asked.round, asked.amount_cents):
        raise Refused(
            WagerRejection.WAGER_ID_REUSED,
            f"wager {asked.wager_id} was accepted with other content: round {known.round}, {known.amount_cents} cents",
        )
    if known.status is WagerStatus.RETURNED:
        return Decision((), {"verdict": "returned", "reason": known.reason})
    return Decision((), {"verdict": "accepted", "reason": None})


def _require_acceptable(jackpot: Jackpot, table: Table, asked: PlaceWager) -> None:
    """The reasons of the protocol, in its order."""
    if table.suspended:
        raise Refused(WagerRejection.TABLE_SUSPENDED, f"table {table.id} is suspended: {table.suspended}")
    if table.tournament and table.restricted:
        raise Refused(WagerRejection.TOURNAMENT, f"the tournament at table {table.id} takes no jackpot wagers")
    if table.phase is Phase.IDLE or table.round is None:
        raise Refused(WagerRejection.NO_OPEN_ROUND, f"table {table.id} has no round open")
    if asked.round != table.number:
        raise Refused(WagerRejection.STALE_ROUND, f"table {table.id} plays round {table.number}, not {asked.round}")
    if table.phase is not Phase.OPEN:
        raise Refused(WagerRejection.WAGERS_CLOSED, f"wagers on round {table.number} of table {table.id} are closed")
    if not asked.ante:
        raise Refused(WagerRejection.NO_ANTE, f"box {asked.box} has no ante, so no jackpot wager")
    wager_cents = jackpot.configs[table.round.config_version].wager_cents
    if asked.amount_cents != wager_cents:
        raise Refused(WagerRejection.WRONG_AMOUNT, f"the wager is {wager_cents} cents and not {asked.amount_cents}")
    if table.round.standing(asked.box) is not None:
        raise Refused(
            WagerRejection.BOX_ALREADY_WAGERED, f"box {asked.box} has wagered on round {table.number} already"
        )
    if len(table.round.wagers) >= MAX_WAGERS:
        raise Refused(
            WagerRejection.BOX_ALREADY_WAGERED, f"round {table.number} has seen {MAX_WAGERS} wagers: void the round"
        )


def _accepted(jackpot: Jackpot, table: Table, asked: PlaceWager) -> Event:
    """In 2016 the money goes whole into the pools at once; in 1997 it waits for the settlement (reading 16)."""
    version = table.round.config_version if table.round else jackpot.version
    amount = asked.amount_cents
    if INSTRUMENTS[jackpot.instrument].pools_wagers_at_settlement:
        to_jackpot = to_reserve = 0
        transfers: tuple[Transfer, ...] = (Transfer(Account.PLAYERS, Account.WAGERS, amount, Kind.CONTRIBUTION),)
    else:
        to_jackpot, to_reserve = split(jackpot.split_totals[version], amount, jackpot.configs[version].jackpot_bps)
        transfers = (
            Transfer(Account.PLAYERS, Account.JACKPOT, to_jackpot, Kind.CONTRIBUTION),
            Transfer(Account.PLAYERS, Account.RESERVE, to_reserve, Kind.CONTRIBUTION),
        )
        if not (to_jackpot and to_reserve):
            transfers = tuple(transfer for transfer in transfers if transfer.amount_cents)
    data = {
        "box": asked.box,
        "wager_id": asked.wager_id,
        "amount_cents": amount,
        "jackpot_cents": to_jackpot,
        "reserve_cents": to_reserve,
    }
    return Event(EventType.WAGER_ACCEPTED, asked.at, asked.actor.name, table.id, asked.round, data, transfers)
