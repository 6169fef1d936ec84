"""The brokers under test: Mosquitto, two bridged Mosquittos, a NATS server with MQTT, and a cluster of three."""

import json
import shutil
import sysconfig
import tempfile
from pathlib import Path

from tests.faults import processes
from tests.faults.processes import free_port, takes_connections, wait_until


class Node:
    """One broker process on its own port."""

    def __init__(self, port, command, log, host="127.0.0.1"):
        self.port, self._command, self._log, self._host = port, command, log, host
        self.process = None

    def start(self, *, wait=True):
        self.process = processes.start(*self._command, log=self._log)
        if wait:
            self.wait_ready()

    def wait_ready(self):
        wait_until(lambda: takes_connections(self.port, self._host), "the broker")

    def kill(self):
        processes.kill(self.process)


class Broker:
    """One or more nodes; controllers and devices may use different ones."""

    host = "127.0.0.1"

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="jackpot-faults-broker-"))
        self.folder.chmod(0o755)
        self.nodes = []

    @property
    def port(self):
        return self.nodes[0].port

    @property
    def controller_ports(self):
        """The ports that controllers connect to, in order."""
        return [self.port]

    @property
    def client_ports(self):
        """The ports that devices connect to, in order."""
        return [node.port for node in self.nodes]

    def forget(self):
        """Remove everything that the broker has kept; it is stopped meanwhile."""

    def close(self):
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Mosquitto(Broker):
    """Debian's Mosquitto without persistence: it forgets everything when it ends."""

    def __init__(self, host="127.0.0.1"):
        super().__init__()
        self.host = host
        self.nodes = [mosquitto_node(self.folder, free_port(), host=host)]
        self.nodes[0].start()


class BridgedMosquitto(Broker):
    """Two Mosquittos, bridged in both directions: controllers use the first, devices the second."""

    def __init__(self):
        super().__init__()
        first, second = free_port(), free_port()
        bridge = (
            f"connection floor\naddress 127.0.0.1:{first}\ntopic jackpot/# both 1\nclientid floor-bridge\n"
            "cleansession false\nbridge_protocol_version mqttv311\nrestart_timeout 1\nkeepalive_interval 5\n"
        )
        self.nodes = [mosquitto_node(self.folder, first), mosquitto_node(self.folder, second, bridge)]
        for node in self.nodes:
            node.start()

    @property
    def client_ports(self):
        return [self.nodes[1].port]


class Nats(Broker):
    """A NATS server with MQTT that syncs every message."""

    def __init__(self):
        super().__init__()
        self.nodes = [nats_node(self.folder, "n1", free_port())]
        self.nodes[0].start()

    def forget(self):
        shutil.rmtree(self.folder / "n1")


class NatsCluster(Broker):
    """Three NATS servers with MQTT; the state is on all three."""

    def __init__(self):
        super().__init__()
        routes = {name: free_port() for name in ("n1", "n2", "n3")}
        self.nodes = [nats_node(self.folder, name, free_port(), routes) for name in routes]
        for node in self.nodes:
            node.start(wait=False)
        for node in self.nodes:
            node.wait_ready()

    @property
    def controller_ports(self):
        return [node.port for node in self.nodes]

    @property
    def client_ports(self):
        return [node.port for node in reversed(self.nodes)]


def mosquitto_node(folder, port, more="", host="127.0.0.1"):
    config = folder / f"mosquitto-{port}.conf"
    config.write_text(
        f"listener {port} {host}\nallow_anonymous true\nset_tcp_nodelay true\npersistence false\n"
        f"max_inflight_messages 500\nmax_queued_messages 20000\nlog_type error\n{more}"
    )
    program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
    return Node(port, [program, "-c", config], folder / "log", host)


def nats_node(folder, name, port, routes=None):
    store = folder / name
    cluster = ""
    if routes:
        others = ", ".join(f'"nats://127.0.0.1:{route}"' for other, route in routes.items() if other != name)
        cluster = f'cluster {{ name: site, listen: "127.0.0.1:{routes[name]}", routes: [{others}] }}\n'
    replicas = "  stream_replicas: 3\n  consumer_replicas: 3\n" if routes else ""
    config = folder / f"{name}.conf"
    config.write_text(
        f'server_name: {name}\nlisten: "127.0.0.1:-1"\n{cluster}'
        f"jetstream {{ store_dir: {json.dumps(str(store))}, sync_interval: always }}\n"
        f'mqtt {{\n  listen: "127.0.0.1:{port}"\n  ack_wait: "5s"\n  max_ack_pending: 1000\n{replicas}}}\n'
    )
    program = Path(sysconfig.get_path("scripts")) / "nats-server"
    return Node(port, [program, "-c", config], folder / f"{name}.log")


BROKERS = {"mosquitto": Mosquitto, "bridged": BridgedMosquitto, "nats": Nats, "nats-cluster": NatsCluster}
