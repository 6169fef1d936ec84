"""`jackpot serve`: the daemon, for production configuration."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Final

import structlog

from jackpot import logs, settings
from jackpot.app import Controller, serve_until_signal
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, opened
from jackpot.settings import EMBEDDED, Settings
from jackpot.store.signed_notes import Signer
from jackpot.wire.embedded_broker import EmbeddedBroker

SWITCH_SECONDS: Final = 0.0005
"""How soon the writer's thread gets its turn after each call into the database; Python's own is 25 times as long."""

GARBAGE: Final = (20_000, 20, 100)
"""How many new objects call for a look: a batch of wagers makes thousands, and nearly all go with it."""

log = structlog.get_logger()


def serve(*, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Serve every jackpot of the site until SIGTERM or Ctrl-C; without a configured broker, with one of its own."""
    chosen = settings.read(config)
    logs.set_up(chosen.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    with opened(config) as site:
        signer = site.signer()
    if chosen.broker != EMBEDDED:
        asyncio.run(_serve(chosen, signer, chosen.broker))
        return
    with EmbeddedBroker(config.absolute().parent / "jackpot-broker", chosen.embedded_port) as own:
        asyncio.run(_serve_beside(own, chosen, signer))


async def _serve(chosen: Settings, signer: Signer, broker: str) -> None:
    await serve_until_signal(Controller(chosen, signer, broker), lambda _: _ready(broker))


async def _serve_beside(own: EmbeddedBroker, chosen: Settings, signer: Signer) -> None:
    """Serve with a broker of our own, which is started again should it end."""
    keeping = asyncio.create_task(own.keep_running(), name="broker")
    try:
        await _serve(chosen, signer, f"mqtt://127.0.0.1:{own.port}")
    finally:
        keeping.cancel()


def _ready(broker: str) -> None:
    """Everything is there: what lives as long as the daemon need never be looked through for garbage again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    log.info("serving", broker=_shown(broker))


def _shown(broker: str) -> str:
    scheme, _, rest = broker.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
