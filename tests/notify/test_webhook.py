"""Addresses, secrets and signatures of webhooks."""

import base64

import pytest

from jackpot.notify.webhook import Webhook, WebhookError

SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def test_the_signature_is_that_of_the_example_of_standard_webhooks():
    hook = Webhook.of("https://example.org/", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = dict(hook.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'))
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_post_is_signed_with_each_of_two_secrets():
    old, new = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
    both = dict(Webhook.of("http://h/", f"whsec_{old}\nwhsec_{new}\n").headers("msg_1", 1, b"{}"))["webhook-signature"]
    alone = [dict(Webhook.of("http://h/", f"whsec_{one}").headers("msg_1", 1, b"{}")) for one in (old, new)]
    assert both.split(" ") == [headers["webhook-signature"] for headers in alone]


@pytest.mark.parametrize(
    ("url", "host", "port", "target"),
    [
        ("https://example.org", "example.org", 443, "/"),
        ("http://10.0.0.7:8080/hooks/42?to=pit", "10.0.0.7", 8080, "/hooks/42?to=pit"),
        ("http://[::1]:81/x", "::1", 81, "/x"),
    ],
)
def test_an_address_is_split_into_host_port_and_target(url, host, port, target):
    hook = Webhook.of(url, SECRET)
    assert (hook.host, hook.port, hook.target, hook.tls is not None) == (host, port, target, url.startswith("https"))


@pytest.mark.parametrize(
    "url", ["", "example.org", "ftp://example.org/", "https://", "https://me:hunter2@example.org/", "http://h:x/",
            "http://h/#part", "http://h/a\n", "http://h/a b", "http://h/ü"],
)  # fmt: skip
def test_an_invalid_address_is_refused_without_showing_it(url):
    with pytest.raises(WebhookError, match="webhook_url is not valid") as refused:
        Webhook.of(url, SECRET)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "secret", ["", "secret", "whsec_", "whsec_c2hvcnQ=", SECRET.removeprefix("whsec_"), "whsec_%%"]
)
def test_an_invalid_secret_is_refused_without_showing_it(secret):
    with pytest.raises(WebhookError, match="secret") as refused:
        Webhook.of("https://example.org/", secret)
    assert "c2hvcnQ" not in str(refused.value)


def test_the_shown_address_has_no_path():
    assert Webhook.of("https://example.org/T0KEN?a=b", SECRET).shown == "https://example.org:443"


def test_a_missing_file_of_authorities_is_refused():
    with pytest.raises(WebhookError, match="webhook_ca_file cannot be read: No such file"):
        Webhook.of("https://example.org/", SECRET, "/nowhere/ca.pem")
