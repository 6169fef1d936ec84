"""A real HTTP receiver of webhooks: it keeps the posts, checks signatures, and gives the chosen answers."""

import base64
import hmac
import json
import threading
import time
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()


class Post(NamedTuple):
    """One post: its time, path, headers in lower case, body, and the status of the answer."""

    at: float
    path: str
    headers: dict
    body: bytes
    status: int

    @property
    def id(self):
        return self.headers["webhook-id"]

    @property
    def payload(self):
        return json.loads(self.body)

    def is_signed(self, key=KEY):
        """Check the signature over id, time of the attempt and body, and that it is not old."""
        at = self.headers["webhook-timestamp"]
        signed = f"{self.id}.{at}.".encode() + self.body
        expected = "v1," + base64.b64encode(hmac.new(key, signed, sha256).digest()).decode()
        return expected in self.headers["webhook-signature"].split(" ") and abs(time.time() - int(at)) < 300


class Receiver:
    """An HTTP server on its own port; it gives the `answers` in turn, then 204."""

    def __init__(self, port=0, tls=None):
        self.posts, self.answers, self._changed = [], [], threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                answer = outer.answers.pop(0) if outer.answers else 204
                status, more = answer if isinstance(answer, tuple) else (answer, {})
                post = Post(time.monotonic(), self.path, {k.lower(): v for k, v in self.headers.items()}, body, status)
                with outer._changed:
                    outer.posts.append(post)
                    outer._changed.notify_all()
                time.sleep(more.pop("seconds", 0))
                if more.pop("hang_up", False):
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def wait(self, count, seconds=60, status=None):
        """Wait for this number of posts (with this status), and return them."""
        wanted = lambda: [post for post in self.posts if status in (None, post.status)]  # noqa: E731
        with self._changed:
            done = self._changed.wait_for(lambda: len(wanted()) >= count, seconds)
        assert done, f"{count} posts were not received within {seconds} s: {self.posts}"
        return wanted()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def receiving(**options):
    made = Receiver(**options)
    try:
        yield made
    finally:
        made.close()
