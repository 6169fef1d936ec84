"""A running site with an operator of each role, and pages that are signed in."""

import json
import urllib.error
import urllib.request

from tests.support.daemon import LIMIT_SECONDS, Client, Site

TABLET = {"width": 820, "height": 1180}
DESKTOP = {"width": 1280, "height": 900}
FLUSH = ["Kh", "Jh", "4h", "3h", "2h"]
FULL_HOUSE = ["Kh", "Ks", "Kd", "3h", "3s"]


class ConsoleSite:
    """A running site, its operators, and an MQTT client that subscribes to everything."""

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
        """Sign a page in; each role signs in once, and its pages share the cookie."""
        if role not in self._cookies:
            page.goto(f"{self.address}/sign-in#token={self.tokens[role]}")
            page.wait_for_url(f"{self.address}/")
            self._cookies[role] = page.context.cookies()
        page.context.add_cookies(self._cookies[role])
        return page

    def api(self, path, role="auditor", **headers):
        """Return the API's answer: (status, document)."""
        return self.get(f"/api/v1/{path}", Authorization=f"Bearer {self.tokens[role]}", **headers)

    def get(self, path, **headers):
        """Return the answer to a program: (status, document); the document is text if it is not JSON."""
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{self.address}{path}", headers=headers), timeout=LIMIT_SECONDS
            ) as reply:
                return reply.status, _read(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _read(error)

    def play(self, table, number, **hands):
        """Play a round with a wager at each named box, and its hand if it is not None."""
        boxes = {int(box[1:]): cards for box, cards in hands.items()}
        self._command(table, "open_round")
        for box in boxes:
            self.client.wager(table, box, f"{table}-{number}-{box}", number)
        self._command(table, "close_wagers", round=number)
        for box, cards in boxes.items():
            if cards:
                self._command(table, "declare", round=number, box=box, cards=cards)
        return self._command(table, "settle", round=number)["payouts"]

    def _command(self, table, kind, **fields):
        answer = self.client.command(table, f"{kind}-{len(self.client.all)}", kind, **fields)
        assert answer["ok"], answer
        return answer


def _read(reply):
    body = reply.read()
    return json.loads(body) if "json" in reply.headers["Content-Type"] else body.decode()
