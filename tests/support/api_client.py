"""Clients of a running daemon's HTTP API: operators of each role, and browsers."""

import json

import httpx

from jackpot.clock import now
from jackpot.core.commands import Actor, Role
from jackpot.core.site.commands import AddOperator
from jackpot.engine.site_journal import SiteJournal
from jackpot.store.database import Database
from jackpot.tokens import new_token, token_hash
from tests.support.daemon import LIMIT_SECONDS, Client, Site, wait_until

ROLES = ("auditor", "supervisor", "manager")
ROYAL = ["As", "Ks", "Qs", "Js", "Ts"]
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]


class Api:
    """A site with its daemon, an operator of each role, a second manager, and an MQTT client."""

    def __init__(self, folder, port, **options):
        self.site = Site(folder, f"mqtt://127.0.0.1:{port}", **options)
        self.tokens = {"manager": self.site.tokens[0], "second": self.site.tokens[1]}
        self.add("ada", Role.AUDITOR)
        self.add("sue", Role.SUPERVISOR)
        self.names = {"auditor": "ada", "supervisor": "sue", "manager": "manager1", "second": "manager2"}
        self.port, self._clients = port, []
        self.site.start()
        self.floor = Client(port, self.site.id, "#")

    def add(self, name, role, expires_at=""):
        """Add an operator directly to the store, and return their token."""
        token = self.tokens[str(role)] = new_token()
        database = Database(self.site.database)
        journal = SiteJournal.open(database, "test")
        journal.execute(AddOperator(now(), Actor("manager1", Role.MANAGER), name, role, token_hash(token), expires_at))
        journal.lease.release()
        database.close()
        return token

    def close(self):
        self.floor.close()
        for client in self._clients:
            client.close()
        if self.site.process.poll() is None:
            self.site.kill()

    def restart(self):
        assert self.site.stop() == 0
        self.site.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.site.http}"

    def client(self, token=None, address="127.0.0.1", **headers):
        """Return an HTTP client at this address."""
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        transport = httpx.HTTPTransport(local_address=address)
        client = httpx.Client(base_url=self.url, headers=headers, transport=transport, timeout=LIMIT_SECONDS)
        self._clients.append(client)
        return client

    def request(self, method, path, role="manager", body=None, **headers):
        """Send one request of an operator, and return the response."""
        with self.client(self.tokens.get(role), **headers) as client:
            return client.request(method, f"/api/v1{path}", json=body)

    def get(self, path, role="auditor"):
        """Return the document at a path, which must be found."""
        answer = self.request("GET", path, role)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, body=None, role="manager", key=None):
        """Send an act that must be carried out, and return its document."""
        answer = self.act(path, body, role, key)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def act(self, path, body=None, role="manager", key=None):
        """Send an act, and return the response."""
        return self.request("POST", path, role, body, **({"Idempotency-Key": key} if key else {}))

    def refused(self, path, body=None, role="manager", key=None):
        """Send an act that must be refused, and return its status and code."""
        answer = self.act(path, body, role, key)
        return answer.status_code, problem(answer)["code"]

    def browser(self, role="supervisor", **options):
        return Browser(self, self.tokens[role], **options)

    def play(self, table, hands):
        """Open a round, wager at these boxes and declare their hands; return the round's number."""
        number = self.floor.command(table, unique("open"), "open_round")["round"]
        for box in hands:
            assert self.floor.wager(table, box, unique(f"w{box}"), number)["lit"]
        self.floor.command(table, unique("close"), "close_wagers", round=number)
        for box, cards in hands.items():
            if cards:
                self.floor.command(table, unique("declare"), "declare", round=number, box=box, cards=cards)
        return number

    def settle(self, table, number):
        return self.floor.command(table, unique("settle"), "settle", round=number)

    def open(self, table, *boxes):
        """Open a round and wager at these boxes; return its number."""
        number = self.floor.command(table, unique("open"), "open_round")["round"]
        for box in boxes:
            assert self.floor.wager(table, box, unique(f"w{box}"), number)["lit"]
        return number

    def entries(self, *kinds):
        """Return the site's events of these types, the newest first, as (type, actor, data)."""
        found = self.get("/audit?chain=site&limit=500")["rows"]
        return [(e["type"], e["actor"], json.loads(e["data"])) for e in found if e["type"] in kinds]


class Browser:
    """A browser that signs in with a token, keeps its cookies, and sends the headers of our pages with each act."""

    def __init__(self, api, token, host=None, address="127.0.0.1"):
        self.api = api
        self.client = api.client(address=address, **({"Host": host} if host else {}))
        self.answer = self.client.post("/api/v1/session", json={"token": token}, headers=self.same_origin)
        self.csrf = self.answer.json().get("csrf")

    same_origin = {"Sec-Fetch-Site": "same-origin"}  # noqa: RUF012 - never changed

    def get(self, path):
        return self.client.get(f"/api/v1{path}")

    def post(self, path, body=None, csrf=True, page=None):
        token = {"X-CSRF-Token": self.csrf if csrf is True else csrf} if csrf else {}
        headers = {**token, **(self.same_origin if page is None else page)}
        return self.client.post(f"/api/v1{path}", json=body, headers=headers)

    def sign_out(self):
        headers = {"X-CSRF-Token": self.csrf, **self.same_origin}
        return self.client.delete("/api/v1/session", headers=headers)


def problem(answer):
    """Return the problem document of a refusal, after checking it against RFC 9457."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    document = answer.json()
    assert set(document) == {"type", "title", "status", "detail", "code"}
    assert document["status"] == answer.status_code
    assert document["type"] == f"urn:jackpot:problem:{document['code']}"
    assert len(document["detail"].split()) > 2
    return document


_numbers = iter(range(10**9))


def unique(text):
    return f"{text}-{next(_numbers)}"


__all__ = ["FLUSH", "ROLES", "ROYAL", "Api", "Browser", "problem", "unique", "wait_until"]
