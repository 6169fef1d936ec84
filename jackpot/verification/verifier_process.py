"""The process that verifies the audit trail: `python -m jackpot.verification.verifier_process`.

Verification computes for seconds; in the daemon it would delay lamps. This process has its own interpreter and the
lowest priority. It reads one request from its input, writes each result as a line of JSON, and ends when its input is
closed, so it never outlives its daemon.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import select

from jackpot.store import tables
from jackpot.store.database import Database
from jackpot.store.errors import StoreError
from jackpot.store.marks import MarkFile
from jackpot.store.signed_notes import Verifier
from jackpot.store.trail_verification import Trail, Verified, every_chain

WHOLE_SECONDS: Final = 24 * 3_600.0
"""The interval at which everything is verified again; some hundred thousand events take a minute."""
LOWEST_PRIORITY: Final = 19


class VerificationRequest(NamedTuple):
    """The store, its public key, one chain or all, and the interval for new events; 0 verifies everything once.

    The file of marks is beside `key_file`; "" if there is none.
    """

    database: str
    key: str
    every_seconds: float
    chain: str | None = None
    key_file: str = ""


class ChainVerifier:
    """Verifies the chains of a store, one after another."""

    def __init__(self, request: VerificationRequest) -> None:
        self._database = Database(request.database)
        self._verifier = Verifier.of(request.key)
        self._chain = request.chain
        self._marks = MarkFile(Path(request.key_file)) if request.key_file else None
        self._trails: dict[str, Trail] = {}

    def verify(self, *, whole: bool) -> bool:
        """Verify the chains and write the results; return False if something is wrong or the store failed."""
        is_right = True
        try:
            for chain in self._chains(whole=whole):
                trail = self._trails.setdefault(chain, Trail(self._database, chain, self._verifier, self._marks))
                began = time.monotonic()
                found = trail.verify() if whole else trail.verify_new()
                write(_result(found, whole=whole, seconds=time.monotonic() - began))
                is_right = is_right and found.problem is None
        except StoreError as error:
            write({"failed": str(error)})
            return False
        return is_right

    def _chains(self, *, whole: bool) -> list[str]:
        """Return the chains to verify; for new events only, read their names from the list and not from the events."""
        if self._chain is not None:
            return [self._chain]
        with self._database.reader() as connection:
            if whole:
                return every_chain(connection)
            listed = connection.execute(select(tables.chains.c.chain)).scalars()
            return sorted({*self._trails, *listed})


def _result(found: Verified, *, whole: bool, seconds: float) -> dict[str, Any]:
    return {"verified": found._asdict(), "whole": whole, "seconds": round(seconds, 3)}


def write(message: dict[str, Any]) -> None:
    """Write a message to the daemon."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Verify until the daemon closes the input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which then ends this process
    os.setpriority(os.PRIO_PROCESS, 0, LOWEST_PRIORITY)
    request = VerificationRequest(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_input, daemon=True).start()
    verifier = ChainVerifier(request)
    whole_at = time.monotonic()
    while True:
        whole = time.monotonic() >= whole_at
        is_right = verifier.verify(whole=whole)
        if not request.every_seconds:
            return
        if not is_right:
            whole_at = time.monotonic()  # only a verification of everything can clear a problem
        elif whole:
            whole_at = time.monotonic() + WHOLE_SECONDS
        time.sleep(request.every_seconds)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
