"""Both ends of a feed: a plain HTTP client that keeps what it hears until it is asked for, and a board of any news."""

import contextlib
import http.client
import json
import socket
import threading
import time
from typing import NamedTuple

LIMIT_SECONDS = 20


class Said(NamedTuple):
    kind: str
    name: str
    body: object
    id: str | None
    at: float


class JackpotView:
    """What there is to tell at every look."""

    def __init__(self, *news):
        self._news = list(news)

    def version_of(self, _event_id):
        return 0

    def news(self, since, _kinds):
        return since, self._news


class Listener:
    """Listens from its making to its close."""

    def __init__(self, port, path="/display/main/feed", last_event_id=None):
        self.all, self._news, self.ended = [], threading.Condition(), False
        self._read = {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        self._connection.request("GET", path, headers=headers)
        self.response = self._connection.getresponse()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        event = {}
        try:
            for line in self.response:
                text = line.decode().rstrip("\n")
                if text:
                    field, _, value = text.partition(": ")
                    event[field] = value
                elif "data" in event:
                    self._keep(event)
                    event = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # closed, or cut off
        with self._news:
            self.ended = True
            self._news.notify_all()

    def _keep(self, event):
        told = json.loads(event["data"])
        with self._news:
            self.all.append(Said(event["event"], told["name"], told["body"], event.get("id"), time.monotonic()))
            self._news.notify_all()

    def wait(self, kind, holds=lambda _body: True, seconds=LIMIT_SECONDS):
        """The next event of this kind for which this holds; each kind is read from where it was read last."""
        until = time.monotonic() + seconds
        at = self._read.get(kind, 0)
        with self._news:
            while True:
                while at < len(self.all):
                    said = self.all[at]
                    at += 1
                    if said.kind == kind and holds(said.body):
                        self._read[kind] = at
                        return said
                if self.ended or not self._news.wait(until - time.monotonic()):
                    heard = [said for said in self.all if said.kind == kind]
                    raise AssertionError(f"no such {kind} within {seconds} s; heard {heard[-3:]}")

    def wait_for_end(self, seconds=LIMIT_SECONDS):
        with self._news:
            assert self._news.wait_for(lambda: self.ended, seconds), "the feed did not end"

    def close(self):
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT_SECONDS)
        self.response.close()
        self._connection.close()
