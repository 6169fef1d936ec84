"""What is not play: creating and linking, suspension, tournament mode, and changes under two-person control."""

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
"""Why a table can be suspended, as its state tells it."""
MAX_PROPOSALS: Final = 100
MOVABLE: Final = (Account.JACKPOT, Account.RESERVE, Account.HOUSE, Account.HOUSE_ADVANCE, Account.PLAYERS)


def create_jackpot(jackpot: Jackpot, asked: CreateJackpot) -> Decision:
    """A jackpot begins; what the operator advances to its pools is recorded as owed back."""
    _require_manager(asked.actor)
    if jackpot.id:
        raise Refused(CommandError.CONFLICT, f"the jackpot {jackpot.id} exists already")
    try:
        prizes = prize_table(asked.instrument)
    except OptionError as error:
        raise Refused(CommandError.CONFLICT, str(error)) from None
    _require_sensible(asked.config, (*prizes.percent, *prizes.fixed_cents))
    if asked.approved_by in ("", asked.actor.name):
        raise Refused(CommandError.SAME_PERSON, "the first configuration too needs a second manager")
    amounts = ((Account.JACKPOT, asked.jackpot_cents), (Account.RESERVE, asked.reserve_cents))
    for pool, cents in amounts:
        if type(cents) is not int or not 0 <= cents <= MAX_POOL_CENTS:
            raise Refused(CommandError.CONFLICT, f"the {pool} pool cannot open with {cents} cents")
    transfers = tuple(Transfer(Account.HOUSE_ADVANCE, pool, c, Kind.ADVANCE) for pool, c in amounts if c)
    data = {
        "jackpot": asked.jackpot,
        "instrument": asked.instrument,
        "config": plain_config(asked.config._replace(version=1)),
        "approved_by": asked.approved_by,
    }
    event = Event(EventType.JACKPOT_CREATED, asked.at, asked.actor.name, None, None, data, transfers)
    return Decision((event,), {"jackpot": asked.jackpot})


def link_table(jackpot: Jackpot, asked: LinkTable) -> Decision:
    """A table joins the jackpot, for the first time or again."""
    _require_manager(asked.actor)
    _require_living(jackpot)
    known = jackpot.tables.get(asked.table)
    if known is not None and not known.unlinked:
        raise Refused(CommandError.CONFLICT, f"table {asked.table} is linked already")
    if type(asked.boxes) is not int or not 1 <= asked.boxes <= MAX_BOXES:
        raise Refused(CommandError.CONFLICT, f"a table has 1 to {MAX_BOXES} boxes, not {asked.boxes}")
    event = Event(EventType.TABLE_LINKED, asked.at, asked.actor.name, asked.table, None, {"boxes": asked.boxes})
    return Decision((event,), {"table": asked.table})


def unlink_table(jackpot: Jackpot, asked: UnlinkTable) -> Decision:
    """A table leaves the jackpot between rounds; its rounds, wagers and ids are remembered."""
    _require_manager(asked.actor)
    table = jackpot.tables.get(asked.table)
    if table is None or table.unlinked:
        raise Refused(CommandError.UNKNOWN_TABLE, f"no table {asked.table} is linked to the jackpot {jackpot.id}")
    if table.phase is not Phase.IDLE:
        raise Refused(
            CommandError.WRONG_PHASE, f"round {table.number} of table {table.id} is {table.phase}: end it first"
        )
    if not asked.reason.strip():
        raise Refused(CommandError.MALFORMED, "this needs a reason: it stays in the audit trail")
    data = {"reason": asked.reason}
    event = Event(EventType.TABLE_UNLINKED, asked.at, asked.actor.name, table.id, table.number, data)
    return Decision((event,), {"table": table.id})


def propose_retirement(jackpot: Jackpot, asked: ProposeRetirement) -> Decision:
    """One manager proposes that the jackpot ends; the players' money goes on to another one, never to the operator."""
    _require_proposer(jackpot, asked.actor, asked.reason)
    _require_living(jackpot)
    if asked.heir in ("", jackpot.id):
        raise Refused(CommandError.CONFLICT, "name another jackpot that the money goes on to")
    data = {
        "proposal": jackpot.next_proposal,
        "body": {"heir": asked.heir},
        "reason": asked.reason,
        "warning": f"{sum(jackpot.balances[pool] for pool in POOLS)} cents of the pools go on to {asked.heir} by hand",
    }
    event = Event(EventType.RETIREMENT_PROPOSED, asked.at, asked.actor.name, None, None, data)
    return Decision((event,), {"proposal": jackpot.next_proposal, "warning": data["warning"]})


def report_malfunction(table: Table, asked: ReportMalfunction) -> Decision:
    """The table is suspended: no new wagers, the round may be played to its end (reading 14)."""
    if asked.cause not in CAUSES:
        raise Refused(CommandError.MALFORMED, f"a table is suspended for {', '.join(CAUSES)}, not for {asked.cause!r}")
    data = {"cause": asked.cause, "equipment": asked.equipment, "note": asked.note}
    return Decision((Event(EventType.TABLE_SUSPENDED, asked.at, asked.actor.name, table.id, table.number, data),), {})


def record_shown(_jackpot: Jackpot, asked: RecordShown) -> Decision:
    """What a display showed, for those who ask later whether players saw the meter."""
    data = {
        "display": asked.display,
        "amount_cents": asked.amount_cents,
        "epoch": asked.epoch,
        "seq": asked.seq,
        "right": asked.right,
    }
    return Decision((Event(EventType.METER_SHOWN, asked.at, asked.actor.name, None, None, data),), {})


def resume_table(table: Table, asked: ResumeTable) -> Decision:
    """Only a supervisor's approval lets a suspended table play on (r 14.5)."""
    require_supervisor(asked.actor)
    if not table.suspended:
        raise Refused(CommandError.WRONG_PHASE, f"table {table.id} is not suspended")
    data = {"after": table.suspended, "note": asked.note}
    return Decision((Event(EventType.TABLE_RESUMED, asked.at, asked.actor.name, table.id, table.number, data),), {})


def set_mode(table: Table, asked: SetMode) -> Decision:
    """Tournament mode, and whether its conditions restrict jackpot wagers (reading 15)."""
    _require_manager(asked.actor)
    data = {"tournament": asked.tournament, "restricted": asked.restricted}
    return Decision((Event(EventType.MODE_SET, asked.at, asked.actor.name, table.id, table.number, data),), data)


def propose_config(jackpot: Jackpot, asked: ProposeConfig) -> Decision:
    """One manager proposes; a reserve that would starve is not refused, but the figure is stated."""
    _require_proposer(jackpot, asked.actor, asked.reason)
    _require_living(jackpot)
    prizes = prize_table(jackpot.instrument)
    _require_sensible(asked.config, (*prizes.percent, *prizes.fixed_cents))
    warning = _solvency_warning(jackpot.instrument, asked.config)
    body = plain_config(asked.config._replace(version=0))
    data = {"proposal": jackpot.next_proposal, "body": body, "reason": asked.reason, "warning": warning}
    event = Event(EventType.CONFIG_PROPOSED, asked.at, asked.actor.name, None, None, data)
    return Decision((event,), {"proposal": jackpot.next_proposal, "warning": warning})


def propose_adjustment(jackpot: Jackpot, asked: ProposeAdjustment) -> Decision:
    """One manager proposes to move money by hand; the reason stays with it."""
    _require_proposer(jackpot, asked.actor, asked.reason)
    if asked.source == asked.target or not {asked.source, asked.target} <= set(MOVABLE):
        raise Refused(CommandError.CONFLICT, f"money cannot be moved by hand from {asked.source} to {asked.target}")
    if type(asked.amount_cents) is not int or not 1 <= asked.amount_cents <= MAX_POOL_CENTS:
        raise Refused(CommandError.CONFLICT, f"an adjustment moves at least a cent, not {asked.amount_cents}")
    body = {
        "source": asked.source.value,
        "target": asked.target.value,
        "amount_cents": asked.amount_cents,
        "table": asked.table,
        "round": asked.round,
    }
    _adjustment(jackpot, body)
    _require_round(jackpot, asked)
    data = {"proposal": jackpot.next_proposal, "body": body, "reason": asked.reason, "warning": None}
    event = Event(EventType.ADJUSTMENT_PROPOSED, asked.at, asked.actor.name, asked.table, asked.round, data)
    return Decision((event,), {"proposal": jackpot.next_proposal, "warning": None})


def approve(jackpot: Jackpot, asked: Approve) -> Decision:
    """A second manager approves; never the one who proposed."""
    _require_manager(asked.actor)
    proposal = _require_proposal(jackpot, asked.proposal)
    if proposal.by == asked.actor.name:
        raise Refused(CommandError.SAME_PERSON, f"{asked.actor.name} proposed this: another manager must approve it")
    data: dict[str, Any] = {"proposal": proposal.number, "proposed_by": proposal.by, "reason": proposal.reason}
    if proposal.kind == "config":
        version = max(jackpot.configs) + 1
        data["config"] = {**proposal.body, "version": version}
        event = Event(EventType.CONFIG_APPROVED, asked.at, asked.actor.name, None, None, data)
        return Decision((event,), {"version": version})
    if proposal.kind == "retirement":
        return _retire(jackpot, asked, {**data, **proposal.body})
    transfer = _adjustment(jackpot, proposal.body)
    where = proposal.body["table"], proposal.body["round"]
    event = Event(EventType.ADJUSTMENT_APPROVED, asked.at, asked.actor.name, *where, data, (transfer,))
    return Decision((event,), {"moved_cents": transfer.amount_cents})


def _retire(jackpot: Jackpot, asked: Approve, data: dict[str, Any]) -> Decision:
    """The jackpot ends: what is in its pools leaves them, in custody for the heir, which takes it by an adjustment."""
    _require_living(jackpot)
    playing = sorted(table.id for table in jackpot.tables.values() if table.phase is not Phase.IDLE)
    if playing:
        raise Refused(CommandError.WRONG_PHASE, f"a round is being played at {', '.join(playing)}: end it first")
    held = [(pool, jackpot.balances[pool]) for pool in (Account.JACKPOT, Account.RESERVE)]
    transfers = tuple(Transfer(pool, Account.HOUSE, cents, Kind.ADJUSTMENT) for pool, cents in held if cents)
    event = Event(EventType.JACKPOT_RETIRED, asked.at, asked.actor.name, None, None, data, transfers)
    return Decision((event,), {"heir": data["heir"], "moved_cents": sum(cents for _, cents in held)})


def withdraw(jackpot: Jackpot, asked: Withdraw) -> Decision:
    """Any manager may take a proposal off the list."""
    _require_manager(asked.actor)
    proposal = _require_proposal(jackpot, asked.proposal)
    data = {"proposal": proposal.number, "reason": asked.reason}
    return Decision((Event(EventType.PROPOSAL_WITHDRAWN, asked.at, asked.actor.name, None, None, data),), {})


def plain_config(config: Config) -> dict[str, Any]:
    """A configuration ready for JSON."""
    return {**config._asdict(), "fixed_prizes_from": config.fixed_prizes_from.value, "confirm": list(config.confirm)}


def config_of(plain: Mapping[str, Any]) -> Config:
    """A configuration read back."""
    values = {**plain, "fixed_prizes_from": FixedFrom(plain["fixed_prizes_from"]), "confirm": tuple(plain["confirm"])}
    return Config(**values)


def _require_manager(actor: Actor) -> None:
    if not actor.manages:
        raise Refused(CommandError.FORBIDDEN, f"{actor.name} may not do this: it is a manager's act")


def _require_living(jackpot: Jackpot) -> None:
    if jackpot.retired:
        raise Refused(CommandError.CONFLICT, f"the jackpot {jackpot.id} is retired")


def _require_proposer(jackpot: Jackpot, actor: Actor, reason: str) -> None:
    _require_manager(actor)
    if not reason.strip():
        raise Refused(CommandError.MALFORMED, "a proposal needs a reason")
    if len(jackpot.proposals) >= MAX_PROPOSALS:
        raise Refused(CommandError.CONFLICT, f"{MAX_PROPOSALS} proposals wait already: approve or withdraw some first")


def _require_proposal(jackpot: Jackpot, number: int) -> Proposal:
    proposal = jackpot.proposals.get(number)
    if proposal is None:
        raise Refused(CommandError.UNKNOWN_PROPOSAL, f"no proposal {number} waits for approval")
    return proposal


def _require_sensible(config: Config, prizes: tuple[str, ...]) -> None:
    amounts = (config.wager_cents, config.jackpot_bps, config.reserve_bps, config.reset_cents)
    if any(type(amount) is not int for amount in amounts):
        raise Refused(CommandError.CONFLICT, "amounts are whole cents and shares whole basis points")
    if config.jackpot_bps + config.reserve_bps != WHOLE_BPS or min(config.jackpot_bps, config.reserve_bps) < 0:
        shares = f"{config.jackpot_bps} and {config.reserve_bps}"
        raise Refused(CommandError.CONFLICT, f"the split must sum to {WHOLE_BPS} basis points, and {shares} do not")
    if not 1 <= config.wager_cents <= MAX_WAGER_CENTS:
        raise Refused(CommandError.CONFLICT, f"a wager of {config.wager_cents} cents makes no sense")
    if not 0 <= config.reset_cents <= MAX_POOL_CENTS:
        raise Refused(CommandError.CONFLICT, f"a reset to {config.reset_cents} cents makes no sense")
    unknown = sorted(set(config.confirm) - set(prizes))
    if unknown:
        raise Refused(CommandError.CONFLICT, f"{', '.join(unknown)} is no prize of this jackpot, so none to confirm")


def _require_round(jackpot: Jackpot, asked: ProposeAdjustment) -> None:
    """A round is named with its table, and both exist; money to or from players always names one (r 16.5)."""
    if asked.table is None and asked.round is None and Account.PLAYERS not in (asked.source, asked.target):
        return
    table = jackpot.tables.get(asked.table or "")
    if table is None or asked.round is None or not 1 <= asked.round <= table.number:
        raise Refused(CommandError.CONFLICT, "name the table and a round it has played")


def _solvency_warning(instrument: str, config: Config) -> str | None:
    asked = Configuration(config.wager_cents, config.jackpot_bps, config.reset_cents, config.fixed_prizes_from)
    reserve = solvency(prize_table(instrument), asked)
    if not reserve.starves:
        return None
    loss = round(-reserve.drift * 100_000)
    return f"the reserve would lose {loss // 1000}.{loss % 1000:03d} cents a wager on average: it would starve"


def _adjustment(jackpot: Jackpot, body: Mapping[str, Any]) -> Transfer:
    """The transfer of an adjustment, refused where the money is not there or the advance is not owed."""
    source, target, cents = Account(body["source"]), Account(body["target"]), int(body["amount_cents"])
    if target in POOLS:
        _require_living(jackpot)
    if target in POOLS and jackpot.balances[target] + cents > MAX_POOL_CENTS:
        raise Refused(CommandError.CONFLICT, f"the {target} pool cannot hold more than {MAX_POOL_CENTS} cents")
    held = jackpot.balances[source]
    if source in NEVER_NEGATIVE and held < cents:
        raise Refused(CommandError.INSUFFICIENT, f"the account {source} holds {held} cents, less than {cents}")
    if target is Account.HOUSE_ADVANCE:
        owed = -jackpot.balances[Account.HOUSE_ADVANCE]
        if source not in POOLS or cents > owed:
            raise Refused(
                CommandError.INSUFFICIENT, f"the pools owe {owed} cents of advances, and only pools repay them"
            )
        return Transfer(source, target, cents, Kind.REPAYMENT)
    kind = Kind.ADVANCE if source is Account.HOUSE_ADVANCE else Kind.ADJUSTMENT
    return Transfer(source, target, cents, kind)
