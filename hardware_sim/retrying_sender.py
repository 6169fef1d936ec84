"""How a device says what must be answered: once as the faults let it, then the same again until told to stop."""

from __future__ import annotations

from hardware_sim.connection import DeviceConnection
from hardware_sim.faults import Fault, Faults, garbage
from hardware_sim.messages import JsonObject, encode


class RetryingSender:
    """One device's way to one topic."""

    def __init__(
        self, device: str, connection: DeviceConnection, topic: str, faults: Faults, *, holds_repeats: bool = False
    ) -> None:
        self._device = device
        self._connection = connection
        self._topic = topic
        self._faults = faults
        self._holds_repeats = holds_repeats
        self._kept_back: list[bytes] = []
        self._spoiled = 0

    def say(self, message: JsonObject, own_id: str) -> None:
        """Say something for the first time; what is dropped or kept back, its device believes to be said."""
        payload = encode(message)
        if self._occurs(Fault.GARBAGE):
            self._spoiled += 1
            self._publish(garbage(message, f"{own_id}-g{self._spoiled}", self._faults.luck(self._device)))
        if self._occurs(Fault.REORDER):
            self._kept_back.append(payload)
        elif not self._occurs(Fault.DROP):
            self._publish(payload)
            if self._occurs(Fault.DUPLICATE):
                self._publish(payload)
            self.let_go()

    def repeat(self, message: JsonObject) -> None:
        """Say the same again; what is kept back is not overtaken by it, where repeats are held as well."""
        payload = encode(message)
        if not (self._holds_repeats and payload in self._kept_back):
            self._publish(payload)

    def let_go(self) -> None:
        """Let arrive what was kept back."""
        late, self._kept_back = self._kept_back, []
        for payload in late:
            self._publish(payload)

    def _occurs(self, fault: Fault) -> bool:
        return self._faults.occurs(fault, self._device)

    def _publish(self, payload: bytes) -> None:
        self._connection.publish(self._topic, payload)
