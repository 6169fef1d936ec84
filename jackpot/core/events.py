"""The events of a jackpot. They are the truth: state, ledger and every table can be rebuilt from them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from jackpot.core.ledger import Transfer


class EventType(StrEnum):
    """Every type of event of a jackpot."""

    JACKPOT_CREATED = "jackpot_created"
    TABLE_LINKED = "table_linked"
    TABLE_UNLINKED = "table_unlinked"
    ROUND_OPENED = "round_opened"
    WAGER_ACCEPTED = "wager_accepted"
    WAGERS_CLOSED = "wagers_closed"
    HAND_FOLDED = "hand_folded"
    HAND_UNFOLDED = "hand_unfolded"
    HAND_DECLARED = "hand_declared"
    ROUND_SETTLED = "round_settled"
    PAYOUTS_CONFIRMED = "payouts_confirmed"
    ROUND_CORRECTED = "round_corrected"
    HAND_VOIDED = "hand_voided"
    ROUND_VOIDED = "round_voided"
    TABLE_SUSPENDED = "table_suspended"
    METER_SHOWN = "meter_shown"
    TABLE_RESUMED = "table_resumed"
    MODE_SET = "mode_set"
    CONFIG_PROPOSED = "config_proposed"
    CONFIG_APPROVED = "config_approved"
    ADJUSTMENT_PROPOSED = "adjustment_proposed"
    ADJUSTMENT_APPROVED = "adjustment_approved"
    RETIREMENT_PROPOSED = "retirement_proposed"
    JACKPOT_RETIRED = "jackpot_retired"
    PROPOSAL_WITHDRAWN = "proposal_withdrawn"
    HISTORY_RECOVERED = "history_recovered"


class Event(NamedTuple):
    """One event: type, time, actor, place, data ready for JSON, and the money it moved."""

    type: EventType
    at: str
    actor: str
    table: str | None
    round: int | None
    data: Mapping[str, Any]
    transfers: tuple[Transfer, ...] = ()
