"""Visitors of a console: a site with an operator of each role, and pages that are signed in already."""

import json
import urllib.error
import urllib.request

from tests.support.daemon import LIMIT_SECONDS, Client, Site

TABLET = {"width": 820, "height": 1180}
DESK = {"width": 1280, "height": 900}
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
FULL_HOUSE = ["Kh", "Ks", "Kd", "3h", "3s"]


class House:
    """A site that is served, its operators, and a client that hears everything."""

    def __init__(self, folder, broker_port, **options):
        self.site = Site(folder, f"mqtt://127.0.0.1:{broker_port}", **options)
        self.client = Client(broker_port, self.site.id, "tables/#", "jackpots/#")
        self.site.start()
        self.tokens = {"manager": self.site.tokens[0]}
        for role in ("supervisor", "auditor"):
            self.tokens[role] = self.site.act("operators", {"name": role, "role": role})[1]["token"]
        self._cookies = {}

    @property
    def address(self):
        return f"http://127.0.0.1:{self.site.http}"

    def close(self):
        self.client.close()
        self.site.kill()

    def signed_in(self, page, role="auditor"):
        """The page of a visitor who has signed in; each role does so once, and its browsers share the cookie."""
        if role not in self._cookies:
            page.goto(f"{self.address}/sign-in#token={self.tokens[role]}")
            page.wait_for_url(f"{self.address}/")
            self._cookies[role] = page.context.cookies()
        page.context.add_cookies(self._cookies[role])
        return page

    def api(self, path, role="auditor", **headers):
        """What the API answers: (status, document)."""
        return self.get(f"/api/v1/{path}", Authorization=f"Bearer {self.tokens[role]}", **headers)

    def get(self, path, **headers):
        """What is answered to a program: (status, document), the document as it is where it is not JSON."""
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{self.address}{path}", headers=headers), timeout=LIMIT_SECONDS
            ) as reply:
                return reply.status, _read(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _read(error)

    def play(self, table, number, **hands):
        """A round with a wager at each named box, and its hand where there is one."""
        boxes = {int(box[1:]): cards for box, cards in hands.items()}
        self._ask(table, "open_round")
        for box in boxes:
            self.client.wager(table, box, f"{table}-{number}-{box}", number)
        self._ask(table, "close_wagers", round=number)
        for box, cards in boxes.items():
            if cards:
                self._ask(table, "declare", round=number, box=box, cards=cards)
        return self._ask(table, "settle", round=number)["payouts"]

    def _ask(self, table, kind, **fields):
        answer = self.client.command(table, f"{kind}-{len(self.client.all)}", kind, **fields)
        assert answer["ok"], answer
        return answer


def _read(reply):
    body = reply.read()
    return json.loads(body) if "json" in reply.headers["Content-Type"] else body.decode()
