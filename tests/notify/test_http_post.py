"""One POST over real sockets: the request, the response, failures and time limits."""

import asyncio
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from jackpot.notify.http_post import PostError, post
from jackpot.notify.webhook import Webhook
from tests.support.certificates import certificate
from tests.support.webhook_receiver import SECRET, receiving


def posted(hook, seconds=60.0, body=b'{"a":1}'):
    return asyncio.run(post(hook, [("content-type", "application/json")], body, seconds))


def hook_of(port, scheme="http", host="127.0.0.1", ca_file=""):
    return Webhook.of(f"{scheme}://{host}:{port}/hooks?to=pit", SECRET, ca_file)


def test_a_body_is_sent_unchanged_and_the_status_is_returned(receiver):
    receiver.answers = [200, 500, 302]
    assert [posted(hook_of(receiver.port)) for _ in range(3)] == [200, 500, 302]
    first = receiver.posts[0]
    assert (first.path, first.body, first.headers["content-length"]) == ("/hooks?to=pit", b'{"a":1}', "7")
    assert first.headers["host"] == f"127.0.0.1:{receiver.port}"


def test_a_redirect_is_not_followed(receiver):
    with receiving() as other:
        receiver.answers = [(307, {"location": f"http://127.0.0.1:{other.port}/"})]
        assert posted(hook_of(receiver.port)) == 307
        assert other.posts == []


def test_only_a_trusted_certificate_is_accepted(tmp_path):
    tls, authority, _ = certificate(tmp_path)
    with receiving(tls=tls) as receiver:
        assert posted(hook_of(receiver.port, "https", "localhost", str(authority))) == 204
        with pytest.raises(PostError, match="not trusted"):
            posted(hook_of(receiver.port, "https", "localhost"))
        with pytest.raises(PostError, match="not trusted"):  # the certificate is for another name
            posted(hook_of(receiver.port, "https", "127.0.0.1", str(authority)))
        assert len(receiver.posts) == 1


def read_request(connection):
    """Read the whole request: closing a socket with unread data resets the connection."""
    with connection.makefile("rb") as request:
        head = iter(request.readline, b"\r\n")
        lengths = [int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length:")]
        request.read(sum(lengths))


@contextmanager
def answering(*parts, pause=0.0):
    """Start a server that sends these parts to the first client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                read_request(connection)
                for part in parts:
                    try:
                        connection.sendall(part)
                    except OSError:
                        return
                    time.sleep(pause)

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]


def test_informational_responses_are_skipped():
    with answering(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Created\r\n\r\n") as port:
        assert posted(hook_of(port)) == 201


@pytest.mark.parametrize(
    ("parts", "problem"),
    [((), "closed without a response"), ((b"SSH-2.0-OpenSSH\r\n\r\n",), "the response is not HTTP")],
)
def test_a_missing_response_and_one_that_is_not_http_are_failures(parts, problem):
    with answering(*parts) as port, pytest.raises(PostError, match=problem):
        posted(hook_of(port))


def test_the_limit_applies_to_the_whole_response():
    with answering(*([b"H"] * 100), pause=0.1) as port, pytest.raises(PostError, match=r"no answer within 0\.5 s"):
        posted(hook_of(port), seconds=0.5)


def test_a_refused_connection_is_a_failure():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(PostError, match="Connection refused"):
        posted(hook_of(port))
