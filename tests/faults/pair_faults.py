"""Faults of two controllers on one PostgreSQL: the standby must take over."""

import subprocess
import time

from tests.faults.controller_faults import STALL_SECONDS
from tests.faults.fault import ON_POSTGRES, Fault, Kind, a_moment
from tests.faults.judgement import rows
from tests.faults.processes import jackpot, wait_until

TAKEOVER_SECONDS = 5.0
HANDOVER_SECONDS = 1.0
SETTLE_SECONDS = 60


def owner_and_standby(site):
    """Return the controller that owns the jackpot, and the other one; wait while there is no owner."""
    return wait_until(lambda: _find_owner(site), "an owner", SETTLE_SECONDS)


def _find_owner(site):
    owner = str(rows(site.store.url, "SELECT owner FROM chains WHERE chain = 'main'")[0][0])
    first, second = site.controllers
    for one, other in ((first, second), (second, first)):
        if one.process.poll() is None and str(one.process.pid) in owner.replace("-", ":").split(":"):
            return one, other
    return None


def _back(site, controller):
    """Start a controller again and wait until it stands by."""
    controller.start()
    wait_until(lambda: controller.readiness() == 200, "the standby", SETTLE_SECONDS)
    site.settle()


def owner_killed(site):
    """Kill the owner; it is started again only after the takeover."""
    owner, _ = owner_and_standby(site)
    began = a_moment()
    owner.kill()
    fault = Fault.since(began)
    site.await_play(fault.ended)
    _back(site, owner)
    return fault


def owner_paused(site):
    """Stop the owner by SIGSTOP until long after the takeover; when it wakes, it must write and publish nothing."""
    owner, _ = owner_and_standby(site)
    began = a_moment()
    owner.pause()
    time.sleep(2 * STALL_SECONDS)
    owner.resume()
    site.settle()
    _ensure_running(site, owner)
    return Fault(began, began, began)


def owner_without_database(site, *, silent=True):
    """Take the owner's network to the database away until after the takeover."""
    owner, _ = owner_and_standby(site)
    began = a_moment()
    owner.store_proxy.silence() if silent else owner.store_proxy.cut()
    time.sleep(2 * STALL_SECONDS)
    owner.store_proxy.speak() if silent else owner.store_proxy.restore()
    site.settle()
    _ensure_running(site, owner)
    return Fault(began, began, began)


def owner_without_broker(site, *, silent=True):
    """Take the owner's network to the broker away until after the takeover."""
    owner, _ = owner_and_standby(site)
    began = a_moment()
    owner.broker_proxy.silence() if silent else owner.broker_proxy.cut()
    time.sleep(2 * STALL_SECONDS)
    owner.broker_proxy.speak() if silent else owner.broker_proxy.restore()
    site.settle()
    _ensure_running(site, owner)
    return Fault(began, began, began)


def _ensure_running(site, controller):
    """Start an ex-owner that has ended, as systemd does."""
    if controller.process.poll() is not None:
        _back(site, controller)


def owner_terminated(site):
    """Stop the owner by SIGTERM: it hands over before it ends."""
    owner, _ = owner_and_standby(site)
    began = a_moment()
    if owner.stop(10) is None:
        raise TimeoutError("SIGTERM did not end the owner within 10 s")
    fault = Fault.planned(began)
    site.await_play(fault.ended)
    _back(site, owner)
    return fault


def handed_over(site):
    """Hand the jackpot over by `jackpot handover`."""
    owner, _ = owner_and_standby(site)
    began = a_moment()
    options = ("--reason", "a trial", "--token", site.tokens["manager1"])
    command, where = jackpot("handover", *options), {"cwd": owner.folder, "env": owner.environment}
    done = subprocess.run(command, **where, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise TimeoutError(f"jackpot handover failed: {done.stderr.strip()[-300:]}")
    fault = Fault.planned(began)
    wait_until(lambda: owner_and_standby(site)[0] is not owner, "the hand-over", 30)
    return fault


def rolling_restart(site):
    """Restart one controller after the other."""
    began = a_moment()
    for controller in site.controllers:
        if controller.stop(10) is None:
            raise TimeoutError("SIGTERM did not end a controller within 10 s")
        _back(site, controller)
    return Fault.planned(began)


def standby_killed(site):
    """Kill the standby and start it again: play goes on."""
    _, standby = owner_and_standby(site)
    began = a_moment()
    standby.kill()
    fault = Fault.planned(began)
    _back(site, standby)
    return fault


def both_killed(site):
    """Kill both controllers and start both at once: one becomes the owner, and they settle."""
    began = a_moment()
    for controller in site.controllers:
        controller.kill()
    for controller in site.controllers:
        controller.start()
    return Fault.since(began)


def _pair(name, inject, limit_seconds, on=ON_POSTGRES):
    return Kind(name, inject, on, controllers=2, limit_seconds=limit_seconds)


KINDS = (
    _pair("owner killed (kill -9)", owner_killed, TAKEOVER_SECONDS),
    _pair("owner stopped (SIGSTOP) for 16 s", owner_paused, TAKEOVER_SECONDS),
    _pair("owner's network to PostgreSQL silent for 16 s", owner_without_database, TAKEOVER_SECONDS),
    _pair(
        "owner's network to PostgreSQL cut for 16 s",
        lambda site: owner_without_database(site, silent=False),
        TAKEOVER_SECONDS,
    ),
    _pair("owner's network to the broker silent for 16 s", owner_without_broker, TAKEOVER_SECONDS),
    _pair(
        "owner's network to the broker cut for 16 s",
        lambda site: owner_without_broker(site, silent=False),
        TAKEOVER_SECONDS,
    ),
    _pair("owner ended (SIGTERM)", owner_terminated, HANDOVER_SECONDS),
    _pair("planned hand-over (jackpot handover)", handed_over, HANDOVER_SECONDS),
    _pair("both controllers restarted, one after the other", rolling_restart, HANDOVER_SECONDS),
    _pair("standby killed (kill -9)", standby_killed, HANDOVER_SECONDS),
    _pair("both controllers killed and started", both_killed, 10.0),
)
