"""The embedded broker: our own child, and nobody else who answers at its port."""

import socket

import pytest
from machinery import Site, free_port, takes_connections

from jackpot.wire import broker
from jackpot.wire.broker import BrokerError, embedded

CONNECT, CONNACK = b"\x10\x0d\0\4MQTT\4\2\0\x3c\0\1a", b"\x20\2\0\0"


@pytest.fixture
def new_site(tmp_path):
    """Makes a site with an embedded broker, and ends its daemon."""
    made = []

    def make(port):
        made.append(Site(tmp_path, "embedded", embedded_port=port))
        return made[-1]

    yield make
    for site in made:
        if site.process is not None and site.process.poll() is None:
            site.kill()


@pytest.mark.parametrize("where", ["127.0.0.1", "0.0.0.0"])
def test_a_port_that_is_taken_is_refused_in_one_sentence_that_says_what_to_do(new_site, where):
    with socket.create_server((where, 0)) as taken:
        port = taken.getsockname()[1]
        site = new_site(port)
        done = site.run("serve")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"jackpot: the embedded broker cannot have port {port} at 127.0.0.1 (Address already")
    assert f'broker = "mqtt://127.0.0.1:{port}"' in done.err
    assert "embedded_port" in done.err


def test_somebody_who_takes_the_port_meanwhile_is_not_taken_for_the_broker(tmp_path, monkeypatch):
    monkeypatch.setattr(broker, "_require_free", lambda _port: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = pytest.raises(BrokerError, match=r"did not start: .*address already in use")
        with refused, embedded(tmp_path, taken.getsockname()[1]):
            pass


def test_connections_that_have_ended_do_not_keep_the_port(tmp_path):
    port = free_port()
    for _ in range(2):
        with embedded(tmp_path, port):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(CONNECT)
            assert client.recv(4) == CONNACK
        assert client.recv(1) == b""  # the broker closed first: the port is held for a while by what has ended
        client.close()
    assert not takes_connections(port)
