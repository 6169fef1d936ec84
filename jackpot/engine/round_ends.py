"""The events that end a round, or may: its lamps go dark then."""

from __future__ import annotations

from typing import Final

from jackpot.core.events import Event, EventType

_MAY_END: Final = {
    EventType.ROUND_SETTLED,
    EventType.ROUND_CORRECTED,
    EventType.PAYOUTS_CONFIRMED,
    EventType.ROUND_VOIDED,
}


def is_round_end(event: Event) -> bool:
    """Return True if this event ended its round."""
    return event.type in _MAY_END and bool(event.data.get("ends", True))
