"""Asking a running daemon over HTTP, as operators of each role, and as a browser does."""

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
    """A site with its daemon, an operator of each role (and a second manager), and a client of its broker."""

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
        """An operator, straight into the store."""
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
        """Somebody who asks, from this address."""
        told = {**({"Authorization": f"Bearer {token}"} if token else {}), **headers}
        transport = httpx.HTTPTransport(local_address=address)
        client = httpx.Client(base_url=self.url, headers=told, transport=transport, timeout=LIMIT_SECONDS)
        self._clients.append(client)
        return client

    def ask(self, method, path, role="manager", body=None, **headers):
        """One request of an operator: its answer."""
        with self.client(self.tokens.get(role), **headers) as client:
            return client.request(method, f"/api/v1{path}", json=body)

    def get(self, path, role="auditor"):
        answer = self.ask("GET", path, role)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, body=None, role="manager", key=None):
        """An act that is carried out: what it answers."""
        answer = self.act(path, body, role, key)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def act(self, path, body=None, role="manager", key=None):
        return self.ask("POST", path, role, body, **({"Idempotency-Key": key} if key else {}))

    def refused(self, path, body=None, role="manager", key=None):
        """An act that is refused: its status and code."""
        answer = self.act(path, body, role, key)
        return answer.status_code, problem(answer)["code"]

    def browser(self, role="supervisor", **options):
        return Browser(self, self.tokens[role], **options)

    def play(self, table, hands, number=None):
        """Open a round, wager at these boxes, and declare; says the round's number."""
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
        """Open a round and wager at these boxes; says its number."""
        number = self.floor.command(table, unique("open"), "open_round")["round"]
        for box in boxes:
            assert self.floor.wager(table, box, unique(f"w{box}"), number)["lit"]
        return number

    def entries(self, *kinds):
        """The site's events of these types, the newest first, with their data read."""
        found = self.get("/audit?chain=site&limit=500")["rows"]
        return [(e["type"], e["actor"], json.loads(e["data"])) for e in found if e["type"] in kinds]


class Browser:
    """A browser that signs in with a token: its cookies, and what its pages send with each act."""

    def __init__(self, api, token, host=None, address="127.0.0.1"):
        self.api = api
        self.client = api.client(address=address, **({"Host": host} if host else {}))
        self.answer = self.client.post("/api/v1/session", json={"token": token}, headers=self.own_page)
        self.csrf = self.answer.json().get("csrf")

    own_page = {"Sec-Fetch-Site": "same-origin"}  # noqa: RUF012 - never changed

    def get(self, path):
        return self.client.get(f"/api/v1{path}")

    def post(self, path, body=None, csrf=True, page=None):
        token = {"X-CSRF-Token": self.csrf if csrf is True else csrf} if csrf else {}
        headers = {**token, **(self.own_page if page is None else page)}
        return self.client.post(f"/api/v1{path}", json=body, headers=headers)

    def sign_out(self):
        headers = {"X-CSRF-Token": self.csrf, **self.own_page}
        return self.client.delete("/api/v1/session", headers=headers)


def problem(answer):
    """The problem document of a refusal, as RFC 9457 has it."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    told = answer.json()
    assert set(told) == {"type", "title", "status", "detail", "code"}
    assert told["status"] == answer.status_code
    assert told["type"] == f"urn:jackpot:problem:{told['code']}"
    assert len(told["detail"].split()) > 2
    return told


_numbers = iter(range(10**9))


def unique(text):
    return f"{text}-{next(_numbers)}"


__all__ = ["FLUSH", "ROLES", "ROYAL", "Api", "Browser", "problem", "unique", "wait_until"]
