"""Faults of the broker, of the network to it, and of what strangers publish."""

import contextlib
import json
import time
from itertools import count

import paho.mqtt.client as paho

from tests.faults.controller_faults import STALL_SECONDS
from tests.faults.fault import ALL, DICE, Fault, Kind, a_moment

DOWN_SECONDS = 3.0
GARBAGE_MESSAGES = 50_000
GARBAGE_SECONDS = 30.0
THEFT_SECONDS = 5.0
_MOSQUITTO = (("sqlite", "mosquitto"), ("postgresql", "mosquitto"))
_NATS = (("sqlite", "nats"), ("postgresql", "nats"))
_turn = count()


def killed(site):
    """Kill the broker and start it again."""
    began = a_moment()
    for node in site.broker.nodes:
        node.kill()
    for node in site.broker.nodes:
        node.start()
    return Fault.since(began)


def restarted_without_memory(site):
    """Kill the broker, remove all that it has kept, and start it some seconds later."""
    began = a_moment()
    for node in site.broker.nodes:
        node.kill()
    site.broker.forget()
    time.sleep(DOWN_SECONDS)
    for node in site.broker.nodes:
        node.start()
    return Fault.stall(began)


def node_killed(site):
    """Kill one node, each time another; the others go on, and it comes back later."""
    node = site.broker.nodes[next(_turn) % len(site.broker.nodes)]
    began = a_moment()
    node.kill()
    time.sleep(STALL_SECONDS)
    node.start()
    return Fault.since(began)


def bridged_node_killed(site):
    """Kill one of two bridged brokers, each time the other, and start it again."""
    node = site.broker.nodes[next(_turn) % len(site.broker.nodes)]
    began = a_moment()
    node.kill()
    node.start()
    return Fault.since(began)


def network_silent(site):
    """Forward nothing between controller and broker for some seconds; connections stay open."""
    began = a_moment()
    site.controller.broker_proxy.silence()
    time.sleep(STALL_SECONDS)
    site.controller.broker_proxy.speak()
    return Fault.stall(began)


def network_cut(site):
    """Reset the connections to the broker, and refuse new ones for some seconds."""
    began = a_moment()
    site.controller.broker_proxy.cut()
    time.sleep(DOWN_SECONDS)
    site.controller.broker_proxy.restore()
    return Fault.stall(began)


def garbage_flood(site):
    """Publish malformed messages on every topic of the devices, as fast as the broker takes them."""
    began = time.monotonic()
    with stranger(site) as client:
        client.max_inflight_messages_set(1000)
        for number in range(GARBAGE_MESSAGES):
            client.publish(_garbage_topic(site.site), DICE.randbytes(DICE.randrange(200)), 0)
            if number % 500 == 0:
                while client.want_write():
                    time.sleep(0.001)
                if time.monotonic() - began > GARBAGE_SECONDS:
                    break
    return Fault.since(began)


def client_id_stolen(site):
    """Connect again and again with the controller's own client id."""
    began = time.monotonic()
    while time.monotonic() < began + THEFT_SECONDS:
        with stranger(site, client_id=f"jackpot-{site.site}-main"):
            time.sleep(0.3)
    return Fault.stall(began)


def topics_forged(site):
    """Publish false lamps, states, meters and controller messages on the controller's own topics."""
    began = time.monotonic()
    root = f"jackpot/v1/{site.site}"
    with stranger(site) as client:
        false = {"epoch": 1, "seq": 1, "forged": True}
        meter = {
            "jackpot": "main",
            "amount_cents": 1,
            "text": "$0.01",
            "state": "live",
            "pending": [],
            "as_of": "",
            **false,
        }
        for topic, body in {
            "jackpots/main/meter": meter,
            "jackpots/main/controller": {"state": "offline", "epoch": 2**53 - 2, "instance": "x"},
            "tables/t1/pads/1/lamp": {"round": 1, "lit": False, "wager_id": None, "answer": None, **false},
            "tables/t2/state": {"round": 0, "phase": "idle", "suspended": None, **false},
        }.items():
            client.publish(f"{root}/{topic}", json.dumps(body), 1, retain=True).wait_for_publish(10)
    return Fault.since(began)


def _garbage_topic(site):
    table, box = f"t{DICE.randint(1, 5)}", DICE.randint(0, 9)
    return f"jackpot/v1/{site}/" + DICE.choice((
        f"tables/{table}/pads/{box}/wager", f"tables/{table}/pads/{box}/shown", f"tables/{table}/dealer/command",
        f"displays/d{box}/shown",
    ))  # fmt: skip


@contextlib.contextmanager
def stranger(site, client_id=""):
    """Connect an MQTT client that is no device of the site."""
    client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id=client_id)
    client.connect("127.0.0.1", site.broker.port, 60)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


KINDS = (
    Kind("Mosquitto killed (kill -9, no persistence) and started again", killed, _MOSQUITTO),
    Kind("Mosquitto restarted without its memory after 3 s", restarted_without_memory, _MOSQUITTO),
    Kind("NATS killed (kill -9) and started again", killed, _NATS),
    Kind("NATS restarted without its memory after 3 s", restarted_without_memory, _NATS),
    Kind("one of two bridged Mosquittos killed", bridged_node_killed, (("sqlite", "bridged"),)),
    Kind("one of three NATS nodes killed, back after 8 s", node_killed, (("postgresql", "nats-cluster"),)),
    Kind("network to the broker silent for 8 s", network_silent, ALL[:2], limit_seconds=15.0),
    Kind("network to the broker cut for 3 s", network_cut, ALL[:2]),
    Kind("50,000 malformed messages", garbage_flood, ALL[:2]),
    Kind("the controller's client id stolen for 5 s", client_id_stolen, ALL[:2]),
    Kind("the controller's topics forged", topics_forged, ALL[:2]),
)
