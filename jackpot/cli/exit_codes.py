"""Which errors are for people: the sentence each says, and the exit code it leaves with."""

from __future__ import annotations

import sys

BAD_INPUT = 2
WENT_WRONG = 1
_CODES = {
    "rules.errors:RulesError": BAD_INPUT,
    "jackpot.calculator.requests:RequestError": BAD_INPUT,
    "jackpot.settings:SettingsError": BAD_INPUT,
    "jackpot.store.errors:StoreError": WENT_WRONG,
    "jackpot.core.results:Refused": WENT_WRONG,
    "jackpot.wire.mqtt_session:AddressError": BAD_INPUT,
    "jackpot.wire.embedded_broker:BrokerError": WENT_WRONG,
    "jackpot.notify.webhook:HookError": BAD_INPUT,
    "hardware_sim.floor:FloorError": WENT_WRONG,
    "hardware_sim.reconciliation:BooksError": WENT_WRONG,
}
"""Known by name, so that a command need not import what it does not use."""


def sentence_of(error: Exception) -> tuple[str, int] | None:
    """The sentence and the exit code of an error that is for people; None for a fault of the program."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", WENT_WRONG
    for name, code in _CODES.items():
        module, _, kind = name.partition(":")
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(error, getattr(loaded, kind)):
            return str(error), code
    return None
