"""The topics of the protocol: built for what is published, parsed for what is received."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

_ID: Final = r"[A-Za-z0-9_.-]{1,64}"
_BOX: Final = r"0|[1-9][0-9]{0,63}"


class InboundKind(StrEnum):
    """The kinds of message that a controller receives."""

    WAGER = "wager"
    PAD_STATUS = "pad_status"
    PAD_SHOWN = "pad_shown"
    COMMAND = "command"
    DEALER_STATUS = "dealer_status"
    DISPLAY_STATUS = "display_status"
    DISPLAY_SHOWN = "display_shown"
    CONTROLLER = "controller"


class Source(NamedTuple):
    """The kind and the sender of a message: a table with a box, a display, or a jackpot's controller."""

    kind: InboundKind
    name: str
    box: int = 0


_PATTERNS: Final = [
    (InboundKind.WAGER, rf"tables/({_ID})/pads/({_BOX})/wager"),
    (InboundKind.PAD_STATUS, rf"tables/({_ID})/pads/({_BOX})/status"),
    (InboundKind.PAD_SHOWN, rf"tables/({_ID})/pads/({_BOX})/shown"),
    (InboundKind.COMMAND, rf"tables/({_ID})/dealer/command"),
    (InboundKind.DEALER_STATUS, rf"tables/({_ID})/dealer/status"),
    (InboundKind.DISPLAY_STATUS, rf"displays/({_ID})/status"),
    (InboundKind.DISPLAY_SHOWN, rf"displays/({_ID})/shown"),
    (InboundKind.CONTROLLER, rf"jackpots/({_ID})/controller"),
]
_MAX_PARSED_TOPICS: Final = 10_000


class Topics:
    """The topics of one site."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.root = f"jackpot/v1/{site}"
        self._patterns = [(kind, re.compile(f"{re.escape(self.root)}/{pattern}")) for kind, pattern in _PATTERNS]
        self._parsed_topics: dict[str, Source | None] = {}
        self.every_lamp = f"{self.root}/tables/+/pads/+/lamp"
        self._a_state = re.compile(f"{re.escape(self.root)}/tables/({_ID})/state")
        self._a_lamp = re.compile(f"{re.escape(self.root)}/tables/({_ID})/pads/({_BOX})/lamp")

    def client_id(self, jackpot: str) -> str:
        """Return the client id of a jackpot's controller: a second connection displaces the first."""
        return f"jackpot-{self.site}-{jackpot}"

    def lamp(self, table: str, box: int) -> str:
        """Return the topic of a box's lamp."""
        return f"{self.root}/tables/{table}/pads/{box}/lamp"

    def box_of(self, topic: str) -> tuple[str, int] | None:
        """Return the table and box of a lamp's topic; None for any other topic."""
        match = self._a_lamp.fullmatch(topic)
        return (match[1], int(match[2])) if match else None

    def table_of(self, topic: str) -> str | None:
        """Return the table of a state's topic; None for any other topic."""
        match = self._a_state.fullmatch(topic)
        return match[1] if match else None

    def reply(self, table: str) -> str:
        """Return the topic of the replies to a dealer terminal."""
        return f"{self.root}/tables/{table}/dealer/reply"

    def state(self, table: str) -> str:
        """Return the topic of a table's state."""
        return f"{self.root}/tables/{table}/state"

    def meter(self, jackpot: str) -> str:
        """Return the topic of the meter."""
        return f"{self.root}/jackpots/{jackpot}/meter"

    def wins(self, jackpot: str) -> str:
        """Return the topic of the wins."""
        return f"{self.root}/jackpots/{jackpot}/wins"

    def controller(self, jackpot: str) -> str:
        """Return the topic of a jackpot's controller status."""
        return f"{self.root}/jackpots/{jackpot}/controller"

    def mark(self, jackpot: str) -> str:
        """Return the topic of a jackpot's signed high-water mark."""
        return f"{self.root}/jackpots/{jackpot}/mark"

    def subscriptions(self, jackpot: str) -> list[str]:
        """Return a controller's subscriptions: every device, and its own status, where a late will may arrive.

        A few wide filters, not some for each table: brokers limit how many a session may have. Messages of another
        jackpot's tables are dropped unread.
        """
        pads = [f"{self.root}/tables/+/pads/+/{kind}" for kind in ("wager", "status", "shown")]
        dealers = [f"{self.root}/tables/+/dealer/{kind}" for kind in ("command", "status")]
        displays = [f"{self.root}/displays/+/{kind}" for kind in ("status", "shown")]
        return [*pads, *dealers, *displays, self.controller(jackpot)]

    def source(self, topic: str) -> Source | None:
        """Return the kind and sender of a message on this topic; None if the protocol has no such topic."""
        if topic in self._parsed_topics:
            return self._parsed_topics[topic]
        if len(self._parsed_topics) >= _MAX_PARSED_TOPICS:
            self._parsed_topics.clear()
        self._parsed_topics[topic] = found = self._parse(topic)
        return found

    def _parse(self, topic: str) -> Source | None:
        for kind, pattern in self._patterns:
            match = pattern.fullmatch(topic)
            if match is not None:
                name, *box = match.groups()
                return Source(kind, name, int(box[0]) if box else 0)
        return None
