"""Changes that take two managers: configurations, adjustments, the end of a jackpot; and tables, which take one."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from jackpot.core.administration import MOVABLE
from jackpot.core.ledger import Account
from jackpot.web.api import adjustments, configs, pools, retirements
from jackpot.web.console.layout import Visiting
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
    "confirm": "Prizes that await confirmation",
}
"""What a configuration says, as people call it."""


@router.get("/changes")
async def changes(visit: Visiting) -> HTMLResponse:
    """What is in force, what waits, and what can be proposed."""
    jackpot, state = visit.jackpot, visit.board.jackpot
    prizes = prize_table(state.instrument)
    found = await configs.configs(visit.caller, visit.services, jackpot)
    return visit.show(
        "console/changes.html",
        state=state,
        configs=found,
        present=next(version for version in found.versions if version.in_force),
        adjustments=await adjustments.adjustments(visit.caller, visit.services, jackpot),
        retirements=await retirements.retirements(visit.caller, visit.services, jackpot),
        odds=await pools.odds(_caller=visit.caller, services=visit.services, jackpot=jackpot),
        heirs=[name for name in sorted(visit.services.jackpots) if name != jackpot],
        prizes=(*prizes.percent, *prizes.fixed_cents),
        sources=[source.value for source in FixedFrom],
        accounts=[account.value for account in MOVABLE],
        owed_cents=-state.balances[Account.HOUSE_ADVANCE],
        unlinked=sorted(table.id for table in state.tables.values() if table.unlinked),
        names=NAMES,
        tell=told,
    )


def told(name: str, value: Any) -> str:  # noqa: ANN401 - each value's own kind
    """A value of a configuration as people read it."""
    if name.endswith("_cents"):
        return money(value)
    if name.endswith("_bps"):
        return share(value)
    if name == "confirm":
        return ", ".join(hand_name(hand) for hand in value) or "none"
    return account_name(str(value))
