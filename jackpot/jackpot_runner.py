"""One jackpot in this controller: stand by, take over when it is free, serve it, hand it over, and stand by again.

Two or more controllers may serve one PostgreSQL database. Each jackpot is owned by one of them, by a lease that its
writer renews every second; the others follow it in the store. A lease is judged by the database's clock. A jackpot on a
SQLite file has no other controllers: it is acquired at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, Final, NamedTuple

import structlog

from jackpot.engine.alarms import AlarmCode, Alarms
from jackpot.engine.controllers import ANY, ControllerReport, Ownership, ask_for, live_controllers, ownerships
from jackpot.engine.follower import JackpotFollower
from jackpot.engine.jackpots import Jackpots
from jackpot.engine.journal import Journal
from jackpot.engine.service import LEASE_SECONDS, JackpotService, RecentWins
from jackpot.identity import may_be_running
from jackpot.store.database import Database
from jackpot.store.errors import StoreError, TakenOver
from jackpot.wire.adapter import JackpotAdapter
from jackpot.wire.retained import RetainedState

POLL_SECONDS: Final = 0.25
GRACE_SECONDS: Final = 1.0
"""A free jackpot is left this long to a controller that prefers it."""
HOLD_OFF_SECONDS: Final = 5.0
"""A controller that has handed a jackpot over leaves it this long to the others."""
BROKER_SECONDS: Final = 3.0
"""An owner without a sign of life of the broker for this long hands over to a controller that has it."""
SECOND_LOOK_SECONDS: Final = 0.5
RETAINED_SECONDS: Final = 3.0
"""How long a standby waits for the broker when it takes over; then it goes on standing by."""
ASK_SECONDS: Final = 10.0
"""A controller asks for a jackpot that it prefers once it has stood by for this long: it is steady."""

log = structlog.get_logger()


class FreeLease(NamedTuple):
    """The free lease that a controller may acquire: its epoch, None if it is not compared."""

    epoch: int | None
    store_failed: bool
    """True if the store may have failed for the earlier owner, and not only its own connection."""


class OpenedJackpot(NamedTuple):
    """A jackpot whose lease was acquired: its journal, its checkpoint, and its wins from before."""

    journal: Journal
    checkpoint: Callable[[], object]
    recent_wins: RecentWins


class RunnerParts(NamedTuple):
    """What a runner needs of its controller."""

    jackpots: Jackpots
    database: Database
    name_of_controller: str
    prefers: bool
    read_retained: Callable[[], Awaitable[RetainedState]]
    open_journal: Callable[[RetainedState, int | None], OpenedJackpot]
    """Acquires the lease, at this epoch only if one is given; leaves no lease behind if it fails."""
    new_service: Callable[[OpenedJackpot, RetainedState], JackpotService]
    new_adapter: Callable[[JackpotService], JackpotAdapter]
    until_reachable: Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]
    """Runs something in a thread, again and again while the store is not reachable."""
    alarms: Alarms


class JackpotRunner:
    """Runs one jackpot as its owner or as a standby, until cancelled."""

    def __init__(self, name: str, parts: RunnerParts) -> None:
        self.name = name
        self._parts = parts
        self._database = parts.database
        self.placed = asyncio.Event()
        """Set once the jackpot is shown here, owned or followed."""
        self._not_before = 0.0
        self._failed_at: float | None = None
        self._stood_by = False
        self._following: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Own the jackpot whenever it is free, until cancelled; raises what ended the right to write for good."""
        try:
            await self._run()
        finally:
            self._end_following()

    async def _run(self) -> None:
        while True:
            claim = await self._stand_by()
            adapter = await self._try_to_take_over(claim)
            if adapter is None:
                continue
            try:
                await self._serve(adapter)
            except TakenOver as error:
                if self._database.is_sqlite:
                    raise  # the file has a new owner, and nothing would renew its lease
                log.warning("standing by", jackpot=self.name, reason=str(error))
            else:
                log.warning("standing by", jackpot=self.name, reason="handed over")
                self._not_before = time.monotonic() + HOLD_OFF_SECONDS
            self._stood_by = True

    # Standing by.

    async def _stand_by(self) -> FreeLease:
        """Follow the jackpot until it is free for this controller."""
        if self._database.is_sqlite:
            return FreeLease(None, store_failed=True)
        since = time.monotonic()
        free_since: float | None = None
        while True:
            found = await self._read()
            if found is not None:
                owned, others = found
                free_since = (free_since or time.monotonic()) if self._is_free(owned) else None
                if free_since is not None and self._may_take(others, free_since):
                    return FreeLease(owned.epoch, store_failed=self._store_failed_lately())
                await self._ask_if_preferred(owned, others, since)
            await self._follow()
            await asyncio.sleep(POLL_SECONDS)

    async def _follow(self) -> None:
        """Show the jackpot as it is stored, until this controller has acquired it."""
        if self._following is not None:
            return
        try:
            follower = await asyncio.to_thread(JackpotFollower.open, self._database, self.name)
        except StoreError:
            return
        self._stood_by = True
        self._parts.jackpots[self.name] = follower
        self.placed.set()
        log.info("jackpot followed", jackpot=self.name, owner=follower.owner)
        self._following = asyncio.create_task(follower.run(), name=f"follower-{self.name}")

    def _end_following(self) -> None:
        if self._following is not None:
            self._following.cancel()
            self._following = None

    async def _read(self) -> tuple[Ownership, Collection[ControllerReport]] | None:
        """Read the owner and the other controllers; None while the store does not answer."""
        try:
            found = await asyncio.to_thread(self._read_store)
        except StoreError as error:
            if self._failed_at is None:
                log.warning("lease not read", jackpot=self.name, problem=str(error))
            self._failed_at = time.monotonic()
            return None
        return found

    def _read_store(self) -> tuple[Ownership, Collection[ControllerReport]]:
        with self._database.reader() as connection:
            owned = ownerships(connection).get(self.name, Ownership(self.name))
            others = live_controllers(connection)
        others.pop(self._parts.name_of_controller, None)
        return owned, others.values()

    def _is_free(self, owned: Ownership) -> bool:
        """Return True if no controller owns the jackpot: released, not renewed in time, or its process has ended."""
        if not owned.owner or owned.owner == self._parts.name_of_controller:
            return True
        if owned.renewed_seconds_ago is None or owned.renewed_seconds_ago > LEASE_SECONDS:
            return True
        return not may_be_running(owned.owner)

    def _may_take(self, others: Collection[ControllerReport], free_since: float) -> bool:
        at = time.monotonic()
        if at < self._not_before and any(other.broker for other in others):
            return False
        preferred_elsewhere = any(self.name in other.prefers and other.broker for other in others)
        return self._parts.prefers or not preferred_elsewhere or at - free_since >= GRACE_SECONDS

    async def _ask_if_preferred(self, owned: Ownership, others: Collection[ControllerReport], since: float) -> None:
        """Ask the owner for a jackpot that this controller prefers, and its owner does not."""
        owner = next((other for other in others if other.name == owned.owner), None)
        if not self._parts.prefers or owner is None or self.name in owner.prefers:
            return
        if time.monotonic() - since >= ASK_SECONDS and not owned.wanted_by:
            await asyncio.to_thread(self._ask)

    def _ask(self) -> None:
        try:
            ask_for(self._database, self.name, self._parts.name_of_controller)
        except StoreError as error:
            log.warning("hand-over not asked for", jackpot=self.name, problem=str(error))

    def _store_failed_lately(self) -> bool:
        """Return True if the store failed for this controller, too, or if it did not stand by before."""
        return not self._stood_by or (
            self._failed_at is not None and time.monotonic() - self._failed_at < 2 * LEASE_SECONDS
        )

    # Taking over and serving.

    async def _try_to_take_over(self, claim: FreeLease) -> JackpotAdapter | None:
        """Take over; a standby that cannot goes on standing by, with an alarm, and a start that cannot ends."""
        try:
            adapter = await self._take_over(claim)
        except (TakenOver, TimeoutError) as error:
            log.info("not taken over", jackpot=self.name, reason=str(error) or "the broker does not answer")
            return None
        except StoreError as error:
            if not self._stood_by:
                raise
            sentence = f"this controller cannot take over: {error}"
            self._parts.alarms.raise_alarm(self.name, AlarmCode.NOT_TAKEN_OVER, sentence)
            await asyncio.sleep(HOLD_OFF_SECONDS)
            return None
        self._parts.alarms.end_alarm(self.name, AlarmCode.NOT_TAKEN_OVER)
        return adapter

    async def _take_over(self, claim: FreeLease) -> JackpotAdapter:
        """Acquire the free lease, and begin to serve; a standby does not wait for a broker without end."""
        async with asyncio.timeout(RETAINED_SECONDS if self._stood_by else None):
            retained = await self._parts.read_retained()
        began = time.monotonic()
        opened = await self._open(retained, claim.epoch)
        head = opened.journal.lease.head
        seconds = round(time.monotonic() - began, 3)
        log.info("jackpot acquired", jackpot=self.name, epoch=head.epoch, seq=head.seq, seconds=seconds)
        self._end_following()
        service = self._parts.new_service(opened, retained)
        self._parts.jackpots[self.name] = service
        self.placed.set()
        adapter = self._parts.new_adapter(service)
        try:
            await adapter.take_over(retained, store_failed=claim.store_failed)
        except BaseException:
            await asyncio.to_thread(service.stop)
            release_quietly(opened.journal)
            raise
        return adapter

    async def _open(self, retained: RetainedState, epoch: int | None) -> OpenedJackpot:
        """Acquire the lease; where the controller stops meanwhile, release it again."""
        opening = asyncio.create_task(
            self._parts.until_reachable(lambda: self._parts.open_journal(retained, epoch)), name=f"open-{self.name}"
        )
        try:
            opened: OpenedJackpot = await asyncio.shield(opening)
        except asyncio.CancelledError:
            await asyncio.wait({opening}, timeout=LEASE_SECONDS)
            if opening.done() and opening.exception() is None:
                await asyncio.to_thread(release_quietly, opening.result().journal)
            opening.cancel()
            raise
        return opened

    async def _serve(self, adapter: JackpotAdapter) -> None:
        """Serve until the jackpot is lost or handed over."""
        leaving = asyncio.create_task(self._leave_when_due(adapter), name=f"hand-over-{self.name}")
        try:
            await adapter.run()
        finally:
            leaving.cancel()

    async def _leave_when_due(self, adapter: JackpotAdapter) -> None:
        """Hand over when another controller asks for it, or has the broker while this one does not."""
        if self._database.is_sqlite:
            return
        service = adapter.service
        await service.listening.wait()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            wanted_by = service.take_wanted_by()
            if not wanted_by and adapter.broker_silent_seconds() < BROKER_SECONDS:
                continue
            if not wanted_by:
                await asyncio.sleep(SECOND_LOOK_SECONDS)  # the others report every second whether they have the broker
                if adapter.broker_silent_seconds() < BROKER_SECONDS:
                    continue
            if await self._has_successor(wanted_by or ANY):
                log.warning("handing over", jackpot=self.name, to=wanted_by or "a controller that has the broker")
                adapter.leave()
                return

    async def _has_successor(self, wanted_by: str) -> bool:
        """Return True if a controller that stands by has the broker; a request by one that has not is withdrawn."""
        found = await self._read()
        if found is None:
            return False
        ready = {other.name for other in found[1] if other.broker and self.name in other.standby}
        if wanted_by in ready or (wanted_by == ANY and ready):
            return True
        if found[0].wanted_by:
            log.warning("not handed over", jackpot=self.name, to=wanted_by, reason="it does not stand by with a broker")
            await asyncio.to_thread(self._withdraw)
        return False

    def _withdraw(self) -> None:
        try:
            ask_for(self._database, self.name, "")
        except StoreError as error:
            log.warning("request not withdrawn", jackpot=self.name, problem=str(error))


def release_quietly(journal: Journal) -> None:
    """Release the lease of a journal that is not served; it lapses by itself if that fails."""
    try:
        journal.lease.release()
    except StoreError as error:
        log.warning("lease not released", jackpot=journal.lease.chain, problem=str(error))
