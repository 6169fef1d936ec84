"""Faults of the controller's process and of its machine: kill, stop, clock, disk."""

import time
from itertools import count

from tests.faults.fault import ALL, ON_POSTGRES, ON_SQLITE, Fault, Kind, a_moment
from tests.faults.processes import wait_until

STALL_SECONDS = 8.0
_CLOCK_STEPS = ("+1h", "-1h", "+10d", "-1d", "+0")
_step = count()


def killed(site):
    """Kill the controller and start it again, as systemd does."""
    began = a_moment()
    site.controller.kill()
    site.controller.start()
    return Fault.since(began)


def restarted(site):
    """Stop the controller by SIGTERM and start it again."""
    began = a_moment()
    if site.controller.stop(10) is None:
        raise TimeoutError("SIGTERM did not end the controller within 10 s")
    site.controller.start()
    return Fault.since(began)


def paused(site):
    """Stop the controller by SIGSTOP for some seconds."""
    began = a_moment()
    site.controller.pause()
    time.sleep(STALL_SECONDS)
    site.controller.resume()
    return Fault.stall(began)


def clock_stepped(site):
    """Step the controller's clock, each time by another amount."""
    began = a_moment()
    site.clock_file.write_text(f"{_CLOCK_STEPS[next(_step) % len(_CLOCK_STEPS)]}\n")
    return Fault.since(began)


def disk_filled(site):
    """Fill the store's disk for some seconds."""
    began = a_moment()
    site.store.disk.fill()
    time.sleep(STALL_SECONDS)
    site.store.disk.free()
    _restart_store(site)
    return Fault.stall(began)


def started_on_full_disk(site):
    """Start the controller while the store's disk is full; it must wait, not end."""
    began = a_moment()
    site.controller.kill()
    site.store.disk.fill()
    site.controller.start()
    time.sleep(STALL_SECONDS / 2)
    if site.controller.process.poll() is not None:
        site.store.disk.free()
        raise TimeoutError("the controller ended on a full disk")
    site.store.disk.free()
    _restart_store(site)
    return Fault.stall(began)


def started_before_the_database(site):
    """Start the controller while PostgreSQL is down; it must wait, not end."""
    began = a_moment()
    site.controller.kill()
    site.store.kill()
    site.controller.start()
    time.sleep(STALL_SECONDS / 2)
    site.store.start()
    if site.controller.process.poll() is not None:
        raise TimeoutError("the controller ended because PostgreSQL was down")
    return Fault.stall(began)


def _restart_store(site):
    """Start PostgreSQL again if the full disk has ended it."""
    if site.store.port and not site.store.answers():
        if site.store.process.poll() is not None:
            site.store.start(wait=False)
        wait_until(site.store.answers, "PostgreSQL")


KINDS = (
    Kind("controller killed (kill -9) and started again", killed, ALL),
    Kind("controller restarted (SIGTERM)", restarted, ALL),
    Kind("controller stopped (SIGSTOP) for 8 s", paused, ALL),
    Kind("clock stepped (−1 d … +10 d)", clock_stepped, ON_SQLITE, options={"clock": True}),
    Kind("disk full for 8 s", disk_filled, (*ON_SQLITE, ON_POSTGRES[0]), options={"small_disk": True}),
    Kind("controller started on a full disk", started_on_full_disk, ON_SQLITE, options={"small_disk": True}),
    Kind("controller started before PostgreSQL", started_before_the_database, ON_POSTGRES[:1], limit_seconds=12.0),
)
