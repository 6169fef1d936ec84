"""The protocol's topics, as devices know them."""

from __future__ import annotations

from typing import NamedTuple


class DeviceTopics(NamedTuple):
    """The topics of one site."""

    site: str

    @property
    def root(self) -> str:
        """What every topic begins with."""
        return f"jackpot/v1/{self.site}"

    def pad(self, table: str, box: int, kind: str) -> str:
        """A pad's `wager`, `lamp`, `status` or `shown`."""
        return f"{self.root}/tables/{table}/pads/{box}/{kind}"

    def dealer(self, table: str, kind: str) -> str:
        """A dealer terminal's `command`, `reply` or `status`."""
        return f"{self.root}/tables/{table}/dealer/{kind}"

    def state(self, table: str) -> str:
        """A table's round and phase."""
        return f"{self.root}/tables/{table}/state"

    def jackpot(self, jackpot: str, kind: str) -> str:
        """A jackpot's `meter`, `wins` or `controller`."""
        return f"{self.root}/jackpots/{jackpot}/{kind}"

    def display(self, display: str, kind: str) -> str:
        """A display's `status` or `shown`."""
        return f"{self.root}/displays/{display}/{kind}"
