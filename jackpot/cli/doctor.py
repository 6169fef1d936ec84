"""`jackpot doctor`: everything a site needs, looked at part by part, with a sentence about each."""

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
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, Opened, require_file
from jackpot.identity import DISTRIBUTION, INSTALLED, software_version
from jackpot.notify.webhook import HookError, Webhook
from jackpot.settings import EMBEDDED, Settings, SettingsError
from jackpot.store import schema, tables
from jackpot.store.database import Database, url_without_password
from jackpot.store.errors import StoreError, WrongSchema
from jackpot.wire.embedded_broker import BrokerError, program
from jackpot.wire.mqtt_session import Address, AddressError
from jackpot.wire.private_api import SUPPORTED

State = Literal["ok", "warning", "wrong"]

CONNECT_SECONDS: Final = 5.0
CLOCK_SECONDS: Final = 2.0
"""How far two clocks may be apart: events are ordered by their number, but people read their times."""
SOON_DAYS: Final = 30
_TIME_ERROR: Final = 5
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


class Finding(NamedTuple):
    """What was found of one part."""

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
        console().print(table("", ("part", "state", "what was found"), findings))
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
    """The versions that were checked when the command started; others are refused before anything is looked at."""
    clients = " and ".join(f"{each.package} {version(each.package)}" for each in SUPPORTED)
    return Finding("software", "ok", f"{DISTRIBUTION} {software_version()} in {INSTALLED}, with {clients}")


def _zone(chosen: Settings) -> Finding:
    try:
        ZoneInfo(chosen.timezone)
    except (KeyError, OSError, ValueError):
        return Finding("timezone", "wrong", f"{chosen.timezone!r} is no time zone: write Australia/Sydney, or UTC")
    return Finding("timezone", "ok", f"a day's report begins at midnight in {chosen.timezone}")


def _key(chosen: Settings) -> Finding:
    path = chosen.key_file
    try:
        name = Opened.key(chosen).verifier.name
    except (SettingsError, StoreError) as error:
        return Finding("key", "wrong", str(error))
    if name != chosen.site:
        return Finding("key", "wrong", f"{path} is the key of {name}, and this site is {chosen.site}")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding("key", "warning", f"{path} can be read by others than its owner: chmod 600")
    return Finding("key", "ok", f"{path} signs for {name}")


def _store(chosen: Settings) -> Iterator[Finding]:
    """Store, schema and clock: the last two are looked at only where the first answers."""
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
            yield Finding("schema", "ok", f"the schema is at {schema.head()}, as this program needs it")
            yield _clock(database)
        except StoreError as error:
            part = "schema" if isinstance(error, WrongSchema) else "store"
            yield Finding(part, "wrong", str(error))


def _clock(database: Database) -> Finding:
    """Our clock beside the last event, the database's clock, and what the kernel thinks of it."""
    e = tables.events.c
    with database.reader() as connection:
        heads = (e.chain == tables.chains.c.chain) & (e.seq == tables.chains.c.seq)
        last = connection.execute(select(func.max(e.at)).join(tables.chains, heads)).scalar_one_or_none()
        theirs = None if database.is_sqlite else connection.execute(select(func.clock_timestamp())).scalar_one()
    ours = datetime.now(UTC)
    if last is not None and (datetime.fromisoformat(last) - ours).total_seconds() > CLOCK_SECONDS:
        return Finding("clock", "wrong", f"it is {ours:%Y-%m-%dT%H:%M:%SZ} here, before the last event at {last}")
    if theirs is not None and abs((theirs - ours).total_seconds()) > CLOCK_SECONDS:
        apart = abs((theirs - ours).total_seconds())
        return Finding("clock", "wrong", f"the database's clock and ours are {apart:.1f} s apart")
    if not _is_synchronised():
        return Finding("clock", "warning", "the kernel does not know its clock to be synchronised: run an NTP client")
    return Finding("clock", "ok", f"it is {ours:%Y-%m-%dT%H:%M:%SZ}, after the last event")


def _is_synchronised() -> bool:
    """Whether an NTP client disciplines the clock; where the kernel cannot be asked, it is believed."""
    ask: Callable[[object], int] | None = getattr(ctypes.CDLL(None), "adjtimex", None)
    return ask is None or ask(ctypes.create_string_buffer(512)) != _TIME_ERROR


def _broker(chosen: Settings) -> Finding:
    if chosen.broker == EMBEDDED:
        try:
            return Finding("broker", "ok", f"one of its own: {program()}")
        except BrokerError as error:
            return Finding("broker", "wrong", str(error))
    try:
        address = Address.of(chosen.broker, chosen.mqtt_version, chosen.broker_ca_file)
        asyncio.run(_knock(address))
    except (AddressError, OSError, aiomqtt.MqttError, TimeoutError) as error:
        return Finding("broker", "wrong", f"{_named(chosen.broker)}: {_reason(error)}")
    if address.tls is None and address.host not in _LOOPBACK:
        return Finding("broker", "warning", f"{address.shown} answers, but not by TLS: anybody between can read along")
    return Finding("broker", "ok", f"{address.shown} lets us in")


async def _knock(address: Address) -> None:
    """Connect once and leave."""
    await _reach(address.host, address.port, address.tls)  # it says best what is wrong with a certificate
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
    """Every certificate that something here depends on."""
    asked: list[tuple[str, str, int, ssl.SSLContext]] = []
    try:
        address = Address.of(chosen.broker, chosen.mqtt_version, chosen.broker_ca_file)
        if address.tls is not None:
            asked.append(("broker", address.host, address.port, address.tls))
    except (AddressError, OSError):
        pass  # said of the broker already
    try:
        hook = _hook(chosen)
        if hook is not None and hook.tls is not None:
            asked.append(("webhook", hook.host, hook.port, hook.tls))
    except (HookError, SettingsError):
        pass  # said of the webhook below
    for file in filter(None, (chosen.broker_ca_file, chosen.webhook_ca_file)):
        yield from _of_file(Path(file))
    for whose, host, port, tls in asked:
        yield asyncio.run(_of_server(whose, host, port, tls))
    if not asked:
        yield Finding("certificates", "ok", "nothing here speaks TLS")


def _of_file(path: Path) -> Iterator[Finding]:
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        yield Finding("certificates", "wrong", f"{path}: {_reason(error)}")
        return
    ends = min(certificate.not_valid_after_utc for certificate in found)
    yield _until(str(path), ends)


async def _of_server(whose: str, host: str, port: int, tls: ssl.SSLContext) -> Finding:
    try:
        ends = await _reach(host, port, tls)
    except (OSError, TimeoutError) as error:
        return Finding("certificates", "wrong", f"the {whose} at {host}:{port}: {_reason(error)}")
    return _until(f"the {whose} at {host}:{port}", datetime.fromtimestamp(ends, UTC))


async def _reach(host: str, port: int, tls: ssl.SSLContext | None) -> float:
    """Connect and leave; says when the certificate ends that was shown, 0 where there was none."""
    async with asyncio.timeout(CONNECT_SECONDS):
        _, writer = await asyncio.open_connection(host, port, ssl=tls)
        certificate = writer.get_extra_info("peercert")
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    return ssl.cert_time_to_seconds(certificate["notAfter"]) if certificate else 0.0


def _until(whose: str, ends: datetime) -> Finding:
    days = (ends - datetime.now(UTC)).days
    if days < 0:
        return Finding("certificates", "wrong", f"{whose}: the certificate ended on {ends:%Y-%m-%d}")
    state: State = "warning" if days < SOON_DAYS else "ok"
    return Finding("certificates", state, f"{whose}: the certificate ends on {ends:%Y-%m-%d}, in {days} days")


def _webhook(chosen: Settings) -> Finding:
    """It is not posted to: a supervisor's telephone is not a doctor's business."""
    try:
        hook = _hook(chosen)
    except (HookError, SettingsError) as error:
        return Finding("webhook", "wrong", str(error))
    if hook is None:
        return Finding("webhook", "ok", "none is configured: supervisors are told by the console alone")
    try:
        asyncio.run(_reach(hook.host, hook.port, hook.tls))
    except (OSError, TimeoutError) as error:
        return Finding("webhook", "wrong", f"{hook.shown}: {_reason(error)}")
    if hook.tls is None and hook.host not in _LOOPBACK:
        return Finding("webhook", "warning", f"{hook.shown} takes connections, but not by TLS")
    return Finding("webhook", "ok", f"{hook.shown} takes connections")


def _hook(chosen: Settings) -> Webhook | None:
    if not chosen.webhook_url:
        return None
    return Webhook.of(chosen.webhook_url, chosen.webhook_secrets(), chosen.webhook_ca_file)


def _named(broker: str) -> str:
    scheme, mark, rest = broker.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


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
