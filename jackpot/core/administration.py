"""Decisions outside play: creating and linking, suspension, tournament mode, and changes under two-person control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jackpot.core.commands import (
    Actor,
    Approve,
    CreateJackpot,
    LinkTable,
    ProposeAdjustment,
    ProposeConfig,
    ProposeRetirement,
    RecordShown,
    RecoverHistory,
    ReportMalfunction,
    ResumeTable,
    SetMode,
    UnlinkTable,
    Withdraw,
)
from jackpot.core.events import Event, EventType
from jackpot.core.ledger import NEVER_NEGATIVE, POOLS, Account, Kind, Transfer
from jackpot.core.results import CommandError, Decision, Refused
from jackpot.core.rounds import require_supervisor
from jackpot.core.state import Config, Jackpot, Phase, Proposal, Table
from rules.errors import OptionError
from rules.jackpot_prizes import WHOLE_BPS, FixedFrom
from rules.odds import Configuration, prize_table, solvency

MAX_BOXES: Final = 20
MAX_WAGER_CENTS: Final = 10**8
MAX_POOL_CENTS: Final = 10**13
CAUSES: Final = ("dealer_report", "pad_offline", "display", "store")
"""The causes for which a table can be suspended, as in its state."""
MAX_PROPOSALS: Final = 100
MOVABLE: Final = (Account.JACKPOT, Account.RESERVE, Account.HOUSE, Account.HOUSE_ADVANCE, Account.PLAYERS)


def create_jackpot(jackpot: Jackpot, command: CreateJackpot) -> Decision:
    """Create the jackpot; money that the operator advances to its pools is recorded as owed back."""
    _require_manager(command.actor)
    if jackpot.id:
        raise Refused(CommandError.CONFLICT, f"the jackpot {jackpot.id} exists already")
    try:
        prizes = prize_table(command.instrument)
    except OptionError as error:
        raise Refused(CommandError.CONFLICT, str(error)) from None
    _require_sensible(command.config, (*prizes.percent, *prizes.fixed_cents))
    if command.approved_by in ("", command.actor.name):
        raise Refused(CommandError.SAME_PERSON, "the first configuration needs the approval of a second manager too")
    amounts = ((Account.JACKPOT, command.jackpot_cents), (Account.RESERVE, command.reserve_cents))
    for pool, cents in amounts:
        if type(cents) is not int or not 0 <= cents <= MAX_POOL_CENTS:
            raise Refused(CommandError.CONFLICT, f"the {pool} pool cannot open with {cents} cents")
    transfers = tuple(Transfer(Account.HOUSE_ADVANCE, pool, c, Kind.ADVANCE) for pool, c in amounts if c)
    data = {
        "jackpot": command.jackpot,
        "instrument": command.instrument,
        "config": plain_config(command.config._replace(version=1)),
        "approved_by": command.approved_by,
    }
    event = Event(EventType.JACKPOT_CREATED, command.at, command.actor.name, None, None, data, transfers)
    return Decision((event,), {"jackpot": command.jackpot})


def link_table(jackpot: Jackpot, command: LinkTable) -> Decision:
    """Link a table to the jackpot, for the first time or again."""
    _require_manager(command.actor)
    _require_living(jackpot)
    known = jackpot.tables.get(command.table)
    if known is not None and not known.unlinked:
        raise Refused(CommandError.CONFLICT, f"table {command.table} is linked already")
    if type(command.boxes) is not int or not 1 <= command.boxes <= MAX_BOXES:
        raise Refused(CommandError.CONFLICT, f"a table has 1 to {MAX_BOXES} boxes, not {command.boxes}")
    event = Event(EventType.TABLE_LINKED, command.at, command.actor.name, command.table, None, {"boxes": command.boxes})
    return Decision((event,), {"table": command.table})


def unlink_table(jackpot: Jackpot, command: UnlinkTable) -> Decision:
    """Unlink a table between rounds; its rounds, wagers and ids are kept."""
    _require_manager(command.actor)
    table = jackpot.tables.get(command.table)
    if table is None or table.unlinked:
        raise Refused(CommandError.UNKNOWN_TABLE, f"no table {command.table} is linked to the jackpot {jackpot.id}")
    if table.phase is not Phase.IDLE:
        raise Refused(
            CommandError.WRONG_PHASE, f"round {table.number} of table {table.id} is {table.phase}: end it first"
        )
    if not command.reason.strip():
        raise Refused(CommandError.MALFORMED, "give a reason: it is kept in the audit trail")
    data = {"reason": command.reason}
    event = Event(EventType.TABLE_UNLINKED, command.at, command.actor.name, table.id, table.number, data)
    return Decision((event,), {"table": table.id})


def propose_retirement(jackpot: Jackpot, command: ProposeRetirement) -> Decision:
    """Propose to retire the jackpot; the players' money goes to another jackpot, never to the operator."""
    _require_proposer(jackpot, command.actor, command.reason)
    _require_living(jackpot)
    if command.heir in ("", jackpot.id):
        raise Refused(CommandError.CONFLICT, "name another jackpot to receive the money")
    pooled = sum(jackpot.balances[pool] for pool in POOLS)
    data = {
        "proposal": jackpot.next_proposal,
        "body": {"heir": command.heir},
        "reason": command.reason,
        "warning": f"{pooled} cents of the pools go on to {command.heir} by hand",
    }
    event = Event(EventType.RETIREMENT_PROPOSED, command.at, command.actor.name, None, None, data)
    return Decision((event,), {"proposal": jackpot.next_proposal, "warning": data["warning"]})


def report_malfunction(table: Table, command: ReportMalfunction) -> Decision:
    """Suspend the table: no new wagers, but the round may be played to its end (reading 14)."""
    if command.cause not in CAUSES:
        raise Refused(
            CommandError.MALFORMED, f"unknown cause {command.cause!r}: a table is suspended for {', '.join(CAUSES)}"
        )
    data = {"cause": command.cause, "equipment": command.equipment, "note": command.note}
    return Decision(
        (Event(EventType.TABLE_SUSPENDED, command.at, command.actor.name, table.id, table.number, data),), {}
    )


def record_shown(_jackpot: Jackpot, command: RecordShown) -> Decision:
    """Record what a display showed, as evidence of the meter that players saw."""
    data = {
        "display": command.display,
        "amount_cents": command.amount_cents,
        "epoch": command.epoch,
        "seq": command.seq,
        "right": command.right,
    }
    return Decision((Event(EventType.METER_SHOWN, command.at, command.actor.name, None, None, data),), {})


def recover_history(_jackpot: Jackpot, command: RecoverHistory) -> Decision:
    """Record which events the store has lost; the state stays as it is."""
    data = recovery_data(command)
    return Decision((Event(EventType.HISTORY_RECOVERED, command.at, command.actor.name, None, None, data),), {})


def recovery_data(command: RecoverHistory) -> dict[str, Any]:
    """Return the data of the event of a recovery; two different managers must agree to it, with a reason."""
    _require_manager(command.actor)
    _require_manager(command.second)
    if command.actor.name == command.second.name:
        raise Refused(CommandError.SAME_PERSON, "a recovery needs two managers: give the token of another one, too")
    if not command.reason.strip():
        raise Refused(CommandError.MALFORMED, "give a reason: it is kept in the audit trail")
    return {
        "from_seq": command.from_seq,
        "to_seq": command.to_seq,
        "lost_head": command.lost_head,
        "epoch": command.epoch,
        "reason": command.reason,
        "approved_by": command.second.name,
    }


def resume_table(table: Table, command: ResumeTable) -> Decision:
    """Resume a suspended table, which needs a supervisor's approval (r 14.5)."""
    require_supervisor(command.actor)
    if not table.suspended:
        raise Refused(CommandError.WRONG_PHASE, f"table {table.id} is not suspended")
    data = {"after": table.suspended, "note": command.note}
    return Decision((Event(EventType.TABLE_RESUMED, command.at, command.actor.name, table.id, table.number, data),), {})


def set_mode(table: Table, command: SetMode) -> Decision:
    """Set tournament mode, and whether its conditions restrict jackpot wagers (reading 15)."""
    _require_manager(command.actor)
    data = {"tournament": command.tournament, "restricted": command.restricted}
    return Decision((Event(EventType.MODE_SET, command.at, command.actor.name, table.id, table.number, data),), data)


def propose_config(jackpot: Jackpot, command: ProposeConfig) -> Decision:
    """Propose a configuration; one that would drain the reserve is not refused, but the answer carries a warning."""
    _require_proposer(jackpot, command.actor, command.reason)
    _require_living(jackpot)
    prizes = prize_table(jackpot.instrument)
    _require_sensible(command.config, (*prizes.percent, *prizes.fixed_cents))
    warning = _solvency_warning(jackpot.instrument, command.config)
    body = plain_config(command.config._replace(version=0))
    data = {"proposal": jackpot.next_proposal, "body": body, "reason": command.reason, "warning": warning}
    event = Event(EventType.CONFIG_PROPOSED, command.at, command.actor.name, None, None, data)
    return Decision((event,), {"proposal": jackpot.next_proposal, "warning": warning})


def propose_adjustment(jackpot: Jackpot, command: ProposeAdjustment) -> Decision:
    """Propose to move money by hand, with a reason."""
    _require_proposer(jackpot, command.actor, command.reason)
    if command.source == command.target or not {command.source, command.target} <= set(MOVABLE):
        raise Refused(CommandError.CONFLICT, f"money cannot be moved by hand from {command.source} to {command.target}")
    if type(command.amount_cents) is not int or not 1 <= command.amount_cents <= MAX_POOL_CENTS:
        raise Refused(
            CommandError.CONFLICT, f"an adjustment moves 1 to {MAX_POOL_CENTS} cents, not {command.amount_cents}"
        )
    body = {
        "source": command.source.value,
        "target": command.target.value,
        "amount_cents": command.amount_cents,
        "table": command.table,
        "round": command.round,
    }
    _adjustment(jackpot, body)
    _require_round(jackpot, command)
    data = {"proposal": jackpot.next_proposal, "body": body, "reason": command.reason, "warning": None}
    event = Event(EventType.ADJUSTMENT_PROPOSED, command.at, command.actor.name, command.table, command.round, data)
    return Decision((event,), {"proposal": jackpot.next_proposal, "warning": None})


def approve(jackpot: Jackpot, command: Approve) -> Decision:
    """Approve a proposal, as a second manager; never the one who proposed it."""
    _require_manager(command.actor)
    proposal = _require_proposal(jackpot, command.proposal)
    if proposal.by == command.actor.name:
        raise Refused(CommandError.SAME_PERSON, f"{command.actor.name} proposed this: another manager must approve it")
    data: dict[str, Any] = {"proposal": proposal.number, "proposed_by": proposal.by, "reason": proposal.reason}
    if proposal.kind == "config":
        version = max(jackpot.configs) + 1
        data["config"] = {**proposal.body, "version": version}
        event = Event(EventType.CONFIG_APPROVED, command.at, command.actor.name, None, None, data)
        return Decision((event,), {"version": version})
    if proposal.kind == "retirement":
        return _retire(jackpot, command, {**data, **proposal.body})
    transfer = _adjustment(jackpot, proposal.body)
    where = proposal.body["table"], proposal.body["round"]
    event = Event(EventType.ADJUSTMENT_APPROVED, command.at, command.actor.name, *where, data, (transfer,))
    return Decision((event,), {"moved_cents": transfer.amount_cents})


def _retire(jackpot: Jackpot, command: Approve, data: dict[str, Any]) -> Decision:
    """Retire the jackpot: the house holds the money of its pools until the heir receives it by an adjustment."""
    _require_living(jackpot)
    playing = sorted(table.id for table in jackpot.tables.values() if table.phase is not Phase.IDLE)
    if playing:
        raise Refused(CommandError.WRONG_PHASE, f"a round is being played at {', '.join(playing)}: end it first")
    held = [(pool, jackpot.balances[pool]) for pool in (Account.JACKPOT, Account.RESERVE)]
    transfers = tuple(Transfer(pool, Account.HOUSE, cents, Kind.ADJUSTMENT) for pool, cents in held if cents)
    event = Event(EventType.JACKPOT_RETIRED, command.at, command.actor.name, None, None, data, transfers)
    return Decision((event,), {"heir": data["heir"], "moved_cents": sum(cents for _, cents in held)})


def withdraw(jackpot: Jackpot, command: Withdraw) -> Decision:
    """Withdraw a proposal, as any manager."""
    _require_manager(command.actor)
    proposal = _require_proposal(jackpot, command.proposal)
    data = {"proposal": proposal.number, "reason": command.reason}
    return Decision((Event(EventType.PROPOSAL_WITHDRAWN, command.at, command.actor.name, None, None, data),), {})


def plain_config(config: Config) -> dict[str, Any]:
    """Return a configuration as plain data for JSON."""
    return {**config._asdict(), "fixed_prizes_from": config.fixed_prizes_from.value, "confirm": list(config.confirm)}


def config_of(plain: Mapping[str, Any]) -> Config:
    """Return the configuration of such plain data."""
    values = {**plain, "fixed_prizes_from": FixedFrom(plain["fixed_prizes_from"]), "confirm": tuple(plain["confirm"])}
    return Config(**values)


def _require_manager(actor: Actor) -> None:
    if not actor.manages:
        raise Refused(CommandError.FORBIDDEN, f"{actor.name} may not do this: only a manager may")


def _require_living(jackpot: Jackpot) -> None:
    if jackpot.retired:
        raise Refused(CommandError.CONFLICT, f"the jackpot {jackpot.id} is retired")


def _require_proposer(jackpot: Jackpot, actor: Actor, reason: str) -> None:
    _require_manager(actor)
    if not reason.strip():
        raise Refused(CommandError.MALFORMED, "a proposal needs a reason")
    if len(jackpot.proposals) >= MAX_PROPOSALS:
        raise Refused(
            CommandError.CONFLICT, f"{MAX_PROPOSALS} proposals are waiting already: approve or withdraw some first"
        )


def _require_proposal(jackpot: Jackpot, number: int) -> Proposal:
    proposal = jackpot.proposals.get(number)
    if proposal is None:
        raise Refused(CommandError.UNKNOWN_PROPOSAL, f"there is no proposal {number} waiting for approval")
    return proposal


def _require_sensible(config: Config, prizes: tuple[str, ...]) -> None:
    amounts = (config.wager_cents, config.jackpot_bps, config.reserve_bps, config.reset_cents)
    if any(type(amount) is not int for amount in amounts):
        raise Refused(CommandError.CONFLICT, "amounts must be whole cents and shares whole basis points")
    if config.jackpot_bps + config.reserve_bps != WHOLE_BPS or min(config.jackpot_bps, config.reserve_bps) < 0:
        shares = f"{config.jackpot_bps} and {config.reserve_bps}"
        raise Refused(CommandError.CONFLICT, f"the split must add up to {WHOLE_BPS} basis points; {shares} do not")
    if not 1 <= config.wager_cents <= MAX_WAGER_CENTS:
        raise Refused(CommandError.CONFLICT, f"a wager must be 1 to {MAX_WAGER_CENTS} cents, not {config.wager_cents}")
    if not 0 <= config.reset_cents <= MAX_POOL_CENTS:
        raise Refused(CommandError.CONFLICT, f"a reset must be 0 to {MAX_POOL_CENTS} cents, not {config.reset_cents}")
    unknown = sorted(set(config.confirm) - set(prizes))
    if unknown:
        raise Refused(
            CommandError.CONFLICT, f"cannot require confirmation of {', '.join(unknown)}: not a prize of this jackpot"
        )


def _require_round(jackpot: Jackpot, command: ProposeAdjustment) -> None:
    """Refuse an adjustment that names an unknown round; one to or from players must name a round (r 16.5)."""
    if command.table is None and command.round is None and Account.PLAYERS not in (command.source, command.target):
        return
    table = jackpot.tables.get(command.table or "")
    if table is None or command.round is None or not 1 <= command.round <= table.number:
        raise Refused(CommandError.CONFLICT, "name the table and one of its rounds")


def _solvency_warning(instrument: str, config: Config) -> str | None:
    proposed = Configuration(config.wager_cents, config.jackpot_bps, config.reset_cents, config.fixed_prizes_from)
    reserve = solvency(prize_table(instrument), proposed)
    if not reserve.starves:
        return None
    loss = round(-reserve.drift * 100_000)
    return f"the reserve would lose {loss // 1000}.{loss % 1000:03d} cents a wager on average: it would starve"


def _adjustment(jackpot: Jackpot, body: Mapping[str, Any]) -> Transfer:
    """Return the transfer of an adjustment; refuse it if the money is not there or the advance is not owed."""
    source, target, cents = Account(body["source"]), Account(body["target"]), int(body["amount_cents"])
    if target in POOLS:
        _require_living(jackpot)
    if target in POOLS and jackpot.balances[target] + cents > MAX_POOL_CENTS:
        raise Refused(CommandError.CONFLICT, f"the {target} pool cannot hold more than {MAX_POOL_CENTS} cents")
    held = jackpot.balances[source]
    if source in NEVER_NEGATIVE and held < cents:
        raise Refused(CommandError.INSUFFICIENT, f"the account {source} holds only {held} cents, not {cents}")
    if target is Account.HOUSE_ADVANCE:
        owed = -jackpot.balances[Account.HOUSE_ADVANCE]
        if source not in POOLS or cents > owed:
            raise Refused(
                CommandError.INSUFFICIENT, f"the pools owe {owed} cents of advances, and only pools can repay them"
            )
        return Transfer(source, target, cents, Kind.REPAYMENT)
    kind = Kind.ADVANCE if source is Account.HOUSE_ADVANCE else Kind.ADJUSTMENT
    return Transfer(source, target, cents, kind)
