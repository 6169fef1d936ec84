"""Send messages that must be answered: first with the faults that occur, then again unchanged until answered."""

from __future__ import annotations

from hardware_sim.connection import DeviceConnection
from hardware_sim.faults import Fault, Faults, garbage
from hardware_sim.messages import JsonObject, encode


class RetryingSender:
    """Sends one device's messages to one topic."""

    def __init__(
        self, device: str, connection: DeviceConnection, topic: str, faults: Faults, *, holds_repeats: bool = False
    ) -> None:
        self._device = device
        self._connection = connection
        self._topic = topic
        self._faults = faults
        self._holds_repeats = holds_repeats
        self._held: list[bytes] = []
        self._garbage_count = 0

    def send(self, message: JsonObject, own_id: str) -> None:
        """Send a message for the first time; the device does not notice if a fault drops or holds it."""
        payload = encode(message)
        if self._occurs(Fault.GARBAGE):
            self._garbage_count += 1
            new_id = f"{own_id}-g{self._garbage_count}"
            self._publish(garbage(message, new_id, self._faults.random_of(self._device)))
        if self._occurs(Fault.REORDER):
            self._held.append(payload)
        elif not self._occurs(Fault.DROP):
            self._publish(payload)
            if self._occurs(Fault.DUPLICATE):
                self._publish(payload)
            self.release()

    def repeat(self, message: JsonObject) -> None:
        """Send the same message again, unless it is held and repeats are held with it."""
        payload = encode(message)
        if not (self._holds_repeats and payload in self._held):
            self._publish(payload)

    def release(self) -> None:
        """Send the messages that were held."""
        held, self._held = self._held, []
        for payload in held:
            self._publish(payload)

    def _occurs(self, fault: Fault) -> bool:
        return self._faults.occurs(fault, self._device)

    def _publish(self, payload: bytes) -> None:
        self._connection.publish(self._topic, payload)
