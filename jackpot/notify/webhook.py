"""The address and the signatures of a webhook, as in Standard Webhooks (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hmac
import ssl
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_PREFIX: Final = "whsec_"
_MIN_BYTES: Final = 24
_MAX_BYTES: Final = 64


class WebhookError(ValueError):
    """A webhook that cannot be used; the message contains neither the secret nor the path, which may be one."""


class Webhook(NamedTuple):
    """An address to post to, and the keys to sign with: several while a new key replaces the old one."""

    host: str
    port: int
    target: str
    tls: ssl.SSLContext | None
    keys: tuple[bytes, ...]

    @classmethod
    def of(cls, url: str, secrets: str, ca_file: str = "") -> Webhook:
        """Return the webhook at this address, signed with each of these secrets."""
        parts = urlsplit(url)
        ports = {"http": 80, "https": 443}
        try:
            port = parts.port or ports[parts.scheme]
        except (KeyError, ValueError):
            raise WebhookError("webhook_url is not valid: write https://host/path") from None
        plain = url.isascii() and url.isprintable() and " " not in url
        if not parts.hostname or parts.username or parts.fragment or not plain:
            raise WebhookError("webhook_url is not valid: write https://host/path, without user name and password")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        tls = _tls_context(ca_file) if parts.scheme == "https" else None
        return cls(parts.hostname, port, target, tls, _keys(secrets))

    @property
    def shown(self) -> str:
        """The address without its path, which may hold a secret."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def headers(self, name: str, at: int, body: bytes) -> list[tuple[str, str]]:
        """Return the headers of a post: its id, the time of this attempt, and the signature over both and the body."""
        signed = f"{name}.{at}.".encode() + body
        signatures = [base64.b64encode(hmac.digest(key, signed, sha256)).decode() for key in self.keys]
        return [
            ("webhook-id", name),
            ("webhook-timestamp", str(at)),
            ("webhook-signature", " ".join(f"v1,{signature}" for signature in signatures)),
        ]


def _tls_context(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise WebhookError(f"webhook_ca_file cannot be read: {error.strerror or error}") from None


def _keys(secrets: str) -> tuple[bytes, ...]:
    words = secrets.split()
    if not words:
        raise WebhookError("a webhook needs a secret: set webhook_secret, or webhook_secret_file")
    return tuple(_key(word) for word in words)


def _key(word: str) -> bytes:
    try:
        key = base64.b64decode(word.removeprefix(_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not word.startswith(_PREFIX) or not _MIN_BYTES <= len(key) <= _MAX_BYTES:
        raise WebhookError(f"a webhook secret is {_PREFIX} followed by {_MIN_BYTES} to {_MAX_BYTES} bytes in base64")
    return key
