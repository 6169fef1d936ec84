"""Where notices are posted and how they are signed, as Standard Webhooks says (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hmac
import ssl
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_PREFIX: Final = "whsec_"
_LEAST_BYTES: Final = 24
_MAX_BYTES: Final = 64


class HookError(ValueError):
    """A webhook that cannot be used; the sentence never says its secret, nor its path, which may be one."""


class Webhook(NamedTuple):
    """An address to post to, and the keys to sign with: several while a new one takes over from the old."""

    host: str
    port: int
    target: str
    tls: ssl.SSLContext | None
    keys: tuple[bytes, ...]

    @classmethod
    def of(cls, url: str, secrets: str, ca_file: str = "") -> Webhook:
        """The webhook at this address, signed with each of these secrets."""
        parts = urlsplit(url)
        ports = {"http": 80, "https": 443}
        try:
            port = parts.port or ports[parts.scheme]
        except (KeyError, ValueError):
            raise HookError("webhook_url is not understood: write https://host/path") from None
        plain = url.isascii() and url.isprintable() and " " not in url
        if not parts.hostname or parts.username or parts.fragment or not plain:
            raise HookError("webhook_url is not understood: write https://host/path, with no name and password in it")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        tls = _trusting(ca_file) if parts.scheme == "https" else None
        return cls(parts.hostname, port, target, tls, _keys(secrets))

    @property
    def shown(self) -> str:
        """The address as it may be shown: the path may hold a secret."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def headers(self, name: str, at: int, body: bytes) -> list[tuple[str, str]]:
        """What makes a post known as ours: its id, the moment of this try, and the signature over both and the body."""
        signed = f"{name}.{at}.".encode() + body
        marks = [base64.b64encode(hmac.digest(key, signed, sha256)).decode() for key in self.keys]
        return [
            ("webhook-id", name),
            ("webhook-timestamp", str(at)),
            ("webhook-signature", " ".join(f"v1,{mark}" for mark in marks)),
        ]


def _trusting(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise HookError(f"webhook_ca_file cannot be read: {error.strerror or error}") from None


def _keys(secrets: str) -> tuple[bytes, ...]:
    words = secrets.split()
    if not words:
        raise HookError("a webhook needs a secret: set webhook_secret, or webhook_secret_file")
    return tuple(_key(word) for word in words)


def _key(word: str) -> bytes:
    try:
        key = base64.b64decode(word.removeprefix(_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not word.startswith(_PREFIX) or not _LEAST_BYTES <= len(key) <= _MAX_BYTES:
        raise HookError(f"a webhook's secret is {_PREFIX} and {_LEAST_BYTES} to {_MAX_BYTES} bytes in base64")
    return key
