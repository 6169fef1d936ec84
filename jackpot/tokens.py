"""Operators' tokens: shown once, kept only as a hash."""

from __future__ import annotations

import secrets
from hashlib import sha256

from jackpot.core.answers import Error, Refused
from jackpot.core.site import Operator, Site


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is kept of a token; it is random and long, so a plain hash is enough."""
    return sha256(token.encode(errors="surrogateescape")).hexdigest()


def operator_of(site: Site, token: str) -> Operator:
    """The operator a token belongs to."""
    hashed = token_hash(token)
    for operator in site.operators.values():
        if operator.active and secrets.compare_digest(operator.token_hash, hashed):
            return operator
    raise Refused(Error.FORBIDDEN, "this token belongs to no active operator: give one with --token or JACKPOT_TOKEN")
