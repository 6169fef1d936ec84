"""`jackpot doctor`: check each part of a site and print one sentence about it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import ssl
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

import aiomqtt
from cryptography import x509
from sqlalchemy import func, select, text

from jackpot import settings
from jackpot.cli.output import AsJson, console, print_json, table
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, require_file
from jackpot.engine.controllers import live_controllers, ownerships
from jackpot.identity import DISTRIBUTION, INSTALLED, software_version
from jackpot.notify.webhook import Webhook, WebhookError
from jackpot.settings import EMBEDDED, Settings, SettingsError
from jackpot.store import schema, tables
from jackpot.store.database import Database, url_without_password
from jackpot.store.durability import require_durable
from jackpot.store.errors import NotDurable, StoreError, WrongSchema
from jackpot.wire.embedded_broker import BrokerError, program
from jackpot.wire.mqtt_session import Address, AddressError
from jackpot.wire.private_api import SUPPORTED

State = Literal["ok", "warning", "wrong"]

CONNECT_SECONDS: Final = 5.0
CLOCK_SECONDS: Final = 2.0
"""The largest accepted difference between two clocks."""
SOON_DAYS: Final = 30
_TIME_ERROR: Final = 5
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class Finding(NamedTuple):
    """The result of one check."""

    part: str
    state: State
    says: str


def doctor(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> int:
    """Check software, configuration, key, store, clock, broker, certificates and webhook; exit 1 if one is wrong."""
    findings = list(_findings(config))
    wrong = any(finding.state == "wrong" for finding in findings)
    if as_json:
        print_json({"ok": not wrong, "findings": [finding._asdict() for finding in findings]})
    else:
        console().print(table("", ("part", "state", "result"), findings))
    return 1 if wrong else 0


def _findings(config: Path) -> Iterator[Finding]:
    yield _software()
    try:
        chosen = settings.read(config)
    except SettingsError as error:
        yield Finding("configuration", "wrong", str(error))
        return
    yield Finding("configuration", "ok", f"{config} can be read")
    yield _zone(chosen)
    yield _key(chosen)
    yield from _store(chosen)
    yield _broker(chosen)
    yield from _certificates(chosen)
    yield _webhook(chosen)


def _software() -> Finding:
    """Report the installed versions; unsupported ones were refused when the command started."""
    clients = " and ".join(f"{each.package} {version(each.package)}" for each in SUPPORTED)
    return Finding("software", "ok", f"{DISTRIBUTION} {software_version()} in {INSTALLED}, with {clients}")


def _zone(chosen: Settings) -> Finding:
    try:
        ZoneInfo(chosen.timezone)
    except (KeyError, OSError, ValueError):
        return Finding(
            "timezone", "wrong", f"{chosen.timezone!r} is not a time zone: use for example Australia/Sydney, or UTC"
        )
    return Finding("timezone", "ok", f"daily reports begin at midnight in {chosen.timezone}")


def _key(chosen: Settings) -> Finding:
    path = chosen.key_file
    try:
        name = SiteContext.read_key(chosen).verifier.name
    except (SettingsError, StoreError) as error:
        return Finding("key", "wrong", str(error))
    if name != chosen.site:
        return Finding("key", "wrong", f"{path} is the key of the site {name}, but this site is {chosen.site}")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding("key", "warning", f"{path} can be read by other users: run chmod 600 {path}")
    return Finding("key", "ok", f"{path} is the key of this site")


def _store(chosen: Settings) -> Iterator[Finding]:
    """Check store, schema and clock; the last two only if the store answers."""
    try:
        database = Database(chosen.database)
    except StoreError as error:
        yield Finding("store", "wrong", str(error))
        return
    with closing(database):
        try:
            require_file(database)
            with database.reader() as connection:
                connection.execute(text("SELECT 1"))
            yield Finding("store", "ok", f"{url_without_password(chosen.database)} answers")
            schema.require_head(database)
            yield Finding("schema", "ok", f"the schema is at {schema.head()}, the version that this program needs")
            require_durable(database)
            yield Finding("durability", "ok", "committed wagers survive a crash of the store")
            yield _clock(database)
            yield from _controllers(database)
        except StoreError as error:
            parts = {WrongSchema: "schema", NotDurable: "durability"}
            yield Finding(parts.get(type(error), "store"), "wrong", str(error))


def _controllers(database: Database) -> Iterator[Finding]:
    """Name the controllers that run, the owner and epoch of each jackpot, and the lag of its standbys."""
    if database.is_sqlite:
        yield Finding("controllers", "ok", "a SQLite store has one controller; several need PostgreSQL")
        return
    with database.reader() as connection:
        live, owned = live_controllers(connection), ownerships(connection)
    if not live:
        yield Finding("controllers", "ok", "no controller is running")
        return
    for of in owned.values():
        lags = [
            f"{each.name} ({max(0, of.seq - each.positions[of.jackpot].seq)} events behind)"
            for each in live.values()
            if of.jackpot in each.standby and of.jackpot in each.positions and each.name != of.owner
        ]
        standbys = f"standing by: {', '.join(lags)}" if lags else "no controller stands by"
        state: State = "ok" if of.owner in live else "warning"
        owner = f"is owned by {of.owner}" if of.owner in live else "has no owner that runs"
        yield Finding("controllers", state, f"{of.jackpot} {owner} at epoch {of.epoch}; {standbys}")


def _clock(database: Database) -> Finding:
    """Compare our clock with the last event and the database's clock, and check that it is synchronised."""
    e = tables.events.c
    with database.reader() as connection:
        heads = (e.chain == tables.chains.c.chain) & (e.seq == tables.chains.c.seq)
        last = connection.execute(select(func.max(e.at)).join(tables.chains, heads)).scalar_one_or_none()
        database_time = None if database.is_sqlite else connection.execute(select(func.clock_timestamp())).scalar_one()
    ours = datetime.now(UTC)
    if last is not None and (datetime.fromisoformat(last) - ours).total_seconds() > CLOCK_SECONDS:
        return Finding("clock", "wrong", f"the time here is {ours:%Y-%m-%dT%H:%M:%SZ}, before the last event at {last}")
    if database_time is not None and abs((database_time - ours).total_seconds()) > CLOCK_SECONDS:
        apart = abs((database_time - ours).total_seconds())
        return Finding("clock", "wrong", f"the clock of the database differs from ours by {apart:.1f} s")
    if not _is_synchronised():
        return Finding("clock", "warning", "the system clock is not synchronised: run an NTP client")
    return Finding("clock", "ok", f"the time is {ours:%Y-%m-%dT%H:%M:%SZ}, after the last event")


def _is_synchronised() -> bool:
    """Return False if the kernel reports that no NTP client synchronises the clock."""
    adjtimex: Callable[[object], int] | None = getattr(ctypes.CDLL(None), "adjtimex", None)
    return adjtimex is None or adjtimex(ctypes.create_string_buffer(512)) != _TIME_ERROR


def _broker(chosen: Settings) -> Finding:
    if chosen.broker == EMBEDDED:
        try:
            return Finding("broker", "ok", f"the embedded broker: {program()}")
        except BrokerError as error:
            return Finding("broker", "wrong", str(error))
    try:
        address = Address.of(chosen.broker, chosen.mqtt_version, chosen.broker_ca_file)
        asyncio.run(_connect(address))
    except (AddressError, OSError, aiomqtt.MqttError, TimeoutError) as error:
        return Finding("broker", "wrong", f"{_without_password(chosen.broker)}: {_reason(error)}")
    if address.tls is None and address.host not in _LOOPBACK:
        return Finding(
            "broker", "warning", f"{address.shown} answers without TLS: others on the network can read the messages"
        )
    return Finding("broker", "ok", f"{address.shown} accepts our connection")


async def _connect(address: Address) -> None:
    """Connect once and disconnect."""
    await _reach(address.host, address.port, address.tls)  # gives the clearest error for a bad certificate
    client = aiomqtt.Client(
        address.host,
        address.port,
        username=address.username,
        password=address.password,
        identifier=f"doctor-{os.getpid()}",
        protocol=aiomqtt.ProtocolVersion(address.version),
        tls_context=address.tls,
        timeout=CONNECT_SECONDS,
    )
    async with client:
        pass


def _certificates(chosen: Settings) -> Iterator[Finding]:
    """Check the certificates of the broker, the webhook, and the authorities in files."""
    servers: list[tuple[str, str, int, ssl.SSLContext]] = []
    try:
        address = Address.of(chosen.broker, chosen.mqtt_version, chosen.broker_ca_file)
        if address.tls is not None:
            servers.append(("broker", address.host, address.port, address.tls))
    except (AddressError, OSError):
        pass  # reported for the broker already
    try:
        webhook = _configured_webhook(chosen)
        if webhook is not None and webhook.tls is not None:
            servers.append(("webhook", webhook.host, webhook.port, webhook.tls))
    except (WebhookError, SettingsError):
        pass  # reported for the webhook below
    for file in filter(None, (chosen.broker_ca_file, chosen.webhook_ca_file)):
        yield from _check_file(Path(file))
    for name, host, port, tls in servers:
        yield asyncio.run(_check_server(name, host, port, tls))
    if not servers:
        yield Finding("certificates", "ok", "no connection uses TLS")


def _check_file(path: Path) -> Iterator[Finding]:
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        yield Finding("certificates", "wrong", f"{path}: {_reason(error)}")
        return
    ends = min(certificate.not_valid_after_utc for certificate in found)
    yield _expiry(str(path), ends)


async def _check_server(name: str, host: str, port: int, tls: ssl.SSLContext) -> Finding:
    try:
        ends = await _reach(host, port, tls)
    except (OSError, TimeoutError) as error:
        return Finding("certificates", "wrong", f"the {name} at {host}:{port}: {_reason(error)}")
    return _expiry(f"the {name} at {host}:{port}", datetime.fromtimestamp(ends, UTC))


async def _reach(host: str, port: int, tls: ssl.SSLContext | None) -> float:
    """Connect and disconnect; return the expiry time of the server's certificate, 0 without one."""
    async with asyncio.timeout(CONNECT_SECONDS):
        _, writer = await asyncio.open_connection(host, port, ssl=tls)
        certificate = writer.get_extra_info("peercert")
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return ssl.cert_time_to_seconds(certificate["notAfter"]) if certificate else 0.0


def _expiry(name: str, ends: datetime) -> Finding:
    days = (ends - datetime.now(UTC)).days
    if days < 0:
        return Finding("certificates", "wrong", f"{name}: the certificate expired on {ends:%Y-%m-%d}")
    state: State = "warning" if days < SOON_DAYS else "ok"
    return Finding("certificates", state, f"{name}: the certificate expires on {ends:%Y-%m-%d}, in {days} days")


def _webhook(chosen: Settings) -> Finding:
    """Connect to the webhook without posting, so that no supervisor is notified."""
    try:
        webhook = _configured_webhook(chosen)
    except (WebhookError, SettingsError) as error:
        return Finding("webhook", "wrong", str(error))
    if webhook is None:
        return Finding("webhook", "ok", "not configured: supervisors see notices on the console only")
    try:
        asyncio.run(_reach(webhook.host, webhook.port, webhook.tls))
    except (OSError, TimeoutError) as error:
        return Finding("webhook", "wrong", f"{webhook.shown}: {_reason(error)}")
    if webhook.tls is None and webhook.host not in _LOOPBACK:
        return Finding("webhook", "warning", f"{webhook.shown} accepts connections without TLS")
    return Finding("webhook", "ok", f"{webhook.shown} accepts connections")


def _configured_webhook(chosen: Settings) -> Webhook | None:
    if not chosen.webhook_url:
        return None
    return Webhook.of(chosen.webhook_url, chosen.webhook_secrets(), chosen.webhook_ca_file)


def _without_password(broker: str) -> str:
    scheme, separator, rest = broker.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error))
