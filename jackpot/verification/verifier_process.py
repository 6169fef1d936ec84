"""The process beside the daemon that verifies its trail: `python -m jackpot.verification.verifier_process`.

To verify is to compute for long: in the daemon it would hold up lamps. Here it has an interpreter of its own and the
lowest priority. It is told what to do in one line on its input, says what it found in lines on its output, and ends
when its input does: it never outlives its daemon.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from typing import Any, Final, NamedTuple

from sqlalchemy import select

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.signed_notes import Verifier
from jackpot.store.trail_verification import Trail, Verified, every_chain

WHOLE_SECONDS: Final = 24 * 3_600.0
"""What was verified once is verified again every day: some hundred thousand events are a minute's work."""
LEAST_IMPORTANT: Final = 19


class Order(NamedTuple):
    """What to verify with which public key: one chain or all, and how often what is new; 0 is once, and everything."""

    database: str
    key: str
    every_seconds: float
    chain: str | None = None


class Verification:
    """Every chain of a store, verified one after another."""

    def __init__(self, order: Order) -> None:
        self._database = Database(order.database)
        self._verifier = Verifier.of(order.key)
        self._chain = order.chain
        self._trails: dict[str, Trail] = {}

    def verify(self, *, whole: bool) -> bool:
        """Verify every chain and say what was found; says whether the store let it and nothing was wrong."""
        is_right = True
        try:
            for chain in self._chains(whole=whole):
                trail = self._trails.setdefault(chain, Trail(self._database, chain, self._verifier))
                began = time.monotonic()
                found = trail.verify() if whole else trail.verify_new()
                say(_told(found, whole=whole, seconds=time.monotonic() - began))
                is_right = is_right and found.problem is None
        except StoreError as error:
            say({"failed": str(error)})
            return False
        return is_right

    def _chains(self, *, whole: bool) -> list[str]:
        """All chains; between two looks at everything, those on the list, so that no event is read for it."""
        if self._chain is not None:
            return [self._chain]
        with self._database.reader() as connection:
            if whole:
                return every_chain(connection)
            listed = connection.execute(select(tables.chains.c.chain)).scalars()
            return sorted({*self._trails, *listed})


def _told(found: Verified, *, whole: bool, seconds: float) -> dict[str, Any]:
    return {"verified": found._asdict(), "whole": whole, "seconds": round(seconds, 3)}


def say(told: dict[str, Any]) -> None:
    """Tell the daemon."""
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Verify until the daemon is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which lets go of us in its own time
    os.setpriority(os.PRIO_PROCESS, 0, LEAST_IMPORTANT)
    order = Order(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_input, daemon=True).start()
    verification = Verification(order)
    whole_at = time.monotonic()
    while True:
        whole = time.monotonic() >= whole_at
        is_right = verification.verify(whole=whole)
        if not order.every_seconds:
            return
        if not is_right:
            whole_at = time.monotonic()  # only a look at everything can say that what was wrong is mended
        elif whole:
            whole_at = time.monotonic() + WHOLE_SECONDS
        time.sleep(order.every_seconds)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
