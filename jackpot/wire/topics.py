"""Topics, as the protocol names them: built for what we publish, taken apart for what we hear."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

_ID: Final = r"[A-Za-z0-9_.-]{1,64}"
_BOX: Final = r"0|[1-9][0-9]{0,63}"


class Heard(StrEnum):
    """The kinds of message a controller listens to."""

    WAGER = "wager"
    PAD_STATUS = "pad_status"
    PAD_SHOWN = "pad_shown"
    COMMAND = "command"
    DEALER_STATUS = "dealer_status"
    DISPLAY_STATUS = "display_status"
    DISPLAY_SHOWN = "display_shown"
    CONTROLLER = "controller"


class Source(NamedTuple):
    """What was heard, and from where: a table with a box, or a display, or a jackpot's controller."""

    kind: Heard
    name: str
    box: int = 0


_HEARD: Final = [
    (Heard.WAGER, rf"tables/({_ID})/pads/({_BOX})/wager"),
    (Heard.PAD_STATUS, rf"tables/({_ID})/pads/({_BOX})/status"),
    (Heard.PAD_SHOWN, rf"tables/({_ID})/pads/({_BOX})/shown"),
    (Heard.COMMAND, rf"tables/({_ID})/dealer/command"),
    (Heard.DEALER_STATUS, rf"tables/({_ID})/dealer/status"),
    (Heard.DISPLAY_STATUS, rf"displays/({_ID})/status"),
    (Heard.DISPLAY_SHOWN, rf"displays/({_ID})/shown"),
    (Heard.CONTROLLER, rf"jackpots/({_ID})/controller"),
]
_MOST_REMEMBERED: Final = 10_000


class Topics:
    """The topics of one site."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.root = f"jackpot/v1/{site}"
        self._patterns = [(kind, re.compile(f"{re.escape(self.root)}/{pattern}")) for kind, pattern in _HEARD]
        self._remembered: dict[str, Source | None] = {}
        self.every_lamp = f"{self.root}/tables/+/pads/+/lamp"
        self._a_lamp = re.compile(f"{re.escape(self.root)}/tables/({_ID})/pads/({_BOX})/lamp")

    def client_id(self, jackpot: str) -> str:
        """Who a jackpot's controller is to the broker: a second one displaces the first."""
        return f"jackpot-{self.site}-{jackpot}"

    def lamp(self, table: str, box: int) -> str:
        """Where a pad hears the truth about its box."""
        return f"{self.root}/tables/{table}/pads/{box}/lamp"

    def box_of(self, topic: str) -> tuple[str, int] | None:
        """The table and box whose lamp this topic is; None where it is none."""
        match = self._a_lamp.fullmatch(topic)
        return (match[1], int(match[2])) if match else None

    def reply(self, table: str) -> str:
        """Where a dealer terminal hears answers."""
        return f"{self.root}/tables/{table}/dealer/reply"

    def state(self, table: str) -> str:
        """Where everybody hears a table's round and phase."""
        return f"{self.root}/tables/{table}/state"

    def meter(self, jackpot: str) -> str:
        """Where displays hear the meter."""
        return f"{self.root}/jackpots/{jackpot}/meter"

    def wins(self, jackpot: str) -> str:
        """Where displays hear of prizes."""
        return f"{self.root}/jackpots/{jackpot}/wins"

    def controller(self, jackpot: str) -> str:
        """Where everybody hears whether a jackpot's controller is there."""
        return f"{self.root}/jackpots/{jackpot}/controller"

    def heard_by(self, jackpot: str) -> list[str]:
        """What a controller listens to: every device, and its own topic, where a late will may arrive.

        A few wide filters, not some for each table: brokers limit how many a session may have. What belongs to
        another jackpot's table is dropped unread.
        """
        pads = [f"{self.root}/tables/+/pads/+/{kind}" for kind in ("wager", "status", "shown")]
        dealers = [f"{self.root}/tables/+/dealer/{kind}" for kind in ("command", "status")]
        displays = [f"{self.root}/displays/+/{kind}" for kind in ("status", "shown")]
        return [*pads, *dealers, *displays, self.controller(jackpot)]

    def source(self, topic: str) -> Source | None:
        """What a topic says about who speaks; None where the protocol knows no such topic."""
        if topic in self._remembered:
            return self._remembered[topic]
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[topic] = found = self._parsed(topic)
        return found

    def _parsed(self, topic: str) -> Source | None:
        for kind, pattern in self._patterns:
            match = pattern.fullmatch(topic)
            if match is not None:
                name, *box = match.groups()
                return Source(kind, name, int(box[0]) if box else 0)
        return None
