"""The independent client: tables with a dealer and pads that play rounds, written from the protocol alone.

It shares no code with the controller or the simulator. One thread runs one MQTT connection of the plain paho client; it
repeats every unanswered message, connects again by itself, and drops messages older than it has seen.
"""

import contextlib
import json
import socket
import threading
import time
from itertools import count

import paho.mqtt.client as paho

from tests.faults.record import Record, Wager

FIRST_REPEAT_SECONDS = 1.0
MAX_REPEAT_SECONDS = 2.0
COOLDOWN_SECONDS = 0.3
CONNECT_SECONDS = 2.0
KEEPALIVE_SECONDS = 5
POLL_SECONDS = 0.005
WAGER_CENTS = 200


class Message:
    """A message that is repeated until it is answered."""

    def __init__(self, topic, body, now):
        self.topic, self.body = topic, body
        self._wait, self._due = FIRST_REPEAT_SECONDS, now

    def is_due(self, now):
        """Return True if it is to be sent now, and plan the next repeat."""
        if now < self._due:
            return False
        self._due, self._wait = now + self._wait, min(1.5 * self._wait, MAX_REPEAT_SECONDS)
        return True


class Table:
    """A dealer terminal and its pads: open, wager at each box, close, settle, and again."""

    def __init__(self, name, boxes, prefix):
        self.name, self.boxes, self._prefix = name, boxes, prefix
        self._numbers = count(1)
        self.position, self.epoch_since = (0, 0), 0.0
        self.phase, self.round, self.suspended = None, 0, None
        self.command, self.wagers, self.wagered_round = None, {}, 0
        self.ready_at = 0.0

    def new_id(self, kind):
        return f"{self._prefix}-{self.name}-{kind}{next(self._numbers)}"

    def set_state(self, body):
        """Take the table's state; return False if it is older than one seen before."""
        position = (body["epoch"], body["seq"])
        if position < self.position:
            return False
        if position[0] > self.position[0]:
            self.epoch_since = time.monotonic()
        self.position = position
        self.phase, self.round, self.suspended = body["phase"], body["round"], body["suspended"]
        return True

    def next_command(self):
        """Return the command that continues the round; None if there is nothing to do."""
        if self.phase == "idle":
            return {"type": "open_round"}
        if self.phase == "open" and self.wagered_round == self.round and not self.wagers:
            return {"type": "close_wagers", "round": self.round}
        if self.phase == "closed":
            return {"type": "settle", "round": self.round}
        return None

    def take_reply(self, reply):
        """Take the reply to the current command."""
        kind = self.command.body["type"]
        self.command = None
        if not reply["ok"]:
            return
        self.phase = {"open_round": "open", "close_wagers": "closed", "settle": "idle"}[kind]
        self.round = reply.get("round", self.round) if kind == "open_round" else self.round


class Floor:
    """Tables that play in a thread of their own until they are stopped."""

    def __init__(self, site, addresses, tables, *, boxes=7, pause_seconds=0.15, prefix="f"):
        self._root = f"jackpot/v1/{site}"
        self._addresses, self._next_address = addresses, 0
        self._pause = pause_seconds
        self.record = Record()
        self.tables = {name: Table(name, boxes, prefix) for name in tables}
        self._finishing, self._ended = threading.Event(), threading.Event()
        self._client, self._connected = None, False
        self.problem = None
        self._thread = threading.Thread(target=self._run, name="floor", daemon=True)
        self._thread.start()

    def finish(self, seconds):
        """Send no new wagers, wait until all are answered or the time is over, and disconnect."""
        self._finishing.set()
        until = time.monotonic() + seconds
        while self.record.unanswered() and time.monotonic() < until and not self._ended.is_set():
            time.sleep(0.05)
        self.close()
        return self.record.unanswered()

    def close(self):
        self._ended.set()
        self._thread.join()
        if self.problem is not None:
            raise self.problem

    def suspended(self):
        """Return the causes of suspension by table."""
        return {name: table.suspended for name, table in self.tables.items() if table.suspended}

    # The thread.

    def _run(self):
        try:
            while not self._ended.is_set():
                if self._client is None:
                    self._connect()
                elif self._client.loop(POLL_SECONDS) != paho.MQTT_ERR_SUCCESS:
                    self._drop()
                elif self._connected:
                    self._play()
        except Exception as error:  # noqa: BLE001 - reported by close
            self.problem = error
        finally:
            self._drop()

    def _connect(self):
        host, port = self._addresses[self._next_address % len(self._addresses)]
        self._next_address += 1
        client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        client.connect_timeout = CONNECT_SECONDS
        client.on_connect, client.on_message = self._on_connect, self._on_message
        try:
            client.connect(host, port, KEEPALIVE_SECONDS)
        except OSError:
            time.sleep(0.1)
            return
        client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._client = client

    def _drop(self):
        self._connected = False
        if self._client is not None:
            with contextlib.suppress(OSError, ValueError):
                self._client.disconnect()
            self._client = None

    def _on_connect(self, client, _userdata, _flags, reason, _properties):
        if reason.is_failure:
            return
        topics = ("tables/+/pads/+/lamp", "tables/+/dealer/reply", "tables/+/state")
        client.subscribe([(f"{self._root}/{topic}", 1) for topic in topics])
        self._connected = True

    def _on_message(self, _client, _userdata, message):
        try:
            body = json.loads(message.payload)
        except ValueError:
            return
        parts = message.topic.removeprefix(f"{self._root}/").split("/")
        table = self.tables.get(parts[1])
        if table is None or not isinstance(body, dict):
            return
        if parts[2] == "state":
            if not table.set_state(body) and not body.get("forged"):
                self.record.stale_seconds.append(time.monotonic() - table.epoch_since)
        elif parts[2] == "dealer":
            if table.command is not None and body["command_id"] == table.command.body["command_id"]:
                table.take_reply(body)
                wait = self._pause if body["ok"] and table.phase == "idle" else 0 if body["ok"] else COOLDOWN_SECONDS
                table.ready_at = time.monotonic() + wait
        else:
            self._lamp(table, int(parts[3]), body)

    def _lamp(self, table, box, lamp):
        answer = lamp["answer"]
        if lamp["lit"]:
            self.record.lit((table.name, box, lamp["wager_id"]))
        if not answer or answer["wager_id"] is None:
            return
        key = (table.name, box, answer["wager_id"])
        self.record.answered(key, answer["verdict"], answer["reason"])
        waiting = table.wagers.get(box)
        if waiting is not None and waiting.body["wager_id"] == answer["wager_id"]:
            del table.wagers[box]

    # Play.

    def _play(self):
        now = time.monotonic()
        for table in self.tables.values():
            for box, message in table.wagers.items():
                if message.is_due(now):
                    self._send(message)
                    self.record.wagers[(table.name, box, message.body["wager_id"])].repeats += 1
            if table.command is not None:
                if table.command.is_due(now):
                    self._send(table.command)
            elif not table.suspended and now >= table.ready_at:
                self._continue(table, now)

    def _continue(self, table, now):
        """Begin the next step of a table's round."""
        if table.phase == "open" and table.wagered_round != table.round and not table.wagers:
            if not self._finishing.is_set():
                self._wager(table, now)
            return
        body = table.next_command()
        if body is None or (self._finishing.is_set() and body["type"] == "open_round"):
            return
        body = {"command_id": table.new_id("c"), **body}
        table.command = Message(f"tables/{table.name}/dealer/command", body, now)

    def _wager(self, table, now):
        table.wagered_round = table.round
        for box in range(1, table.boxes + 1):
            wager = Wager(table.name, box, table.new_id("w"), table.round, now)
            body = {"wager_id": wager.id, "round": table.round, "amount_cents": WAGER_CENTS, "ante": True}
            self.record.sent(wager)
            table.wagers[box] = Message(f"tables/{table.name}/pads/{box}/wager", body, now)

    def _send(self, message):
        self._client.publish(f"{self._root}/{message.topic}", json.dumps(message.body), 1)
