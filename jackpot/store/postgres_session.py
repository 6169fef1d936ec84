"""Sessions with a PostgreSQL server: every wait has a limit that this process keeps by itself.

A server may stop answering without closing the connection: a stopped process, a lost network, a lock. The server's own
timeouts do not help then, and `statement_timeout` must stay 0 for the writer: a commit that is cancelled while it waits
for its standby becomes visible without being replicated. So each wait for the server ends here, and the session is
given up. Before the writer uses a new session, the old one is known to have ended on the server (`end_abandoned`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

import psycopg
from psycopg.abc import PQGen

CONNECT_SECONDS: Final = 3
NETWORK_OPTIONS: Final[Mapping[str, Any]] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 3_000,
}
"""libpq's settings that notice a lost network within seconds; the address may set others."""
TERMINATE_MS: Final = 1_000
"""How long the server waits for the end of an abandoned session."""
_POLL_SECONDS: Final = 0.1

T = TypeVar("T")


class TimedConnection(psycopg.Connection[Any]):
    """A connection that is closed, with an error, when the server does not answer within a limit."""

    limit_seconds = 60.0

    def wait(self, gen: PQGen[T], interval: float = _POLL_SECONDS, timeout: float | None = None) -> T:
        """Wait for the server, but not longer than the limit."""
        limit = self.limit_seconds if timeout is None else min(timeout, self.limit_seconds)
        began = time.monotonic()
        try:
            return super().wait(gen, interval, limit)
        except psycopg.OperationalError:
            if time.monotonic() - began < limit:
                raise
            self.pgconn.finish()
            raise unanswered(limit) from None


class Backend(NamedTuple):
    """The server's process of one session; process numbers are reused, so the time of its start belongs to it."""

    pid: int
    started: str


def unanswered(seconds: float) -> psycopg.OperationalError:
    """Return the error of a server that does not answer."""
    return psycopg.OperationalError(f"the server did not answer within {seconds:g} s")


def prepare_session(connection: psycopg.Connection[Any], *, lock_ms: int, statement_ms: int, idle_ms: int) -> None:
    """Set durable commits, also where the server's default is off, and the limits that the server keeps."""
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') IN ('off', 'local')"
    )
    connection.execute(
        "SELECT set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false),"
        " set_config('idle_in_transaction_session_timeout', %s, false)",
        (str(lock_ms), str(statement_ms), str(idle_ms)),
    )
    # A controller that is stopped or cut off must not keep its row locks: the server notices that, too.
    connection.execute(
        "SELECT set_config(name, value, false) FROM (VALUES"
        " ('tcp_keepalives_idle', '1'), ('tcp_keepalives_interval', '1'), ('tcp_keepalives_count', '3')"
        ") AS keepalive (name, value)"
    )
    connection.commit()


def backend_of(connection: psycopg.Connection[Any]) -> Backend:
    """Return the server's process of a connection."""
    query = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    row = connection.execute(query).fetchone()
    if row is None:
        raise psycopg.OperationalError("the server does not list this session")
    return Backend(*row)


def end_abandoned(connection: psycopg.Connection[Any], abandoned: Backend) -> None:
    """Return when an abandoned session has ended on the server; raise `OperationalError` while it has not.

    A commit of unknown outcome may still take place while its session lives.
    """
    running = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND backend_start::text = %s"
    if connection.execute(running, abandoned).fetchone() is None:
        return
    ended = connection.execute("SELECT pg_terminate_backend(%s, %s)", (abandoned.pid, TERMINATE_MS)).fetchone()
    if ended != (True,):
        raise psycopg.OperationalError(
            f"an earlier session of this controller (process {abandoned.pid}) has not ended on the server yet"
        )
