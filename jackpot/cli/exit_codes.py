"""The errors that are shown as one sentence, and the exit code of each."""

from __future__ import annotations

import sys

BAD_INPUT = 2
FAILED = 1
_CODES = {
    "rules.errors:RulesError": BAD_INPUT,
    "jackpot.calculator.requests:RequestError": BAD_INPUT,
    "jackpot.settings:SettingsError": BAD_INPUT,
    "jackpot.store.errors:StoreError": FAILED,
    "jackpot.core.results:Refused": FAILED,
    "jackpot.wire.mqtt_session:AddressError": BAD_INPUT,
    "jackpot.wire.embedded_broker:BrokerError": FAILED,
    "jackpot.notify.webhook:WebhookError": BAD_INPUT,
    "hardware_sim.floor:FloorError": FAILED,
    "hardware_sim.reconciliation:BooksError": FAILED,
}
"""Errors by name, so that a command does not import modules that it does not use."""


def sentence_of(error: Exception) -> tuple[str, int] | None:
    """Return the sentence and exit code of an expected error; None for a fault of the program."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", FAILED
    for name, code in _CODES.items():
        module, _, kind = name.partition(":")
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(error, getattr(loaded, kind)):
            return str(error), code
    return None
