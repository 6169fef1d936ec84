"""The protocol's topics, as devices use them."""

from __future__ import annotations

from typing import NamedTuple


class DeviceTopics(NamedTuple):
    """The topics of one site."""

    site: str

    @property
    def root(self) -> str:
        """The prefix of every topic."""
        return f"jackpot/v1/{self.site}"

    def pad(self, table: str, box: int, kind: str) -> str:
        """Return a pad's `wager`, `lamp`, `status` or `shown` topic."""
        return f"{self.root}/tables/{table}/pads/{box}/{kind}"

    def dealer(self, table: str, kind: str) -> str:
        """Return a dealer terminal's `command`, `reply` or `status` topic."""
        return f"{self.root}/tables/{table}/dealer/{kind}"

    def state(self, table: str) -> str:
        """Return the topic of a table's state."""
        return f"{self.root}/tables/{table}/state"

    def jackpot(self, jackpot: str, kind: str) -> str:
        """Return a jackpot's `meter`, `wins` or `controller` topic."""
        return f"{self.root}/jackpots/{jackpot}/{kind}"

    def display(self, display: str, kind: str) -> str:
        """Return a display's `status` or `shown` topic."""
        return f"{self.root}/displays/{display}/{kind}"
