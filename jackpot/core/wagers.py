"""Decide a wager: accepted once, or rejected with the first reason that applies."""

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
"""The limit of wagers in one round, voided ones included: more than any table can need."""


def place_wager(jackpot: Jackpot, table: Table, command: PlaceWager) -> Decision:
    """Accept a wager, or refuse it with a reason; a repeat of an accepted one is answered again but not posted."""
    if not 1 <= command.box <= table.boxes:
        raise Refused(
            WagerRejection.UNKNOWN_BOX, f"table {table.id} has boxes 1 to {table.boxes}, and no box {command.box}"
        )
    known = _known(table, command)
    if known is not None:
        return _repeated(known, command)
    _require_acceptable(jackpot, table, command)
    return Decision((_accepted(jackpot, table, command),), {"verdict": "accepted", "reason": None})


def _known(table: Table, command: PlaceWager) -> Wager | None:
    in_round = table.round.wagers.get(wager_key(command.box, command.wager_id)) if table.round else None
    return in_round or command.earlier


def _repeated(known: Wager, command: PlaceWager) -> Decision:
    """Repeat the answer if the content is the same; refuse any other content."""
    if not command.ante or (known.round, known.amount_cents) != (command.round, command.amount_cents):
        raise Refused(
            WagerRejection.WAGER_ID_REUSED,
            f"wager {command.wager_id} was accepted with other content:"
            f" round {known.round}, {known.amount_cents} cents",
        )
    if known.status is WagerStatus.RETURNED:
        return Decision((), {"verdict": "returned", "reason": known.reason})
    return Decision((), {"verdict": "accepted", "reason": None})


def _require_acceptable(jackpot: Jackpot, table: Table, command: PlaceWager) -> None:
    """Check the protocol's reasons for a rejection, in its order."""
    if table.suspended:
        raise Refused(WagerRejection.TABLE_SUSPENDED, f"table {table.id} is suspended: {table.suspended}")
    if table.tournament and table.restricted:
        raise Refused(WagerRejection.TOURNAMENT, f"the tournament at table {table.id} does not allow jackpot wagers")
    if table.phase is Phase.IDLE or table.round is None:
        raise Refused(WagerRejection.NO_OPEN_ROUND, f"table {table.id} has no round open")
    if command.round != table.number:
        raise Refused(WagerRejection.STALE_ROUND, f"table {table.id} plays round {table.number}, not {command.round}")
    if table.phase is not Phase.OPEN:
        raise Refused(WagerRejection.WAGERS_CLOSED, f"wagers on round {table.number} of table {table.id} are closed")
    if not command.ante:
        raise Refused(WagerRejection.NO_ANTE, f"box {command.box} has no ante, so it cannot place a jackpot wager")
    wager_cents = jackpot.configs[table.round.config_version].wager_cents
    if command.amount_cents != wager_cents:
        raise Refused(WagerRejection.WRONG_AMOUNT, f"the wager is {wager_cents} cents, not {command.amount_cents}")
    if table.round.standing(command.box) is not None:
        raise Refused(
            WagerRejection.BOX_ALREADY_WAGERED, f"box {command.box} has already wagered on round {table.number}"
        )
    if len(table.round.wagers) >= MAX_WAGERS:
        raise Refused(
            WagerRejection.BOX_ALREADY_WAGERED, f"round {table.number} has had {MAX_WAGERS} wagers: void the round"
        )


def _accepted(jackpot: Jackpot, table: Table, command: PlaceWager) -> Event:
    """Return the event: in 2016 the money goes into the pools at once; in 1997 at the settlement (reading 16)."""
    version = table.round.config_version if table.round else jackpot.version
    amount = command.amount_cents
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
        "box": command.box,
        "wager_id": command.wager_id,
        "amount_cents": amount,
        "jackpot_cents": to_jackpot,
        "reserve_cents": to_reserve,
    }
    return Event(EventType.WAGER_ACCEPTED, command.at, command.actor.name, table.id, command.round, data, transfers)
