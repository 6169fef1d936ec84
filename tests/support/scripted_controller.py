"""A small controller that follows the protocol and does what a test sets; of money it knows only sums."""

import asyncio
import json
import socket
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiomqtt

import rules

WAGER_CENTS = 200
PENDING = {"royal_flush", "straight_flush"}
PAID = {"flush", "full_house", "four_of_a_kind", *PENDING}


@dataclass
class Table:
    round: int = 0
    phase: str = "idle"
    lit: dict = field(default_factory=dict)
    folded: set = field(default_factory=set)
    declared: dict = field(default_factory=dict)
    payouts: list = field(default_factory=list)
    suspended: str | None = None


class ScriptedController:
    def __init__(self, client, site, tables):
        self.client = client
        self.root = f"jackpot/v1/{site}"
        self.tables = {name: Table() for name in tables}
        self.epoch, self.seq = 7, 100
        self.wagers = {}
        self.replies = {}
        self.received = []
        self.statuses = {}
        self.shown = {}
        self.rejected = Counter()
        self.ignored_wagers = 0
        self.ignored_commands = 0
        self.game = rules.load("canberra-poker-2016")

    def publish(self, topic, message, *, retain=False, position=None):
        epoch, seq = position or (self.epoch, self.seq)
        payload = json.dumps({**message, "epoch": epoch, "seq": seq})
        self.client._client.publish(f"{self.root}/{topic}", payload, 1, retain)

    def publish_state(self, name):
        t = self.tables[name]
        playing = t.phase != "idle"
        state = {
            "round": t.round, "phase": t.phase, "jackpot": "main", "wager_cents": WAGER_CENTS, "boxes": 7,
            "lit": sorted(t.lit) if playing else [], "folded": sorted(t.folded),
            "declared": {str(box): cards for box, cards in t.declared.items()} if playing else {},
            "payouts": t.payouts, "suspended": t.suspended,
        }  # fmt: skip
        self.publish(f"tables/{name}/state", state, retain=True)

    def publish_lamp(self, name, box, answer=None, position=None):
        t = self.tables[name]
        lit = t.lit.get(box) if t.phase != "idle" else None
        lamp = {"round": t.round, "lit": lit is not None, "wager_id": lit, "answer": answer}
        self.publish(f"tables/{name}/pads/{box}/lamp", lamp, retain=True, position=position)

    def publish_meter(self):
        cents = 1_000_000 + sum(cents for _, cents in self.books().values())
        text = f"${cents // 100:,}.{cents % 100:02d}"
        meter = {"jackpot": "main", "amount_cents": cents, "text": text, "state": "live", "pending": []}
        self.publish("jackpots/main/meter", {**meter, "as_of": "2026-11-15T09:30:00Z"}, retain=True)

    def books(self):
        totals = {}
        for (name, _box, _id), (content, status) in self.wagers.items():
            if status == "accepted":
                count, cents = totals.get((name, content[0]), (0, 0))
                totals[name, content[0]] = count + 1, cents + content[1]
        return totals

    def rows(self):
        return [
            {"table_id": name, "round": number, "wagers": count, "wagered_cents": cents}
            for (name, number), (count, cents) in self.books().items()
        ]

    def receive(self, _client, _userdata, message):
        parts = message.topic.removeprefix(f"{self.root}/").split("/")
        self.received.append((message.topic, bytes(message.payload)))
        match parts:
            case ["tables", name, "pads", box, "wager"]:
                self.receive_wager(name, int(box), message.payload)
            case ["tables", name, "dealer", "command"]:
                self.receive_command(name, message.payload)
            case ["tables", name, *device, "status"]:
                self.statuses["/".join([name, *device])] = json.loads(message.payload)["state"]
            case [*_, "shown"]:
                self.shown[message.topic.removeprefix(f"{self.root}/")] = json.loads(message.payload)

    def receive_wager(self, name, box, payload):
        if self.ignored_wagers:
            self.ignored_wagers -= 1
            return
        try:
            body = json.loads(payload)
            content = body["round"], body["amount_cents"], body["ante"]
            well_formed = isinstance(content[1], int) and len(payload) <= 4096 and " " not in body["wager_id"]
        except (ValueError, KeyError, TypeError, RecursionError):
            body, well_formed = {}, False
        if not well_formed:
            self.answer(name, box, body.get("wager_id"), "rejected", "malformed")
            return
        key = name, box, body["wager_id"]
        if key in self.wagers:
            self.answer(name, box, key[2], self.wagers[key][1], None)
            return
        reason = self.rejection_reason(self.tables[name], box, content)
        if reason:
            self.answer(name, box, key[2], "rejected", reason)
            return
        self.seq += 1
        self.wagers[key] = content, "accepted"
        self.tables[name].lit[box] = key[2]
        self.answer(name, box, key[2], "accepted", None)
        self.publish_state(name)
        self.publish_meter()

    def rejection_reason(self, t, box, content):
        number, cents, ante = content
        reasons = {
            "table_suspended": t.suspended,
            "no_open_round": t.phase == "idle",
            "stale_round": number != t.round,
            "wagers_closed": t.phase != "open",
            "no_ante": not ante,
            "wrong_amount": cents != WAGER_CENTS,
            "box_already_wagered": box in t.lit,
        }
        return next((reason for reason, applies in reasons.items() if applies), None)

    def answer(self, name, box, wager_id, verdict, reason):
        self.rejected[reason] += verdict == "rejected"
        self.publish_lamp(name, box, {"wager_id": wager_id, "verdict": verdict, "reason": reason})

    def receive_command(self, name, payload):
        if self.ignored_commands:
            self.ignored_commands -= 1
            return
        try:
            body = json.loads(payload)
            own_id, kind = body["command_id"], body["type"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        if own_id not in self.replies:
            result = self.execute(name, kind, body)
            if "error" in result:
                self.reply(name, {"command_id": own_id, "ok": False, "message": "no", **result})
                return
            self.replies[own_id] = {"command_id": own_id, "ok": True, **result}
        self.reply(name, self.replies[own_id])

    def reply(self, name, reply):
        self.client._client.publish(f"{self.root}/tables/{name}/dealer/reply", json.dumps(reply), 1)

    def execute(self, name, kind, body):
        t = self.tables[name]
        if len(json.dumps(body)) > 4096 or kind not in PHASES:
            return {"error": "malformed"}
        if kind == "open_round" and t.suspended:
            return {"error": "table_suspended"}
        if kind != "open_round" and body.get("round") != t.round:
            return {"error": "wrong_round" if isinstance(body.get("round"), int) else "malformed"}
        if t.phase != PHASES[kind]:
            return {"error": "wrong_phase"}
        self.seq += 1
        result = getattr(self, f"do_{kind}")(name, t, body)
        self.publish_state(name)
        return result

    def do_open_round(self, name, t, _body):
        self.tables[name] = Table(t.round + 1, "open", suspended=t.suspended)
        self.publish_lamps(name)
        return {"round": t.round + 1}

    def do_close_wagers(self, _name, t, _body):
        t.phase = "closed"
        return {"lit": sorted(t.lit), "unconfirmed": []}

    def do_fold(self, _name, t, body):
        t.folded.add(body["box"])
        return {}

    def do_declare(self, _name, t, body):
        t.declared[body["box"]] = body["cards"]
        return {"hand": self.game.hand(" ".join(body["cards"])).category, "qualifies": False, "amount_cents": 0}

    def do_settle(self, name, t, _body):
        hands = {box: self.game.hand(" ".join(cards)).category for box, cards in sorted(t.declared.items())}
        t.payouts = [
            {"box": box, "hand": hand, "amount_cents": 100_00, "clause": "x"}
            | {"status": "pending" if hand in PENDING else "paid"}
            for box, hand in hands.items()
            if hand in PAID
        ]
        for payout in t.payouts:
            win = {"win_id": f"main-{self.seq}-{payout['box']}", "table": name, "round": t.round, **payout}
            self.publish("jackpots/main/wins", win)
        t.phase = "pending" if any(payout["status"] == "pending" for payout in t.payouts) else "idle"
        if t.phase == "idle":
            self.publish_lamps(name)
        return {"payouts": t.payouts}

    def do_void_round(self, name, t, _body):
        for box in list(t.lit):
            self.void(name, box)
        t.phase = "idle"
        self.publish_lamps(name)
        return {"returned_cents": 0}

    def do_void_hand(self, name, _t, body):
        self.void(name, body["box"])
        return {"returned_cents": WAGER_CENTS}

    def void(self, name, box):
        wager_id = self.tables[name].lit.pop(box)
        content, _ = self.wagers[name, box, wager_id]
        self.wagers[name, box, wager_id] = content, "returned"
        self.publish_lamp(name, box)

    def publish_lamps(self, name):
        for box in range(1, 8):
            self.publish_lamp(name, box)

    async def confirm(self, name, _number):
        t = self.tables[name]
        self.seq += 1
        t.phase = "idle"
        for payout in t.payouts:
            payout["status"] = "paid"
        self.publish_lamps(name)
        self.publish_state(name)


PHASES = {
    "open_round": "idle", "close_wagers": "open", "void_round": "open", "void_hand": "open",
    "fold": "closed", "declare": "closed", "settle": "closed",
}  # fmt: skip


@asynccontextmanager
async def controller(broker, site, tables):
    no_delay = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    async with aiomqtt.Client(
        broker.host, broker.port, username=broker.username, password=broker.password,
        tls_context=broker.tls_context(), identifier=f"controller-{site}", socket_options=no_delay,
    ) as client:  # fmt: skip
        scripted = ScriptedController(client, site, tables)
        client._client.on_message = scripted.receive
        await client.subscribe([(f"{scripted.root}/tables/#", 1), (f"{scripted.root}/displays/#", 1)])
        scripted.publish("jackpots/main/controller", {"state": "online"}, retain=True)
        for name in tables:
            scripted.publish_state(name)
        scripted.publish_meter()
        yield scripted


REACHED_SECONDS = 60
"""Far more than a condition takes, so that a slow machine is no failure."""


async def reached(condition, limit=REACHED_SECONDS):
    async with asyncio.timeout(limit):
        while not condition():  # noqa: ASYNC110 - any condition, not one event
            await asyncio.sleep(0.005)
