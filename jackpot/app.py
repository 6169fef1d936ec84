"""The daemon: puts the pieces together, serves every jackpot of a site, and stops cleanly."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final, TypeVar

import structlog

from jackpot import metrics, systemd
from jackpot.clock import now
from jackpot.core.commands import CONTROLLER
from jackpot.core.notices import Notice, NoticeType
from jackpot.core.site.commands import StartSoftware
from jackpot.engine.alarms import AlarmCode, Alarms
from jackpot.engine.clock_watch import ClockWatch
from jackpot.engine.controllers import ControllerReport, ControllerReporter, withdraw
from jackpot.engine.jackpots import Jackpots
from jackpot.engine.journal import Journal
from jackpot.engine.mark_writer import MarkWriter
from jackpot.engine.service import JackpotService, read_recent_wins
from jackpot.engine.signing import JackpotSigner, SiteSigner
from jackpot.engine.site_writer import SiteWriter
from jackpot.identity import owner, software_digest, software_version
from jackpot.jackpot_runner import JackpotRunner, OpenedJackpot, RunnerParts, release_quietly
from jackpot.notify.delivery import NoticeSender
from jackpot.notify.low_reserve import notify_low_reserves
from jackpot.notify.webhook import Webhook
from jackpot.settings import Settings, listen_address
from jackpot.store import outbox, queries
from jackpot.store.checkpoints import ChainSigner, adopt_signed
from jackpot.store.database import Database, Limits, may_pass
from jackpot.store.durability import require_durable
from jackpot.store.errors import StoreError, Unreachable
from jackpot.store.hash_chain import SITE
from jackpot.store.lease_seals import has_seal, seal_lease
from jackpot.store.mark_notes import open_mark, sign_mark
from jackpot.store.marks import ChainMark, MarkFile, Marks
from jackpot.store.recoveries import require_known
from jackpot.store.reports import zone_of
from jackpot.store.schema import require_head
from jackpot.store.signed_notes import Signer
from jackpot.store.trail_verification import Trail, Verified
from jackpot.verification.monitor import VerificationMonitor
from jackpot.verification.verifier_process import VerificationRequest
from jackpot.web.authentication import Authenticator
from jackpot.web.forwarding import Forwarding
from jackpot.web.health import Health
from jackpot.web.live_view import LiveView
from jackpot.web.server import AppContext, application, listening_socket, metrics_server, serve
from jackpot.web.services import SiteInfo, WebServices
from jackpot.web.startup import StartupRouter
from jackpot.web.verification import VerificationService
from jackpot.wire.adapter import JackpotAdapter
from jackpot.wire.mqtt_session import Address, MqttSession
from jackpot.wire.retained import RetainedState, read_retained
from jackpot.wire.topics import Topics

WAL_CHECKPOINT_SECONDS: Final = 1.0
SIGN_SECONDS: Final = 60.0
ADOPT_SECONDS: Final = 5.0
FIRST_WAIT_SECONDS: Final = 0.5
MAX_WAIT_SECONDS: Final = 10.0
REACHED_SECONDS: Final = 2.0
"""A broker that is pinged every second and was silent for longer is not reported as reached."""
READ_SECONDS: Final = 15.0
"""How long one answer of the database to a query may take."""
STOP_SECONDS: Final = 9.0
"""A stop that takes longer, because a call into the system does not return, is ended."""

log = structlog.get_logger()
T = TypeVar("T")


class Controller:
    """Every jackpot of a site, served by one process."""

    def __init__(self, settings: Settings, signer: Signer, broker: str) -> None:
        zone_of(settings.timezone)  # refuse an unknown time zone before anything starts
        self._settings = settings
        self._signer = signer
        self._address = Address.of(broker, settings.mqtt_version, settings.broker_ca_file)
        self._topics = Topics(settings.site)
        self._webhook = _webhook(settings)
        self._sender: NoticeSender | None = None
        self._databases: list[Database] = []
        self._site_writer: SiteWriter | None = None
        self._mark_file = MarkFile(settings.key_file)
        self._mark_writer = MarkWriter(self._mark_file, self._committed_marks)
        self._signers: dict[str, JackpotSigner | SiteSigner] = {}
        self._clock_watch: ClockWatch | None = None
        self._health: Health | None = None
        self.alarms = Alarms()
        self.jackpots = Jackpots()
        self._broker = _broker_probe(self._address, self._topics)
        self.verification = VerificationMonitor(_order(settings, signer), self._notify_wrong_trail)

    async def run(self, ready: Callable[[Controller], None] = lambda _controller: None) -> None:
        """Serve until cancelled, or until another controller has taken a jackpot over."""
        try:
            with ExitStack() as open_things:
                listener = self._listen(open_things)
                database = self._database()
                async with asyncio.TaskGroup() as group:
                    group.create_task(systemd.feed_watchdog(), name="systemd")
                    router = self._start_http(group, listener, database)
                    names = await self._until_reachable(partial(self._begin, database))
                    self._start_notices(group, database)
                    if self._clock_watch is not None:
                        group.create_task(self._clock_watch.run(), name="clock")
                    group.create_task(_checkpoint_wal(database), name="wal-checkpoint")
                    group.create_task(self._broker.run(), name="broker-probe")
                    group.create_task(self._mark_writer.run(), name="marks")
                    group.create_task(self._sign_site(), name="sign-site")
                    group.create_task(self._adopt_marks(database), name="adopt-marks")
                    for name in names:
                        runner = JackpotRunner(name, self._runner_parts(name))
                        group.create_task(runner.run(), name=f"jackpot-{name}")
                        await runner.placed.wait()
                    reporter = self._new_reporter(database)
                    group.create_task(reporter.run(), name="report")
                    await self._serve(group, router, reporter, ready)
        except* StoreError as errors:
            raise _first(errors) from None
        finally:
            for service in self.jackpots.values():
                service.stop()  # it has stopped already, unless its task never ran
            if self._site_writer is not None:
                await asyncio.to_thread(self._site_writer.close)
            await self._mark_writer.write()
            await self._withdraw_report()
            for database in self._databases:
                database.close()

    def _listen(self, open_things: ExitStack) -> socket.socket | None:
        """Listen before anything else: a daemon that cannot listen must not start."""
        if self._settings.metrics:
            host, port = listen_address(self._settings.metrics)
            open_things.callback(metrics_server(host, port))
        if not self._settings.http:
            return None
        listener = listening_socket(*listen_address(self._settings.http))
        open_things.callback(listener.close)
        return listener

    def _start_http(
        self, group: asyncio.TaskGroup, listener: socket.socket | None, database: Database
    ) -> StartupRouter:
        """Answer HTTP from now on: /readyz reports what the daemon waits for."""
        self._health = Health(database, self.jackpots, self.verification.found, self.alarms)
        router = StartupRouter(self._health)
        if listener is not None:
            group.create_task(serve(router, listener, self._settings.trusted_proxies), name="http")
        return router

    def _start_notices(self, group: asyncio.TaskGroup, database: Database) -> None:
        metrics.BUILD.info({"version": software_version()})
        metrics.RESERVE_FLOOR_CENTS.set(self._settings.reserve_floor_cents)
        metrics.VERIFICATION_INTERVAL.set(self._settings.verify_minutes * 60)
        if self._webhook is not None:
            self._sender = NoticeSender(database, self._webhook, software_version(), self._sends_for)
            group.create_task(self._sender.run(), name="notices")

    async def _serve(
        self,
        group: asyncio.TaskGroup,
        router: StartupRouter,
        reporter: ControllerReporter,
        ready: Callable[[Controller], None],
    ) -> None:
        database, site_writer = self._databases[0], self._require_site_writer()
        live = LiveView(self.jackpots)
        await self._until_reachable(partial(live.load, database))
        info = SiteInfo(self._settings.site, self._settings.timezone)
        verification = VerificationService(self.verification)
        services = WebServices(database, self.jackpots, site_writer, verification, info, reporter=reporter)
        authenticator = Authenticator(site_writer)
        forwarding = Forwarding(services, self._signer, reporter.name)
        context = AppContext(services, authenticator, live, router.health, forwarding)
        router.route_to(application(context, software_version()))
        group.create_task(authenticator.watch(), name="authentication")
        for source in list(self.jackpots.values()):
            await source.listening.wait()
        if self._settings.verify_minutes:
            group.create_task(self.verification.run([SITE, *self.jackpots]), name="verification")
        ready(self)
        systemd.notify(f"READY=1\nSTATUS=serving {', '.join(self.jackpots) or 'no jackpot'}")

    def _sends_for(self, chain: str) -> bool:
        """Return True if this controller sends the notices of a chain: its owner, for the site that of the first."""
        if not self.jackpots:
            return True
        return self.jackpots[chain if chain in self.jackpots else min(self.jackpots)].owned

    def _wake_notices(self) -> None:
        if self._sender is not None:
            self._sender.wake()

    async def _notify_wrong_trail(self, found: Verified) -> bool:
        """Put a notice of a wrong trail into the outbox; return False if the store could not keep it."""
        if self._webhook is None:
            return True
        notice = Notice(NoticeType.TRAIL_WRONG, now(), {"problem": found.problem})
        put = partial(outbox.put, self._databases[0], self._settings.site, found.chain, found.wrong_seq or 0, notice)
        try:
            await asyncio.to_thread(put)
        except StoreError as error:
            log.warning("notice not kept", problem=str(error))
            return False
        self._wake_notices()
        return True

    def _database(self) -> Database:
        limits = Limits(self._settings.stall_seconds, READ_SECONDS)
        database = Database(self._settings.database, limits)
        self._databases.append(database)
        return database

    def _begin(self, database: Database) -> tuple[str, ...]:
        """Check the schema, record which software this is, and return the site's jackpots."""
        require_head(database)
        require_durable(database)
        require_known(database, self._signer.verifier, self._mark_file)
        trail = Trail(database, SITE, self._signer.verifier, self._mark_file)
        trail.require_start()
        signer = SiteSigner(trail, ChainSigner(database, SITE, self._signer, self._mark_file))
        self._signers[SITE] = signer
        site_writer = SiteWriter(database, owner(), signer, partial(seal_lease, self._signer))
        with database.reader() as connection:
            newest = queries.newest_event_time(connection) or ""
        target = self._settings.notice_target
        if target is not None:
            notify_low_reserves(database, target)
        floor_cents = target.reserve_floor_cents if target is not None else 0
        started = StartSoftware(now(), CONTROLLER, software_version(), software_digest(), floor_cents)
        try:
            site_writer.submit(started).result()
        except StoreError:
            site_writer.close()  # the next attempt begins with a new one
            raise
        self._site_writer = site_writer
        self._clock_watch = ClockWatch(site_writer, self.alarms)
        self._clock_watch.check_start(newest)
        metrics.AUDIT_SEQ.labels(SITE).set_function(lambda: site_writer.seq)
        return site_writer.site.jackpots

    async def _sign_site(self) -> None:
        """Sign the site's new events every minute; those of operators' acts are signed at once."""
        while True:
            await asyncio.sleep(SIGN_SECONDS)
            self._require_site_writer().sign_waiting()

    async def _adopt_marks(self, database: Database) -> None:
        """Keep marks of what other controllers have signed, for the day when this one takes over."""
        while not database.is_sqlite:
            await asyncio.sleep(ADOPT_SECONDS)
            for chain in (SITE, *(name for name, source in self.jackpots.items() if not source.owned)):
                try:
                    await asyncio.to_thread(adopt_signed, database, chain, self._signer.verifier, self._mark_file)
                except StoreError as error:
                    log.warning("marks not adopted", chain=chain, problem=str(error))

    def _committed_marks(self) -> dict[str, ChainMark]:
        """Return the last durable event of each chain that this process writes."""
        marks = {name: source.committed.mark for name, source in self.jackpots.items() if source.owned}
        site = self._site_writer.mark if self._site_writer is not None else None
        return marks if site is None else {SITE: site, **marks}

    def stopping(self) -> None:
        """Let the last checkpoint of each chain have a snapshot."""
        for signer in self._signers.values():
            signer.is_stopping = True

    def _require_site_writer(self) -> SiteWriter:
        if self._site_writer is None:
            raise AssertionError("the site is read before anything is served")
        return self._site_writer

    def _runner_parts(self, name: str) -> RunnerParts:
        database = self._database()
        return RunnerParts(
            jackpots=self.jackpots,
            database=database,
            name_of_controller=owner(),
            prefers=name in self._settings.preferred,
            read_retained=partial(self._read_retained, name),
            open_journal=partial(self._open_journal, database, name),
            new_service=self._new_service,
            new_adapter=self._new_adapter,
            until_reachable=self._until_reachable,
            alarms=self.alarms,
        )

    async def _read_retained(self, name: str) -> RetainedState:
        """Read what an earlier controller of a jackpot left with the broker."""
        probe = f"{self._topics.client_id(name)}-probe-{os.getpid()}"
        linked = [table for table, jackpot in self._require_site_writer().site.tables.items() if jackpot == name]
        return await read_retained(self._address, self._topics, name, linked, probe)

    def _new_service(self, opened: OpenedJackpot, retained: RetainedState) -> JackpotService:
        journal, checkpoint = opened.journal, opened.checkpoint
        name, seq = journal.lease.chain, journal.lease.head.seq
        if retained.seq > seq:
            ahead = f"the broker has messages of event {retained.seq:,}, but the store ends at {seq:,}"
            self.alarms.raise_alarm(name, AlarmCode.BROKER_AHEAD, f"{ahead}: find out whether events are lost")
        return JackpotService(
            journal,
            checkpoint,
            self._wake_notices,
            self.alarms,
            stall_seconds=self._settings.stall_seconds,
            recent_wins=opened.recent_wins,
        )

    def _new_adapter(self, service: JackpotService) -> JackpotAdapter:
        mark = self._mark_file.read().marks.get(service.id)
        sign = partial(sign_mark, self._signer, service.id)
        mark_epoch = mark.epoch if mark is not None else 0
        return JackpotAdapter(self._address, self._topics, service, sign, mark_epoch=mark_epoch)

    def _new_reporter(self, database: Database) -> ControllerReporter:
        """Return what reports this controller to the others."""
        own = ControllerReport(
            name=owner(),
            address=self._settings.advertised,
            broker=False,
            version=software_version(),
            started_at=now(),
            positions={},
            standby=(),
            prefers=self._settings.preferred,
        )
        return ControllerReporter(database, own, self.jackpots, self._has_broker)

    async def _withdraw_report(self) -> None:
        """Delete the report of this controller, so that no other counts on it; it ends by itself after seconds."""
        if not self._databases or self._databases[0].is_sqlite:
            return
        try:
            await asyncio.to_thread(withdraw, self._databases[0], owner())
        except StoreError as error:
            log.warning("report not withdrawn", problem=str(error))

    def _has_broker(self) -> bool:
        """Return True if the broker can be reached from here."""
        return self._broker.connected and self._broker.silent_seconds() < REACHED_SECONDS

    def _open_journal(self, database: Database, name: str, retained: RetainedState, at: int | None) -> OpenedJackpot:
        """Verify a jackpot against the marks and its snapshot, acquire it, and sign its head."""
        verifier = self._signer.verifier
        mark = open_mark(verifier, name, retained.mark) if retained.mark else None
        trail = Trail(database, name, verifier, self._mark_file)
        trail.require_start(mark)
        known = self._mark_file.read().marks.get(name)
        target = self._settings.notice_target
        seal = partial(seal_lease, self._signer)
        journal = Journal.open(
            database,
            name,
            owner(),
            seen_epoch=retained.epoch,
            notice_target=target,
            seal=seal,
            at=at,
            mark_epoch=known.epoch if known is not None else 0,
        )
        try:
            if journal.lease.head.seq:
                trail.require_new()  # what an earlier owner wrote until now
            signer = JackpotSigner(journal, ChainSigner(database, name, self._signer, self._mark_file))
            signer()
            head = journal.lease.head
            is_sealed = has_seal(database, name)
            self._mark_file.raise_to(Marks({name: ChainMark(head.epoch, head.seq, head.hash, is_sealed)}))
            self._signers[name] = signer
            return OpenedJackpot(journal, signer, read_recent_wins(journal))
        except StoreError:
            release_quietly(journal)  # another controller may be able to serve it
            raise

    async def _until_reachable(self, act: Callable[[], T]) -> T:
        """Wait for a store that is down, full or locked; a SQLite file that cannot be opened is an error."""
        wait = FIRST_WAIT_SECONDS
        while True:
            try:
                result = await asyncio.to_thread(act)
            except Unreachable as error:
                if not may_pass(error):
                    raise
                self._show_wait(str(error))
                log.warning("database not reachable", problem=str(error))
            else:
                self._show_wait("")
                return result
            await asyncio.sleep(random.uniform(wait / 2, wait))  # noqa: S311 - spreads attempts only
            wait = min(2 * wait, MAX_WAIT_SECONDS)

    def _show_wait(self, problem: str) -> None:
        """Show on /readyz why the start waits for the store, "" if it does not."""
        if self._health is not None:
            self._health.start_problem = problem


async def serve_until_signal(controller: Controller, ready: Callable[[Controller], None]) -> None:
    """Run until SIGTERM or SIGINT, then stop cleanly."""
    serving = asyncio.create_task(controller.run(ready))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, partial(_stop, controller, serving))
    try:
        await serving
    except asyncio.CancelledError:
        log.info("stopped")


async def _checkpoint_wal(database: Database) -> None:
    """Copy SQLite's write-ahead log into its file every second; a failed attempt is repeated, or done by a commit."""
    while database.is_sqlite:
        await asyncio.sleep(WAL_CHECKPOINT_SECONDS)
        try:
            await asyncio.to_thread(database.checkpoint_wal)
        except StoreError as error:
            log.warning("write-ahead log not checkpointed", problem=str(error))


def _stop(controller: Controller, serving: asyncio.Task[None]) -> None:
    systemd.notify("STOPPING=1")
    controller.stopping()
    serving.cancel()
    end = threading.Timer(STOP_SECONDS, _end_process)
    end.daemon = True
    end.start()


def _end_process() -> None:
    """End the process at once: everything that was answered is durable, and the broker publishes the will."""
    log.error("stopped without waiting for calls that do not return")
    os._exit(1)


def _broker_probe(address: Address, topics: Topics) -> MqttSession:
    """Return a session that only shows whether the broker can be reached from here, for the other controllers."""
    name = f"{topics.client_id('controller')}-{owner()}".replace(":", "-")

    async def connected() -> None:
        return

    return MqttSession(address, name, on_message=lambda _message: None, on_connect=connected, clean=True)


def _webhook(settings: Settings) -> Webhook | None:
    if not settings.webhook_url:
        return None
    return Webhook.of(settings.webhook_url, settings.webhook_secrets(), settings.webhook_ca_file)


def _order(settings: Settings, signer: Signer) -> VerificationRequest:
    interval = settings.verify_minutes * 60
    return VerificationRequest(settings.database, str(signer.verifier), interval, key_file=str(settings.key_file))


def _first(errors: BaseExceptionGroup[StoreError]) -> BaseException:
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
