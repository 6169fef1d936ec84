"""`jackpot serve`: the daemon, for production configuration."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog

from jackpot import logs, settings
from jackpot.app import Controller, serve_until_told
from jackpot.cli.opening import DEFAULT_CONFIG, ConfigFile, opened
from jackpot.settings import EMBEDDED, Settings
from jackpot.wire.broker import embedded

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
    with broker_of(chosen, config.absolute().parent) as broker:
        controller = Controller(chosen, signer, broker)
        asyncio.run(serve_until_told(controller, lambda _: _ready(broker)))


def _ready(broker: str) -> None:
    """Everything is there: what lives as long as the daemon need never be looked through for garbage again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    log.info("serving", broker=_shown(broker))


@contextmanager
def broker_of(chosen: Settings, folder: Path) -> Iterator[str]:
    """The site's broker, or an embedded one that lives as long as it is needed."""
    if chosen.broker != EMBEDDED:
        yield chosen.broker
        return
    with embedded(folder / "jackpot-broker", chosen.embedded_port) as port:
        yield f"mqtt://127.0.0.1:{port}"


def _shown(broker: str) -> str:
    scheme, _, rest = broker.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
