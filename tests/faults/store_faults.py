"""Faults of PostgreSQL and of the network to it."""

import os
import signal
import time

from tests.faults.controller_faults import STALL_SECONDS
from tests.faults.fault import DICE, ON_POSTGRES, Fault, Kind, a_moment

DOWN_SECONDS = 3.0
LATE_SECONDS = 2.5


def postmaster_killed(site):
    """Kill the postmaster and start it again."""
    began = a_moment()
    site.store.kill()
    site.store.start()
    return Fault.since(began)


def stopped_and_started(site):
    """Stop PostgreSQL in order, and start it some seconds later."""
    began = a_moment()
    site.store.stop()
    time.sleep(DOWN_SECONDS)
    site.store.start()
    return Fault.stall(began)


def backend_paused(site):
    """Stop the writer's backend by SIGSTOP for some seconds."""
    backend = site.store.writers_backend()
    began = a_moment()
    os.kill(backend, signal.SIGSTOP)
    time.sleep(STALL_SECONDS)
    os.kill(backend, signal.SIGCONT)
    return Fault.stall(began)


def table_locked(site):
    """Hold a lock on the events in another session for some seconds."""
    with site.store.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        time.sleep(STALL_SECONDS)
    return Fault.stall(began)


def reset_during_commit(site):
    """Let a commit reach the server, swallow its answer, and reset the connection."""
    proxy = site.controller.store_proxy
    began = a_moment()
    proxy.swallow_answers()
    time.sleep(DICE.uniform(0.02, 0.2))
    proxy.reset()
    proxy.speak()
    return Fault.since(began)


def late_commit(site):
    """Reset the connection while a lock holds its commit up; the old backend commits after the reset."""
    with site.store.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE transfers IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        time.sleep(0.3)
        site.controller.store_proxy.reset()
        time.sleep(LATE_SECONDS)
    return Fault.stall(began)


def network_silent(site):
    """Forward nothing between controller and database for some seconds; connections stay open."""
    began = a_moment()
    site.controller.store_proxy.silence()
    time.sleep(STALL_SECONDS)
    site.controller.store_proxy.speak()
    return Fault.stall(began)


def network_cut(site):
    """Reset the connections to the database, and refuse new ones for some seconds."""
    began = a_moment()
    site.controller.store_proxy.cut()
    time.sleep(DOWN_SECONDS)
    site.controller.store_proxy.restore()
    return Fault.stall(began)


KINDS = (
    Kind("PostgreSQL killed (postmaster, kill -9) and started again", postmaster_killed, ON_POSTGRES),
    Kind("PostgreSQL stopped for 3 s", stopped_and_started, ON_POSTGRES),
    Kind("the writer's backend stopped (SIGSTOP) for 8 s", backend_paused, ON_POSTGRES),
    Kind("LOCK TABLE events held for 8 s by another session", table_locked, ON_POSTGRES),
    Kind("connection reset during COMMIT", reset_during_commit, ON_POSTGRES),
    Kind("connection reset during COMMIT, which lands 2.5 s later", late_commit, ON_POSTGRES),
    Kind("network to PostgreSQL silent for 8 s", network_silent, ON_POSTGRES),
    Kind("network to PostgreSQL cut for 3 s", network_cut, ON_POSTGRES),
    Kind(
        "synchronous_commit = off on the server, and the postmaster killed",
        postmaster_killed,
        ON_POSTGRES[:1],
        options={"synchronous_commit": "off"},
    ),
)
