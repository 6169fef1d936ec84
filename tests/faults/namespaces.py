"""A network of machines in network namespaces on one machine: a bridge, and a namespace for each machine.

Everything is inside namespaces of this process's own (network, mounts, processes), so that the machine's network is not
touched, and the kernel ends every process and removes every interface with it.
"""

import contextlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.faults.processes import die_with_parent

INSIDE = "JACKPOT_FAULTS_NAMESPACE"
PREFIX = "10.77.0."
BRIDGE_ADDRESS = f"{PREFIX}1"


class NamespacesUnavailableError(RuntimeError):
    """This machine does not allow network namespaces."""


def enter(module):
    """Run this module again in namespaces of its own, and exit with its code; return if that is so already."""
    if os.environ.get(INSIDE):
        _prepare()
        return
    if os.geteuid() != 0:
        raise NamespacesUnavailableError("network namespaces need root: run this as root")
    command = ["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "--mount-proc"]
    probe = subprocess.run([*command, "ip", "link", "add", "b0", "type", "bridge"], capture_output=True, check=False)
    if probe.returncode != 0:
        raise NamespacesUnavailableError(
            f"this machine does not allow network namespaces with a bridge: {probe.stderr.decode().strip()}"
        )
    # Bash is the first process of the namespace: it reaps orphans, such as a postmaster that Patroni waits for.
    shell = ("bash", "-c", '"$@"; exit $?', "bash")
    child = subprocess.Popen(
        [*command, *shell, sys.executable, "-m", module, *sys.argv[1:]],
        env={**os.environ, INSIDE: "1"},
        preexec_fn=die_with_parent,  # noqa: PLW1509 - there is no other thread yet
    )
    try:
        code = child.wait()
    except KeyboardInterrupt:
        code = 130
    finally:
        child.kill()  # unshare ends its child, the first process of the namespace, and the kernel all others
        child.wait()
    sys.exit(code)


def _prepare():
    _run("mount", "-t", "tmpfs", "tmpfs", "/run")
    Path("/run/netns").mkdir()
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "bridge0", "type", "bridge")
    _run("ip", "addr", "add", f"{BRIDGE_ADDRESS}/24", "dev", "bridge0")
    _run("ip", "link", "set", "bridge0", "up")


class Machine:
    """A namespace with an address on the bridge."""

    def __init__(self, name, number):
        self.name, self.address, self._link = name, f"{PREFIX}{number}", f"v{name}"
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", name)
        _run("ip", "link", "set", self._link, "master", "bridge0", "up")
        _run("ip", "-n", name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            _run("ip", "-n", name, "link", "set", link, "up")

    def command(self, *command):
        """Return a command that runs on this machine."""
        return ["ip", "netns", "exec", self.name, *command]

    def unplug(self):
        _run("ip", "link", "set", self._link, "down")

    def plug(self):
        _run("ip", "link", "set", self._link, "up")

    def processes(self):
        """Return the ids of all processes on this machine."""
        done = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True)
        return [int(pid) for pid in done.stdout.split()]

    def signal_all(self, number):
        """Send a signal to every process on this machine."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


@cache
def machine(name, number):
    """Return the machine of this name; it is made at its first use."""
    return Machine(name, number)


def _run(*command):
    subprocess.run(command, check=True, capture_output=True)
