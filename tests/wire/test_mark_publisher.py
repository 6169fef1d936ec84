"""The signed mark is published when it changed, and only as a retained message that the site's key has signed."""

import asyncio
import json

from jackpot.store.mark_notes import open_mark, sign_mark
from jackpot.store.marks import ChainMark
from jackpot.store.signed_notes import Signer
from jackpot.wire import mark_publisher
from jackpot.wire.mark_publisher import MarkPublisher

SIGNER = Signer("casino", bytes(range(32)))


class Published:
    """A publisher of marks, and what it has published."""

    def __init__(self, *, takes=True, signs=True):
        self.mark, self.takes, self.all = ChainMark(7, 1, bytes(32)), takes, []
        sign = (lambda mark: sign_mark(SIGNER, "main", mark)) if signs else None
        self.publisher = MarkPublisher("topic", lambda: self.mark, sign, self.publish)

    def publish(self, topic, payload, *, retain):
        assert (topic, retain) == ("topic", True)
        if self.takes:
            self.all.append(open_mark(SIGNER.verifier, "main", json.loads(payload)["note"]))
        return self.takes

    async def run_for(self, count):
        async with asyncio.timeout(60):
            while len(self.all) < count:  # noqa: ASYNC110 - there is no event for this
                await asyncio.sleep(0.01)


def test_a_mark_is_published_signed():
    published = Published()
    published.publisher.publish()
    assert published.all == [published.mark]


def test_a_change_is_published_and_one_that_was_not_taken_is_tried_again(monkeypatch):
    monkeypatch.setattr(mark_publisher, "PUBLISH_SECONDS", 0.01)
    published = Published(takes=False)

    async def run():
        running = asyncio.create_task(published.publisher.run())
        await asyncio.sleep(0.05)
        assert published.all == []
        published.takes = True
        await published.run_for(1)
        published.mark = ChainMark(7, 2, bytes(32))
        await published.run_for(2)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())
    assert [mark.seq for mark in published.all] == [1, 2]


def test_without_a_key_nothing_is_published():
    published = Published(signs=False)
    published.publisher.publish()
    assert published.all == []
