"""A floor on which something of everything has happened, and browsers signed in as each role."""

import http.client
import json
import time
from http.cookies import SimpleCookie

from tests.support.daemon import wait_until

ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
NEARLY = ["Ah", "Ks", "Qs", "Js", "Ts"]
STRAIGHT_FLUSH = ["8d", "7d", "6d", "5d", "4d"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
QUADS = ["9c", "9d", "9h", "9s", "2c"]
ROLES = ("auditor", "supervisor", "manager1", "manager2")


class Dealer:
    """A table's dealer and pads."""

    def __init__(self, client, table):
        self.client, self.table = client, table
        self.number = wait_until(lambda: client.last(f"tables/{table}/state"), "the table's state")["round"]

    def open(self, *boxes):
        self.number += 1
        self.ask("open_round")
        self.wager(*boxes)
        return self.number

    def wager(self, *boxes):
        """Wagers of what the table's configuration says."""
        state = self.client.wait(f"tables/{self.table}/state", lambda told: told["round"] == self.number)
        for box in boxes:
            wager_id = f"{self.table}-{self.number}-{box}"
            lamp = self.client.wager(self.table, box, wager_id, self.number, amount_cents=state["wager_cents"])
            assert lamp["lit"], lamp

    def play(self, hands=None, boxes=(1, 2, 3)):
        """A round to its settlement."""
        self.open(*boxes)
        self.ask("close_wagers", round=self.number)
        for box, cards in (hands or {}).items():
            self.ask("declare", round=self.number, box=box, cards=cards)
        self.ask("settle", round=self.number)
        return self.number

    def ask(self, kind, **fields):
        answer = self.client.command(self.table, f"{kind}-{time.monotonic_ns()}", kind, **fields)
        assert answer["ok"], answer
        return answer


class Staged:
    """A running site, its operators' tokens, and a dealer at each table."""

    def __init__(self, site, client):
        self.site, self.client = site, client
        self.address = f"http://127.0.0.1:{site.http}"
        self.tokens = dict(zip(("manager1", "manager2"), site.tokens, strict=True))
        self._cookies = {}
        self.dealers = {}

    def dealer(self, table):
        if table not in self.dealers:
            self.dealers[table] = Dealer(self.client, table)
        return self.dealers[table]

    def add(self, name, role):
        """One more operator."""
        status, answer = self.site.act("operators", {"name": name, "role": role})
        assert status == 200, answer
        self.tokens[name] = answer["token"]

    def get(self, path, name="auditor"):
        """What the API answers to an operator's token, as text or as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.site.http, timeout=20)
        connection.request("GET", f"/api/v1/{path}", headers={"Authorization": f"Bearer {self.tokens[name]}"})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        assert reply.status == 200, text
        return json.loads(text) if "json" in reply.headers["Content-Type"] else text

    def state(self, name):
        """A browser's state once this operator is signed in; each signs in once for all tests."""
        if name not in self._cookies:
            connection = http.client.HTTPConnection("127.0.0.1", self.site.http, timeout=20)
            body = json.dumps({"token": self.tokens[name]})
            connection.request("POST", "/api/v1/session", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            (cookie,) = SimpleCookie(reply.headers["Set-Cookie"]).values()
            connection.close()
            self._cookies[name] = {"name": cookie.key, "value": cookie.value, "url": self.address}
        return self._cookies[name]


def set_the_stage(staged):
    """Wins of every status, a void round, a suspended table, a configuration and an adjustment by two managers."""
    site, first, second = staged.site, staged.dealer("t1"), staged.dealer("t2")
    staged.add("auditor", "auditor")
    staged.add("supervisor", "supervisor")
    first.play({2: FLUSH})
    site.act(f"rounds/t1/{first.play({1: STRAIGHT_FLUSH, 3: QUADS})}/confirm")
    wrong = {"hands": {"1": NEARLY}, "reason": "The ace is of hearts"}
    site.act(f"rounds/t2/{second.play({1: ROYAL})}/correct", wrong)
    second.open(1, 2)
    site.act(f"rounds/t2/{second.number}/void", {"reason": "An exposed card"})
    site.act("configs", {"reset_cents": 900_000, "reason": "A smaller reset"})
    site.act("configs/main/1/approve", token=1)
    site.act("adjustments", {"source": "house", "target": "jackpot", "amount_cents": 250_000, "reason": "A gift"})
    site.act("adjustments/main/2/approve", token=1)
    staged.dealer("t4").ask("report_malfunction", equipment="pad 3", note="it flickers")
