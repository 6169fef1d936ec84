"""Both ends of a feed: an HTTP client that keeps all received events, and a view with fixed changes."""

import contextlib
import http.client
import json
import socket
import threading
import time
from typing import NamedTuple

LIMIT_SECONDS = 60
"""Far more than anything here takes, so that a slow machine is no failure."""


class FeedEvent(NamedTuple):
    """An event of a feed, and when it was received."""

    kind: str
    name: str
    body: object
    id: str | None
    at: float


class FixedView:
    """A view of a jackpot that has the same changes at every poll."""

    def __init__(self, *changes):
        self._changes = list(changes)

    def version_of(self, _event_id):
        return 0

    def changes_since(self, version, _kinds):
        return version, self._changes


class Listener:
    """A subscriber of a feed, from its creation until it is closed."""

    def __init__(self, port, path="/display/main/feed", last_event_id=None):
        self.all, self._changed, self.ended = [], threading.Condition(), False
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
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def _keep(self, event):
        data = json.loads(event["data"])
        with self._changed:
            self.all.append(FeedEvent(event["event"], data["name"], data["body"], event.get("id"), time.monotonic()))
            self._changed.notify_all()

    def wait(self, kind, holds=lambda _body: True, seconds=LIMIT_SECONDS):
        """Return the next event of this kind for which this holds, after the one returned last."""
        until = time.monotonic() + seconds
        at = self._read.get(kind, 0)
        with self._changed:
            while True:
                while at < len(self.all):
                    event = self.all[at]
                    at += 1
                    if event.kind == kind and holds(event.body):
                        self._read[kind] = at
                        return event
                if self.ended or not self._changed.wait(until - time.monotonic()):
                    received = [event for event in self.all if event.kind == kind]
                    raise AssertionError(f"no such {kind} within {seconds} s; received {received[-3:]}")

    def wait_for_end(self, seconds=LIMIT_SECONDS):
        with self._changed:
            assert self._changed.wait_for(lambda: self.ended, seconds), "the feed did not end"

    def close(self):
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT_SECONDS)
        self.response.close()
        self._connection.close()
