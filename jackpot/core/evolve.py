"""The state after an event: evolve(state, event) applies the event and decides nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from jackpot.core.administration import config_of
from jackpot.core.events import Event, EventType
from jackpot.core.ledger import posted
from jackpot.core.settlement import flows_of
from jackpot.core.state import (
    Declaration,
    Jackpot,
    Lock,
    Payout,
    PayoutStatus,
    Phase,
    Proposal,
    Round,
    Table,
    WagerStatus,
    wager_key,
)
from jackpot.core.wager_batch import WagerBatch


def evolve(jackpot: Jackpot, event: Event) -> Jackpot:
    """Return the jackpot after this event."""
    if event.type is EventType.WAGER_ACCEPTED:
        batch = WagerBatch(jackpot)
        batch.post(event)
        return batch.finish()
    balances = posted(jackpot.balances, event.transfers) if event.transfers else jackpot.balances
    change = _JACKPOT_CHANGES.get(event.type)
    if change is not None:
        return change(jackpot._replace(balances=balances), event)
    table, split_version, split_cents = _TABLE_CHANGES[event.type](jackpot, jackpot.tables[event.table or ""], event)
    command = event.data.get("command")
    if command is not None and "scope" not in command:
        answered = (command["digest"], json.dumps(command["answer"], sort_keys=True))
        table = table._replace(commands={**table.commands, command["id"]: answered})
    totals = jackpot.split_totals
    if split_cents:
        totals = {**totals, split_version: totals[split_version] + split_cents}
    return jackpot._replace(split_totals=totals, balances=balances).with_table(table)


MAX_CONFIGS: Final = 50
"""The number of configurations kept in the state, besides those in use; the audit trail has them all."""

Changed = tuple[Table, int, int]
"""The table after an event, a configuration version, and the cents added to its split total."""


def _created(jackpot: Jackpot, event: Event) -> Jackpot:
    config = config_of(event.data["config"])
    return jackpot._replace(
        id=event.data["jackpot"],
        instrument=event.data["instrument"],
        version=config.version,
        configs={config.version: config},
        split_totals={config.version: 0},
    )


def _linked(jackpot: Jackpot, event: Event) -> Jackpot:
    known = jackpot.tables.get(event.table or "") or Table(event.table or "", 0)
    return jackpot.with_table(known._replace(boxes=event.data["boxes"], unlinked=False))


def _retired(jackpot: Jackpot, event: Event) -> Jackpot:
    return _proposal_done(jackpot, event)._replace(retired=True)


def _proposed(jackpot: Jackpot, event: Event) -> Jackpot:
    number = event.data["proposal"]
    kind = event.type.removesuffix("_proposed")
    proposal = Proposal(number, kind, event.actor, event.data["body"], event.data["reason"], event.data["warning"])
    return jackpot._replace(proposals={**jackpot.proposals, number: proposal}, next_proposal=number + 1)


def _config_approved(jackpot: Jackpot, event: Event) -> Jackpot:
    config = config_of(event.data["config"])
    configs = {**jackpot.configs, config.version: config}
    in_use = {table.round.config_version for table in jackpot.tables.values() if table.round}
    kept = {*sorted(configs)[-MAX_CONFIGS:], *in_use}
    totals = {**jackpot.split_totals, config.version: 0}
    return _proposal_done(jackpot, event)._replace(
        version=config.version,
        configs={version: chosen for version, chosen in configs.items() if version in kept},
        split_totals={version: total for version, total in totals.items() if version in kept},
    )


def _proposal_done(jackpot: Jackpot, event: Event) -> Jackpot:
    remaining = {number: p for number, p in jackpot.proposals.items() if number != event.data["proposal"]}
    return jackpot._replace(proposals=remaining)


def _opened(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    number = event.round or 0
    opened = Round(number, event.data["config_version"])
    return table._replace(phase=Phase.OPEN, number=number, round=opened, commands={}), 0, 0


def _closed(_jackpot: Jackpot, table: Table, _event: Event) -> Changed:
    return table._replace(phase=Phase.CLOSED), 0, 0


def _folded(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played, box = _round(table), event.data["box"]
    folded = {**played.folded, box: event.data["reason"]}
    return table._replace(round=played._replace(folded=folded, declared=_without(played.declared, box))), 0, 0


def _unfolded(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played = _round(table)
    return table._replace(round=played._replace(folded=_without(played.folded, event.data["box"]))), 0, 0


def _declared(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played, data = _round(table), event.data
    declaration = Declaration(tuple(data["cards"]), data["displayed_cents"])
    declared = {**played.declared, data["box"]: declaration}
    return table._replace(round=played._replace(declared=declared)), 0, 0


def _settled(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played, data = _round(table), event.data
    flows = flows_of(event.transfers)
    pooled = _pooled(data)
    settled = played._replace(
        payouts=_payouts(data), lock=Lock(**data["lock"]), flows=flows, posted=flows, pooled=pooled
    )
    return table._replace(phase=_phase_after(data), round=settled), played.config_version, sum(map(sum, pooled))


def _confirmed(_jackpot: Jackpot, table: Table, _event: Event) -> Changed:
    played = _round(table)
    paid = tuple(payout._replace(status=PayoutStatus.PAID) for payout in played.payouts)
    return table._replace(phase=Phase.IDLE, round=played._replace(payouts=paid)), 0, 0


def _corrected(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played, data = _round(table), event.data
    declared = dict(played.declared)
    for box, cards in data["hands"].items():
        old = declared.pop(int(box))
        if cards is not None:
            declared[int(box)] = Declaration(tuple(cards), old.displayed_cents)
    pooled = _pooled(data)
    corrected = played._replace(
        declared=declared,
        payouts=_payouts(data),
        flows=data["flows"],
        posted=flows_of(event.transfers, played.posted),
        pooled=pooled,
    )
    added = sum(map(sum, pooled[len(played.pooled) :]))
    return table._replace(phase=_phase_after(data), round=corrected), played.config_version, added


def _hand_voided(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played, data = _round(table), event.data
    key = wager_key(data["box"], data["wager_id"])
    returned = played.wagers[key]._replace(status=WagerStatus.RETURNED, reason=data["reason"])
    changed = played._replace(
        wagers={**played.wagers, key: returned},
        folded=_without(played.folded, data["box"]),
        declared=_without(played.declared, data["box"]),
    )
    return table._replace(round=changed), 0, 0


def _round_voided(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    played, reason = _round(table), event.data["reason"]
    returned = {
        key: wager._replace(status=WagerStatus.RETURNED, reason=reason)
        if wager.status is WagerStatus.ACCEPTED
        else wager
        for key, wager in played.wagers.items()
    }
    voided = played._replace(
        wagers=returned, payouts=(), flows={}, posted={}, pooled=(), declared={}, folded={}, lock=None
    )
    return table._replace(phase=Phase.IDLE, round=voided), 0, 0


def _suspended(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    return table._replace(suspended=table.suspended or event.data["cause"]), 0, 0


def _resumed(_jackpot: Jackpot, table: Table, _event: Event) -> Changed:
    return table._replace(suspended=None), 0, 0


def _unlinked(_jackpot: Jackpot, table: Table, _event: Event) -> Changed:
    return table._replace(unlinked=True, suspended=None, tournament=False, restricted=False), 0, 0


def _mode_set(_jackpot: Jackpot, table: Table, event: Event) -> Changed:
    return table._replace(tournament=event.data["tournament"], restricted=event.data["restricted"]), 0, 0


_JACKPOT_CHANGES: Final[dict[EventType, Callable[[Jackpot, Event], Jackpot]]] = {
    EventType.JACKPOT_CREATED: _created,
    EventType.TABLE_LINKED: _linked,
    EventType.METER_SHOWN: lambda jackpot, _event: jackpot,
    EventType.HISTORY_RECOVERED: lambda jackpot, _event: jackpot,
    EventType.CONFIG_PROPOSED: _proposed,
    EventType.ADJUSTMENT_PROPOSED: _proposed,
    EventType.RETIREMENT_PROPOSED: _proposed,
    EventType.CONFIG_APPROVED: _config_approved,
    EventType.JACKPOT_RETIRED: _retired,
    EventType.ADJUSTMENT_APPROVED: _proposal_done,
    EventType.PROPOSAL_WITHDRAWN: _proposal_done,
}
_TABLE_CHANGES: Final[dict[EventType, Callable[[Jackpot, Table, Event], Changed]]] = {
    EventType.ROUND_OPENED: _opened,
    EventType.WAGERS_CLOSED: _closed,
    EventType.HAND_FOLDED: _folded,
    EventType.HAND_UNFOLDED: _unfolded,
    EventType.HAND_DECLARED: _declared,
    EventType.ROUND_SETTLED: _settled,
    EventType.PAYOUTS_CONFIRMED: _confirmed,
    EventType.ROUND_CORRECTED: _corrected,
    EventType.HAND_VOIDED: _hand_voided,
    EventType.ROUND_VOIDED: _round_voided,
    EventType.TABLE_SUSPENDED: _suspended,
    EventType.TABLE_RESUMED: _resumed,
    EventType.MODE_SET: _mode_set,
    EventType.TABLE_UNLINKED: _unlinked,
}


def _round(table: Table) -> Round:
    if table.round is None:
        raise AssertionError(f"table {table.id} has had no round")
    return table.round


def _payouts(data: Mapping[str, Any]) -> tuple[Payout, ...]:
    return tuple(Payout(**{**plain, "status": PayoutStatus(plain["status"])}) for plain in data["payouts"])


def _pooled(data: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    return tuple((to_jackpot, to_reserve) for to_jackpot, to_reserve in data["pooled"])


def _phase_after(data: Mapping[str, Any]) -> Phase:
    return Phase.IDLE if data["ends"] else Phase.PENDING


def _without(mapping: Mapping[int, Any], box: int) -> Mapping[int, Any]:
    return {key: value for key, value in mapping.items() if key != box}
