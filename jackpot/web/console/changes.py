"""The changes page: configurations, adjustments and the end of a jackpot by two managers; tables linked by one."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.core.administration import MOVABLE
from jackpot.core.ledger import Account
from jackpot.web.api import adjustments, configs, pools, retirements
from jackpot.web.console.layout import Context
from jackpot.web.formatting import account_name, hand_name, money, share
from rules.jackpot_prizes import FixedFrom
from rules.odds import prize_table

router = APIRouter(include_in_schema=False)

NAMES: Final = {
    "wager_cents": "Wager",
    "jackpot_bps": "To the jackpot pool",
    "reserve_bps": "To the reserve pool",
    "reset_cents": "Reset after a royal flush",
    "fixed_prizes_from": "Fixed prizes are paid from",
    "confirm": "Prizes that need confirmation",
}
"""Labels of a configuration's fields."""


@router.get("/changes")
async def changes(context: Context) -> HTMLResponse:
    """Show the configuration in force, the open proposals, and the forms for new ones."""
    jackpot, state = context.jackpot, context.view.jackpot
    prizes = prize_table(state.instrument)
    found = await configs.configs(context.caller, context.services, jackpot)
    return context.render(
        "console/changes.html",
        state=state,
        configs=found,
        present=next(version for version in found.versions if version.in_force),
        adjustments=await adjustments.adjustments(context.caller, context.services, jackpot),
        retirements=await retirements.retirements(context.caller, context.services, jackpot),
        odds=await pools.odds(_caller=context.caller, services=context.services, jackpot=jackpot),
        heirs=[name for name in sorted(context.services.jackpots) if name != jackpot],
        prizes=(*prizes.percent, *prizes.fixed_cents),
        sources=[source.value for source in FixedFrom],
        accounts=[account.value for account in MOVABLE],
        owed_cents=-state.balances[Account.HOUSE_ADVANCE],
        unlinked=sorted(table.id for table in state.tables.values() if table.unlinked),
        names=NAMES,
        format_field=format_field,
    )


def format_field(name: str, value: Any) -> str:  # noqa: ANN401 - the type depends on the field
    """Format the value of a configuration's field."""
    if name.endswith("_cents"):
        return money(value)
    if name.endswith("_bps"):
        return share(value)
    if name == "confirm":
        return ", ".join(hand_name(hand) for hand in value) or "none"
    return account_name(str(value))
