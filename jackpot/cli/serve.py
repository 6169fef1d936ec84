"""`jackpot serve`: the daemon."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import closing
from typing import Final

import structlog

from jackpot import logs, settings
from jackpot.app import Controller, serve_until_signal
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, SiteContext, require_file
from jackpot.settings import EMBEDDED, Settings
from jackpot.store.database import Database
from jackpot.store.signed_notes import Signer
from jackpot.wire.embedded_broker import EmbeddedBroker

SWITCH_SECONDS: Final = 0.0005
"""How soon the writer thread continues after a call into the database; Python's default is ten times as long."""

GARBAGE: Final = (20_000, 20, 100)
"""Garbage collection thresholds: a batch of wagers creates thousands of objects that are freed with it."""

log = structlog.get_logger()


def serve(*, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Serve all jackpots of the site until SIGTERM or Ctrl-C; starts a broker if the setting is broker = "embedded"."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell starts with it ignored
    chosen = settings.read(config)
    logs.set_up(chosen.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    _require_store(chosen)
    signer = SiteContext.read_key(chosen)
    if chosen.broker != EMBEDDED:
        asyncio.run(_serve(chosen, signer, chosen.broker))
        return
    with EmbeddedBroker(config.absolute().parent / "jackpot-broker", chosen.embedded_port) as own:
        asyncio.run(_serve_with_broker(own, chosen, signer))


def _require_store(chosen: Settings) -> None:
    """Refuse a SQLite file that does not exist; a PostgreSQL server that is down is waited for."""
    with closing(Database(chosen.database)) as database:
        require_file(database)


async def _serve(chosen: Settings, signer: Signer, broker: str) -> None:
    await serve_until_signal(Controller(chosen, signer, broker), lambda _: _ready(broker))


async def _serve_with_broker(own: EmbeddedBroker, chosen: Settings, signer: Signer) -> None:
    """Serve with the embedded broker, which is restarted if it ends."""
    supervising = asyncio.create_task(own.keep_running(), name="broker")
    try:
        await _serve(chosen, signer, f"mqtt://127.0.0.1:{own.port}")
    finally:
        supervising.cancel()


def _ready(broker: str) -> None:
    """Exclude the objects created so far from garbage collection: they live as long as the daemon."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    log.info("serving", broker=_shown(broker))


def _shown(broker: str) -> str:
    scheme, _, rest = broker.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
