"""Signed notes (C2SP signed-note, Ed25519): a text with its signature below.

casino/main                    the origin: site and chain
90112                          the sequence number of the last event covered
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=   its hash
12                             further lines, such as the count of a checkpoint

— casino AbCdEf…               the signer's name, key id and signature
"""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from jackpot.store.errors import StoreError

_ED25519 = b"\x01"
_SECRET = "PRIVATE+KEY"  # noqa: S105 - how the format marks a private key
_DASH = "\u2014"
HASH_BYTES = 32
MAX_LINES = 8
"""The limit of lines after the hash."""


class BadKeyError(StoreError):
    """A key that cannot be read."""


class NoteError(StoreError):
    """A note that is malformed or not signed by the expected key."""


class Checkpoint(NamedTuple):
    """The content of a note: a site's chain up to an event, that event's hash, and further lines."""

    origin: str
    seq: int
    hash: bytes
    lines: tuple[str, ...] = ()


class Verifier:
    """A public key, written name+id+key."""

    def __init__(self, name: str, key: bytes) -> None:
        self.name = name
        self._key = key
        self.key_id = sha256(name.encode() + b"\n" + _ED25519 + key).digest()[:4]

    @classmethod
    def of(cls, text: str) -> Verifier:
        """Return the public key of a text."""
        name, key_id, key = _split(text.strip(), 3)
        raw = decoded(key)
        verifier = cls(name, raw[1:])
        if raw[:1] != _ED25519 or verifier.key_id.hex() != key_id or len(raw) != 33:
            raise BadKeyError("this is not an Ed25519 public key of the form name+id+key")
        return verifier

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{encoded(_ED25519 + self._key)}"

    def open(self, note: str) -> Checkpoint:
        """Return the checkpoint of a note, or raise `NoteError` if its signature is not valid."""
        text, separator, signatures = note.partition("\n\n")
        text += "\n"
        signed = f"{_DASH} {self.name} "
        if not separator or not signatures.startswith(signed) or not signatures.endswith("\n"):
            raise NoteError("this is not a note signed by this key")
        signature = signatures[len(signed) : -1]
        raw = decoded(signature)
        if raw[:4] != self.key_id or encoded(raw) != signature:
            raise NoteError("this note is signed by another key")
        try:
            Ed25519PublicKey.from_public_bytes(self._key).verify(raw[4:], text.encode())
        except InvalidSignature:
            raise NoteError("the signature of this note is not valid: the note was changed") from None
        return _checkpoint(text)


class Signer:
    """A private key, stored in a file that only its owner may read."""

    def __init__(self, name: str, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._seed = seed
        self.verifier = Verifier(name, self._private.public_key().public_bytes_raw())

    @classmethod
    def new(cls, name: str) -> Signer:
        """Return a new key for this name."""
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def of(cls, text: str) -> Signer:
        """Return the private key of a text."""
        if not text.startswith(f"{_SECRET}+"):
            raise BadKeyError("this is not a private key of the form PRIVATE+KEY+name+id+key")
        name, key_id, key = _split(text.strip().removeprefix(f"{_SECRET}+"), 3)
        raw = decoded(key)
        if raw[:1] != _ED25519 or len(raw) != 33:
            raise BadKeyError("this is not an Ed25519 private key of the form PRIVATE+KEY+name+id+key")
        signer = cls(name, raw[1:])
        if signer.verifier.key_id.hex() != key_id:
            raise BadKeyError("this private key does not match its id: the file is damaged")
        return signer

    @property
    def text(self) -> str:
        """The private key as text, for its file."""
        return f"{_SECRET}+{self.verifier.name}+{self.verifier.key_id.hex()}+{encoded(_ED25519 + self._seed)}"

    def sign(self, checkpoint: Checkpoint) -> str:
        """Return a signed note over a checkpoint."""
        lines = (checkpoint.origin, str(checkpoint.seq), encoded(checkpoint.hash), *checkpoint.lines)
        text = "".join(f"{line}\n" for line in lines)
        signature = self._private.sign(text.encode())
        return f"{text}\n{_DASH} {self.verifier.name} {encoded(self.verifier.key_id + signature)}\n"


def origin_of(site: str, chain: str, kind: str = "") -> str:
    """Return the origin line of a chain's notes: of its checkpoints, or of another kind of note."""
    return f"{site}/{chain}/{kind}" if kind else f"{site}/{chain}"


def _checkpoint(text: str) -> Checkpoint:
    try:
        origin, seq, digest, *lines, rest = text.split("\n")
        checkpoint = Checkpoint(origin, int(seq), decoded(digest), tuple(lines))
    except ValueError:
        raise NoteError("this note does not contain a checkpoint") from None
    if rest or str(checkpoint.seq) != seq or len(checkpoint.hash) != HASH_BYTES or len(lines) > MAX_LINES:
        raise NoteError("this note does not contain a checkpoint")
    return checkpoint


def _split(text: str, parts: int) -> list[str]:
    found = text.split("+", parts - 1)
    if len(found) != parts:
        raise BadKeyError("this is not a key of the form name+id+key")
    return found


def encoded(raw: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(raw).decode()


def decoded(text: str) -> bytes:
    """Return the bytes of base64, or raise `NoteError`."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise NoteError("this is not base64") from None
