"""The daemon: puts the pieces together, runs a desk for each jackpot, and stops cleanly."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final, TypeVar

import structlog

from jackpot import metrics, systemd
from jackpot.clock import now
from jackpot.core.commands import CONTROLLER
from jackpot.core.notices import Notice, NoticeType
from jackpot.core.site import StartSoftware
from jackpot.identity import owner, software_digest, software_version
from jackpot.notify.floors import tell_low_reserves
from jackpot.notify.hook import Hook
from jackpot.notify.sender import Sender
from jackpot.settings import Settings, listen_address
from jackpot.store import outbox
from jackpot.store.audit import Verified, write_checkpoint
from jackpot.store.book import Book
from jackpot.store.chain import SITE
from jackpot.store.database import Database
from jackpot.store.errors import StoreError, Unreachable
from jackpot.store.keeper import SiteKeeper
from jackpot.store.notes import Signer
from jackpot.store.reports import zone_of
from jackpot.store.schema import require_head
from jackpot.watch.beside import Order
from jackpot.watch.trail import TrailWatch
from jackpot.web.door import Door
from jackpot.web.floor import Floor, Place
from jackpot.web.health import Health
from jackpot.web.live import Live
from jackpot.web.porch import Porch
from jackpot.web.server import Site, application, listening, metrics_server, serve
from jackpot.web.verification import Verification
from jackpot.wire.desk import Desk
from jackpot.wire.left import look
from jackpot.wire.session import Address
from jackpot.wire.topics import Topics

FOLD_SECONDS: Final = 1.0
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 10.0

log = structlog.get_logger()
T = TypeVar("T")


class Controller:
    """Every jackpot of a site, served by one process."""

    def __init__(self, settings: Settings, signer: Signer, broker: str) -> None:
        zone_of(settings.timezone)  # a daemon whose pages cannot tell the time should not have begun
        self._settings = settings
        self._signer = signer
        self._address = Address.of(broker, settings.mqtt_version, settings.broker_ca_file)
        self._topics = Topics(settings.site)
        self._hook = _hook(settings)
        self._sender: Sender | None = None
        self._databases: list[Database] = []
        self._site: SiteKeeper | None = None
        self.desks: dict[str, Desk] = {}
        self.trail = TrailWatch(_order(settings, signer), self._trail_wrong)

    async def run(self, ready: Callable[[Controller], None] = lambda _controller: None) -> None:
        """Serve until cancelled, or until another has taken a jackpot over."""
        try:
            with ExitStack() as open_things:
                where = self._listen(open_things)
                database = self._database()
                async with asyncio.TaskGroup() as group:
                    group.create_task(systemd.keep_telling(), name="systemd")
                    porch = self._open_porch(group, where, database)
                    names = await self._until_reachable(partial(self._begin, database))
                    self._send_notices(group, database)
                    group.create_task(_keep_folding(database), name="folding")
                    for name in names:
                        desk = self.desks[name] = await self._open(name)
                        group.create_task(desk.run(), name=f"desk-{name}")
                    await self._serve(group, porch, ready)
        except* StoreError as errors:
            raise _first(errors) from None
        finally:
            for desk in self.desks.values():
                desk.writer.stop()  # it has stopped already, unless its desk never ran
            if self._site is not None:
                await asyncio.to_thread(self._site.close)
            for database in self._databases:
                database.close()

    def _listen(self, open_things: ExitStack) -> socket.socket | None:
        """Take the addresses first: a daemon that cannot listen should not have begun."""
        if self._settings.metrics:
            host, port = listen_address(self._settings.metrics)
            open_things.callback(metrics_server(host, port))
        if not self._settings.http:
            return None
        where = listening(*listen_address(self._settings.http))
        open_things.callback(where.close)
        return where

    def _open_porch(self, group: asyncio.TaskGroup, where: socket.socket | None, database: Database) -> Porch:
        """Answer HTTP from now on: whoever looks after us wants to know what we wait for."""
        porch = Porch(Health(database, self.desks, self.trail.found))
        if where is not None:
            group.create_task(serve(porch, where, self._settings.trusted_proxies), name="http")
        return porch

    def _send_notices(self, group: asyncio.TaskGroup, database: Database) -> None:
        metrics.BUILD.info({"version": software_version()})
        metrics.RESERVE_FLOOR_CENTS.set(self._settings.reserve_floor_cents)
        metrics.VERIFICATION_INTERVAL.set(self._settings.verify_minutes * 60)
        if self._hook is not None:
            self._sender = Sender(database, self._hook, software_version())
            group.create_task(self._sender.run(), name="notices")

    async def _serve(self, group: asyncio.TaskGroup, porch: Porch, ready: Callable[[Controller], None]) -> None:
        database, keeper = self._databases[0], self._keeper()
        live = Live(self.desks)
        await self._until_reachable(partial(live.remember, database))
        place = Place(self._settings.site, self._settings.timezone)
        floor = Floor(database, self.desks, keeper, Verification(self.trail), place)
        door = Door(keeper)
        porch.let_in(application(Site(floor, door, live, porch.health), software_version()))
        group.create_task(door.watch(), name="door")
        for desk in self.desks.values():
            await desk.listening.wait()
        if self._settings.verify_minutes:
            group.create_task(self.trail.run([SITE, *self.desks]), name="trail")
        ready(self)
        systemd.tell(f"READY=1\nSTATUS=serving {', '.join(self.desks) or 'no jackpot'}")

    def _notice(self) -> None:
        if self._sender is not None:
            self._sender.wake()

    async def _trail_wrong(self, found: Verified) -> bool:
        """Verification found something: whoever is notified is notified of this; says whether the notice is kept."""
        if self._hook is None:
            return True
        notice = Notice(NoticeType.TRAIL_WRONG, now(), {"problem": found.problem})
        put = partial(outbox.put, self._databases[0], self._settings.site, found.chain, found.wrong_seq or 0, notice)
        try:
            await asyncio.to_thread(put)
        except StoreError as error:
            log.warning("notice not kept", problem=str(error))
            return False
        self._notice()
        return True

    def _database(self) -> Database:
        database = Database(self._settings.database)
        self._databases.append(database)
        return database

    def _begin(self, database: Database) -> tuple[str, ...]:
        """Check the schema, record which software this is, and say which jackpots there are."""
        require_head(database)
        keeper = SiteKeeper(database, owner(), partial(write_checkpoint, database, SITE, self._signer))
        notified = self._settings.notified
        if notified is not None:
            tell_low_reserves(database, notified)
        floor_cents = notified.reserve_floor_cents if notified is not None else 0
        keeper.ask(StartSoftware(now(), CONTROLLER, software_version(), software_digest(), floor_cents)).result()
        self._site = keeper
        metrics.AUDIT_SEQ.labels(SITE).set_function(lambda: keeper.seq)
        return keeper.site.jackpots

    def _keeper(self) -> SiteKeeper:
        if self._site is None:
            raise AssertionError("the site is read before anything is served")
        return self._site

    async def _open(self, name: str) -> Desk:
        """Take a jackpot over at an epoch above the lease's and the broker's."""
        probe = f"{self._topics.client_id(name)}-probe-{os.getpid()}"
        linked = [table for table, jackpot in self._keeper().site.tables.items() if jackpot == name]
        left = await look(self._address, self._topics, name, linked, probe)
        database = self._database()
        notified = self._settings.notified
        book = await self._until_reachable(
            partial(Book.open, database, name, owner(), seen_epoch=left.epoch, notified=notified)
        )
        log.info("jackpot taken over", jackpot=name, epoch=book.chain.head.epoch, seq=book.chain.head.seq)
        checkpoint = partial(write_checkpoint, database, name, self._signer)
        desk = Desk(self._address, self._topics, book, checkpoint, self._notice)
        desk.take_on(left)
        return desk

    async def _until_reachable(self, act: Callable[[], T]) -> T:
        """A database server that is not there yet is waited for; a file that cannot be opened is an error."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                return await asyncio.to_thread(act)
            except Unreachable as error:
                if self._settings.database.startswith("sqlite"):
                    raise
                log.warning("database not reachable", problem=str(error))
            await asyncio.sleep(random.uniform(wait / 2, wait))  # noqa: S311 - spreads attempts only
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)


async def serve_until_told(controller: Controller, ready: Callable[[Controller], None]) -> None:
    """Run until SIGTERM or SIGINT, then stop cleanly."""
    serving = asyncio.create_task(controller.run(ready))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, partial(_stop, serving))
    try:
        await serving
    except asyncio.CancelledError:
        log.info("stopped")


async def _keep_folding(database: Database) -> None:
    """Fold the store's log now and then; where it cannot be done now, it is done later, or by a commit."""
    while database.is_sqlite:
        await asyncio.sleep(FOLD_SECONDS)
        try:
            await asyncio.to_thread(database.fold)
        except StoreError as error:
            log.warning("log not folded", problem=str(error))


def _stop(serving: asyncio.Task[None]) -> None:
    systemd.tell("STOPPING=1")
    serving.cancel()


def _hook(settings: Settings) -> Hook | None:
    if not settings.webhook_url:
        return None
    return Hook.of(settings.webhook_url, settings.webhook_secrets(), settings.webhook_ca_file)


def _order(settings: Settings, signer: Signer) -> Order:
    return Order(settings.database, str(signer.verifier), settings.verify_minutes * 60)


def _first(errors: BaseExceptionGroup[StoreError]) -> BaseException:
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
