"""The default configuration and opening amounts of a new jackpot."""

from __future__ import annotations

from typing import Final

from jackpot.core.state import Config
from rules.jackpot_prizes import FixedFrom

FIRST_CONFIG: Final = Config(
    version=1,
    wager_cents=200,
    jackpot_bps=7_000,
    reserve_bps=3_000,
    reset_cents=1_000_000,
    fixed_prizes_from=FixedFrom.RESERVE,
    confirm=("royal_flush", "straight_flush"),
)
OPENING_JACKPOT_CENTS: Final = 1_000_000
OPENING_RESERVE_CENTS: Final = 2_000_000
