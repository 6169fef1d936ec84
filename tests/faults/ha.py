"""Faults of PostgreSQL under Patroni, with one or two controllers: `python -m tests.faults.ha`, as root.

The nodes run `deploy/ha/patroni.yml` in network namespaces of this process's own.
"""

import argparse
import contextlib
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.faults import namespaces
from tests.faults.brokers import Mosquitto
from tests.faults.fault import Fault, Kind, a_moment
from tests.faults.namespaces import BRIDGE_ADDRESS, machine
from tests.faults.patroni_cluster import Cluster
from tests.faults.processes import end_in_order
from tests.faults.report import RESULTS, save_results, say
from tests.faults.surroundings import Controller, Surroundings
from tests.faults.trial import run

TTL_SECONDS = 20
LIMIT_SECONDS = TTL_SECONDS + 5
AWAY_SECONDS = 35
ON = (("patroni", "mosquitto"),)


class HaSurroundings(Surroundings):
    """A site whose store is a cluster under Patroni; each controller has a machine of its own."""

    def _make_store(self, _name, _options):
        return Cluster()

    def _make_broker(self, _name):
        return Mosquitto(BRIDGE_ADDRESS)

    def _make_controller(self, number, folder):
        return Controller(folder, self.environment, machine=machine(f"c{number}", 20 + number))


def postmaster_killed(site):
    """Kill the primary's postmaster: Patroni restarts it in place or fails over."""
    site.store.wait_healthy()
    began = a_moment()
    os.kill(site.store.primary().postmaster(), signal.SIGKILL)
    return Fault.since(began)


def node_killed(site):
    """Kill Patroni and PostgreSQL on the primary; the node comes back after the failover."""
    site.store.wait_healthy()
    node = site.store.primary()
    began = a_moment()
    node.kill()
    return _away(site, began, node.start)


def node_paused(site):
    """Stop every process on the primary by SIGSTOP until long after the failover."""
    site.store.wait_healthy()
    node = site.store.primary()
    began = a_moment()
    node.machine.signal_all(signal.SIGSTOP)
    return _away(site, began, lambda: node.machine.signal_all(signal.SIGCONT))


def node_unplugged(site):
    """Take the primary's network away until long after the failover."""
    site.store.wait_healthy()
    node = site.store.primary()
    began = a_moment()
    node.machine.unplug()
    return _away(site, began, node.machine.plug)


def switched_over(site):
    """Ask Patroni for a planned switch-over."""
    site.store.wait_healthy()
    began = a_moment()
    site.store.switch_over()
    return Fault.since(began)


def _away(site, began, bring_back):
    """Bring a node back when play has gone on without it, or after the limit."""
    site.await_play(began + 1, seconds=AWAY_SECONDS)
    bring_back()
    return Fault(began, began, began)


KINDS = {
    "postmaster": Kind("primary's postmaster killed (kill -9)", postmaster_killed, ON, limit_seconds=LIMIT_SECONDS),
    "switchover": Kind("planned switch-over", switched_over, ON, limit_seconds=LIMIT_SECONDS),
    "kill": Kind("primary's node killed (kill -9)", node_killed, ON, limit_seconds=LIMIT_SECONDS),
    "pause": Kind("primary's node stopped (SIGSTOP)", node_paused, ON, limit_seconds=LIMIT_SECONDS),
    "partition": Kind("primary's node partitioned", node_unplugged, ON, limit_seconds=LIMIT_SECONDS),
}


def main():
    """Run the chosen kinds and print each result; exit 1 if one is not right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--controllers", type=int, default=2)
    parser.add_argument("--any-time", action="store_true", help="exit with 0 however long the recovery took")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the JSON file to which results are added")
    chosen = parser.parse_args()
    try:
        namespaces.enter("tests.faults.ha")
    except namespaces.NamespacesUnavailableError as error:
        sys.exit(f"tests.faults.ha: {error}")
    end_in_order()
    results = []
    with contextlib.suppress(KeyboardInterrupt):
        for name in chosen.kinds:
            kind, began = KINDS[name], time.monotonic()
            kind = replace(kind, controllers=chosen.controllers)
            result = run(kind, *ON[0], chosen.trials, say=say, make_site=HaSurroundings)
            results.append(result)
            save_results(chosen.results, [result])
            state = "right" if result.is_right else "WRONG"
            say(f"{state} after {time.monotonic() - began:.0f} s: {result.as_json()}")
    passed = [result.is_kept if chosen.any_time else result.is_right for result in results]
    sys.exit(0 if passed and all(passed) else 1)


if __name__ == "__main__":
    main()
