"""The limit of malformed messages that are answered: a flood of them must not delay good ones."""

from __future__ import annotations

import time
from typing import Final

MAX_ON_A_TOPIC: Final = 25
MAX_ON_ALL_TOPICS: Final = 100
"""As many are answered, kept and logged in each second; the others are only counted and acknowledged."""
WINDOW_SECONDS: Final = 1.0


class MalformedLimit:
    """Counts the malformed messages of the present second."""

    def __init__(self) -> None:
        self._until = 0.0
        self._on_all = 0
        self._on_topic: dict[str, int] = {}

    def allows(self, topic: str) -> bool:
        """Return True if another malformed message on this topic is to be answered."""
        at = time.monotonic()
        if at >= self._until:
            self._until = at + WINDOW_SECONDS
            self._on_all = 0
            self._on_topic.clear()
        on_topic = self._on_topic.get(topic, 0)
        if self._on_all >= MAX_ON_ALL_TOPICS or on_topic >= MAX_ON_A_TOPIC:
            return False
        self._on_all += 1
        self._on_topic[topic] = on_topic + 1
        return True
