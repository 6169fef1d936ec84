"""A site with events of every kind, and browser cookies of each operator."""

import http.client
import json
import time
from http.cookies import SimpleCookie

from tests.support.daemon import wait_until

ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
ALMOST_ROYAL = ["Ah", "Ks", "Qs", "Js", "Ts"]
STRAIGHT_FLUSH = ["8d", "7d", "6d", "5d", "4d"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
QUADS = ["9c", "9d", "9h", "9s", "2c"]
ROLES = ("auditor", "supervisor", "manager1", "manager2")


class Dealer:
    """The dealer and the pads of one table."""

    def __init__(self, client, table):
        self.client, self.table = client, table
        self.number = wait_until(lambda: client.last(f"tables/{table}/state"), "the table's state")["round"]

    def open(self, *boxes):
        self.number += 1
        self.command("open_round")
        self.wager(*boxes)
        return self.number

    def wager(self, *boxes):
        """Place wagers of the configured amount."""
        state = self.client.wait(f"tables/{self.table}/state", lambda payload: payload["round"] == self.number)
        for box in boxes:
            wager_id = f"{self.table}-{self.number}-{box}"
            lamp = self.client.wager(self.table, box, wager_id, self.number, amount_cents=state["wager_cents"])
            assert lamp["lit"], lamp

    def play(self, hands=None, boxes=(1, 2, 3)):
        """Play a round until it is settled."""
        self.open(*boxes)
        self.command("close_wagers", round=self.number)
        for box, cards in (hands or {}).items():
            self.command("declare", round=self.number, box=box, cards=cards)
        self.command("settle", round=self.number)
        return self.number

    def command(self, kind, **fields):
        answer = self.client.command(self.table, f"{kind}-{time.monotonic_ns()}", kind, **fields)
        assert answer["ok"], answer
        return answer


class StagedSite:
    """A running site, its operators' tokens, and a dealer for each table."""

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
        """Add an operator."""
        status, answer = self.site.act("operators", {"name": name, "role": role})
        assert status == 200, answer
        self.tokens[name] = answer["token"]

    def get(self, path, name="auditor"):
        """Return the API's answer to an operator, as text or JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.site.http, timeout=20)
        connection.request("GET", f"/api/v1/{path}", headers={"Authorization": f"Bearer {self.tokens[name]}"})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        assert reply.status == 200, text
        return json.loads(text) if "json" in reply.headers["Content-Type"] else text

    def cookie(self, name):
        """Return the session cookie of an operator; each signs in once for all tests."""
        if name not in self._cookies:
            connection = http.client.HTTPConnection("127.0.0.1", self.site.http, timeout=20)
            body = json.dumps({"token": self.tokens[name]})
            connection.request("POST", "/api/v1/session", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            (morsel,) = SimpleCookie(reply.headers["Set-Cookie"]).values()
            connection.close()
            self._cookies[name] = {"name": morsel.key, "value": morsel.value, "url": self.address}
        return self._cookies[name]


def stage_events(staged_site):
    """Play wins of every status, a void round, a suspended table, a configuration and an adjustment by two managers."""
    site, first, second = staged_site.site, staged_site.dealer("t1"), staged_site.dealer("t2")
    staged_site.add("auditor", "auditor")
    staged_site.add("supervisor", "supervisor")
    first.play({2: FLUSH})
    site.act(f"rounds/t1/{first.play({1: STRAIGHT_FLUSH, 3: QUADS})}/confirm")
    wrong = {"hands": {"1": ALMOST_ROYAL}, "reason": "The ace is of hearts"}
    site.act(f"rounds/t2/{second.play({1: ROYAL})}/correct", wrong)
    second.open(1, 2)
    site.act(f"rounds/t2/{second.number}/void", {"reason": "An exposed card"})
    site.act("configs", {"reset_cents": 900_000, "reason": "A smaller reset"})
    site.act("configs/main/1/approve", token=1)
    site.act("adjustments", {"source": "house", "target": "jackpot", "amount_cents": 250_000, "reason": "A gift"})
    site.act("adjustments/main/2/approve", token=1)
    staged_site.dealer("t4").command("report_malfunction", equipment="pad 3", note="it flickers")
