"""Operators' tokens: shown once, kept only as a hash."""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

from jackpot.core.results import CommandError, Refused
from jackpot.core.site.decide import joined_hash
from jackpot.core.site.state import Operator, Site

DAYS: Final = 365
"""The default lifetime of a token."""
MAX_DAYS: Final = 3_650
SEPARATOR: Final = "."
"""Separates the two halves of a manager's token, each known to another manager; no half contains it."""


class Expired(Refused):
    """The token was valid but has expired."""

    def __init__(self, operator: Operator) -> None:
        super().__init__(
            CommandError.FORBIDDEN,
            f"the token of {operator.name} expired at {operator.expires_at}: a manager can renew it",
        )


def new_token() -> str:
    """Return a new random token; none begins with a hyphen, which a command line would take for an option."""
    while (token := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return token


def token_hash(token: str) -> str:
    """Return the hash that is stored for a token; tokens are long and random, so a plain hash is enough."""
    one, separator, other = token.partition(SEPARATOR)
    return joined_hash(_hash(one), _hash(other)) if separator else _hash(token)


def _hash(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


def operator_of(site: Site, token: str, at: str) -> Operator:
    """Return the operator that a token belongs to at this time."""
    hashed = token_hash(token)
    for operator in site.operators.values():
        if operator.active and secrets.compare_digest(operator.token_hash, hashed):
            if operator.is_expired(at):
                raise Expired(operator)
            return operator
    raise Refused(
        CommandError.FORBIDDEN,
        "this token belongs to no active operator: give a valid one with --token or JACKPOT_TOKEN",
    )
