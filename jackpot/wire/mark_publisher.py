"""Publishes a jackpot's signed high-water mark, which its next controller compares with the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from jackpot.store.marks import ChainMark
from jackpot.wire.payloads import encoded

PUBLISH_SECONDS: Final = 1.0

SignMark = Callable[[ChainMark], str]


class MarkPublisher:
    """Publishes the mark at every connect, and at most once a second when it changed."""

    def __init__(
        self, topic: str, mark: Callable[[], ChainMark], sign: SignMark | None, publish: Callable[..., bool]
    ) -> None:
        self._topic = topic
        self._mark = mark
        self._sign = sign
        self._publish = publish
        self._published: ChainMark | None = None

    def publish(self) -> None:
        """Publish the mark, signed."""
        mark = self._mark()
        if self._sign is not None and self._publish(self._topic, encoded({"note": self._sign(mark)}), retain=True):
            self._published = mark

    async def run(self) -> None:
        """Publish changes until cancelled."""
        while True:
            await asyncio.sleep(PUBLISH_SECONDS)
            if self._mark() != self._published:
                self.publish()
