"""The marks of a running controller are written off the commit path, and a failure is tried again."""

import asyncio
import threading

import pytest

from jackpot import metrics
from jackpot.engine import mark_writer as writers
from jackpot.engine.mark_writer import MarkWriter
from jackpot.store.errors import StoreError
from jackpot.store.marks import ChainMark, MarkFile


@pytest.fixture
def file(tmp_path):
    key = tmp_path / "jackpot.key"
    key.write_text("key")
    return MarkFile(key)


def failures():
    return metrics.ERRORS.labels("site", "marks")._value.get()


def test_what_was_committed_is_written_until_the_stop(file, monkeypatch):
    monkeypatch.setattr(writers, "WRITE_SECONDS", 0.01)
    committed = {"main": ChainMark(1, 5, bytes(32))}

    async def run():
        writer = MarkWriter(file, lambda: committed)
        running = asyncio.create_task(writer.run())
        async with asyncio.timeout(60):
            while not file.path.exists():  # noqa: ASYNC110 - there is no event for this
                await asyncio.sleep(0.01)
            committed["main"] = ChainMark(1, 6, bytes(32))
            while file.read().marks["main"].seq != 6:  # noqa: ASYNC110 - there is no event for this
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        committed["main"] = ChainMark(1, 7, bytes(32))
        await writer.write()

    asyncio.run(run())
    assert file.read().marks["main"].seq == 7


def test_a_write_that_fails_is_counted_and_tried_again(file, monkeypatch):
    written, faults = [], [StoreError("no space left")]

    def raise_to(marks):
        if faults:
            raise faults.pop()
        written.append(marks.marks["main"].seq)

    monkeypatch.setattr(file, "raise_to", raise_to)
    writer, before = MarkWriter(file, lambda: {"main": ChainMark(1, 5, bytes(32))}), failures()

    async def run():
        for _ in range(3):
            await writer.write()

    asyncio.run(run())
    assert (written, failures() - before) == ([5], 1)


def test_a_write_that_does_not_return_is_not_waited_for(file, monkeypatch):
    monkeypatch.setattr(writers, "MAX_WRITE_SECONDS", 0.01)
    before = failures()

    returns = threading.Event()
    monkeypatch.setattr(file, "raise_to", lambda _marks: returns.wait(60))

    async def run():
        await MarkWriter(file, lambda: {"main": ChainMark(1, 5, bytes(32))}).write()
        assert not returns.is_set()
        returns.set()

    asyncio.run(run())
    assert failures() - before == 1
