"""A jackpot's state as plain data and back, in the parts that the state tables hold.

Wagers are left out: they have a table of their own, and each new wager would write them all again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from jackpot.core.administration import config_of, plain_config
from jackpot.core.ledger import Account
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
    Wager,
    wager_key,
)

WHOLE: Final = "jackpot"
"""The part that holds the jackpot itself; every other part is named after its table."""

Plain = dict[str, Any]


def parts_of(jackpot: Jackpot, tables: Iterable[str] | None = None) -> dict[str, Plain]:
    """Return the parts of the state, ready for JSON: the jackpot itself and the given tables (or all)."""
    chosen = jackpot.tables if tables is None else tables
    return {WHOLE: _plain_whole(jackpot)} | {f"table:{table}": _plain_table(jackpot.tables[table]) for table in chosen}


def jackpot_of(
    parts: Mapping[str, Plain], balances: Mapping[str, int], wagers: Mapping[str, Iterable[Wager]]
) -> Jackpot:
    """Return the state from its parts, the balances, and the wagers of each table's last round."""
    whole = parts[WHOLE]
    tables = [_table(plain, wagers.get(plain["id"], ())) for part, plain in sorted(parts.items()) if part != WHOLE]
    configs = [config_of(plain) for plain in whole["configs"]]
    return Jackpot(
        id=whole["id"],
        instrument=whole["instrument"],
        retired=whole["retired"],
        version=whole["version"],
        configs={config.version: config for config in configs},
        split_totals={int(version): total for version, total in whole["split_totals"].items()},
        balances={account: balances[account] for account in Account},
        tables={table.id: table for table in tables},
        proposals={plain["number"]: Proposal(**plain) for plain in whole["proposals"]},
        next_proposal=whole["next_proposal"],
    )


def _plain_whole(jackpot: Jackpot) -> Plain:
    return {
        "id": jackpot.id,
        "instrument": jackpot.instrument,
        "retired": jackpot.retired,
        "version": jackpot.version,
        "configs": [plain_config(config) for config in jackpot.configs.values()],
        "split_totals": {str(version): total for version, total in jackpot.split_totals.items()},
        "proposals": [proposal._asdict() for proposal in jackpot.proposals.values()],
        "next_proposal": jackpot.next_proposal,
    }


def _plain_table(table: Table) -> Plain:
    return {**table._asdict(), "round": None if table.round is None else _plain_round(table.round)}


def _plain_round(played: Round) -> Plain:
    return {
        "number": played.number,
        "config_version": played.config_version,
        "folded": {str(box): reason for box, reason in played.folded.items()},
        "declared": {str(box): hand for box, hand in played.declared.items()},
        "payouts": played.payouts,
        "lock": played.lock,
        "flows": dict(played.flows),
        "posted": dict(played.posted),
        "pooled": played.pooled,
    }


def _table(plain: Plain, wagers: Iterable[Wager]) -> Table:
    played = plain["round"]
    commands = {key: (digest, answer) for key, (digest, answer) in plain["commands"].items()}
    values = {**plain, "phase": Phase(plain["phase"]), "commands": commands}
    return Table(**{**values, "round": None if played is None else _round(played, wagers)})


def _round(plain: Plain, wagers: Iterable[Wager]) -> Round:
    return Round(
        number=plain["number"],
        config_version=plain["config_version"],
        wagers={wager_key(wager.box, wager.wager_id): wager for wager in wagers},
        folded={int(box): reason for box, reason in plain["folded"].items()},
        declared={int(box): Declaration(tuple(cards), cents) for box, (cards, cents) in plain["declared"].items()},
        payouts=tuple(_payout(values) for values in plain["payouts"]),
        lock=None if plain["lock"] is None else Lock(*plain["lock"]),
        flows=plain["flows"],
        posted=plain["posted"],
        pooled=tuple((to_jackpot, to_reserve) for to_jackpot, to_reserve in plain["pooled"]),
    )


def _payout(values: list[Any]) -> Payout:
    payout = Payout(*values)
    return payout._replace(status=PayoutStatus(payout.status))
